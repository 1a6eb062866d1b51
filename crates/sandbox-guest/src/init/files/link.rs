//! The helper's end of its socket.

use std::io;
use std::os::fd::RawFd;

use bytes::Bytes;

use crate::init::CONTROL;
use crate::sys::{receive_with_fds, send_with_fds};
use crate::wire::files::{Answer, FromHelper, ToHelper};
use crate::wire::{Inbox, frame};

/// The socket, which blocks until the daemon reads or closes it.
pub(super) struct Link {
    inbox: Inbox,
    ended: bool,
}

impl Link {
    pub(super) const FD: RawFd = CONTROL;

    /// `keep_only` put the socket at this number.
    pub(super) fn at_its_number() -> Self {
        Self {
            inbox: Inbox::default(),
            ended: false,
        }
    }

    pub(super) fn answer(&mut self, answer: Answer) -> io::Result<()> {
        let bytes = frame(&FromHelper { answer: Some(answer) });
        let mut sent = 0;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            sent += send_with_fds(Self::FD, rest, &[])?;
        }
        Ok(())
    }

    /// The next part of the content that the daemon sends; `None` at its end. A socket that closes before that is an
    /// error.
    pub(super) fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if self.ended {
                return Ok(None);
            }
            if let Some((message, _)) = self.inbox.take::<ToHelper>()? {
                self.ended = message.end;
                if message.data.is_empty() {
                    continue;
                }
                return Ok(Some(message.data));
            }
            let mut buffer = vec![0; super::CHUNK_BYTES];
            let (length, _) = receive_with_fds(Self::FD, &mut buffer)?;
            if length == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "it was given up before its end",
                ));
            }
            self.inbox.put(buffer.get(..length).unwrap_or_default(), Vec::new());
        }
    }
}
