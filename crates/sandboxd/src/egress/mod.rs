//! The ways out of a box, all of them in the daemon: a proxy for the names of the allow-list, and forwards to single
//! services, which the daemon or the caller reaches.
//!
//! A box has no network but its loopback. Init makes listening sockets there and hands them to the daemon, which
//! accepts on them although it is in the machine's network. So nothing is routed, and a program reaches only the
//! destinations that the daemon connects it to. The proxy speaks HTTP (CONNECT and absolute form) and SOCKS5 on one
//! port and resolves names itself. It does not inspect the content: a program can send anything to an allowed host.

mod address;
mod handover;
mod http;
mod policy;
mod reach;
mod request;
mod socks;

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use handover::{Handover, Line};
pub(crate) use policy::Policy;
pub(crate) use reach::{Reach, Service};
pub(crate) use request::{Grants, NetworkPlan, add_missing};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::accept::Failures;

/// How many connections a listener serves at a time; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 64;
/// How long a program may take to send its request.
const GREETING: Duration = Duration::from_secs(10);
const BUFFER_BYTES: usize = 32 << 10;
static FAILURES: Failures = Failures::new("a box's programs");

/// The traffic in and out of one box. When it is dropped, every connection ends.
#[derive(Debug, Default)]
pub(crate) struct Egress {
    listeners: JoinSet<()>,
}

impl Egress {
    /// Serves the proxy on a listening socket of the box. Returns its port.
    pub(crate) fn proxy(&mut self, listener: OwnedFd, reach: Reach) -> io::Result<u16> {
        self.serve(listener, move |stream| greet(stream, reach.clone()))
    }

    /// Connects every client of a listening socket of the box with one service. Returns its port.
    pub(crate) fn forward(&mut self, listener: OwnedFd, to: Service) -> io::Result<u16> {
        self.serve(listener, move |stream| {
            let to = to.clone();
            async move {
                match to.connect().await {
                    Ok(target) => relay(stream, target).await,
                    Err(error) => tracing::debug!(%error, ?to, "cannot forward"),
                }
            }
        })
    }

    /// Hands every client of a listening socket of the box to the caller. Returns its port.
    pub(crate) fn hand_over(&mut self, listener: OwnedFd, to: Arc<Handover>, listen: u16) -> io::Result<u16> {
        self.serve(listener, move |stream| Arc::clone(&to).serve(stream, listen))
    }

    fn serve<F>(&mut self, listener: OwnedFd, handle: impl Fn(TcpStream) -> F + Send + 'static) -> io::Result<u16>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = std::net::TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let port = listener.local_addr()?.port();
        self.listeners.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                while connections.len() >= MAX_CONNECTIONS {
                    connections.join_next().await;
                }
                while connections.try_join_next().is_some() {}
                match listener.accept().await {
                    Ok((stream, _)) => {
                        connections.spawn(handle(stream));
                    }
                    Err(error) => FAILURES.pause(&error).await,
                }
            }
        });
        Ok(port)
    }
}

/// Finds out by the first byte which protocol a program uses: SOCKS5 begins with its version, HTTP with a letter.
async fn greet(stream: TcpStream, reach: Reach) {
    let mut first = [0];
    match timeout(GREETING, stream.peek(&mut first)).await {
        Ok(Ok(1)) if first == [socks::VERSION] => socks::serve(stream, reach).await,
        Ok(Ok(1)) => http::serve(stream, reach).await,
        _ => {}
    }
}

/// Passes bytes both ways, and the end of each direction, until both have ended or one failed.
pub(crate) async fn relay(mut a: impl AsyncRead + AsyncWrite + Unpin, mut b: impl AsyncRead + AsyncWrite + Unpin) {
    let ended = copy_bidirectional_with_sizes(&mut a, &mut b, BUFFER_BYTES, BUFFER_BYTES).await;
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of a box broke");
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
