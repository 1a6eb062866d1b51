//! Ports on this machine's loopback that lead to ports of a held sandbox.
//!
//! Any process that can open connections on this machine can use such a port as long as it is open.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::DialRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::sandbox_box::{Held, SandboxBox};
use crate::ClientError;

/// Most connections at the same time; further ones wait.
const MAX_CONNECTIONS: usize = 256;
const READ_BYTES: usize = 64 << 10;
/// Most messages that wait for the daemon; then the local side waits.
const WAITING_MESSAGES: usize = 8;
/// Pause after a failed accept, for example when there are no free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// An open port. Dropping it closes the port and every connection through it.
#[derive(Debug)]
pub struct PortForward {
    address: SocketAddr,
    _end: DropGuard,
}

impl PortForward {
    /// The address of the port, on 127.0.0.1.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl SandboxBox {
    /// Opens a port of this machine's loopback that leads to `port` of the box's loopback. Must be called within a tokio runtime.
    ///
    /// It is not checked whether a program listens there: a connection that cannot be made is reset.
    ///
    /// # Errors
    /// [`ClientError::Local`]: no port is free. [`ClientError::Closed`], [`ClientError::Refused`]: the box is gone.
    pub fn forward_port(&self, port: u16) -> Result<PortForward, ClientError> {
        if let Some(outcome) = self.held.ending()? {
            return Err(outcome.into());
        }
        let bound = || -> io::Result<(TcpListener, SocketAddr)> {
            let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((TcpListener::from_std(listener)?, address))
        };
        let (listener, address) = bound().map_err(|source| ClientError::Local {
            path: "a port on 127.0.0.1".to_owned(),
            source,
        })?;
        let end = CancellationToken::new();
        let (held, ended) = (Arc::clone(&self.held), end.clone());
        tokio::spawn(async move {
            let closing = held.shared.closing.clone();
            tokio::select! {
                () = accept(listener, held, port) => {}
                () = ended.cancelled() => {}
                () = closing.cancelled() => {}
            }
        });
        Ok(PortForward {
            address,
            _end: end.drop_guard(),
        })
    }
}

/// Accepts connections until this future is dropped, which ends the connections too.
async fn accept(listener: TcpListener, held: Arc<Held>, port: u16) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let held = Arc::clone(&held);
                connections.spawn(async move {
                    if let Err(reason) = carry(stream, &held, port).await {
                        tracing::debug!(port, %reason, "a connection into a box ended");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection was not accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Carries bytes both ways until both sides have ended, or one broke. A broken connection is reset, not ended, so that the
/// caller does not mistake it for a complete answer.
async fn carry(mut stream: TcpStream, held: &Held, port: u16) -> Result<(), String> {
    let carried = exchange(&mut stream, held, port).await;
    if carried.is_err() {
        // This fails when the connection is reset already.
        let _ = stream.set_zero_linger();
    }
    carried
}

async fn exchange(stream: &mut TcpStream, held: &Held, port: u16) -> Result<(), String> {
    let connection = held.connection().await.map_err(|error| error.to_string())?;
    let (messages, waiting) = mpsc::channel(WAITING_MESSAGES);
    let first = DialRequest {
        r#box: held.id().to_owned(),
        port: port.into(),
        ..DialRequest::default()
    };
    messages.send(first).await.map_err(|error| error.to_string())?;
    let dialled = connection.boxes().dial(ReceiverStream::new(waiting)).await;
    let mut incoming = dialled.map_err(|status| status.to_string())?.into_inner();
    let (mut read, mut write) = stream.split();
    let out = async move {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let length = read.read(&mut buffer).await.map_err(|error| error.to_string())?;
            if length == 0 {
                // Dropping the sender ends the input of the box's side.
                return Ok::<_, String>(());
            }
            let data = bytes::Bytes::copy_from_slice(&buffer[..length]);
            let message = DialRequest {
                data,
                ..DialRequest::default()
            };
            if messages.send(message).await.is_err() {
                return Ok(());
            }
        }
    };
    let back = async move {
        while let Some(chunk) = incoming.message().await.map_err(|status| status.to_string())? {
            write.write_all(&chunk.data).await.map_err(|error| error.to_string())?;
        }
        write.shutdown().await.map_err(|error| error.to_string())
    };
    tokio::try_join!(out, back).map(drop)
}
