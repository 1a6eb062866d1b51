//! The private folder of an embedded daemon.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::geteuid;
use tempfile::TempDir;

/// The kernel's limit of a socket's path, its final zero included.
const SOCKET_PATH_BYTES: usize = 108;
const FOLDER_PREFIX: &str = "prl-sandbox-";
const LOCK_FILE: &str = "owner.lock";
const SOCKET_FILE: &str = "sandboxd.sock";

/// A folder that only this user can enter, locked as long as its owner lives.
#[derive(Debug)]
pub(super) struct PrivateFolder {
    dir: TempDir,
    _lock: File,
}

impl PrivateFolder {
    /// Makes a folder, and removes folders whose owners died without removing them.
    pub(super) fn create() -> io::Result<Self> {
        let mut base = std::env::temp_dir();
        // The name's random part has six characters.
        if base.as_os_str().len() + FOLDER_PREFIX.len() + 8 + SOCKET_FILE.len() + 1 > SOCKET_PATH_BYTES {
            base = PathBuf::from("/tmp");
        }
        sweep(&base);
        let dir = tempfile::Builder::new()
            .prefix(FOLDER_PREFIX)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(base)?;
        let lock = File::create_new(dir.path().join(LOCK_FILE))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { dir, _lock: lock })
    }

    /// The socket for the daemon to listen on.
    pub(super) fn socket(&self) -> PathBuf {
        self.dir.path().join(SOCKET_FILE)
    }

    /// Removes the folder before its handle is dropped. A later start sweeps a folder that cannot be removed now.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(self.dir.path());
    }
}

/// Removes this user's folders whose owners are dead. Other users can put anything under such a name beside them, also
/// a pipe in the place of a lock, which must not be waited for.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX);
        // This does not follow a link.
        let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
        if !is_named || !entry.metadata().is_ok_and(is_own) {
            continue;
        }
        let at_once = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let lock = File::options()
            .read(true)
            .custom_flags(at_once)
            .open(entry.path().join(LOCK_FILE));
        let Ok(lock) = lock else {
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_sweep_waits_for_nothing_and_leaves_what_is_not_ours() {
        let base = tempfile::tempdir().expect("a folder");
        let folder = |name: &str| {
            let folder = base.path().join(format!("{FOLDER_PREFIX}{name}"));
            fs::create_dir(&folder).expect("a folder");
            folder
        };
        let (dead, piped, theirs) = (folder("dead"), folder("piped"), folder("theirs"));
        fs::write(dead.join(LOCK_FILE), "").expect("a lock");
        fs::write(theirs.join(LOCK_FILE), "").expect("a lock");
        let pipe = piped.join(LOCK_FILE);
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        // Only root can give it away.
        let is_given = std::os::unix::fs::chown(&theirs, Some(12_345), None).is_ok();
        let (swept, ended) = mpsc::channel();
        let place = base.path().to_owned();
        std::thread::spawn(move || {
            sweep(&place);
            swept.send(())
        });
        ended.recv_timeout(Duration::from_secs(5)).expect("it does not wait");
        assert!(!dead.exists() && !piped.exists());
        assert_eq!(theirs.exists(), is_given);
    }
}
