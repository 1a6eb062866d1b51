//! The code of one block: which of its 16-bit elements changed, and by how much.
//!
//! A block is at most [`BLOCK_ELEMENTS`] little-endian elements. Unchanged, its code is empty. Otherwise: one byte `k`,
//! the number of changes minus one (u16, little endian), and a bit stream, least significant bit first, padded with
//! zeros to whole bytes. Per change, in ascending order:
//!
//! - the unchanged elements skipped, Rice code of parameter `k`: quotient in unary (zeros, then a one), `k` low bits;
//! - the difference of the bit patterns, `new - old` modulo 2^16 as a signed number: its magnitude in Elias' gamma code
//!   (n zeros, a one, the n bits below the leading one), then one bit that is set when it is negative.
//!
//! Positions of a training step are close to random, for which Rice codes are within a few percent of the entropy;
//! most differences are one step of the last place, which costs two bits. It knows nothing of floats: any 16-bit
//! pattern is restored exactly.

pub(crate) const ELEMENT_BYTES: usize = 2;
/// Positions in a block fit 16 bits, and a block with its base and its code fits a core's L2 cache.
pub(crate) const BLOCK_ELEMENTS: usize = 1 << 16;
pub(crate) const BLOCK_BYTES: usize = BLOCK_ELEMENTS * ELEMENT_BYTES;

const HEADER_BYTES: usize = 3;
const MAX_RICE_PARAMETER: u32 = 15;
/// Bits of the longest code of a difference, 2^15.
const MAX_DIFFERENCE_BITS: u64 = 32;
/// Bytes that are compared at once: as many elements as fit a register.
const WORD_BYTES: usize = 8;
const WORD_ELEMENTS: usize = WORD_BYTES / ELEMENT_BYTES;
const ELEMENT_BITS: u32 = 16;

/// The changes of a block, kept between blocks so that nothing is allocated.
#[derive(Default)]
pub(crate) struct Changes {
    found: Vec<Change>,
    /// Indices of the words that differ; the list is as long as a block has words.
    words: Vec<u16>,
}

struct Change {
    /// Unchanged elements since the last change.
    gap: u16,
    /// New bit pattern minus the old one.
    difference: i16,
}

/// Appends the code of the change from `old` to `new`, blocks of equal length, to `code`.
pub(crate) fn encode_block(old: &[u8], new: &[u8], changes: &mut Changes, code: &mut Vec<u8>) {
    debug_assert!(old.len() == new.len() && old.len() <= BLOCK_BYTES && old.len().is_multiple_of(ELEMENT_BYTES));
    changes.find(old, new);
    let changes = &changes.found;
    let Some(count_minus_one) = changes.len().checked_sub(1) else {
        return;
    };
    let count_minus_one = u16::try_from(count_minus_one).expect("at most one change per element");
    let (k, gap_bits) = rice_parameter(changes);
    code.push(u8::try_from(k).expect("at most 15"));
    code.extend_from_slice(&count_minus_one.to_le_bytes());
    let mut writer = BitWriter::new(code, gap_bits + changes.len() as u64 * MAX_DIFFERENCE_BITS);
    for &Change { gap, difference } in changes {
        let gap = u32::from(gap);
        let (quotient, head_bits) = (gap >> k, 1 + k);
        let head = 1 | u64::from(gap & ((1 << k) - 1)) << 1;
        let magnitude = u32::from(difference.unsigned_abs());
        let below = magnitude.ilog2();
        let low = magnitude & !(1 << below);
        let tail = (u64::from(low) << 1 | u64::from(difference < 0) << (1 + below) | 1) << below;
        let tail_bits = 2 * below + 2;
        // Nearly always both the quotient and the difference are small.
        let bits = quotient + head_bits + tail_bits;
        if bits <= 32 {
            writer.push((tail << head_bits | head) << quotient, bits);
        } else {
            writer.zeros(quotient);
            writer.push(head, head_bits);
            writer.push(tail, tail_bits);
        }
    }
    writer.finish();
}

impl Changes {
    fn find(&mut self, old: &[u8], new: &[u8]) {
        self.found.clear();
        let (old_words, old_rest) = old.as_chunks::<WORD_BYTES>();
        let (new_words, new_rest) = new.as_chunks::<WORD_BYTES>();
        // A processor cannot predict which words differ, so there is no branch: each index is stored, and stays if the word differs.
        self.words.resize(BLOCK_BYTES / WORD_BYTES, 0);
        let mut differing = 0;
        for (index, (old, new)) in (0u16..).zip(old_words.iter().zip(new_words)) {
            self.words[differing] = index;
            differing += usize::from(old != new);
        }
        let mut next = 0;
        for number in 0..differing {
            let word = usize::from(self.words[number]);
            let (old, new) = (u64::from_le_bytes(old_words[word]), u64::from_le_bytes(new_words[word]));
            next = self.find_in(word * WORD_ELEMENTS, next, old, new);
        }
        let rest = |bytes: &[u8]| {
            let mut word = [0; WORD_BYTES];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        self.find_in(old_words.len() * WORD_ELEMENTS, next, rest(old_rest), rest(new_rest));
    }

    /// Finds the changes within a word, whose lowest bits are element `first`; `next` is the element after the last
    /// change. Returns the new `next`.
    #[inline(always)]
    fn find_in(&mut self, first: usize, mut next: usize, old: u64, new: u64) -> usize {
        let mut differing = old ^ new;
        while differing != 0 {
            let lane = differing.trailing_zeros() / ELEMENT_BITS;
            let shift = lane * ELEMENT_BITS;
            #[expect(clippy::cast_possible_truncation, reason = "one element of the word")]
            let difference = ((new >> shift) as u16)
                .wrapping_sub((old >> shift) as u16)
                .cast_signed();
            let position = first + lane as usize;
            #[expect(clippy::cast_possible_truncation, reason = "a block has at most 2^16 elements")]
            let gap = (position - next) as u16;
            self.found.push(Change { gap, difference });
            next = position + 1;
            differing &= !(u64::from(u16::MAX) << shift);
        }
        next
    }
}

/// The parameter that gives the shortest code of the gaps, searched around the one that fits the mean; and the length of that
/// code in bits.
fn rice_parameter(changes: &[Change]) -> (u32, u64) {
    let count = changes.len() as u64;
    let sum: u64 = changes.iter().map(|change| u64::from(change.gap)).sum();
    let guess = (sum / count + 1).ilog2();
    let bits = |k: u32| {
        let quotients: u64 = changes.iter().map(|change| u64::from(change.gap >> k)).sum();
        quotients + count * u64::from(1 + k)
    };
    (guess.saturating_sub(1)..=(guess + 1).min(MAX_RICE_PARAMETER))
        .map(|k| (k, bits(k)))
        .min_by_key(|&(_, bits)| bits)
        .expect("the range is not empty")
}

/// Turns `data`, the old elements of a block, into the new ones. After an error the content of `data` is unspecified.
///
/// # Errors
/// The rule that `code` breaks.
pub(crate) fn decode_block(code: &[u8], data: &mut [u8]) -> Result<(), &'static str> {
    if code.is_empty() {
        return Ok(());
    }
    let Some((&[k, low, high], stream)) = code.split_first_chunk::<HEADER_BYTES>() else {
        return Err("the code of a block is shorter than its header");
    };
    let k = u32::from(k);
    if k > MAX_RICE_PARAMETER {
        return Err("the Rice parameter is above 15");
    }
    let elements = data.len() / ELEMENT_BYTES;
    let count = usize::from(u16::from_le_bytes([low, high])) + 1;
    let mut reader = BitReader::new(stream);
    let mut next = 0;
    for _ in 0..count {
        let quotient = reader.unary((elements >> k) as u64)?;
        let gap = usize::try_from(quotient << k | reader.take(k)?).map_err(|_| "a gap overflows")?;
        let position = next + gap;
        if position >= elements {
            return Err("a change lies behind the end of its block");
        }
        let below = u32::try_from(reader.unary(15)?).map_err(|_| "a difference overflows")?;
        let tail = reader.take(below + 1)?;
        let magnitude = 1 << below | (tail & ((1 << below) - 1));
        let magnitude = u16::try_from(magnitude).map_err(|_| "a difference overflows")?;
        let negative = tail >> below == 1;
        let bytes = &mut data[position * ELEMENT_BYTES..][..ELEMENT_BYTES];
        let old = u16::from_le_bytes([bytes[0], bytes[1]]);
        let new = if negative {
            old.wrapping_sub(magnitude)
        } else {
            old.wrapping_add(magnitude)
        };
        bytes.copy_from_slice(&new.to_le_bytes());
        next = position + 1;
    }
    reader.finish()
}

/// Writes whole words and advances by whole bytes, so that no branch depends on how full a byte is.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Position in `out` of the bits that are held.
    position: usize,
    bits: u64,
    held: u32,
}

impl<'a> BitWriter<'a> {
    /// Appends to `out`; at most `bits` bits will be written.
    fn new(out: &'a mut Vec<u8>, bits: u64) -> Self {
        let position = out.len();
        let bytes = usize::try_from(bits / 8).expect("a block's code fits memory");
        out.resize(position + bytes + 2 * size_of::<u64>(), 0);
        Self {
            out,
            position,
            bits: 0,
            held: 0,
        }
    }

    /// Appends the `count` low bits of `value`, at most 32; its other bits are 0.
    fn push(&mut self, value: u64, count: u32) {
        debug_assert!(count <= 32 && value >> count == 0);
        self.bits |= value << self.held;
        self.held += count;
        self.out[self.position..][..size_of::<u64>()].copy_from_slice(&self.bits.to_le_bytes());
        self.position += (self.held / 8) as usize;
        self.bits >>= self.held & !7;
        self.held %= 8;
    }

    fn zeros(&mut self, mut count: u32) {
        while count > 32 {
            self.push(0, 32);
            count -= 32;
        }
        self.push(0, count);
    }

    fn finish(self) {
        self.out.truncate(self.position + usize::from(self.held > 0));
    }
}

const ENDS_EARLY: &str = "the bit stream ends too early";

struct BitReader<'a> {
    rest: &'a [u8],
    bits: u64,
    held: u32,
}

impl<'a> BitReader<'a> {
    fn new(stream: &'a [u8]) -> Self {
        Self {
            rest: stream,
            bits: 0,
            held: 0,
        }
    }

    /// Reads on until it holds at least 32 bits, or all that are left.
    fn refill(&mut self) {
        if self.held >= 32 {
            return;
        }
        if let Some((word, rest)) = self.rest.split_first_chunk::<4>() {
            self.bits |= u64::from(u32::from_le_bytes(*word)) << self.held;
            self.held += 32;
            self.rest = rest;
            return;
        }
        for &byte in self.rest {
            self.bits |= u64::from(byte) << self.held;
            self.held += 8;
        }
        self.rest = &[];
    }

    /// Counts the zeros before the next one bit and takes both; more than `limit` zeros are an error.
    fn unary(&mut self, limit: u64) -> Result<u64, &'static str> {
        let mut zeros = 0;
        loop {
            self.refill();
            if self.held == 0 {
                return Err(ENDS_EARLY);
            }
            let found = self.bits.trailing_zeros().min(self.held);
            zeros += u64::from(found);
            if zeros > limit {
                return Err("a number in unary is longer than it can be");
            }
            if found < self.held {
                self.drop(found + 1);
                return Ok(zeros);
            }
            self.drop(found);
        }
    }

    /// The next `count` bits, at most 32.
    fn take(&mut self, count: u32) -> Result<u64, &'static str> {
        self.refill();
        if self.held < count {
            return Err(ENDS_EARLY);
        }
        let value = self.bits & ((1 << count) - 1);
        self.drop(count);
        Ok(value)
    }

    fn drop(&mut self, count: u32) {
        self.bits = self.bits.checked_shr(count).unwrap_or(0);
        self.held -= count;
    }

    /// Checks that only the zeros are left that pad the last byte.
    fn finish(&self) -> Result<(), &'static str> {
        if self.rest.is_empty() && self.held < 8 && self.bits == 0 {
            return Ok(());
        }
        Err("bytes are left over after the last change")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(old: &[u8], new: &[u8]) -> Vec<u8> {
        let mut code = Vec::new();
        encode_block(old, new, &mut Changes::default(), &mut code);
        code
    }

    fn bytes(elements: &[u16]) -> Vec<u8> {
        elements.iter().flat_map(|element| element.to_le_bytes()).collect()
    }

    fn round_trip(old: &[u16], new: &[u16]) -> usize {
        let (old, new) = (bytes(old), bytes(new));
        let code = encode(&old, &new);
        let mut data = old;
        decode_block(&code, &mut data).unwrap();
        assert_eq!(data, new);
        code.len()
    }

    #[test]
    fn an_unchanged_block_costs_nothing() {
        assert_eq!(round_trip(&[1, 2, 3], &[1, 2, 3]), 0);
        assert_eq!(round_trip(&[], &[]), 0);
    }

    #[test]
    fn full_blocks_with_changes_at_both_ends_or_everywhere_survive() {
        let old: Vec<u16> = (0..=u16::MAX).collect();
        let mut ends = old.clone();
        ends[0] ^= 0x8000;
        ends[BLOCK_ELEMENTS - 1] ^= 0xffff;
        round_trip(&old, &ends);
        let all: Vec<u16> = old.iter().map(|element| element.wrapping_add(1)).collect();
        // Each element changes by one: one bit for the gap, two for the difference.
        assert_eq!(round_trip(&old, &all), HEADER_BYTES + BLOCK_ELEMENTS * 3 / 8);
        for difference in [1, 2, 0x7fff, 0x8000, 0x8001, 0xffff] {
            let far: Vec<u16> = old.iter().map(|element| element.wrapping_add(difference)).collect();
            round_trip(&old, &far);
        }
    }

    #[test]
    fn one_change_in_a_hundred_costs_about_its_entropy() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let old: Vec<u16> = (0..BLOCK_ELEMENTS).map(|_| (random() & 0xffff) as u16).collect();
        let new: Vec<u16> = old
            .iter()
            .map(|&element| if random() % 100 == 0 { element ^ 1 } else { element })
            .collect();
        let changes = old.iter().zip(&new).filter(|(old, new)| old != new).count();
        // Entropy of the positions: 8.08 bits a change; of the differences: one bit (two by this code).
        let bits = 8.0 * round_trip(&old, &new) as f64 / changes as f64;
        assert!(bits < 10.4, "{bits} bits a change");
    }

    proptest! {
        #[test]
        fn any_change_is_restored(
            pairs in prop::collection::vec((any::<u16>(), prop_oneof![
                6 => Just(0u16), 2 => Just(1), 1 => Just(0xffff), 1 => any::<u16>(),
            ]), 0..2000),
        ) {
            let old: Vec<u16> = pairs.iter().map(|pair| pair.0).collect();
            let new: Vec<u16> = pairs.iter().map(|pair| pair.0.wrapping_add(pair.1)).collect();
            round_trip(&old, &new);
        }

        #[test]
        fn any_code_is_decoded_or_refused(code in prop::collection::vec(any::<u8>(), 0..200), length in 0usize..300) {
            let _ = decode_block(&code, &mut vec![0; length * ELEMENT_BYTES]);
        }

        #[test]
        fn no_byte_of_a_code_may_be_cut_or_added(
            pairs in prop::collection::vec((any::<u16>(), 0u16..3), 1..200), cut in 1usize..4,
        ) {
            let old = bytes(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
            let new = bytes(&pairs.iter().map(|pair| pair.0.wrapping_add(pair.1)).collect::<Vec<_>>());
            let mut code = encode(&old, &new);
            prop_assume!(code.len() > cut);
            code.push(0);
            prop_assert!(decode_block(&code, &mut old.clone()).is_err());
            code.truncate(code.len() - 1 - cut);
            prop_assert!(decode_block(&code, &mut old.clone()).is_err());
        }
    }
}
