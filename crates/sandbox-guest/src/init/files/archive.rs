//! Directories as tar streams: out of a box, into a box, and the whole writable layer for a snapshot.
//!
//! Everything is reached by descriptors, one name at a time, and no link is ever followed. So with any rights, a path
//! means the same when it is looked at and when it is used.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use prl_sandbox_proto::ArchiveReply;
use tar::{Builder, EntryType, Header};

use super::link::Link;
use super::{CHUNK_BYTES, Outcome, make_directories, refused};
use crate::below::{Directory, plain};
use crate::metered::Metered;
use crate::process::place;
use crate::users::NOBODY_OFFSET;
use crate::wire::files::Answer;

/// The depth is bounded because each level holds a descriptor.
const MAX_DEPTH: usize = 128;
/// Entries of one directory.
const MAX_NAMES: usize = 1_000_000;

/// Sends a directory: regular files, directories and symbolic links. Other kinds are left out.
pub(super) fn pack(path: &Path, link: &mut Link) -> Outcome {
    let packed = Directory::trusted(path).and_then(|root| {
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
        let packed = Directory::trusted(&path).and_then(|root| packer.directory(&root, Path::new(name), 0));
        packed.map_err(|error| refused(&path, &error))?;
    }
    packer.finish().map_err(|error| refused(Path::new("/"), &error))?;
    Ok(Answer::Done(true))
}

/// Unpacks a tar stream below a directory, which is made when it is missing. Entries that were unpacked before an error
/// stay.
pub(super) fn unpack(path: &Path, link: &mut Link) -> Outcome {
    let unpacked = make_directories(path)
        .and_then(|()| Directory::trusted(path))
        .and_then(|root| {
            let mut unpacker = Unpacker::new(None);
            unpacker.roots.push((None, root));
            unpacker.run(link)
        });
    unpacked.map(Answer::Unpacked).map_err(|error| refused(path, &error))
}

/// Fills the writable layer with the saved layer of another box.
pub(super) fn restore(uid: u32, link: &mut Link) -> Outcome {
    let restored = place::layer()
        .map(|(name, path)| Ok((Some(OsString::from(name)), Directory::trusted(&path)?)))
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

    fn directory(&mut self, directory: &Directory, prefix: &Path, depth: usize) -> io::Result<()> {
        if depth >= MAX_DEPTH {
            return Err(io::Error::other(format!(
                "{}: deeper than {MAX_DEPTH} directories",
                prefix.display()
            )));
        }
        let (names, all) = match directory.names(MAX_NAMES) {
            // The directory disappeared meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            names => names?,
        };
        if !all {
            return Err(io::Error::other(format!("more than {MAX_NAMES} entries")));
        }
        for name in names {
            let path = prefix.join(&name);
            match self.entry(directory, &name, &path) {
                Ok(None) => {}
                Ok(Some(below)) => self.directory(&below, &path, depth + 1)?,
                // This entry disappeared meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
            }
        }
        Ok(())
    }

    /// Packs one entry. Returns a directory, whose entries come next.
    fn entry(&mut self, directory: &Directory, name: &OsStr, path: &Path) -> io::Result<Option<Directory>> {
        match directory.kind(name)? {
            libc::S_IFREG => {
                let file = directory.open(name, libc::O_RDONLY, 0)?;
                let found = file.metadata()?;
                if !found.is_file() {
                    return Ok(None);
                }
                let mut header = self.header(&found, EntryType::Regular);
                header.set_size(found.len());
                // The content has exactly the announced length, even when the file changes meanwhile.
                let content = file.chain(io::repeat(0)).take(found.len());
                self.builder.append_data(&mut header, path, content)?;
            }
            libc::S_IFDIR => {
                let below = directory.enter(name)?;
                let found = below.try_clone()?.into_file().metadata()?;
                let mut header = self.header(&found, EntryType::Directory);
                header.set_size(0);
                self.builder.append_data(&mut header, path, io::empty())?;
                return Ok(Some(below));
            }
            libc::S_IFLNK => {
                let target = directory.read_link(name)?;
                let mut header = Header::new_gnu();
                header.set_entry_type(EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                header.set_uid(0);
                header.set_gid(0);
                self.builder.append_link(&mut header, path, target)?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn header(&self, found: &fs::Metadata, kind: EntryType) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(found.mode() & 0o777);
        header.set_mtime(u64::try_from(found.mtime()).unwrap_or(0));
        // Owners are saved as classes, because users have other numbers in another box.
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

// ---- in ----

struct Unpacker {
    /// Directories by the first name of an entry, or a single one for all entries.
    roots: Vec<(Option<OsString>, Directory)>,
    uid: Option<u32>,
    /// Set at the end, so that a directory without write permission can be filled.
    modes: BTreeMap<PathBuf, u32>,
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
            modes: BTreeMap::new(),
            done: ArchiveReply::default(),
        }
    }

    fn run(mut self, link: &mut Link) -> io::Result<ArchiveReply> {
        let incoming = Incoming {
            link: &mut *link,
            part: Bytes::new(),
        };
        let (metered, meter) = Metered::new(incoming);
        let mut archive = tar::Archive::new(metered);
        let mut entries = archive.entries()?;
        loop {
            meter.headers();
            let Some(entry) = entries.next() else { break };
            let mut entry = entry?;
            meter.content();
            let path = entry.path()?.into_owned();
            self.entry(&mut entry, &path)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            io::copy(&mut entry, &mut io::sink())?;
        }
        // Bytes behind the end of the archive are read too; a stream that breaks off is an error.
        while link.next()?.is_some() {}
        // Children before their parents.
        for (path, mode) in std::mem::take(&mut self.modes).into_iter().rev() {
            if let Some((parent, name)) = self.place(&path)? {
                let directory = parent.enter(&name)?.into_file();
                directory.set_permissions(fs::Permissions::from_mode(mode))?;
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
                parent.make_directory(&name)?;
                // However often a directory comes and is spelled, it is noted once.
                self.modes.insert(plain(path)?.into_iter().collect(), mode & 0o777);
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                parent.clear(&name)?;
                let mut file = parent.open(&name, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 0o600)?;
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
                parent.clear(&name)?;
                parent.link(&name, &target)?;
            }
            EntryType::XGlobalHeader => return Ok(()),
            other => return refuse(&format!("entries of kind {other:?} are not unpacked")),
        }
        if let Some(uid) = self.uid {
            parent.give(&name, owner(header.uid()?, uid))?;
        }
        self.done.entries += 1;
        Ok(())
    }

    /// The directory of an entry, and the entry's name in it. `None`: the entry is a root itself.
    fn place(&self, path: &Path) -> io::Result<Option<(Directory, OsString)>> {
        let mut names = plain(path)?.into_iter();
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
        let made = root.make(&names.collect::<PathBuf>(), |_| Ok(()));
        let parent = made.map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP | libc::ENOTDIR) => io::Error::new(
                io::ErrorKind::InvalidData,
                "it would leave the directory through a link",
            ),
            _ => error,
        })?;
        Ok(Some((parent, last.to_owned())))
    }
}

/// The user of this class in this box.
fn owner(class: u64, uid: u32) -> u32 {
    match class {
        class if class == Owner::User as u64 => uid,
        class if class == Owner::Nobody as u64 => uid + NOBODY_OFFSET,
        _ => 0,
    }
}
