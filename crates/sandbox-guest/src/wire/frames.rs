//! Messages as frames on a control socket.
//!
//! A frame is a length (u32, little endian) and that many bytes of one protobuf message, with the descriptors that the
//! message counts. Both ends are ours and the guest never holds the socket, so a frame that cannot be read is an error
//! of the daemon, never of the program.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use bytes::{Buf, BytesMut};
use prost::Message;

/// Largest frame, in bytes: the largest request and its envelope.
const MAX_FRAME_BYTES: usize = (160 << 20) + (1 << 20);

/// Smallest step, in bytes, in which the buffer of an incomplete frame grows.
const MIN_GROWTH_BYTES: usize = 64 << 10;

/// A message that says how many descriptors travel with it.
pub trait Envelope: Message + Default {
    fn descriptors(&self) -> u32;
}

/// One message as a frame.
pub fn frame(message: &impl Message) -> Vec<u8> {
    let body = message.encoded_len();
    let mut bytes = Vec::with_capacity(4 + body);
    bytes.extend_from_slice(&u32::try_from(body).unwrap_or(u32::MAX).to_le_bytes());
    // A Vec grows as needed, so this cannot fail.
    let _room = message.encode(&mut bytes);
    bytes
}

/// Received bytes and descriptors that are not yet taken. Descriptors come with the first byte of their frame, so they
/// are here no later than the frame, and in the order of the frames.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: BytesMut,
    descriptors: VecDeque<OwnedFd>,
}

impl Inbox {
    /// Adds the result of one receive.
    pub fn put(&mut self, bytes: &[u8], descriptors: Vec<OwnedFd>) {
        self.bytes.extend_from_slice(bytes);
        self.descriptors.extend(descriptors);
    }

    /// Takes the first message when it is complete.
    pub fn take<M: Envelope>(&mut self) -> io::Result<Option<(M, Vec<OwnedFd>)>> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let Some(prefix) = self.bytes.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes(*prefix))
            .ok()
            .filter(|length| *length <= MAX_FRAME_BYTES)
            .ok_or_else(|| invalid("frame too long"))?;
        if self.bytes.len() < 4 + length {
            // A length alone is no reason for so much memory: the buffer grows with what has come.
            let missing = 4 + length - self.bytes.len();
            self.bytes.reserve(missing.min(self.bytes.len().max(MIN_GROWTH_BYTES)));
            return Ok(None);
        }
        self.bytes.advance(4);
        let message = M::decode(self.bytes.split_to(length).freeze()).map_err(|error| invalid(&error.to_string()))?;
        let wanted = usize::try_from(message.descriptors()).unwrap_or(usize::MAX);
        if wanted > self.descriptors.len() {
            return Err(invalid("descriptors are missing"));
        }
        Ok(Some((message, self.descriptors.drain(..wanted).collect())))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use proptest::prelude::*;

    use super::*;
    use crate::sys::{pipe, receive_with_fds, send_with_fds, socket_pair};
    use crate::wire::{Order, Program, Start, ToInit};

    proptest! {
        /// However the stream is cut into pieces, the messages and their descriptors are those that were sent.
        #[test]
        fn messages_survive_any_cut(
            orders in prop::collection::vec((any::<u64>(), 0_usize..4, 0_usize..3000), 1..12),
            cut in 1_usize..5000,
        ) {
            let (ours, theirs) = socket_pair(libc::SOCK_STREAM)?;
            let mut inbox = Inbox::default();
            let mut buffer = vec![0; cut];
            let mut next = 0;
            for (id, count, length) in &orders {
                let descriptors = (0..*count).map(|_| pipe()).collect::<io::Result<Vec<_>>>()?;
                let raw: Vec<_> = descriptors.iter().map(|(end, _)| end.as_raw_fd()).collect();
                let program = Program { cwd: "x".repeat(*length), ..Program::default() };
                let order = Order::Start(Start { program, ..Start::default() });
                let message = ToInit { id: *id, descriptors: u32::try_from(*count)?, order: Some(order) };
                send_with_fds(ours.as_raw_fd(), &frame(&message), &raw)?;
                loop {
                    if let Some((message, received)) = inbox.take::<ToInit>()? {
                        prop_assert_eq!(message.id, orders[next].0);
                        prop_assert_eq!(received.len(), orders[next].1);
                        next += 1;
                        break;
                    }
                    let (got, received) = receive_with_fds(theirs.as_raw_fd(), &mut buffer)?;
                    inbox.put(&buffer[..got], received);
                }
            }
            prop_assert_eq!(next, orders.len());
        }

        #[test]
        fn a_length_alone_takes_no_memory(length in 0..=MAX_FRAME_BYTES) {
            let mut inbox = Inbox::default();
            inbox.put(&u32::try_from(length)?.to_le_bytes(), Vec::new());
            prop_assert!(inbox.take::<ToInit>().is_ok());
            prop_assert!(inbox.bytes.capacity() <= 4 * MIN_GROWTH_BYTES);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut inbox = Inbox::default();
            inbox.put(&bytes, Vec::new());
            while let Ok(Some(_)) = inbox.take::<ToInit>() {}
        }
    }
}
