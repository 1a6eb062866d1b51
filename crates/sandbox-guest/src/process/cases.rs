//! The files of each case of a program where no file system can be laid over that of the box: a copy of the files that
//! the request and its build have left.
//!
//! Before the first case the original is put aside, where no guest can reach it. Only init runs in the box while it
//! copies, so no path changes meanwhile. Links are copied and never followed.

use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Home, OWN, make, remove};
use crate::sys::{c_path, check, give};
use crate::wire::Sizes;

/// Beside the box's directories. No Landlock rule lets a guest in.
const ASIDE: &str = "begins-with";

/// A path, and why it could not be copied.
type Failure = (String, io::Error);

impl Home {
    /// Puts the copy into the box's directories. A copy that exceeds these sizes, or that cannot be made, is an error
    /// that says that the disk is full.
    pub(crate) fn begin_case(&self, sizes: &Sizes, uid: u32) -> Result<(), Failure> {
        let aside = self.path.join(ASIDE);
        let failed = |error| ("put the files of all cases aside".to_owned(), error);
        if aside.exists() {
            for name in OWN {
                remove(&self.path.join(name));
            }
        } else {
            make(&aside, 0o700).map_err(failed)?;
            for name in OWN {
                fs::rename(self.path.join(name), aside.join(name)).map_err(failed)?;
            }
        }
        let mut copy = Copy {
            bytes: sizes.disk_bytes,
            entries: sizes.inodes,
            uid,
        };
        for name in OWN {
            copy.tree(&aside.join(name), &self.path.join(name)).map_err(|path| {
                (
                    format!("copy {}", path.display()),
                    io::Error::from_raw_os_error(libc::ENOSPC),
                )
            })?;
        }
        Ok(())
    }
}

/// How much may still be copied.
struct Copy {
    bytes: u64,
    entries: u64,
    uid: u32,
}

impl Copy {
    /// Copies a directory with everything in it. The error is the path at which the copy failed.
    fn tree(&mut self, from: &Path, to: &Path) -> Result<(), PathBuf> {
        let mut next = vec![(from.to_owned(), to.to_owned())];
        // Permissions are set last, so that a read-only directory can be filled.
        let mut made = Vec::new();
        while let Some((from, to)) = next.pop() {
            let here = |_| to.clone();
            let kind = fs::symlink_metadata(&from).map_err(here)?;
            fs::create_dir(&to).map_err(here)?;
            made.push((to.clone(), kind.mode()));
            for entry in fs::read_dir(&from).map_err(here)? {
                let entry = entry.map_err(here)?;
                let (source, target) = (entry.path(), to.join(entry.file_name()));
                let there = |_| target.clone();
                self.entries = self.entries.checked_sub(1).ok_or_else(|| target.clone())?;
                if entry.file_type().map_err(there)?.is_dir() {
                    next.push((source, target));
                } else {
                    self.other(&source, &target).map_err(there)?;
                }
            }
        }
        for (path, mode) in made.into_iter().rev() {
            let finished = give(&path, self.uid)
                .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o7777)));
            finished.map_err(|_| path)?;
        }
        Ok(())
    }

    /// Copies anything but a directory. Sockets are left out, because no process listens on them any more.
    fn other(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let kind = fs::symlink_metadata(from)?;
        if kind.is_symlink() {
            symlink(fs::read_link(from)?, to)?;
        } else if kind.file_type().is_fifo() {
            let path = c_path(to)?;
            // SAFETY: a NUL-terminated path.
            check(unsafe { libc::mkfifo(path.as_ptr(), kind.mode() & 0o777) })?;
        } else if kind.is_file() {
            self.bytes = self.bytes.checked_sub(kind.len()).ok_or(io::ErrorKind::StorageFull)?;
            let mut source = File::options().read(true).custom_flags(libc::O_NOFOLLOW).open(from)?;
            let mut target = File::options().write(true).create_new(true).mode(0o600).open(to)?;
            io::copy(&mut source, &mut target)?;
            target.set_times(FileTimes::new().set_modified(kind.modified()?))?;
            give(to, self.uid)?;
            return target.set_permissions(fs::Permissions::from_mode(kind.mode() & 0o7777));
        } else {
            return Ok(());
        }
        give(to, self.uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(disk_bytes: u64, inodes: u64) -> Sizes {
        Sizes { disk_bytes, inodes }
    }

    #[test]
    fn every_case_begins_with_the_same_and_the_sizes_hold() {
        let place = tempfile::tempdir().expect("directory");
        // SAFETY: reads an attribute of this process.
        let uid = unsafe { libc::geteuid() };
        let home = Home::new(place.path().join("7"), Vec::new());
        make(&home.path, 0o711).expect("home");
        for name in OWN {
            make(&home.path.join(name), 0o700).expect("own");
        }
        let work = home.path.join("work");
        fs::create_dir_all(work.join("deep/er")).expect("made");
        fs::write(work.join("deep/er/file"), [7; 1000]).expect("written");
        fs::set_permissions(work.join("deep/er/file"), fs::Permissions::from_mode(0o555)).expect("mode");
        fs::set_permissions(work.join("deep"), fs::Permissions::from_mode(0o500)).expect("mode");
        symlink("/etc", work.join("link")).expect("link");
        for _ in 0..3 {
            home.begin_case(&sizes(5000, 20), uid).expect("begun");
            let kind = fs::metadata(work.join("deep/er/file")).expect("there");
            assert_eq!((kind.len(), kind.mode() & 0o7777), (1000, 0o555));
            assert_eq!(fs::metadata(work.join("deep")).expect("there").mode() & 0o777, 0o500);
            assert_eq!(fs::read_link(work.join("link")).expect("link"), Path::new("/etc"));
            assert_eq!(fs::read_dir(&work).expect("listed").count(), 2);
            // The changes of a case are gone in the next.
            fs::remove_file(work.join("link")).expect("removed");
            symlink("/etc", work.join("mine")).expect("link");
            fs::write(home.path.join("tmp/mine"), "x").expect("written");
        }
        for too_small in [sizes(999, 20), sizes(5000, 3)] {
            let (_, error) = home.begin_case(&too_small, uid).expect_err("too much");
            assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
        }
        assert!(Path::new("/etc/passwd").exists());
        home.remove();
        assert!(!home.path.exists());
    }
}
