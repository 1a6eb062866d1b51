//! A connection to a port on a box's loopback: init opens the socket there, and the daemon passes the bytes on.

use std::io;
use std::net::TcpStream as BlockingStream;
use std::time::Duration;

use bytes::BytesMut;
use prl_sandbox_guest::wire::{Event, OpenSocket, Order};
use prl_sandbox_proto::{Chunk, DialRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::Call;
use crate::error::SandboxError;

const CONNECT: Duration = Duration::from_secs(10);
const CHUNK_BYTES: usize = 64 << 10;
/// Chunks that may wait for a slow caller. When they are full, the program's output waits in its socket.
const MAX_WAITING: usize = 8;

type Chunks = mpsc::Sender<Result<Chunk, Status>>;

/// Connects to a port of the box.
///
/// # Errors
/// `Invalid`: the number is not a port. `Unreachable`: no program listens there.
pub(crate) async fn connect(held: &Call, port: u32) -> Result<TcpStream, SandboxError> {
    if !(1..=65_535).contains(&port) {
        return Err(SandboxError::Invalid(format!("{port} is no port")));
    }
    held.needs_namespaces("a network in the process tier")?;
    let unreachable = |error: io::Error| SandboxError::Unreachable {
        port,
        reason: error.to_string(),
    };
    let mut exchange = held
        .mux
        .call(Order::Open(OpenSocket { port, listen: false }), Vec::new())
        .await?;
    let socket = match exchange.event().await {
        Some((Event::Socket(_), mut fds)) => fds.pop(),
        Some((Event::Failed(failure), _)) => {
            return Err(unreachable(io::Error::from_raw_os_error(failure.errno)));
        }
        Some((other, _)) => return Err(SandboxError::Protocol(format!("{other:?} for a socket"))),
        None => return Err(SandboxError::InitDied),
    };
    let socket = socket.ok_or_else(|| SandboxError::Protocol("a socket without a descriptor".to_owned()))?;
    let stream = TcpStream::from_std(BlockingStream::from(socket)).map_err(unreachable)?;
    // The connection has begun. When the socket can be written to, it is connected or has an error.
    let connected = async {
        stream.writable().await?;
        stream.take_error()?.map_or(Ok(()), Err)
    };
    let timed_out = || Err(io::ErrorKind::TimedOut.into());
    timeout(CONNECT, connected)
        .await
        .unwrap_or_else(|_| timed_out())
        .map_err(unreachable)?;
    Ok(stream)
}

/// Passes bytes both ways until the program has ended its side, or the caller hangs up.
pub(crate) fn relay(
    held: Call,
    stream: TcpStream,
    first: bytes::Bytes,
    incoming: Streaming<DialRequest>,
) -> ReceiverStream<Result<Chunk, Status>> {
    let (chunks, outgoing) = mpsc::channel(MAX_WAITING);
    tokio::spawn(async move {
        let (reader, writer) = stream.into_split();
        let up = async {
            // A program may stop reading and still send, so an error while sending to it ends nothing.
            let sent = send(writer, first, incoming).await;
            if sent.is_ok() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = receive(reader, &chunks) => {}
            () = up => {}
            () = chunks.closed() => {}
        }
        drop(held);
    });
    ReceiverStream::new(outgoing)
}

/// Passes the caller's bytes to the program. An error means that the caller is gone.
async fn send(
    mut writer: OwnedWriteHalf,
    first: bytes::Bytes,
    mut incoming: Streaming<DialRequest>,
) -> Result<(), Status> {
    let mut open = writer.write_all(&first).await.is_ok();
    while let Some(message) = incoming.message().await? {
        open = open && writer.write_all(&message.data).await.is_ok();
    }
    if open {
        // The program may have closed its side meanwhile.
        let _closed = writer.shutdown().await;
    }
    Ok(())
}

async fn receive(mut reader: OwnedReadHalf, chunks: &Chunks) {
    loop {
        let mut buffer = BytesMut::with_capacity(CHUNK_BYTES);
        let chunk = match reader.read_buf(&mut buffer).await {
            Ok(0) => return,
            Ok(_) => Ok(Chunk { data: buffer.freeze() }),
            Err(error) => Err(Status::aborted(format!("the connection broke: {error}"))),
        };
        let broken = chunk.is_err();
        if chunks.send(chunk).await.is_err() || broken {
            return;
        }
    }
}
