//! The daemon's end of one sandbox: its control socket, pipes, groups and the pidfd of its init.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use prost::Message;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::cgroup::Group;
use crate::sys::pidfd_kill;
use crate::wire::{self, Event, FromInit, Order, ToInit};

/// A sandbox that no program has run in, or runs in now; it is never used twice.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) control: Control,
    /// Taken by the run.
    pub(crate) stdio: Option<Stdio>,
    pub(crate) group: Group,
    pub(crate) init: Init,
    /// User number, given back when the sandbox is gone.
    pub(crate) uid: Uid,
}

/// The daemon's ends of the program's standard streams.
#[derive(Debug)]
pub(crate) struct Stdio {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// A user number that no other live sandbox has.
#[derive(Debug)]
pub(crate) struct Uid {
    pub(crate) number: u32,
    pub(crate) free: std::sync::Weak<std::sync::Mutex<Vec<u32>>>,
}

impl Drop for Uid {
    fn drop(&mut self) {
        if let Some(free) = self.free.upgrade() {
            free.lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push(self.number);
        }
    }
}

/// The process that is the sandbox's pid 1.
#[derive(Debug)]
pub(crate) struct Init {
    pidfd: AsyncFd<OwnedFd>,
}

impl Init {
    pub(crate) fn new(pidfd: OwnedFd) -> io::Result<Self> {
        // SAFETY: an OwnedFd always gives the same descriptor and keeps it open.
        let pidfd = unsafe { AsyncFd::register(pidfd) }.map_err(io::Error::from)?;
        Ok(Self { pidfd })
    }

    /// Ends the sandbox with everything in it.
    pub(crate) fn kill(&self) {
        // Failing means that it is gone, which is what is wanted.
        let _gone = pidfd_kill(self.pidfd.get_ref().as_fd());
    }

    /// Returns when the process has ended; the kernel has then killed everything in its namespace.
    pub(crate) async fn ended(&self) -> io::Result<()> {
        self.pidfd.readable().await.map(|_guard| ())
    }
}

/// Framed messages to and from init.
#[derive(Debug)]
pub(crate) struct Control {
    stream: UnixStream,
    received: Vec<u8>,
}

impl Control {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            received: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, order: Order) -> io::Result<()> {
        self.stream
            .write_all(&wire::frame(&ToInit { order: Some(order) }))
            .await
    }

    /// The next event; `None` when init has closed its end. May be dropped and called again without loss.
    pub(crate) async fn receive(&mut self) -> io::Result<Option<Event>> {
        loop {
            if let Some((prefix, rest)) = self.received.split_first_chunk() {
                let length = wire::body_length(*prefix)?;
                if rest.len() >= length {
                    let mut body = self.received.split_off(4);
                    self.received = body.split_off(length);
                    let message = FromInit::decode(bytes::Bytes::from(body)).map_err(io::Error::other)?;
                    return Ok(message.event);
                }
            }
            match self.stream.read_buf(&mut self.received).await {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Sandbox {
    /// Ends it, waits until nothing of it is left and removes its groups.
    pub(crate) async fn destroy(self) {
        let Self {
            control,
            stdio,
            group,
            init,
            uid,
        } = self;
        init.kill();
        drop((control, stdio));
        if let Err(error) = init.ended().await {
            tracing::error!(%error, "cannot wait for an init");
        }
        if let Err(error) = group.remove().await {
            tracing::error!(%error, "cannot remove a sandbox's cgroup");
        }
        drop(uid);
    }
}
