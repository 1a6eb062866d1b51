//! Directories as tar streams: out of a box, into a box, and the whole writable layer for a snapshot.
//!
//! Everything is reached by descriptors, one name at a time, and no link is ever followed, so that a path means the same
//! when it is looked at and when it is used, with whatever rights.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use prl_sandbox_proto::ArchiveReply;
use tar::{Builder, EntryType, Header};

use super::link::Link;
use super::{CHUNK_BYTES, Outcome, make_directories, place, refused};
use crate::init::NOBODY_OFFSET;
use crate::sys::{c_path, check};
use crate::wire::files::Answer;

/// Each level holds a descriptor.
const MAX_DEPTH: usize = 128;

/// Sends a directory: regular files, directories and symbolic links. Other kinds are left out.
pub(super) fn pack(path: &Path, link: &mut Link) -> Outcome {
    let packed = open_root(path).and_then(|root| {
        let mut packer = Packer::new(link, None);
        packer.directory(&root, Path::new(""), 0)?;
        packer.finish()
    });
    packed.map_err(|error| refused(path, &error))?;
    Ok(Answer::Done(true))
}

/// Sends the whole writable layer, with owners.
pub(super) fn save(uid: u32, link: &mut Link) -> Outcome {
    let mut packer = Packer::new(link, Some(uid));
    for (name, path) in place::layer() {
        let packed = open_root(&path).and_then(|root| packer.directory(&root, Path::new(name), 0));
        packed.map_err(|error| refused(&path, &error))?;
    }
    packer.finish().map_err(|error| refused(Path::new("/"), &error))?;
    Ok(Answer::Done(true))
}

/// Unpacks what is sent below a directory, which is made when it is missing. What was unpacked before an error stays.
pub(super) fn unpack(path: &Path, link: &mut Link) -> Outcome {
    let unpacked = make_directories(path).and_then(|()| open_root(path)).and_then(|root| {
        let mut unpacker = Unpacker::new(None);
        unpacker.roots.push((None, root));
        unpacker.run(link)
    });
    unpacked.map(Answer::Unpacked).map_err(|error| refused(path, &error))
}

/// Fills the writable layer with what was saved from another box.
pub(super) fn restore(uid: u32, link: &mut Link) -> Outcome {
    let restored = place::layer()
        .map(|(name, path)| Ok((Some(OsString::from(name)), open_root(&path)?)))
        .collect::<io::Result<Vec<_>>>()
        .and_then(|roots| {
            let mut unpacker = Unpacker::new(Some(uid));
            unpacker.roots = roots;
            unpacker.run(link)
        });
    restored
        .map(Answer::Unpacked)
        .map_err(|error| refused(Path::new("/"), &error))
}

fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: a NUL-terminated path; the descriptor is new and ours. A directory opens at once.
    Ok(unsafe { OwnedFd::from_raw_fd(check(libc::open(path.as_ptr(), flags))?) })
}

fn open_at(directory: &OwnedFd, name: &CStr, flags: libc::c_int, mode: libc::c_uint) -> io::Result<OwnedFd> {
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: a live directory and a NUL-terminated name; the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(check(libc::openat(directory.as_raw_fd(), name.as_ptr(), flags, mode))?) })
}

fn c_name(name: &OsStr) -> io::Result<CString> {
    Ok(CString::new(name.as_bytes())?)
}

// ---- out ----

struct Packer<'a> {
    builder: Builder<BufWriter<Outgoing<'a>>>,
    /// The sandbox's user when owners are kept.
    uid: Option<u32>,
}

struct Outgoing<'a>(&'a mut Link);

impl Write for Outgoing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.answer(Answer::Data(Bytes::copy_from_slice(bytes)))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> Packer<'a> {
    fn new(link: &'a mut Link, uid: Option<u32>) -> Self {
        Self {
            builder: Builder::new(BufWriter::with_capacity(CHUNK_BYTES, Outgoing(link))),
            uid,
        }
    }

    fn finish(self) -> io::Result<()> {
        self.builder.into_inner()?.flush()
    }

    fn directory(&mut self, directory: &OwnedFd, prefix: &Path, depth: usize) -> io::Result<()> {
        if depth >= MAX_DEPTH {
            return Err(io::Error::other(format!(
                "{}: deeper than {MAX_DEPTH} directories",
                prefix.display()
            )));
        }
        for name in names(directory)? {
            let path = prefix.join(&name);
            match self.entry(directory, &c_name(&name)?, &path, depth) {
                // It went away meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?,
            }
        }
        Ok(())
    }

    fn entry(&mut self, directory: &OwnedFd, name: &CStr, path: &Path, depth: usize) -> io::Result<()> {
        // SAFETY: stat is plain data, filled by the call.
        let kind = unsafe {
            let mut found: libc::stat = std::mem::zeroed();
            let flags = libc::AT_SYMLINK_NOFOLLOW;
            check(libc::fstatat(
                directory.as_raw_fd(),
                name.as_ptr(),
                &raw mut found,
                flags,
            ))?;
            found.st_mode & libc::S_IFMT
        };
        match kind {
            libc::S_IFREG => {
                let file = File::from(open_at(directory, name, libc::O_RDONLY, 0)?);
                let found = file.metadata()?;
                if !found.is_file() {
                    return Ok(());
                }
                let mut header = self.header(&found, EntryType::Regular);
                header.set_size(found.len());
                // Exactly as long as was said, whatever becomes of the file meanwhile.
                let content = file.chain(io::repeat(0)).take(found.len());
                self.builder.append_data(&mut header, path, content)
            }
            libc::S_IFDIR => {
                let below = open_at(directory, name, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
                let found = File::from(below.try_clone()?).metadata()?;
                let mut header = self.header(&found, EntryType::Directory);
                header.set_size(0);
                self.builder.append_data(&mut header, path, io::empty())?;
                self.directory(&below, path, depth + 1)
            }
            libc::S_IFLNK => {
                let target = read_link(directory, name)?;
                let mut header = Header::new_gnu();
                header.set_entry_type(EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                header.set_uid(0);
                header.set_gid(0);
                self.builder.append_link(&mut header, path, target)
            }
            _ => Ok(()),
        }
    }

    fn header(&self, found: &fs::Metadata, kind: EntryType) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(found.mode() & 0o777);
        header.set_mtime(u64::try_from(found.mtime()).unwrap_or(0));
        // Users have other numbers in another box.
        let class = match self.uid {
            Some(uid) if found.uid() == uid => Owner::User,
            Some(uid) if found.uid() == uid + NOBODY_OFFSET => Owner::Nobody,
            _ => Owner::Root,
        };
        header.set_uid(class as u64);
        header.set_gid(0);
        header
    }
}

/// Owners in a saved layer.
#[derive(Clone, Copy)]
enum Owner {
    Root = 0,
    User = 1,
    Nobody = 2,
}

/// Names in a directory, in order.
fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let copy = open_at(directory, c".", libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    // SAFETY: a live directory, which the stream owns from here on.
    let stream = unsafe { libc::fdopendir(std::os::fd::IntoRawFd::into_raw_fd(copy)) };
    if stream.is_null() {
        return Err(io::Error::last_os_error());
    }
    let mut names = Vec::new();
    loop {
        // SAFETY: a live stream, used by this thread only; the entry is copied before the next call.
        let name = unsafe {
            let entry = libc::readdir(stream);
            if entry.is_null() {
                break;
            }
            CStr::from_ptr((*entry).d_name.as_ptr()).to_bytes().to_vec()
        };
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    // SAFETY: a live stream, not used again.
    unsafe { libc::closedir(stream) };
    names.sort();
    Ok(names)
}

fn read_link(directory: &OwnedFd, name: &CStr) -> io::Result<PathBuf> {
    let mut target = vec![0_u8; 4096];
    // SAFETY: a live directory, a NUL-terminated name, a buffer of the stated size.
    let length = unsafe {
        libc::readlinkat(
            directory.as_raw_fd(),
            name.as_ptr(),
            target.as_mut_ptr().cast(),
            target.len(),
        )
    };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    target.truncate(length);
    Ok(PathBuf::from(OsString::from_vec(target)))
}

// ---- in ----

struct Unpacker {
    /// Directories by the first name of an entry, or one for all.
    roots: Vec<(Option<OsString>, OwnedFd)>,
    uid: Option<u32>,
    /// Set at the end, so that a directory without write permission can be filled.
    modes: Vec<(PathBuf, u32)>,
    done: ArchiveReply,
}

struct Incoming<'a> {
    link: &'a mut Link,
    part: Bytes,
}

impl Read for Incoming<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            match self.link.next()? {
                Some(part) => self.part = part,
                None => return Ok(0),
            }
        }
        let length = self.part.len().min(buffer.len());
        let taken = self.part.split_to(length);
        buffer.get_mut(..length).unwrap_or_default().copy_from_slice(&taken);
        Ok(length)
    }
}

impl Unpacker {
    fn new(uid: Option<u32>) -> Self {
        Self {
            roots: Vec::new(),
            uid,
            modes: Vec::new(),
            done: ArchiveReply::default(),
        }
    }

    fn run(mut self, link: &mut Link) -> io::Result<ArchiveReply> {
        let incoming = Incoming {
            link: &mut *link,
            part: Bytes::new(),
        };
        let mut archive = tar::Archive::new(incoming);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            self.entry(&mut entry, &path)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        }
        // Also what comes behind the archive's own end; a stream that breaks off is an error.
        while link.next()?.is_some() {}
        // Children before their parents.
        for (path, mode) in std::mem::take(&mut self.modes).into_iter().rev() {
            if let Some((parent, name)) = self.place(&path)? {
                let directory = open_at(&parent, &name, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
                File::from(directory).set_permissions(fs::Permissions::from_mode(mode))?;
            }
        }
        Ok(self.done)
    }

    fn entry<R: Read>(&mut self, entry: &mut tar::Entry<'_, R>, path: &Path) -> io::Result<()> {
        let refuse = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidData, what.to_owned()));
        let header = entry.header().clone();
        let mode = header.mode()?;
        if mode & 0o7000 != 0 && self.uid.is_none() {
            return refuse("it has set-id or sticky bits");
        }
        let Some((parent, name)) = self.place(path)? else {
            return Ok(());
        };
        match header.entry_type() {
            EntryType::Directory => {
                make_directory_at(&parent, &name)?;
                self.modes.push((path.to_owned(), mode & 0o777));
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                clear(&parent, &name)?;
                let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
                let mut file = File::from(open_at(&parent, &name, flags, 0o600)?);
                let copied = io::copy(entry, &mut file)?;
                if copied != entry.size() {
                    return refuse("the archive ends within it");
                }
                file.set_permissions(fs::Permissions::from_mode(mode & 0o777))?;
                self.done.bytes += copied;
            }
            EntryType::Symlink => {
                let Some(target) = entry.link_name()? else {
                    return refuse("a link without a target");
                };
                clear(&parent, &name)?;
                let target = c_path(&target)?;
                // SAFETY: NUL-terminated strings and a live directory.
                check(unsafe { libc::symlinkat(target.as_ptr(), parent.as_raw_fd(), name.as_ptr()) })?;
            }
            EntryType::XGlobalHeader => return Ok(()),
            other => return refuse(&format!("entries of kind {other:?} are not unpacked")),
        }
        if let Some(uid) = self.uid {
            give(&parent, &name, header.uid()?, uid)?;
        }
        self.done.entries += 1;
        Ok(())
    }

    /// The directory that an entry goes to, and its name there. `None`: it is a root itself.
    fn place(&self, path: &Path) -> io::Result<Option<(OwnedFd, CString)>> {
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
        let mut names = names.into_iter();
        let root = match self.roots.as_slice() {
            [(None, root)] => root,
            roots => {
                let first = names.next();
                let found = roots.iter().find(|(name, _)| name.as_deref() == first);
                let unknown = || io::Error::new(io::ErrorKind::InvalidData, "it belongs nowhere");
                &found.ok_or_else(unknown)?.1
            }
        };
        let Some(last) = names.next_back() else { return Ok(None) };
        let mut parent = root.try_clone()?;
        for name in names {
            let name = c_name(name)?;
            make_directory_at(&parent, &name)?;
            let opened = open_at(&parent, &name, libc::O_RDONLY | libc::O_DIRECTORY, 0);
            parent = opened.map_err(|error| match error.raw_os_error() {
                Some(libc::ELOOP | libc::ENOTDIR) => io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it would leave the directory through a link",
                ),
                _ => error,
            })?;
        }
        Ok(Some((parent, c_name(last)?)))
    }
}

fn make_directory_at(parent: &OwnedFd, name: &CStr) -> io::Result<()> {
    // SAFETY: a live directory and a NUL-terminated name.
    match check(unsafe { libc::mkdirat(parent.as_raw_fd(), name.as_ptr(), 0o755) }) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Takes away what has the name, unless it is a directory.
fn clear(parent: &OwnedFd, name: &CStr) -> io::Result<()> {
    // SAFETY: a live directory and a NUL-terminated name.
    match check(unsafe { libc::unlinkat(parent.as_raw_fd(), name.as_ptr(), 0) }) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn give(parent: &OwnedFd, name: &CStr, class: u64, uid: u32) -> io::Result<()> {
    let owner = match class {
        class if class == Owner::User as u64 => uid,
        class if class == Owner::Nobody as u64 => uid + NOBODY_OFFSET,
        _ => 0,
    };
    let directory: RawFd = parent.as_raw_fd();
    // SAFETY: a live directory and a NUL-terminated name.
    check(unsafe { libc::fchownat(directory, name.as_ptr(), owner, owner, libc::AT_SYMLINK_NOFOLLOW) })?;
    Ok(())
}
