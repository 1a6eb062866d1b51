//! The daemon's end of the spawner's socket.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prl_sandbox_guest::sys::{receive_with_fds, send_with_fds};
use prl_sandbox_guest::wire::{Spawn, Spawned};
use prost::Message;
use tokio::task::spawn_blocking;

use crate::error::SandboxError;

/// The spawner ends when the last copy is dropped, and when an exchange failed: an answer that comes too late would be
/// taken for that of the next order.
#[derive(Debug)]
pub(crate) struct SpawnerLink {
    /// Locked while an order and its answer are on the socket.
    socket: Arc<Mutex<UnixStream>>,
}

impl SpawnerLink {
    /// `socket`: of packets. `deadline`: a spawner that takes longer for an answer hangs.
    pub(super) fn new(socket: OwnedFd, deadline: Duration) -> io::Result<Self> {
        let socket = UnixStream::from(socket);
        socket.set_read_timeout(Some(deadline))?;
        socket.set_write_timeout(Some(deadline))?;
        Ok(Self {
            socket: Arc::new(Mutex::new(socket)),
        })
    }

    /// Sends one order to the spawner and returns its answer. The spawner only clones, but a clone can wait a third of a
    /// second for locks of a busy kernel. So a thread for blocking calls waits for it: a thread of the executor that
    /// waits here stops the timers too, by which running programs are watched.
    ///
    /// # Errors
    /// `Spawner` when the link is broken, now and at every later call.
    pub(super) async fn order(&self, spawn: Spawn, descriptors: Vec<OwnedFd>) -> Result<(i32, OwnedFd), SandboxError> {
        let socket = Arc::clone(&self.socket);
        let exchanged = spawn_blocking(move || {
            let socket = socket.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = exchange(&socket, &spawn, &descriptors);
            if matches!(answer, Err(SandboxError::Spawner(_))) {
                // An error means that the spawner has closed it.
                let _closed = socket.shutdown(Shutdown::Both);
            }
            answer
        });
        exchanged
            .await
            .unwrap_or_else(|error| Err(SandboxError::Spawner(error.to_string())))
    }
}

/// One order and its answer: the pid and pidfd of the new process.
fn exchange(socket: &UnixStream, spawn: &Spawn, descriptors: &[OwnedFd]) -> Result<(i32, OwnedFd), SandboxError> {
    let gone = |error: io::Error| match error.raw_os_error() {
        Some(libc::EMFILE) => SandboxError::Setup {
            step: "take over what the spawner made".to_owned(),
            source: error,
        },
        // So a socket says that its deadline has passed.
        Some(libc::EAGAIN) => SandboxError::Spawner("it did not answer in time".to_owned()),
        _ => SandboxError::Spawner(error.to_string()),
    };
    let raw: Vec<_> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    send_with_fds(socket.as_raw_fd(), &spawn.encode_to_vec(), &raw).map_err(gone)?;
    let mut buffer = [0; 256];
    let (length, mut received) = receive_with_fds(socket.as_raw_fd(), &mut buffer).map_err(gone)?;
    if length == 0 {
        return Err(SandboxError::Spawner("it closed its socket".to_owned()));
    }
    let reply = Spawned::decode(buffer.get(..length).unwrap_or_default())
        .map_err(|error| SandboxError::Protocol(error.to_string()))?;
    match received.pop() {
        Some(pidfd) if reply.pid > 0 => Ok((reply.pid, pidfd)),
        _ => Err(SandboxError::Setup {
            step: "clone".to_owned(),
            source: io::Error::from_raw_os_error(reply.pid.wrapping_neg()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use prl_sandbox_guest::sys::socket_pair;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_comes_too_late_is_not_that_of_the_next_order() {
        let (ours, theirs) = socket_pair(libc::SOCK_SEQPACKET).unwrap();
        let link = SpawnerLink::new(ours, Duration::from_millis(50)).unwrap();
        let reason = |answer: Result<_, SandboxError>| match answer {
            Err(SandboxError::Spawner(reason)) => reason,
            other => panic!("{other:?}"),
        };
        let late = reason(link.order(Spawn::default(), Vec::new()).await);
        assert_eq!(late, "it did not answer in time");

        let mut order = [0; 256];
        receive_with_fds(theirs.as_raw_fd(), &mut order).unwrap();
        let (end, _) = receive_with_fds(theirs.as_raw_fd(), &mut order).unwrap();
        assert_eq!(end, 0, "the spawner sees that it has to end");
        let answer = Spawned { pid: 7 }.encode_to_vec();
        send_with_fds(theirs.as_raw_fd(), &answer, &[theirs.as_raw_fd()]).unwrap_err();
        reason(link.order(Spawn::default(), Vec::new()).await);
    }
}
