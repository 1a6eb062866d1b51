//! Messages with descriptors, for async tasks, over a local socket that keeps message boundaries.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use prl_sandbox_guest::sys::{check, receive_with_fds, send_with_fds, set_nonblocking, socket_pair};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// One end of such a socket.
#[derive(Debug)]
pub(crate) struct Packets(AsyncFd<OwnedFd>);

impl Packets {
    /// Makes a socket. Returns this end and the other, for another process.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socket_pair(libc::SOCK_SEQPACKET)?;
        set_nonblocking(ours.as_fd())?;
        // SAFETY: an OwnedFd always gives the same descriptor and keeps it open.
        let ours = unsafe { AsyncFd::register(ours) }.map_err(io::Error::from)?;
        Ok((Self(ours), theirs))
    }

    /// Sends one message as a whole.
    pub(crate) async fn send(&self, message: &[u8], fds: &[RawFd]) -> io::Result<()> {
        self.0
            .async_io(Interest::WRITABLE, |socket| {
                send_with_fds(socket.as_raw_fd(), message, fds)
            })
            .await
            .map(|_| ())
    }

    /// The next message, of at most `most` bytes; `None` when the other end is closed.
    pub(crate) async fn receive(&self, most: usize) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
        let mut buffer = vec![0; most];
        let received = self
            .0
            .async_io(Interest::READABLE, |socket| {
                receive_with_fds(socket.as_raw_fd(), &mut buffer)
            })
            .await;
        match received {
            // An empty message looks the same as the end.
            Ok((0, _)) if self.is_closed()? => Ok(None),
            Ok((length, fds)) => {
                buffer.truncate(length);
                Ok(Some((buffer, fds)))
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_closed(&self) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.0.get_ref().as_raw_fd(),
            events: 0,
            revents: 0,
        };
        // SAFETY: one live pollfd.
        check(unsafe { libc::poll(&raw mut poll, 1, 0) })?;
        Ok(poll.revents & libc::POLLHUP != 0)
    }
}
