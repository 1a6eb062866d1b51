//! Init's end of its control socket.

use std::io;
use std::os::fd::RawFd;

use crate::sys::{receive_with_fds, send_with_fds};
use crate::wire::{Event, FromInit, Inbox, frame};

/// The number of the control socket.
pub(in crate::init) const CONTROL: RawFd = 3;
/// The buffer is on the stack: touching heap memory for the first time costs more than a second read.
const RECEIVE_BYTES: usize = 8 << 10;

/// The control socket, at its fixed number.
#[derive(Default)]
pub(super) struct Control {
    pub(super) inbox: Inbox,
}

impl Control {
    pub(super) fn send(&self, id: u64, event: Event) -> io::Result<()> {
        self.send_with(id, event, &[])
    }

    pub(super) fn send_with(&self, id: u64, event: Event, fds: &[RawFd]) -> io::Result<()> {
        let bytes = frame(&FromInit {
            id,
            descriptors: u32::try_from(fds.len()).unwrap_or(0),
            event: Some(event),
        });
        write(&bytes, fds)
    }

    /// Sends several events of one order, in a row.
    pub(super) fn send_all(&self, id: u64, events: impl IntoIterator<Item = Event>) -> io::Result<()> {
        let frames = events.into_iter().map(|event| {
            frame(&FromInit {
                id,
                descriptors: 0,
                event: Some(event),
            })
        });
        write(&frames.flatten().collect::<Vec<u8>>(), &[])
    }

    /// Reads the bytes that have arrived.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        let mut buffer = [0; RECEIVE_BYTES];
        let (length, fds) = receive_with_fds(CONTROL, &mut buffer)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.inbox.put(buffer.get(..length).unwrap_or_default(), fds);
        Ok(())
    }
}

fn write(bytes: &[u8], fds: &[RawFd]) -> io::Result<()> {
    let mut sent = send_with_fds(CONTROL, bytes, fds)?;
    while sent < bytes.len() {
        sent += send_with_fds(CONTROL, bytes.get(sent..).unwrap_or_default(), &[])?;
    }
    Ok(())
}
