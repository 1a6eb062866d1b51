//! The content of the pipes between the daemon and a program.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prl_sandbox_proto::Output;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;

use super::output::Recorder;
use super::raised;
use crate::error::SandboxError;

const READ_BYTES: usize = 64 << 10;
/// Most programs write little, and many write nothing.
const FIRST_READ_BYTES: usize = 4 << 10;

/// Both output streams together, as the kill limit sees them.
#[derive(Debug)]
pub(crate) struct Flood {
    bytes: AtomicU64,
    limit: u64,
    pub(super) over: Notify,
}

impl Flood {
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            bytes: AtomicU64::new(0),
            limit,
            over: Notify::new(),
        })
    }

    /// Counts what was read.
    pub(crate) fn note(&self, length: usize) {
        let before = self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        if before <= self.limit && before + length as u64 > self.limit {
            self.over.notify_one();
        }
    }
}

/// A stream that is being recorded.
#[derive(Debug)]
pub(crate) struct Recording(oneshot::Receiver<(Output, bool)>);

impl Recording {
    /// The kept part of the stream, and whether bytes were dropped. Comes soon after `over`.
    pub(crate) async fn result(self) -> Result<(Output, bool), SandboxError> {
        let lost = |_| SandboxError::Protocol("a recording ended early".to_owned());
        self.0.await.map_err(lost)
    }
}

/// Records a stream to its end, or until `over` says that the program has ended: the bytes that are in the pipe at that
/// moment are the last. Bytes that other processes write later are read and thrown away, so that a full pipe stops none
/// of them.
pub(crate) fn record(
    fd: OwnedFd,
    limit: u64,
    flood: &Arc<Flood>,
    over: watch::Receiver<bool>,
) -> io::Result<Recording> {
    start(fd, limit, flood, over, true)
}

/// Records the part of a stream between now and `over`. Others read the parts before and after.
pub(crate) fn record_part(
    fd: OwnedFd,
    limit: u64,
    flood: &Arc<Flood>,
    over: watch::Receiver<bool>,
) -> io::Result<Recording> {
    start(fd, limit, flood, over, false)
}

/// `drained`: bytes behind the recorded part are read and thrown away.
fn start(
    fd: OwnedFd,
    limit: u64,
    flood: &Arc<Flood>,
    over: watch::Receiver<bool>,
    drained: bool,
) -> io::Result<Recording> {
    // The descriptor is one of `pipes`: it needs no check and no flags.
    let pipe = pipe::Receiver::from_owned_fd_unchecked(fd)?;
    let flood = Arc::clone(flood);
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(async move {
        let (recorded, open) = listen(&pipe, limit, &flood, over).await;
        // The receiver may be gone.
        let _unwanted = sender.send(recorded);
        if open && drained {
            let mut buffer = vec![0; READ_BYTES];
            while read(&pipe, &mut buffer).await > 0 {}
        }
    });
    Ok(Recording(receiver))
}

/// Reads to the end or until `over`. Returns the kept part, whether bytes were dropped, and whether the pipe is still
/// open.
async fn listen(
    pipe: &pipe::Receiver,
    limit: u64,
    flood: &Flood,
    mut over: watch::Receiver<bool>,
) -> ((Output, bool), bool) {
    let mut recorder = Recorder::new(limit);
    let mut buffer = vec![0; FIRST_READ_BYTES];
    let mut open = true;
    while open {
        tokio::select! {
            read = read(pipe, &mut buffer) => match read {
                0 => open = false,
                length => {
                    recorder.push(buffer.get(..length).unwrap_or_default());
                    flood.note(length);
                    if length == buffer.len() {
                        buffer.resize(READ_BYTES, 0);
                    }
                    tokio::task::yield_now().await;
                }
            },
            () = raised(&mut over) => break,
        }
    }
    for part in rest(pipe, &mut buffer) {
        recorder.push(&part);
        flood.note(part.len());
    }
    let overflowed = recorder.overflowed();
    ((recorder.finish(), overflowed), open)
}

/// The next bytes of a pipe; 0 at its end. May be dropped and called again without loss.
pub(crate) async fn read(pipe: &pipe::Receiver, buffer: &mut [u8]) -> usize {
    loop {
        match pipe.try_read(buffer) {
            Ok(length) => return length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if pipe.readable().await.is_err() {
                    return 0;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::error!(%error, "cannot read a program's output");
                return 0;
            }
        }
    }
}

/// The bytes that are in a pipe at this moment. The kernel is asked: tokio's readiness may lag behind the writer.
pub(crate) fn rest(pipe: &pipe::Receiver, buffer: &mut [u8]) -> Vec<Vec<u8>> {
    let mut waiting: libc::c_int = 0;
    // SAFETY: a live int.
    let asked = unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut waiting) };
    let mut left = if asked < 0 {
        0
    } else {
        usize::try_from(waiting).unwrap_or(0)
    };
    let mut parts = Vec::new();
    while left > 0 {
        let wanted = left.min(buffer.len());
        let copied = pipe.as_fd().try_clone_to_owned().map(std::fs::File::from);
        let read = copied.and_then(|mut file| io::Read::read(&mut file, buffer.get_mut(..wanted).unwrap_or_default()));
        match read {
            Ok(length) if length > 0 => {
                parts.push(buffer.get(..length).unwrap_or_default().to_vec());
                left -= length;
            }
            _ => break,
        }
    }
    parts
}

/// Writes the input, as far as the program takes it.
pub(crate) fn feed(fd: OwnedFd, bytes: bytes::Bytes) -> io::Result<JoinHandle<()>> {
    let mut pipe = pipe::Sender::from_owned_fd_unchecked(fd)?;
    Ok(tokio::spawn(async move {
        // A program may leave its input unread, or end before it has read all of it.
        let _closed = pipe.write_all(&bytes).await;
    }))
}
