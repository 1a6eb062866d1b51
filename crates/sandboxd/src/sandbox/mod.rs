//! The daemon's end of one sandbox: its control socket, groups and the pidfd of its init.

mod factory;
mod mux;
mod packets;
mod pipes;
mod spawner_link;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_guest::sys::{has_ended, pidfd_signal, receive_with_fds, send_with_fds};
use prl_sandbox_guest::wire::{self, Event, FromInit, Inbox, OpenSocket, Order, ToInit};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;

use crate::cgroup::Group;
use crate::error::SandboxError;

pub(crate) use factory::{Factory, FactoryOptions};
pub(crate) use mux::{Exchange, Mux};
pub(crate) use packets::Packets;
pub(crate) use pipes::{Pipes, pipes};
use spawner_link::SpawnerLink;

/// Init makes a socket at once.
const OPEN_DEADLINE: Duration = Duration::from_secs(10);
/// How long an init may take to end everything.
const GENTLE_DEADLINE: Duration = Duration::from_secs(10);
/// The buffer is on the stack, and only while bytes are read.
const RECEIVE_BYTES: usize = 8 << 10;

/// A sandbox in which no program has run, or in which its only program runs. It is never used twice.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) orders: Orders,
    pub(crate) events: Events,
    pub(crate) group: Group,
    pub(crate) init: Init,
    /// The user number, which becomes free when the sandbox is gone.
    pub(crate) uid: Uid,
    /// The streams of the program that was executed in advance: our ends, and the guest's.
    pub(crate) streams: Option<Pipes>,
}

/// A user number that no other live sandbox has.
#[derive(Debug)]
pub(crate) struct Uid {
    pub(crate) number: u32,
    pub(crate) free: std::sync::Weak<std::sync::Mutex<Vec<u32>>>,
}

impl Drop for Uid {
    /// The owner that drops the number has seen the end of the last process of this user.
    fn drop(&mut self) {
        if let Some(free) = self.free.upgrade() {
            free.lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push(self.number);
        }
    }
}

/// The process that is the sandbox's pid 1, or in the process tier the ancestor of all others.
#[derive(Debug)]
pub(crate) struct Init {
    pidfd: AsyncFd<OwnedFd>,
    /// Its end does not end the other processes, so it must be asked to end them first.
    gently: bool,
}

impl Init {
    pub(crate) fn new(pidfd: OwnedFd, gently: bool) -> io::Result<Self> {
        // SAFETY: an OwnedFd always gives the same descriptor and keeps it open.
        let pidfd = unsafe { AsyncFd::register(pidfd) }.map_err(io::Error::from)?;
        Ok(Self { pidfd, gently })
    }

    /// Its pid in the daemon's view.
    pub(crate) fn pid(&self) -> io::Result<i32> {
        let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", self.pidfd.get_ref().as_raw_fd()))?;
        let number = text
            .lines()
            .find_map(|line| line.strip_prefix("Pid:")?.trim().parse().ok());
        // -1: it has ended.
        number
            .filter(|pid| *pid > 0)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Ends the sandbox with all its processes.
    pub(crate) fn kill(&self) {
        if !self.gently {
            return signal(self.pidfd.get_ref(), libc::SIGKILL);
        }
        signal(self.pidfd.get_ref(), libc::SIGTERM);
        match self.pidfd.get_ref().try_clone() {
            Ok(pidfd) => {
                tokio::spawn(async move {
                    tokio::time::sleep(GENTLE_DEADLINE).await;
                    // Mostly it is gone by then. The spawner ends the processes that it leaves.
                    signal(&pidfd, libc::SIGKILL);
                });
            }
            Err(error) => tracing::error!(%error, "cannot wait for the end of an init"),
        }
    }

    /// Whether it has not ended.
    pub(crate) fn lives(&self) -> bool {
        !has_ended(self.pidfd.get_ref().as_fd())
    }

    /// Returns when the process has ended, and with it all processes of the sandbox.
    pub(crate) async fn ended(&self) -> io::Result<()> {
        self.pidfd.readable().await.map(|_guard| ())
    }
}

fn signal(pidfd: &OwnedFd, signal: libc::c_int) {
    // An error means that the process is gone already.
    let _gone = pidfd_signal(pidfd.as_fd(), signal);
}

/// Orders to init.
#[derive(Debug)]
pub(crate) struct Orders(Arc<UnixStream>);

/// Events of init.
#[derive(Debug)]
pub(crate) struct Events {
    stream: Arc<UnixStream>,
    inbox: Inbox,
}

/// The two directions of a control socket.
pub(crate) fn control(socket: UnixStream) -> (Orders, Events) {
    let stream = Arc::new(socket);
    let events = Events {
        stream: Arc::clone(&stream),
        inbox: Inbox::default(),
    };
    (Orders(stream), events)
}

impl Orders {
    /// Sends one order with its descriptors. It must not be dropped halfway: init could not read the next order.
    pub(crate) async fn send(&mut self, id: u64, order: Order, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = wire::frame(&ToInit {
            id,
            descriptors: u32::try_from(descriptors.len()).map_err(io::Error::other)?,
            order: Some(order),
        });
        let mut raw: Vec<_> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
        let mut sent = 0;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            self.0.writable().await?;
            match self
                .0
                .try_io(Interest::WRITABLE, || send_with_fds(self.0.as_raw_fd(), rest, &raw))
            {
                Ok(length) => {
                    sent += length;
                    raw.clear();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Events {
    /// The next event with the id of its order and its descriptors; `None` when init has closed its end. May be dropped
    /// and called again without loss.
    pub(crate) async fn receive(&mut self) -> io::Result<Option<(u64, Event, Vec<OwnedFd>)>> {
        loop {
            if let Some((message, descriptors)) = self.inbox.take::<FromInit>()? {
                let event = message.event.ok_or(io::ErrorKind::InvalidData)?;
                return Ok(Some((message.id, event, descriptors)));
            }
            self.stream.readable().await?;
            let (stream, inbox) = (&self.stream, &mut self.inbox);
            let received = stream.try_io(Interest::READABLE, || {
                let mut buffer = [0; RECEIVE_BYTES];
                let (length, descriptors) = receive_with_fds(stream.as_raw_fd(), &mut buffer)?;
                inbox.put(buffer.get(..length).unwrap_or_default(), descriptors);
                Ok(length)
            });
            match received {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Sandbox {
    /// Opens sockets on the sandbox's loopback, in the given order. Call it only while no other order is under way.
    pub(crate) async fn open(&mut self, wanted: Vec<OpenSocket>) -> Result<Vec<OwnedFd>, SandboxError> {
        let failed = |step: &str, source| SandboxError::Setup {
            step: step.to_owned(),
            source,
        };
        let mut opened = Vec::new();
        for socket in wanted {
            let answer = tokio::time::timeout(OPEN_DEADLINE, async {
                self.orders.send(0, Order::Open(socket), &[]).await?;
                self.events.receive().await
            });
            match answer.await {
                Ok(Ok(Some((_, Event::Socket(_), fds)))) => opened.extend(fds),
                Ok(Ok(Some((_, Event::Failed(failure), _)))) => {
                    let source = io::Error::from_raw_os_error(failure.errno);
                    return Err(failed(&failure.step, source));
                }
                Ok(Ok(Some((_, other, _)))) => return Err(SandboxError::Protocol(format!("{other:?} for a socket"))),
                Ok(Ok(None)) => return Err(SandboxError::InitDied),
                Ok(Err(source)) => return Err(failed("ask init for a socket", source)),
                Err(_) => return Err(failed("wait for a socket", io::ErrorKind::TimedOut.into())),
            }
        }
        Ok(opened)
    }

    /// Ends the sandbox, waits until its processes are gone, and gives its groups back.
    pub(crate) async fn destroy(self) {
        let Self {
            orders,
            events,
            group,
            init,
            uid,
            streams,
        } = self;
        init.kill();
        drop((orders, events, streams));
        if let Err(error) = init.ended().await {
            tracing::error!(%error, "cannot wait for an init");
        }
        if let Err(error) = group.retire().await {
            tracing::error!(%error, "cannot remove a sandbox's cgroup");
        }
        drop(uid);
    }
}
