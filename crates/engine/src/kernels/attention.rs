//! Causal attention of a few query rows over the keys of one sequence and one key-value head.
//!
//! Keys and values live in blocks of [`BLOCK_TOKENS`] tokens found through a block table, the same for training, prefill and decode. For a
//! query at position p every sum runs over the keys that it sees in ascending order (the normaliser: its key i to accumulator i % LANES), so
//! its bits depend on the sequence alone: not on how many queries share a tile, where a chunk of the prompt ended, or which blocks hold the
//! keys. It sees the keys first..=p, where first is 0 or, in a layer with a window of W tokens, p + 1 - W. Blocks before the tile's first key
//! are not read.
//!
//! Legend: R rows of a tile, D head width, P head width padded to a multiple of LANES, B = BLOCK_TOKENS.

use super::math::exp;
use super::softmax::row_max;
use super::{LANES, Lanes, for_each_row, multiply_add, sum_lanes, tiered};
use crate::isa::Tier;

/// Tokens of a block of keys and values.
pub(crate) const BLOCK_TOKENS: usize = LANES;
/// Most query rows of a tile.
pub(crate) const MOST_ROWS: usize = 8;

/// Head width padded to whole vectors: the row width of stored values.
pub(crate) fn padded(head_dim: usize) -> usize {
    head_dim.next_multiple_of(LANES)
}

/// Keys and values of one layer and one head: block `b` of the sequence starts at `table[b] * block_stride + head_offset`.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    /// Blocks of `[D, B]`: keys, transposed.
    pub(crate) keys: &'a [f32],
    /// Blocks of `[B, P]`: values.
    pub(crate) values: &'a [f32],
    /// Which block of the store holds which stretch of the sequence.
    pub(crate) table: &'a [u32],
    /// Elements of a key block (D * B), and blocks from one table entry to the next (the number of heads).
    pub(crate) head_dim: usize,
    /// Number of heads in a block, and which one this is.
    pub(crate) heads: usize,
    /// See `heads`.
    pub(crate) head: usize,
}

impl Keys<'_> {
    #[inline(always)]
    pub(crate) fn key_block(&self, block: usize) -> &[f32] {
        let size = self.head_dim * BLOCK_TOKENS;
        &self.keys[(self.table[block] as usize * self.heads + self.head) * size..][..size]
    }

    #[inline(always)]
    pub(crate) fn value_block(&self, block: usize) -> &[f32] {
        let size = padded(self.head_dim) * BLOCK_TOKENS;
        &self.values[(self.table[block] as usize * self.heads + self.head) * size..][..size]
    }

    /// LANES columns of the value of a key.
    #[inline(always)]
    fn value(&self, key: usize, width: usize, column: usize) -> &[f32; LANES] {
        vector(
            self.value_block(key / BLOCK_TOKENS),
            key % BLOCK_TOKENS * width + column,
        )
    }
}

/// One tile of query rows.
pub(crate) struct Tile<'a> {
    /// `[D, R]`: queries, transposed.
    pub(crate) queries: &'a [f32],
    /// Position of each row, ascending.
    pub(crate) positions: &'a [usize],
    /// How many keys a row sees, up to its own.
    pub(crate) window: usize,
    /// 1 / sqrt(D).
    pub(crate) scale: f32,
}

/// The first key that a query at `position` sees.
pub(crate) fn first_key(position: usize, window: usize) -> usize {
    (position + 1).saturating_sub(window)
}

/// Attention of a tile: `out [R, P]` (columns past D are unspecified). `weights` holds `R * row_stride(positions, window)`.
///
/// # Panics
/// When the tile has other than 1, 2, 4 or 8 rows.
pub(crate) fn attend(tier: Tier, tile: &Tile<'_>, keys: &Keys<'_>, weights: &mut [f32], out: &mut [f32]) {
    match tile.positions.len() {
        1 => attend_1(tier, tile, keys, weights, out),
        2 => attend_2(tier, tile, keys, weights, out),
        4 => attend_4(tier, tile, keys, weights, out),
        8 => attend_8(tier, tile, keys, weights, out),
        rows => unreachable!("a tile has 1, 2, 4 or 8 rows, not {rows}"),
    }
}

tiered! { fn attend_1(tile: &Tile<'_>, keys: &Keys<'_>, weights: &mut [f32], out: &mut [f32]) = attend_rows<1> }
tiered! { fn attend_2(tile: &Tile<'_>, keys: &Keys<'_>, weights: &mut [f32], out: &mut [f32]) = attend_rows<2> }
tiered! { fn attend_4(tile: &Tile<'_>, keys: &Keys<'_>, weights: &mut [f32], out: &mut [f32]) = attend_rows<4> }
tiered! { fn attend_8(tile: &Tile<'_>, keys: &Keys<'_>, weights: &mut [f32], out: &mut [f32]) = attend_rows<8> }

/// Elements of a row of attention weights for queries at the positions `first..=last`: whole blocks of keys.
pub(crate) fn row_stride(first: usize, last: usize, window: usize) -> usize {
    (last + 1).next_multiple_of(BLOCK_TOKENS) - first_block(first, window) * BLOCK_TOKENS
}

/// The block of the first key that a query at `position` sees.
pub(crate) fn first_block(position: usize, window: usize) -> usize {
    first_key(position, window) / BLOCK_TOKENS
}

#[inline(always)]
fn attend_rows<L: Lanes, const R: usize>(tile: &Tile<'_>, keys: &Keys<'_>, weights: &mut [f32], out: &mut [f32]) {
    let (first, last) = (tile.positions[0], tile.positions[R - 1]);
    let stride = row_stride(first, last, tile.window);
    let base = first_block(first, tile.window);
    let width = padded(keys.head_dim);
    let weights = &mut weights[..R * stride];
    for block in 0..stride / BLOCK_TOKENS {
        scores::<L, R>(
            tile.queries,
            keys.key_block(base + block),
            tile.scale,
            &mut weights[block * BLOCK_TOKENS..],
            stride,
        );
    }
    // From here on keys are counted from the first one of block `base`.
    let begin = base * BLOCK_TOKENS;
    let mut sums = [0f32; R];
    let mut seen = [(0, 0); R];
    for row in 0..R {
        let position = tile.positions[row];
        seen[row] = (first_key(position, tile.window) - begin, position + 1 - begin);
        sums[row] = exponentials::<L>(&mut weights[row * stride..][seen[row].0..seen[row].1]).1;
    }
    // The keys that every row sees; behind all keys when there are none.
    let common = match (seen[R - 1].0, seen[0].1) {
        (from, to) if from < to => (from, to),
        _ => (stride, stride),
    };
    let out = &mut out[..R * width];
    for column in (0..width).step_by(LANES) {
        let mut totals = [[0f32; LANES]; R];
        // Each row's keys before the common ones, those, then the rest: for each element this is one ascending chain.
        for_each_row!(R, |row| {
            for j in seen[row].0..common.0.min(seen[row].1) {
                let value = keys.value(begin + j, width, column);
                multiply_add::<L, LANES>(&mut totals[row], weights[row * stride + j], value);
            }
        });
        for block in common.0 / BLOCK_TOKENS..common.1.div_ceil(BLOCK_TOKENS) {
            let at = block * BLOCK_TOKENS;
            let values = keys.value_block(base + block);
            for j in common.0.max(at)..common.1.min(at + BLOCK_TOKENS) {
                let value: &[f32; LANES] = vector(values, (j - at) * width + column);
                for_each_row!(R, |row| {
                    multiply_add::<L, LANES>(&mut totals[row], weights[row * stride + j], value);
                });
            }
        }
        for_each_row!(R, |row| {
            for j in common.1..seen[row].1 {
                let value = keys.value(begin + j, width, column);
                multiply_add::<L, LANES>(&mut totals[row], weights[row * stride + j], value);
            }
            let out = &mut out[row * width + column..][..LANES];
            for lane in 0..LANES {
                out[lane] = totals[row][lane] / sums[row];
            }
        });
    }
}

/// `scores[r, j] = scale * sum_d queries[d, r] * keys[d, j]` for one block of keys, each a chain over ascending d.
#[inline(always)]
pub(crate) fn scores<L: Lanes, const R: usize>(
    queries: &[f32],
    keys: &[f32],
    scale: f32,
    out: &mut [f32],
    stride: usize,
) {
    let mut sums = [[0f32; BLOCK_TOKENS]; R];
    let (queries, _) = queries.as_chunks::<R>();
    let (keys, _) = keys.as_chunks::<BLOCK_TOKENS>();
    for (query, key) in queries.iter().zip(keys) {
        for_each_row!(R, |row| {
            multiply_add::<L, BLOCK_TOKENS>(&mut sums[row], query[row], key)
        });
    }
    for_each_row!(R, |row| {
        let out = &mut out[row * stride..][..BLOCK_TOKENS];
        for lane in 0..BLOCK_TOKENS {
            out[lane] = sums[row][lane] * scale;
        }
    });
}

/// Overwrites scores by `exp(score - max)`; returns the maximum and the sum.
#[inline(always)]
pub(crate) fn exponentials<L: Lanes>(row: &mut [f32]) -> (f32, f32) {
    let max = row_max(row);
    let mut lanes = [0f32; LANES];
    let (lines, tail) = row.as_chunks_mut::<LANES>();
    for line in lines {
        for lane in 0..LANES {
            line[lane] = exp::<L>(line[lane] - max);
            lanes[lane] += line[lane];
        }
    }
    for (lane, x) in tail.iter_mut().enumerate() {
        *x = exp::<L>(*x - max);
        lanes[lane] += *x;
    }
    (max, sum_lanes(lanes))
}

#[inline(always)]
pub(crate) fn vector(values: &[f32], at: usize) -> &[f32; LANES] {
    match values[at..at + LANES].first_chunk() {
        Some(vector) => vector,
        None => unreachable!("the range has LANES elements"),
    }
}
