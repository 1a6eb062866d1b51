//! The bytes of one carried connection (`Boxes.Carry`), the same at both ends: a local stream on one side, pieces on the
//! other.
//!
//! Many connections share one line between a client and a daemon, and untrusted programs are at the end of some. So
//! pieces are always taken off the line at once, and a receiver that does not read stops only its sender: each side sends at
//! most [`WINDOW_BYTES`] that the other has not reported as taken, and keeps no more than that for a slow destination. Each
//! direction ends separately, as in TCP.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_stream::{Stream, StreamExt};
use tonic::Status;

use crate::Piece;

/// Most bytes in each direction that were sent and not yet reported as taken.
pub const WINDOW_BYTES: usize = 256 << 10;
/// Most pieces that wait for the line. When they are there, the local stream waits.
pub const WAITING_PIECES: usize = 4;
const PIECE_BYTES: usize = 32 << 10;

/// Why a connection did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The pieces ended before both directions had ended.
    #[error("the other end is gone")]
    Gone,
    /// The line between client and daemon broke.
    #[error("the line broke: {0}")]
    Line(#[source] Box<Status>),
    /// The other end does not keep to the protocol.
    #[error("the other end sent {0}")]
    Protocol(&'static str),
    /// The local stream failed.
    #[error("the local connection broke: {0}")]
    Local(#[from] io::Error),
}

/// Carries bytes both ways until both directions have ended.
///
/// What was put into `outgoing` is complete then, but not yet sent. On an error both ends should reset their local streams, so
/// that a cut is never taken for an end.
///
/// # Errors
/// The connection did not come to its end.
pub async fn carry<S, I>(stream: &mut S, incoming: &mut I, outgoing: &mpsc::Sender<Piece>) -> Result<(), Broken>
where
    S: AsyncRead + AsyncWrite + Unpin,
    I: Stream<Item = Result<Piece, Status>> + Unpin,
{
    let (reader, writer) = split(stream);
    let (credit, inbox) = (Credit::default(), Inbox::default());
    let both = async { tokio::try_join!(send(reader, &credit, outgoing), deliver(writer, &inbox, outgoing)) };
    tokio::select! {
        ended = both => ended.map(drop),
        broken = receive(incoming, &credit, &inbox) => Err(broken),
    }
}

/// What this side may still send.
struct Credit {
    left: Semaphore,
    /// Bytes that were sent and not yet taken.
    out: AtomicUsize,
    /// The local stream has ended, and that was sent.
    is_ended: AtomicBool,
}

impl Default for Credit {
    fn default() -> Self {
        Self {
            left: Semaphore::new(WINDOW_BYTES),
            out: AtomicUsize::new(0),
            is_ended: AtomicBool::new(false),
        }
    }
}

impl Credit {
    async fn spend(&self, bytes: usize) -> Result<(), Broken> {
        let count = u32::try_from(bytes).map_err(|_| Broken::Protocol("too large a piece"))?;
        // The semaphore is never closed.
        let spent = self.left.acquire_many(count).await.map_err(|_| Broken::Gone)?;
        spent.forget();
        self.out.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn restore(&self, bytes: usize) -> Result<(), Broken> {
        if bytes > self.out.load(Ordering::Relaxed) {
            return Err(Broken::Protocol("a report of more bytes than it got"));
        }
        self.out.fetch_sub(bytes, Ordering::Relaxed);
        self.left.add_permits(bytes);
        Ok(())
    }
}

/// What has arrived and was not yet taken.
#[derive(Default)]
struct Inbox {
    state: Mutex<Arrived>,
    changed: Notify,
}

#[derive(Default)]
struct Arrived {
    data: BytesMut,
    /// Bytes in `data` and those that are being written.
    untaken: usize,
    is_ended: bool,
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, Arrived> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, piece: &Piece) -> Result<(), Broken> {
        let mut state = self.state();
        if state.is_ended && (piece.end || !piece.data.is_empty()) {
            return Err(Broken::Protocol("something after its end"));
        }
        state.untaken += piece.data.len();
        if state.untaken > WINDOW_BYTES {
            return Err(Broken::Protocol("more than may be on the way"));
        }
        state.data.extend_from_slice(&piece.data);
        state.is_ended |= piece.end;
        self.changed.notify_one();
        Ok(())
    }

    /// The bytes that have arrived; `None` at the end.
    async fn next(&self) -> Option<BytesMut> {
        loop {
            {
                let mut state = self.state();
                if !state.data.is_empty() {
                    return Some(state.data.split());
                }
                if state.is_ended {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    fn taken(&self, bytes: usize) {
        self.state().untaken -= bytes;
    }
}

/// Sends what the local stream gives, and its end.
async fn send(
    mut reader: impl AsyncRead + Unpin,
    credit: &Credit,
    outgoing: &mpsc::Sender<Piece>,
) -> Result<(), Broken> {
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let length = reader.read(&mut buffer).await?;
        credit.spend(length).await?;
        let piece = Piece {
            // A copy, so that a short piece does not keep a long buffer.
            data: Bytes::copy_from_slice(&buffer[..length]),
            end: length == 0,
            ..Piece::default()
        };
        outgoing.send(piece).await.map_err(|_| Broken::Gone)?;
        if length == 0 {
            credit.is_ended.store(true, Ordering::Relaxed);
            return Ok(());
        }
    }
}

/// Writes what arrives to the local stream, reports it as taken, and ends the stream at the end.
async fn deliver(
    mut writer: impl AsyncWrite + Unpin,
    inbox: &Inbox,
    outgoing: &mpsc::Sender<Piece>,
) -> Result<(), Broken> {
    while let Some(data) = inbox.next().await {
        writer.write_all(&data).await?;
        writer.flush().await?;
        inbox.taken(data.len());
        let report = Piece {
            taken: u32::try_from(data.len()).map_err(|_| Broken::Protocol("too large a piece"))?,
            ..Piece::default()
        };
        // Nothing waits for the report when the line is gone, and `receive` notices that where it matters.
        let _reported = outgoing.send(report).await.is_ok();
    }
    Ok(writer.shutdown().await?)
}

/// Takes pieces off the line until it ends, and waits for nothing else.
async fn receive(
    incoming: &mut (impl Stream<Item = Result<Piece, Status>> + Unpin),
    credit: &Credit,
    inbox: &Inbox,
) -> Broken {
    loop {
        let piece = match incoming.next().await {
            Some(Ok(piece)) => piece,
            // Both ends have sent everything, and the last bytes are being written here.
            Some(Err(_)) | None if credit.is_ended.load(Ordering::Relaxed) && inbox.state().is_ended => {
                return std::future::pending().await;
            }
            Some(Err(status)) => return Broken::Line(Box::new(status)),
            None => return Broken::Gone,
        };
        // A report is at most the window, so it fits.
        let restored = credit.restore(piece.taken.try_into().unwrap_or(usize::MAX));
        if let Err(broken) = restored.and_then(|()| inbox.add(&piece)) {
            return broken;
        }
    }
}

#[cfg(test)]
mod tests;
