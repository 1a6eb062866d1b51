//! The daemon's end of the spawner's socket.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use prl_sandbox_guest::sys::{receive_with_fds, send_with_fds};
use prl_sandbox_guest::wire::{Spawn, Spawned};
use prost::Message;
use tokio::task::spawn_blocking;

use crate::error::SandboxError;

/// The spawner ends when the last copy is dropped.
#[derive(Debug)]
pub(crate) struct SpawnerLink {
    /// Locked while an order and its answer are on the socket.
    socket: Arc<Mutex<OwnedFd>>,
}

impl SpawnerLink {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self {
            socket: Arc::new(Mutex::new(socket)),
        }
    }

    /// Sends one order to the spawner and returns its answer. The spawner only clones, but a clone can wait a third of a
    /// second for locks of a busy kernel. So a thread for blocking calls waits for it: a thread of the executor that
    /// waits here stops the timers too, by which running programs are watched.
    pub(super) async fn order(&self, spawn: Spawn, descriptors: Vec<OwnedFd>) -> Result<(i32, OwnedFd), SandboxError> {
        let socket = Arc::clone(&self.socket);
        let exchanged = spawn_blocking(move || {
            let socket = socket.lock().unwrap_or_else(PoisonError::into_inner);
            exchange(&socket, &spawn, &descriptors)
        });
        exchanged
            .await
            .unwrap_or_else(|error| Err(SandboxError::Spawner(error.to_string())))
    }
}

/// One order and its answer: the pid and pidfd of the new process.
fn exchange(socket: &OwnedFd, spawn: &Spawn, descriptors: &[OwnedFd]) -> Result<(i32, OwnedFd), SandboxError> {
    let gone = |error: io::Error| match error.raw_os_error() {
        Some(libc::EMFILE) => SandboxError::Setup {
            step: "take over what the spawner made".to_owned(),
            source: error,
        },
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
