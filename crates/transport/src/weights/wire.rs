//! Encodes and decodes a chunk as the `prl.transport.v1.Chunk` message of gRPC without copying its bytes: sent bytes stay where they
//! were read, received bytes stay in their frames. tonic's codec would copy them into a buffer on both sides.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::{Message, decode_length_delimiter, encode_length_delimiter};
use tonic::Status;

use crate::chunk::CHUNK_BYTES;
use crate::pb;

/// gRPC's prefix of a message: whether it is compressed (one byte), its length (four, big endian).
const PREFIX_BYTES: usize = 5;
/// Most bytes of a message without its data.
const MAX_FIELDS_BYTES: usize = 64;

// Keys of the fields: number and wire type.
const FILE: usize = 1 << 3;
const OFFSET: usize = 2 << 3;
const DATA: usize = 3 << 3 | LENGTH_DELIMITED;
const PREFIX_DIGEST: usize = 4 << 3 | FIXED64;
const WIRE_TYPE: usize = 7;
const FIXED64: usize = 1;
const LENGTH_DELIMITED: usize = 2;

/// A received chunk.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Arrived {
    pub(crate) file: usize,
    pub(crate) offset: u64,
    /// The bytes in order.
    pub(crate) data: Vec<Bytes>,
    pub(crate) prefix_digest: u64,
}

impl Arrived {
    pub(crate) fn bytes(&self) -> usize {
        self.data.iter().map(Bytes::len).sum()
    }
}

/// The message in two parts; the second is the chunk's data.
pub(crate) fn message(chunk: &pb::Chunk) -> Result<[Bytes; 2], Status> {
    let pb::Chunk {
        file,
        offset,
        ref data,
        prefix_digest,
    } = *chunk;
    let mut fields = BytesMut::with_capacity(PREFIX_BYTES + MAX_FIELDS_BYTES);
    fields.put_bytes(0, PREFIX_BYTES);
    let others = pb::Chunk {
        data: Bytes::new(),
        file,
        offset,
        prefix_digest,
    };
    let unencodable = |error: &dyn std::error::Error| Status::internal(format!("a chunk cannot be encoded: {error}"));
    others.encode(&mut fields).map_err(|error| unencodable(&error))?;
    encode_length_delimiter(DATA, &mut fields).map_err(|error| unencodable(&error))?;
    encode_length_delimiter(data.len(), &mut fields).map_err(|error| unencodable(&error))?;
    let length = u32::try_from(fields.len() - PREFIX_BYTES + data.len()).map_err(|error| unencodable(&error))?;
    fields[1..PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok([fields.freeze(), data.clone()])
}

/// Reads messages from the pieces of a body, wherever these begin and end.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    waiting: Pieces,
}

impl Messages {
    pub(crate) fn push(&mut self, piece: Bytes) {
        self.waiting.push(piece);
    }

    /// Whether no part of a message is here.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.length == 0
    }

    /// The next message, if it is complete.
    pub(crate) fn next(&mut self) -> Result<Option<Arrived>, Status> {
        let Some(prefix) = self.waiting.peek::<PREFIX_BYTES>() else {
            return Ok(None);
        };
        let [compressed, length @ ..] = prefix;
        let length = u32::from_be_bytes(length) as usize;
        if compressed != 0 || length > CHUNK_BYTES as usize + MAX_FIELDS_BYTES {
            return Err(malformed());
        }
        if self.waiting.length < PREFIX_BYTES + length {
            return Ok(None);
        }
        self.waiting.advance(PREFIX_BYTES);
        decode(self.waiting.split_front(length)).map(Some)
    }
}

/// Decodes by protobuf's rules: fields in any order, the last of equal ones counts, unknown ones are skipped.
fn decode(mut message: Pieces) -> Result<Arrived, Status> {
    let mut arrived = Arrived::default();
    while message.has_remaining() {
        match varint(&mut message)? {
            FILE => arrived.file = varint(&mut message)?,
            OFFSET => arrived.offset = varint(&mut message)? as u64,
            DATA => {
                let length = varint(&mut message)?;
                arrived.data = part(&mut message, length)?.pieces.into();
            }
            PREFIX_DIGEST => arrived.prefix_digest = part(&mut message, size_of::<u64>())?.get_u64_le(),
            unknown => {
                match unknown & WIRE_TYPE {
                    0 => _ = varint(&mut message)?,
                    FIXED64 => _ = part(&mut message, 8)?,
                    LENGTH_DELIMITED => {
                        let length = varint(&mut message)?;
                        part(&mut message, length)?;
                    }
                    5 => _ = part(&mut message, 4)?,
                    _ => return Err(malformed()),
                };
            }
        }
    }
    Ok(arrived)
}

fn varint(message: &mut Pieces) -> Result<usize, Status> {
    decode_length_delimiter(message).map_err(|_| malformed())
}

fn part(message: &mut Pieces, length: usize) -> Result<Pieces, Status> {
    if length > message.length {
        return Err(malformed());
    }
    Ok(message.split_front(length))
}

fn malformed() -> Status {
    Status::data_loss("the message is no chunk")
}

/// Bytes in pieces; none of them is empty.
#[derive(Debug, Default)]
struct Pieces {
    pieces: VecDeque<Bytes>,
    length: usize,
}

impl Pieces {
    fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.length += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// The first `N` bytes, if there are so many.
    fn peek<const N: usize>(&self) -> Option<[u8; N]> {
        let mut first = [0; N];
        let mut bytes = self.pieces.iter().flatten();
        for byte in &mut first {
            *byte = *bytes.next()?;
        }
        Some(first)
    }

    /// The first `length` bytes; there are as many.
    fn split_front(&mut self, length: usize) -> Self {
        let mut taken = Self::default();
        while taken.length < length {
            let Some(mut piece) = self.pieces.pop_front() else {
                break;
            };
            let wanted = length - taken.length;
            if piece.len() > wanted {
                self.pieces.push_front(piece.split_off(wanted));
            }
            taken.push(piece);
        }
        self.length -= taken.length;
        taken
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.length
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| piece)
    }

    fn advance(&mut self, count: usize) {
        assert!(count <= self.length, "advanced beyond the end");
        self.split_front(count);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunks() -> impl Strategy<Value = pb::Chunk> {
        let number = prop_oneof![Just(0), Just(1), any::<u64>()];
        let data = prop::collection::vec(any::<u8>(), 0..400);
        (any::<u32>(), number.clone(), data, number).prop_map(|(file, offset, data, prefix_digest)| pb::Chunk {
            file,
            offset,
            data: data.into(),
            prefix_digest,
        })
    }

    fn arrived(chunk: &pb::Chunk) -> Arrived {
        Arrived {
            file: chunk.file as usize,
            offset: chunk.offset,
            data: vec![chunk.data.clone()],
            prefix_digest: chunk.prefix_digest,
        }
    }

    /// The chunk with its data in one piece.
    fn joined(chunk: Arrived) -> Arrived {
        Arrived {
            data: vec![chunk.data.concat().into()],
            ..chunk
        }
    }

    fn framed(message: &[u8]) -> Vec<u8> {
        let length = u32::try_from(message.len()).expect("a short message");
        [&[0], &length.to_be_bytes()[..], message].concat()
    }

    fn cut(bytes: &[u8], at: &[prop::sample::Index]) -> Vec<Bytes> {
        let mut ends: Vec<usize> = at.iter().map(|index| index.index(bytes.len() + 1)).collect();
        ends.extend([0, bytes.len()]);
        ends.sort_unstable();
        ends.windows(2)
            .map(|ends| Bytes::copy_from_slice(&bytes[ends[0]..ends[1]]))
            .collect()
    }

    proptest! {
        #[test]
        fn prost_reads_our_messages(chunk in chunks()) {
            let [fields, data] = message(&chunk).expect("encoded");
            let bytes = [fields, data].concat();
            prop_assert_eq!(bytes.len() - PREFIX_BYTES, u32::from_be_bytes(bytes[1..5].try_into().expect("four")) as usize);
            prop_assert_eq!(pb::Chunk::decode(&bytes[PREFIX_BYTES..]).expect("a message"), chunk);
        }

        #[test]
        fn messages_of_prost_are_read_however_they_are_cut(
            sent in prop::collection::vec(chunks(), 1..4),
            at in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let body: Vec<u8> = sent.iter().flat_map(|chunk| framed(&chunk.encode_to_vec())).collect();
            let mut messages = Messages::default();
            let mut came = Vec::new();
            for piece in cut(&body, &at) {
                messages.push(piece);
                while let Some(chunk) = messages.next().expect("well formed") {
                    came.push(joined(chunk));
                }
            }
            prop_assert!(messages.is_empty());
            prop_assert_eq!(came, sent.iter().map(arrived).collect::<Vec<_>>());
        }

        #[test]
        fn other_bytes_are_refused_or_read_as_prost_does(mut bytes in prop::collection::vec(any::<u8>(), 0..60), key in any::<prop::sample::Index>()) {
            // Most first bytes are keys that exist.
            if let Some(first) = bytes.first_mut() {
                *first = *key.get(&[0x08, 0x10, 0x1a, 0x21, 0x28, 0x31, 0x3a, 0x45, *first]);
            }
            let mut messages = Messages::default();
            messages.push(framed(&bytes).into());
            if let (Ok(Some(ours)), Ok(theirs)) = (messages.next(), pb::Chunk::decode(&bytes[..])) {
                prop_assert_eq!(joined(Arrived { file: ours.file as u32 as usize, ..ours }), arrived(&theirs));
            }
        }
    }

    #[test]
    fn a_message_longer_than_a_chunk_is_refused_before_it_is_here() {
        let mut messages = Messages::default();
        messages.push(Bytes::from_static(&[0, 0x7f, 0, 0, 0]));
        assert_eq!(messages.next().expect_err("too long").code(), tonic::Code::DataLoss);
    }
}
