//! Directories between this machine and a held sandbox, as tar streams.
//!
//! An archive from a box is not trusted: it is unpacked only into a new directory, without owners and set-id bits, and no entry may be
//! or name a file outside. Entries that could are left out and reported.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use prl_sandbox_proto::{ArchiveReply, WriteFileRequest};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio_stream::wrappers::ReceiverStream;

use super::files::{CHUNK_BYTES, FileReader};
use super::sandbox_box::SandboxBox;
use crate::ClientError;
use crate::call::{QUERY_DEADLINE, Repeat, TRANSFER_DEADLINE};
use crate::outcome::{Infra, RunOutcome};

/// Most chunks between the disk and the connection; then the faster side waits.
const WAITING_CHUNKS: usize = 8;
/// Most entries that are unpacked; a box can make any number of files.
const MAX_ENTRIES: usize = 1_000_000;

/// The result of unpacking an archive from a box.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Files, directories and links that were made.
    pub entries: usize,
    /// Bytes of the files together.
    pub bytes: u64,
    /// Entries that were not made, by their paths in the archive: links out of the directory, devices, names that go up.
    pub left_out: Vec<String>,
}

impl SandboxBox {
    /// Copies a directory of this machine into one of the box, which is made when it is missing. Links are copied as links.
    ///
    /// # Errors
    /// [`ClientError::Local`]; as of [`SandboxBox::stat`].
    pub async fn upload_directory(&self, from: &Path, to: &str) -> Result<ArchiveReply, ClientError> {
        let (messages, waiting) = mpsc::channel(WAITING_CHUNKS);
        let first = WriteFileRequest {
            r#box: self.id().to_owned(),
            path: to.to_owned(),
            ..WriteFileRequest::default()
        };
        let source = from.to_owned();
        let packing = spawn_blocking(move || pack(&source, first, messages));
        let mut waiting = Some(waiting);
        let sending = async {
            let connection = self.held.connection().await?;
            let stream = waiting.take().map(ReceiverStream::new);
            let stream = stream.ok_or(ClientError::Closed)?;
            let sent = tokio::time::timeout(TRANSFER_DEADLINE, connection.boxes().write_archive(stream)).await;
            match sent {
                Ok(Ok(reply)) => Ok(reply.into_inner()),
                Ok(Err(status)) => Err(self
                    .held
                    .broken(&connection, &status)
                    .unwrap_or_else(|| RunOutcome::infra(Infra::ConnectionLost, status.message()).into())),
                Err(_) => Err(RunOutcome::infra(Infra::Deadline, "the directory was not taken in time").into()),
            }
        };
        let sent: Result<ArchiveReply, ClientError> = sending.await;
        // If packing failed, that is the cause of the daemon's error.
        let packed = packing.await.map_err(|error| local(from, io::Error::other(error)))?;
        match packed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(local(from, error)),
            _ => sent,
        }
    }

    /// Copies a directory of the box into a new one of this machine. At most `max_bytes` of files.
    ///
    /// # Errors
    /// [`ClientError::Local`]: `to` exists, or cannot be written. PRL_SANDBOX_TOO_LARGE; as of [`SandboxBox::stat`].
    pub async fn download_directory(&self, from: &str, to: &Path, max_bytes: u64) -> Result<Unpacked, ClientError> {
        let connection = self.held.connection().await?;
        let request = self.path(from);
        let stream = self
            .held
            .ask(Repeat::Safe, QUERY_DEADLINE, |mut boxes| {
                let request = request.clone();
                async move { boxes.read_archive(request).await }
            })
            .await?;
        let mut reader = FileReader::new(&self.held, connection, stream);
        let (chunks, waiting) = mpsc::channel(WAITING_CHUNKS);
        let target = to.to_owned();
        let unpacking = spawn_blocking(move || unpack(Incoming::new(waiting), &target, max_bytes));
        let received = async {
            while let Some(bytes) = reader.next().await? {
                if chunks.send(Ok(bytes)).await.is_err() {
                    break;
                }
            }
            Ok::<(), ClientError>(())
        }
        .await;
        if received.is_err() {
            let cut = io::Error::new(io::ErrorKind::ConnectionAborted, "the stream was cut short");
            // This fails when unpacking has ended already.
            let _ = chunks.send(Err(cut)).await;
        }
        drop(chunks);
        let unpacked = unpacking.await.map_err(|error| local(to, io::Error::other(error)))?;
        received?;
        unpacked.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                ClientError::refused("PRL_SANDBOX_TOO_LARGE", format!("{from}: {error}"), None)
            }
            _ => local(to, error),
        })
    }
}

fn local(path: &Path, source: io::Error) -> ClientError {
    ClientError::Local {
        path: path.display().to_string(),
        source,
    }
}

// ---- in ----

/// Chunks that are written as messages.
struct Outgoing {
    messages: mpsc::Sender<WriteFileRequest>,
    next: WriteFileRequest,
    buffer: Vec<u8>,
}

impl Outgoing {
    fn send(&mut self, end: bool) -> io::Result<()> {
        let mut message = std::mem::take(&mut self.next);
        message.data = Bytes::from(std::mem::take(&mut self.buffer));
        message.end = end;
        let sent = self.messages.blocking_send(message);
        sent.map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the daemon takes no more"))
    }
}

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(CHUNK_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..length]);
        if self.buffer.len() == CHUNK_BYTES {
            self.send(false)?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn pack(source: &Path, first: WriteFileRequest, messages: mpsc::Sender<WriteFileRequest>) -> io::Result<()> {
    let outgoing = Outgoing {
        messages,
        next: first,
        buffer: Vec::with_capacity(CHUNK_BYTES),
    };
    let mut builder = tar::Builder::new(outgoing);
    builder.follow_symlinks(false);
    builder.mode(tar::HeaderMode::Deterministic);
    builder.append_dir_all(".", source)?;
    // Without this last message the daemon keeps nothing.
    builder.into_inner()?.send(true)
}

// ---- out ----

/// Chunks that are read as they come.
struct Incoming {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl Incoming {
    fn new(chunks: mpsc::Receiver<io::Result<Bytes>>) -> Self {
        Self {
            chunks,
            current: Bytes::new(),
        }
    }
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.current = chunk?,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.current.len());
        buffer[..length].copy_from_slice(&self.current.split_to(length));
        Ok(length)
    }
}

fn unpack(archive: impl Read, target: &Path, max_bytes: u64) -> io::Result<Unpacked> {
    fs::create_dir(target)?;
    let mut unpacked = Unpacked::default();
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries()? {
        let mut entry = entry?;
        if unpacked.entries + unpacked.left_out.len() >= MAX_ENTRIES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("more than {MAX_ENTRIES} entries"),
            ));
        }
        let path = entry.path()?.into_owned();
        let Some(inside) = plain(&path) else {
            unpacked.left_out.push(path.display().to_string());
            continue;
        };
        if inside.as_os_str().is_empty() {
            continue;
        }
        let place = target.join(&inside);
        let mode = entry.header().mode().unwrap_or(0o644) & 0o777;
        let made = match entry.header().entry_type() {
            tar::EntryType::Directory => parents(target, &inside).and_then(|()| directory(&place)),
            tar::EntryType::Regular => {
                unpacked.bytes += entry.size();
                if unpacked.bytes > max_bytes {
                    return Err(io::Error::new(
                        io::ErrorKind::FileTooLarge,
                        format!("more than {max_bytes} bytes"),
                    ));
                }
                parents(target, &inside).and_then(|()| file(&place, mode, &mut entry))
            }
            tar::EntryType::Symlink => match entry.link_name()? {
                Some(link) if stays_inside(&inside, &link) => {
                    parents(target, &inside).and_then(|()| symlink(link, &place))
                }
                _ => Err(io::ErrorKind::InvalidInput.into()),
            },
            _ => Err(io::ErrorKind::InvalidInput.into()),
        };
        match made {
            Ok(()) => unpacked.entries += 1,
            // The archive is at fault: a link where a directory should be, two entries with one name, a device.
            Err(error) if is_the_archives(&error) => unpacked.left_out.push(path.display().to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(unpacked)
}

fn is_the_archives(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, InvalidInput, NotADirectory};
    matches!(error.kind(), AlreadyExists | InvalidInput | NotADirectory)
}

/// The path without `.`, when it neither goes up nor begins at the root.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

/// Whether a link at `inside` names a path in the directory: first it goes up, at most as far as it is deep, and then
/// down. A link that goes up after down could lead anywhere, because a component that it went down may be a link.
fn stays_inside(inside: &Path, link: &Path) -> bool {
    let mut depth = inside.components().count() - 1;
    let mut goes_down = false;
    for part in link.components() {
        match part {
            Component::Normal(_) => goes_down = true,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 && !goes_down => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// Makes the directories above. A link among them is never followed.
fn parents(target: &Path, inside: &Path) -> io::Result<()> {
    let mut above = target.to_owned();
    for name in inside.parent().into_iter().flat_map(Path::components) {
        above.push(name);
        directory(&above)?;
    }
    Ok(())
}

fn directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if fs::symlink_metadata(path)?.is_dir() {
                return Ok(());
            }
            Err(error)
        }
        made => made,
    }
}

fn file(path: &Path, mode: u32, content: &mut impl Read) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    io::copy(content, &mut file).map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tar::EntryType;

    use super::*;

    /// An archive as an attacker makes it: names and links are written without checks.
    fn archive(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (kind, name, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o4777);
            header.as_gnu_mut().expect("gnu").name[..name.len()].copy_from_slice(name.as_bytes());
            let data = if *kind == EntryType::Regular {
                content.as_bytes()
            } else {
                b""
            };
            if *kind != EntryType::Regular {
                header.as_gnu_mut().expect("gnu").linkname[..content.len()].copy_from_slice(content.as_bytes());
            }
            header.set_size(data.len() as u64);
            header.set_cksum();
            builder.append(&header, data).expect("in memory");
        }
        builder.into_inner().expect("in memory")
    }

    fn unpacked(entries: &[(EntryType, &str, &str)]) -> (tempfile::TempDir, io::Result<Unpacked>) {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes = archive(entries);
        let result = unpack(&bytes[..], &folder.path().join("target"), 1000);
        (folder, result)
    }

    #[test]
    fn nothing_gets_out_of_the_directory() {
        use EntryType::{Block, Char, Fifo, Link, Regular, Symlink};
        let (folder, result) = unpacked(&[
            (Regular, "../outside", "x"),
            (Regular, "/outside", "x"),
            (Regular, "a/../../outside", "x"),
            (Symlink, "up", "../.."),
            (Symlink, "root", "/etc"),
            (Symlink, "deep/up", "../../outside"),
            (Symlink, "inside", "sub"),
            (Symlink, "here", "."),
            (Symlink, "above", "here/.."),
            (Regular, "inside/through", "x"),
            (Link, "hard", "/etc/passwd"),
            (Char, "char", ""),
            (Block, "block", ""),
            (Fifo, "fifo", ""),
            (Regular, "good", "content"),
            (Regular, "good", "again"),
            (Symlink, "deep/link", "../good"),
        ]);
        let result = result.expect("what is bad is left out");
        assert_eq!((result.entries, result.left_out.len()), (4, 13), "{result:?}");
        let target = folder.path().join("target");
        assert_eq!(
            fs::read_dir(folder.path()).expect("readable").count(),
            1,
            "only the target"
        );
        assert_eq!(
            fs::read_to_string(target.join("deep/link")).expect("a link inside"),
            "content"
        );
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(target.join("good")).expect("there").permissions());
        assert_eq!(mode & 0o7000, 0, "no set-id bits");
    }

    #[test]
    fn more_than_wanted_is_refused() {
        let (_folder, result) = unpacked(&[(EntryType::Regular, "large", &"x".repeat(1001))]);
        assert_eq!(result.expect_err("too large").kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_place_that_exists_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = unpack(&archive(&[])[..], folder.path(), 1000).expect_err("it exists");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }

    fn name() -> impl Strategy<Value = String> {
        let part = prop_oneof![Just(".."), Just("."), Just("a"), Just("b"), Just("c")];
        (prop::bool::ANY, prop::collection::vec(part, 1..5))
            .prop_map(|(rooted, parts)| format!("{}{}", if rooted { "/" } else { "" }, parts.join("/")))
    }

    fn entry() -> impl Strategy<Value = (EntryType, String, String)> {
        let kind = prop_oneof![
            Just(EntryType::Regular),
            Just(EntryType::Directory),
            Just(EntryType::Symlink)
        ];
        (kind, name(), name())
    }

    proptest! {
        /// Whatever an archive contains, every path through the result stays inside it.
        #[test]
        fn everything_stays_inside(entries in prop::collection::vec(entry(), 0..12)) {
            let entries: Vec<_> = entries.iter().map(|(kind, name, content)| (*kind, name.as_str(), content.as_str())).collect();
            let (folder, result) = unpacked(&entries);
            prop_assert!(result.is_ok(), "{result:?}");
            prop_assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
            let target = folder.path().join("target").canonicalize().expect("it exists");
            let mut waiting = vec![target.clone()];
            while let Some(directory) = waiting.pop() {
                for found in fs::read_dir(directory).expect("readable").flatten() {
                    if let Ok(real) = found.path().canonicalize() {
                        prop_assert!(real.starts_with(&target), "{} is {}", found.path().display(), real.display());
                    }
                    if found.file_type().expect("known").is_dir() {
                        waiting.push(found.path());
                    }
                }
            }
        }
    }
}
