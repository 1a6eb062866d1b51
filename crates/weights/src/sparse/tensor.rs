//! The code of one tensor of 16-bit elements: the length of each block's code in bytes (u32, little endian), then the
//! codes. A block holds 65,536 elements, the last one the rest; unchanged blocks have length 0.

use std::ops::Range;

use super::blocks::{BLOCK_BYTES, Changes, ELEMENT_BYTES, decode_block, encode_block};

const LENGTH_BYTES: usize = 4;

/// The code of the change from `old` to `new`, little-endian 16-bit elements.
///
/// # Panics
/// When the lengths differ or are odd.
pub fn encode_tensor(old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut coded = CodedBlocks::default();
    coded.append(old, new);
    coded.finish()
}

/// Turns `data`, the old elements, into the new ones. After an error the content of `data` is unspecified.
///
/// # Errors
/// The rule that `code` breaks.
pub fn decode_tensor(code: &[u8], data: &mut [u8]) -> Result<(), &'static str> {
    let index = BlockIndex::parse(code, data.len())?;
    for (number, block) in data.chunks_mut(BLOCK_BYTES).enumerate() {
        decode_block(index.code(code, number), block)?;
    }
    Ok(())
}

/// Codes of consecutive blocks and their lengths.
#[derive(Default)]
pub(super) struct CodedBlocks {
    lengths: Vec<u32>,
    codes: Vec<u8>,
    changes: Changes,
}

impl CodedBlocks {
    /// Adds the blocks of a run of elements, which begins at a block's start.
    pub(super) fn append(&mut self, old: &[u8], new: &[u8]) {
        assert!(
            old.len() == new.len() && old.len().is_multiple_of(ELEMENT_BYTES),
            "tensors of one shape"
        );
        for (old, new) in old.chunks(BLOCK_BYTES).zip(new.chunks(BLOCK_BYTES)) {
            let before = self.codes.len();
            encode_block(old, new, &mut self.changes, &mut self.codes);
            let length = self.codes.len() - before;
            self.lengths
                .push(u32::try_from(length).expect("a block's code is short"));
        }
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.codes.is_empty()
    }

    pub(super) fn byte_len(&self) -> usize {
        self.lengths.len() * LENGTH_BYTES + self.codes.len()
    }

    fn finish(self) -> Vec<u8> {
        join(&[self])
    }
}

/// The code of the tensor that consists of `parts`.
pub(super) fn join(parts: &[CodedBlocks]) -> Vec<u8> {
    let mut code = Vec::with_capacity(parts.iter().map(CodedBlocks::byte_len).sum());
    for part in parts {
        code.extend(part.lengths.iter().flat_map(|length| length.to_le_bytes()));
    }
    for part in parts {
        code.extend_from_slice(&part.codes);
    }
    code
}

/// The position of each block's code in the code of a tensor.
pub(super) struct BlockIndex(Vec<usize>);

impl BlockIndex {
    /// Reads the positions from the code of a tensor of `data_bytes` bytes.
    pub(super) fn parse(code: &[u8], data_bytes: usize) -> Result<Self, &'static str> {
        let count = data_bytes.div_ceil(BLOCK_BYTES);
        let Some((lengths, codes)) = code.split_at_checked(count * LENGTH_BYTES) else {
            return Err("the code is shorter than the lengths of its blocks");
        };
        let mut bounds = Vec::with_capacity(count + 1);
        let mut position = lengths.len();
        bounds.push(position);
        for length in lengths.chunks_exact(LENGTH_BYTES) {
            let length = u32::from_le_bytes(length.try_into().expect("four bytes"));
            position = position.saturating_add(length as usize);
            bounds.push(position);
        }
        if position != lengths.len() + codes.len() {
            return Err("the lengths of the blocks do not add up to the code's");
        }
        Ok(Self(bounds))
    }

    pub(super) fn code<'a>(&self, code: &'a [u8], block: usize) -> &'a [u8] {
        &code[self.range(block)]
    }

    fn range(&self, block: usize) -> Range<usize> {
        self.0[block]..self.0[block + 1]
    }
}
