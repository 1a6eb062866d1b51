//! The private folder of an embedded daemon.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
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

/// Removes the folders of dead owners. A folder that cannot be removed belongs to another user.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX) {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join(LOCK_FILE)) else {
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
