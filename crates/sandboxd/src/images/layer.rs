//! Applies one layer of an image to a directory: a tar stream with whiteouts.
//!
//! No archive can touch anything outside the root: the kernel looks parents up as if the root were `/`, symbolic links
//! included, and last components are never followed. Devices and pipes are left out, and set-id bits are removed.
//! Owners are kept where this process may set them.
//!
//! A compressed archive can say much more than it has bytes. So every entry is paid for out of the bytes that an image may unpack to before
//! any of it is written, and what describes an entry (long names, extensions, lists of sparse blocks), which is held in memory, has a bound.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::{Component, Path, PathBuf};

use prl_sandbox_guest::metered::Metered;
use prl_sandbox_guest::sys::{c_path, check_long};
use tar::{Archive, Entry, EntryType};

const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";

/// The cost of an entry beside its content: a block of the file system, about.
const ENTRY_BYTES: u64 = 4 << 10;
/// Most bytes of the names of directories, which are held until the end. An image of an operating system has a few million.
const MAX_DIRECTORY_NAME_BYTES: usize = 256 << 20;

/// Gives a layer's tar stream from its beginning.
pub(super) type Reopen<'a> = dyn FnMut() -> io::Result<Box<dyn Read>> + 'a;

/// A directory that layers are applied to.
pub(super) struct Root {
    directory: File,
    /// Set at the end, so that a directory without write permission can be filled.
    modes: BTreeMap<PathBuf, u32>,
    /// Bytes of the names in `modes`.
    name_bytes: usize,
    owners: bool,
    /// Bytes that further entries may take.
    left: u64,
}

/// An entry of such a stream.
type EntryOf<'a> = Entry<'a, Metered<Box<dyn Read>>>;

impl Root {
    /// A directory whose layers may take `most_bytes`: the content of all entries, also of those that later ones replace, and some for each entry.
    pub(super) fn open(path: &Path, most_bytes: u64) -> io::Result<Self> {
        Ok(Self {
            directory: File::open(path)?,
            modes: BTreeMap::new(),
            name_bytes: 0,
            // SAFETY: reads an attribute of this process.
            owners: unsafe { libc::geteuid() } == 0,
            left: most_bytes,
        })
    }

    /// Whiteouts are applied first: they refer to the layers below, wherever in the archive they are.
    pub(super) fn apply(&mut self, reopen: &mut Reopen<'_>) -> io::Result<()> {
        self.each_entry(reopen()?, |root, _, path| match path.file_name().map(OsStr::as_bytes) {
            Some(name) if name.starts_with(WHITEOUT) => root.white_out(path.parent().unwrap_or(Path::new("")), name),
            _ => Ok(()),
        })?;
        self.left = self.each_entry(reopen()?, |root, entry, path| {
            match path.file_name().map(OsStr::as_bytes) {
                Some(name) if !name.starts_with(WHITEOUT) => root
                    .put(entry, path)
                    .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
                _ => Ok(()),
            }
        })?;
        Ok(())
    }

    /// Visits every entry of an archive, and says how many bytes are left after it.
    fn each_entry(
        &mut self,
        stream: Box<dyn Read>,
        mut visit: impl FnMut(&mut Self, &mut EntryOf<'_>, &Path) -> io::Result<()>,
    ) -> io::Result<u64> {
        let (metered, meter) = Metered::new(stream);
        let mut archive = Archive::new(metered);
        let mut entries = archive.entries()?;
        let mut left = self.left;
        loop {
            meter.headers();
            let Some(entry) = entries.next() else {
                return Ok(left);
            };
            let mut entry = entry?;
            let path = inside(&entry.path()?)?;
            let cost = entry.size().saturating_add(ENTRY_BYTES);
            left = left.checked_sub(cost).ok_or_else(|| {
                io::Error::other(format!(
                    "{}: the image takes more than it may: an entry takes {cost} bytes where {left} are left",
                    path.display()
                ))
            })?;
            meter.content();
            visit(self, &mut entry, &path)?;
            io::copy(&mut entry, &mut io::sink())?;
        }
    }

    /// Gives directories their modes, the deepest first.
    pub(super) fn finish(self) -> io::Result<()> {
        for (path, mode) in self.modes.iter().rev() {
            // The directory is gone, or another entry replaced it and set the mode.
            if let Ok(directory) = self.resolve(path) {
                fs::set_permissions(by_descriptor(&directory, None), Permissions::from_mode(*mode))?;
            }
        }
        Ok(())
    }

    fn white_out(&self, parent: &Path, name: &[u8]) -> io::Result<()> {
        let Ok(parent) = self.resolve(parent) else {
            return Ok(());
        };
        if name == OPAQUE {
            for entry in fs::read_dir(by_descriptor(&parent, None))? {
                remove(&by_descriptor(&parent, Some(&entry?.file_name())))?;
            }
            return Ok(());
        }
        let hidden = name.strip_prefix(WHITEOUT).unwrap_or_default();
        if hidden.is_empty() || matches!(hidden, b"." | b"..") || hidden.contains(&b'/') {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        remove(&by_descriptor(&parent, Some(OsStr::from_bytes(hidden))))
    }

    fn put(&mut self, entry: &mut EntryOf<'_>, path: &Path) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        let parent = self.parents(parent)?;
        let place = by_descriptor(&parent, Some(name));
        let mode = entry.header().mode()? & 0o1777;
        let kind = entry.header().entry_type();
        let there = fs::symlink_metadata(&place);
        if there.is_ok_and(|there| !(there.is_dir() && kind == EntryType::Directory)) {
            remove(&place)?;
        }
        match kind {
            EntryType::Directory => {
                match fs::create_dir(&place) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
                if self.modes.insert(path.to_owned(), mode).is_none() {
                    self.name_bytes += path.as_os_str().len();
                }
                if self.name_bytes > MAX_DIRECTORY_NAME_BYTES {
                    return Err(io::Error::other(format!(
                        "the names of directories have more than {MAX_DIRECTORY_NAME_BYTES} bytes"
                    )));
                }
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let mut options = File::options();
                let options = options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW);
                let mut file = options.open(&place)?;
                io::copy(entry, &mut file)?;
                file.set_permissions(Permissions::from_mode(mode & 0o777))?;
            }
            EntryType::Symlink => {
                let target = entry.link_name()?.ok_or(io::ErrorKind::InvalidData)?;
                symlink(&target, &place)?;
            }
            EntryType::Link => {
                let target = entry.link_name()?.ok_or(io::ErrorKind::InvalidData)?;
                let target = inside(&target)?;
                let (Some(from), Some(name)) = (target.parent(), target.file_name()) else {
                    return Err(io::ErrorKind::InvalidData.into());
                };
                let from = self.resolve(from)?;
                return fs::hard_link(by_descriptor(&from, Some(name)), &place);
            }
            _ => return Ok(()),
        }
        if self.owners {
            let id = |id: u64| u32::try_from(id).map_err(io::Error::other);
            lchown(
                &place,
                Some(id(entry.header().uid()?)?),
                Some(id(entry.header().gid()?)?),
            )?;
        }
        Ok(())
    }

    /// Opens the directory and makes those above it that are missing.
    fn parents(&self, path: &Path) -> io::Result<OwnedFd> {
        match self.resolve(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let parent = self.parents(parent)?;
        fs::create_dir(by_descriptor(&parent, Some(name)))?;
        self.resolve(path)
    }

    /// Finds a directory below the root, as a process would find it whose root this is.
    fn resolve(&self, path: &Path) -> io::Result<OwnedFd> {
        // SAFETY: open_how is plain data; all-zero is a valid value.
        let mut how: libc::open_how = unsafe { std::mem::zeroed() };
        how.flags = (libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) as u64;
        how.resolve = libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS;
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let path = c_path(path)?;
        // SAFETY: a live descriptor, a NUL-terminated path, a live struct of the stated size.
        let fd = check_long(unsafe {
            libc::syscall(
                libc::SYS_openat2,
                self.directory.as_raw_fd(),
                path.as_ptr(),
                &raw const how,
                size_of::<libc::open_how>(),
            )
        })?;
        // SAFETY: new and ours.
        Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(fd).map_err(io::Error::other)?) })
    }
}

/// The path without components that could lead outside.
fn inside(path: &Path) -> io::Result<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(io::Error::other(format!("{} leads upwards", path.display())));
            }
        }
    }
    Ok(plain)
}

/// A path that leads to an opened directory, or to an entry of it, even when the directory is renamed.
fn by_descriptor(directory: &OwnedFd, name: Option<&OsStr>) -> PathBuf {
    let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    match name {
        Some(name) => path.join(name),
        None => path,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(kind) if kind.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
