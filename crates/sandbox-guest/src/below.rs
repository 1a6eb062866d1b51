//! Directories that a program has filled, reached by descriptors and one name at a time.
//!
//! No link is followed and no name leads up. So a path means the same when it is looked at and when it is used, with
//! any rights of this process and while a program moves files. `openat2` does this with `RESOLVE_BENEATH |
//! RESOLVE_NO_SYMLINKS`; this works on every kernel.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use crate::defence::Defence;
use crate::sys::{c_path, check};

/// The longest target of a link.
const PATH_BYTES: usize = 4096;

/// One directory, open.
#[derive(Debug)]
pub(crate) struct Directory(OwnedFd);

impl Directory {
    /// Opens a directory by a path that no program can change.
    pub(crate) fn trusted(path: &Path) -> io::Result<Self> {
        let path = c_path(path)?;
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: a NUL-terminated path; the descriptor is new and ours. A directory opens at once.
        Ok(Self(unsafe {
            OwnedFd::from_raw_fd(check(libc::open(path.as_ptr(), flags))?)
        }))
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    pub(crate) fn into_file(self) -> File {
        self.0.into()
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Opens an entry without waiting for another process.
    pub(crate) fn open(&self, name: &OsStr, flags: libc::c_int, mode: libc::c_uint) -> io::Result<File> {
        let follow = if Defence::Links.stands() { libc::O_NOFOLLOW } else { 0 };
        let flags = flags | follow | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
        let name = c_name(name)?;
        // SAFETY: a live directory and a NUL-terminated name; the descriptor is new and ours.
        Ok(
            unsafe {
                OwnedFd::from_raw_fd(check(libc::openat(self.0.as_raw_fd(), name.as_ptr(), flags, mode))?).into()
            },
        )
    }

    /// Opens the directory with this name.
    ///
    /// # Errors
    /// `ELOOP` when the name is that of a link, besides the kernel's errors.
    pub(crate) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        match self.open(name, libc::O_RDONLY | libc::O_DIRECTORY, 0) {
            Ok(entered) => Ok(Self(entered.into())),
            Err(_) if self.kind(name).is_ok_and(|kind| kind == libc::S_IFLNK) => {
                Err(io::Error::from_raw_os_error(libc::ELOOP))
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the directory at a path below this one.
    pub(crate) fn descend(&self, path: &Path) -> io::Result<Self> {
        let mut reached = self.try_clone()?;
        for name in plain(path)? {
            reached = reached.enter(name)?;
        }
        Ok(reached)
    }

    /// Does the same and makes directories that are missing; `made` is called for each new one.
    pub(crate) fn make(&self, path: &Path, made: impl Fn(&Self) -> io::Result<()>) -> io::Result<Self> {
        let mut reached = self.try_clone()?;
        for name in plain(path)? {
            let new = reached.make_directory(name)?;
            reached = reached.enter(name)?;
            if new {
                made(&reached)?;
            }
        }
        Ok(reached)
    }

    /// Makes a directory. Returns whether it is new.
    pub(crate) fn make_directory(&self, name: &OsStr) -> io::Result<bool> {
        let name = c_name(name)?;
        // SAFETY: a live directory and a NUL-terminated name.
        match check(unsafe { libc::mkdirat(self.0.as_raw_fd(), name.as_ptr(), 0o755) }) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The kind of the entry with this name: the bits of `S_IFMT`.
    pub(crate) fn kind(&self, name: &OsStr) -> io::Result<libc::mode_t> {
        let flags = if Defence::Links.stands() {
            libc::AT_SYMLINK_NOFOLLOW
        } else {
            0
        };
        let name = c_name(name)?;
        // SAFETY: stat is plain data, filled by the call; a live directory and a NUL-terminated name.
        let found = unsafe {
            let mut found: libc::stat = std::mem::zeroed();
            check(libc::fstatat(self.0.as_raw_fd(), name.as_ptr(), &raw mut found, flags))?;
            found
        };
        Ok(found.st_mode & libc::S_IFMT)
    }

    /// Removes the entry with this name, unless it is a directory.
    pub(crate) fn clear(&self, name: &OsStr) -> io::Result<()> {
        let name = c_name(name)?;
        // SAFETY: a live directory and a NUL-terminated name.
        match check(unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), 0) }) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Changes the owner of an entry, which may be a link.
    pub(crate) fn give(&self, name: &OsStr, owner: u32) -> io::Result<()> {
        let (name, flags) = (c_name(name)?, libc::AT_SYMLINK_NOFOLLOW);
        // SAFETY: a live directory and a NUL-terminated name.
        check(unsafe { libc::fchownat(self.0.as_raw_fd(), name.as_ptr(), owner, owner, flags) }).map(|_| ())
    }

    pub(crate) fn link(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        let (name, target) = (c_name(name)?, c_path(target)?);
        // SAFETY: NUL-terminated strings and a live directory.
        check(unsafe { libc::symlinkat(target.as_ptr(), self.0.as_raw_fd(), name.as_ptr()) }).map(|_| ())
    }

    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let name = c_name(name)?;
        let mut target = vec![0_u8; PATH_BYTES];
        // SAFETY: a live directory, a NUL-terminated name, a buffer of the stated size.
        let length = unsafe {
            libc::readlinkat(
                self.0.as_raw_fd(),
                name.as_ptr(),
                target.as_mut_ptr().cast(),
                target.len(),
            )
        };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        target.truncate(length);
        Ok(PathBuf::from(OsString::from_vec(target)))
    }

    /// The names in it, in order and at most `most`, and whether these are all.
    pub(crate) fn names(&self, most: usize) -> io::Result<(Vec<OsString>, bool)> {
        let copy = self.open(OsStr::new("."), libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
        // SAFETY: a live directory, which the stream owns from here on.
        let stream = unsafe { libc::fdopendir(copy.into_raw_fd()) };
        if stream.is_null() {
            return Err(io::Error::last_os_error());
        }
        let (mut names, mut all) = (Vec::new(), true);
        loop {
            // SAFETY: a live stream, used by this thread only; the entry is copied before the next call.
            let name = unsafe {
                let entry = libc::readdir(stream);
                if entry.is_null() {
                    break;
                }
                CStr::from_ptr((*entry).d_name.as_ptr()).to_bytes().to_vec()
            };
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() >= most {
                all = false;
                break;
            }
            names.push(OsString::from_vec(name));
        }
        // SAFETY: a live stream, not used again.
        unsafe { libc::closedir(stream) };
        names.sort();
        Ok((names, all))
    }
}

fn c_name(name: &OsStr) -> io::Result<CString> {
    Ok(CString::new(name.as_bytes())?)
}

/// The names of a relative path that only leads down.
pub(crate) fn plain(path: &Path) -> io::Result<Vec<&OsStr>> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it would leave the directory",
                ));
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// How often the path must have led to its own directory, and to the link, before the test ends.
    const SEEN: u32 = 500;
    const MOST_TURNS: u32 = 5_000_000;

    #[test]
    fn no_link_is_followed_and_no_name_leads_up() {
        let place = tempfile::tempdir().expect("directory");
        fs::create_dir_all(place.path().join("a/b")).expect("made");
        symlink("/etc", place.path().join("a/out")).expect("link");
        symlink("b", place.path().join("a/in")).expect("link");
        let root = Directory::trusted(place.path()).expect("opened");
        root.descend(Path::new("a/./b")).expect("down");
        for path in ["a/out", "a/in", "a/out/ssl", "a/../a", "/etc", ".."] {
            let refused = [
                root.descend(Path::new(path)).expect_err(path),
                root.make(Path::new(path), |_| Ok(())).expect_err(path),
            ];
            for error in refused {
                let link = error.raw_os_error() == Some(libc::ELOOP);
                assert!(link || error.kind() == io::ErrorKind::InvalidData, "{path}: {error}");
            }
        }
        let into = root.enter(OsStr::new("a")).expect("entered");
        into.open(OsStr::new("out"), libc::O_RDONLY, 0).expect_err("a link");
        assert!(!into.names(2).expect("listed").1);
        assert_eq!(
            into.names(3).expect("listed"),
            (vec!["b".into(), "in".into(), "out".into()], true)
        );
    }

    /// One thread exchanges a directory and a link to another place as fast as it can, while another one walks down the
    /// path.
    #[test]
    fn an_exchange_in_a_loop_leads_nowhere_else() {
        let place = tempfile::tempdir().expect("directory");
        let elsewhere = tempfile::tempdir().expect("directory");
        fs::create_dir_all(elsewhere.path().join("d")).expect("made");
        fs::write(elsewhere.path().join("d/file"), "theirs").expect("written");
        fs::create_dir_all(place.path().join("a/d")).expect("made");
        fs::write(place.path().join("a/d/file"), "own").expect("written");
        symlink(elsewhere.path(), place.path().join("link")).expect("link");
        let [a, link] = ["a", "link"].map(|name| c_path(&place.path().join(name)).expect("path"));
        let over = AtomicBool::new(false);
        let root = Directory::trusted(place.path()).expect("opened");
        let (mut own, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let (cwd, exchange) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
                    // SAFETY: NUL-terminated paths.
                    unsafe { libc::renameat2(cwd, a.as_ptr(), cwd, link.as_ptr(), exchange) };
                }
            });
            for turn in 0..MOST_TURNS {
                if own >= SEEN && refused >= SEEN {
                    break;
                }
                let file = root
                    .descend(Path::new("a/d"))
                    .and_then(|d| d.open(OsStr::new("file"), libc::O_RDONLY, 0));
                match file.and_then(io::read_to_string) {
                    Ok(content) if content == "own" => own += 1,
                    Ok(content) => {
                        over.store(true, Ordering::Relaxed);
                        panic!("{content} after {turn} turns");
                    }
                    Err(_) => refused += 1,
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        assert!(own >= SEEN && refused >= SEEN, "{own} found, {refused} refused");
    }
}
