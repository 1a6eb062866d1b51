//! The process tier, for machines where no namespace can be made, such as an ordinary container.
//!
//! The machine's file system is visible, so Landlock decides which part of it may be used: the system's directories for
//! reading, and one directory of the box for writing. There is no network, not even a loopback, no shared memory, and
//! guests see only the numbers of other processes. Init is a subreaper instead of a pid 1. It confines its own signals
//! first, so that `kill(-1)` in it has the meaning that it has in a pid namespace: it ends everything below init, and
//! nothing else. Each box has a separate user where the daemon may change users. Elsewhere it has the daemon's user,
//! and then permissions of files cannot be changed.
//!
//! Callers name files as in every tier, /work and /tmp. Programs find their directories by HOME and TMPDIR.
//!
//! Memory and file size are counted per process here, so they are not limits of the whole tree, as the daemon's
//! `isolation::probe` reports.

mod cases;
mod orders;
pub(crate) mod place;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(crate) use orders::possible;

use crate::landlock::{Access, Ruleset};
use crate::sys::{give, prctl};
use crate::template::{SYSTEM, Step, at};
use crate::wire::Order;

/// Files of proc that programs read and that reveal nothing a program may not know.
const OF_PROC: [&str; 14] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/self/cmdline",
    "/proc/self/fd",
    "/proc/self/maps",
    "/proc/self/stat",
    "/proc/self/statm",
    "/proc/self/status",
    "/proc/self/task",
    "/proc/stat",
    "/proc/uptime",
    "/proc/version",
];
const DEVICES: [&str; 6] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];
/// Directories of a home, with the names that they have in boxes of other tiers.
const OWN: [&str; 2] = ["work", "tmp"];

/// The directory of one box.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    path: PathBuf,
    readable: Vec<PathBuf>,
}

impl Home {
    pub(crate) fn new(path: PathBuf, readable: Vec<PathBuf>) -> Self {
        Self { path, readable }
    }

    /// Makes this process, an init, the ancestor of all that it will start, and confines its signals to them.
    pub(crate) fn confine_init() -> io::Result<()> {
        prctl(libc::PR_SET_CHILD_SUBREAPER, 1)?;
        prctl(libc::PR_SET_NO_NEW_PRIVS, 1)?;
        Ruleset::of_scopes()?.restrict_self()
    }

    /// Makes the directories.
    pub(crate) fn set_up(&self, uid: u32) -> Result<(), Step> {
        // The guest cannot exchange the entries of this directory. `remove` relies on that.
        at("home", make(&self.path, 0o711))?;
        for name in OWN {
            let place = self.path.join(name);
            at("home", make(&place, 0o700))?;
            at("home", give(&place, uid))?;
        }
        at("not dumpable", prctl(libc::PR_SET_DUMPABLE, 0))
    }

    /// Takes the access to everything outside the box from this process, which is about to become the guest.
    pub(crate) fn confine_guest(&self) -> io::Result<()> {
        let rules = Ruleset::of_everything()?;
        for path in SYSTEM.iter().chain(&OF_PROC) {
            rules.allow(Path::new(path), Access::Read)?;
        }
        for path in &self.readable {
            rules.allow(path, Access::Read)?;
        }
        for path in DEVICES {
            rules.allow(Path::new(path), Access::Use)?;
        }
        for name in OWN {
            rules.allow(&self.path.join(name), Access::Own)?;
        }
        rules.restrict_self()
    }

    /// Replaces the box's paths in an order by those of the machine.
    pub(crate) fn translate(&self, order: &mut Order) {
        orders::translate(order, &self.path);
    }

    /// The machine's path for a path of the box.
    pub(crate) fn actual(&self, path: &Path) -> PathBuf {
        orders::inside(path, &self.path).unwrap_or_else(|| path.to_owned())
    }

    /// The box's path for a path of the machine.
    pub(crate) fn path_in_box(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.path)
            .map_or_else(|_| path.to_owned(), |inside| Path::new("/").join(inside))
    }

    /// Removes the directory with everything in it.
    pub(crate) fn remove(&self) {
        remove(&self.path);
    }
}

/// Whether each box can have a separate user: this process may change users, give files to them and end their
/// processes.
pub fn may_change_users() -> bool {
    // CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID, SETPCAP
    const NEEDED: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    held.is_some_and(|held| held & NEEDED == NEEDED)
}

/// Makes a directory with exact permissions.
pub fn make(path: &Path, mode: u32) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Removes a directory that this process's user made, with the homes in it. In a directory that everybody may write to,
/// another user can make one of any name, and exchange its entries while they are removed.
pub fn remove_own(path: &Path) {
    // SAFETY: reads an attribute of this process.
    let own = unsafe { libc::geteuid() };
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() && found.uid() == own => remove(path),
        Ok(_) => {
            tracing::warn!(path = %path.display(), "it is named like a directory of boxes and is not ours: it stays")
        }
        Err(error) => tracing::debug!(%error, path = %path.display(), "it is gone already"),
    }
}

/// Removes a directory with the homes in it, however deep they are: deep directories are moved up before they are
/// entered, so neither descriptors nor the stack grow with the depth. No guest can exchange a directory that is
/// entered, because no guest may write to the directory above it. The entry that is moved up may be another one than
/// the one that was looked at, so it is looked at again where it can no longer be exchanged.
pub(crate) fn remove(path: &Path) {
    let failed = |error: io::Error, what: &Path| {
        if error.kind() != io::ErrorKind::NotFound {
            tracing::warn!(%error, path = %what.display(), "cannot remove what a box left");
        }
    };
    let mut moved = 0_u64;
    let mut emptied = vec![path.to_owned()];
    // Every directory is emptied once. Its subdirectories are moved beside it, into `path`.
    while let Some(directory) = emptied.pop() {
        // Its guest may have taken the permissions away.
        let _kept = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) => {
                failed(error, &directory);
                continue;
            }
        };
        for entry in entries.flatten() {
            let place = entry.path();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_directory {
                fs::remove_dir(&place)
            } else {
                fs::remove_file(&place)
            };
            match removed {
                Err(error) if is_directory && error.raw_os_error() == Some(libc::ENOTEMPTY) => {
                    moved += 1;
                    let up = path.join(format!(".removed-{moved}"));
                    match bring_up(&place, &up) {
                        Ok(true) => emptied.push(up),
                        Ok(false) => {}
                        Err(error) => failed(error, &place),
                    }
                }
                Err(error) => failed(error, &place),
                Ok(()) => {}
            }
        }
        if directory != path
            && let Err(error) = fs::remove_dir(&directory)
        {
            failed(error, &directory);
        }
    }
    if let Err(error) = fs::remove_dir(path) {
        failed(error, path);
    }
}

/// Moves an entry up. Returns whether it is a directory; otherwise it is removed.
fn bring_up(place: &Path, up: &Path) -> io::Result<bool> {
    fs::rename(place, up)?;
    if fs::symlink_metadata(up)?.is_dir() {
        return Ok(true);
    }
    fs::remove_file(up).map(|()| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_directory_can_be_removed() {
        let base = tempfile::tempdir().expect("directory");
        let home = base.path().join("home");
        fs::create_dir(&home).expect("home");
        let (mut deepest, mut depth) = (home.clone(), 0);
        // Each step moves everything into a new directory, so that the tree gets deeper than the longest path.
        while depth < 2500 {
            let above = base.path().join("above");
            fs::create_dir_all(&above).expect("directory");
            fs::write(above.join("file"), "x").expect("file");
            fs::rename(&home, above.join("d")).expect("moved");
            fs::rename(&above, &home).expect("moved");
            depth += 1;
        }
        deepest.push("locked");
        fs::create_dir(&deepest).expect("directory");
        fs::set_permissions(&deepest, fs::Permissions::from_mode(0o0)).expect("locked");
        std::os::unix::fs::symlink("/etc", home.join("link")).expect("link");
        remove(&home);
        assert!(!home.exists());
        assert!(Path::new("/etc/passwd").exists());
    }

    /// A guest that lives on exchanges the directory that is about to be moved up.
    #[test]
    fn a_link_in_the_place_of_a_directory_is_not_entered() {
        let base = tempfile::tempdir().expect("directory");
        let theirs = base.path().join("theirs");
        fs::create_dir(&theirs).expect("directory");
        let (place, up) = (base.path().join("place"), base.path().join("up"));
        std::os::unix::fs::symlink(&theirs, &place).expect("link");
        assert!(!bring_up(&place, &up).expect("moved"));
        assert!(theirs.is_dir() && fs::symlink_metadata(&up).is_err());
        fs::create_dir(&place).expect("directory");
        assert!(bring_up(&place, &up).expect("moved"));
    }

    #[test]
    fn what_others_have_made_stays() {
        let base = tempfile::tempdir().expect("directory");
        let theirs = base.path().join("theirs");
        fs::create_dir(&theirs).expect("directory");
        fs::write(theirs.join("file"), "x").expect("file");
        let link = base.path().join("link");
        std::os::unix::fs::symlink(&theirs, &link).expect("link");
        remove_own(&link);
        assert!(theirs.join("file").exists() && link.exists());
        if may_change_users() {
            give(&theirs, 12_345).expect("given");
            remove_own(&theirs);
            assert!(theirs.join("file").exists());
            std::os::unix::fs::chown(&theirs, Some(0), Some(0)).expect("taken back");
        }
        remove_own(&theirs);
        assert!(!theirs.exists());
    }
}
