//! Causal attention of a few query rows over the keys of one sequence and one key-value head.
//!
//! Keys and values live in blocks of [`BLOCK_TOKENS`] tokens found through a block table, the same for training, prefill and decode. For a
//! query at position p every sum runs over the keys 0..=p in ascending order (the normaliser: key j to accumulator j % LANES), so its bits
//! depend on the sequence alone: not on how many queries share a tile, where a chunk of the prompt ended, or which blocks hold the keys.
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
    fn key_block(&self, block: usize) -> &[f32] {
        let size = self.head_dim * BLOCK_TOKENS;
        &self.keys[(self.table[block] as usize * self.heads + self.head) * size..][..size]
    }

    #[inline(always)]
    fn value_block(&self, block: usize) -> &[f32] {
        let size = padded(self.head_dim) * BLOCK_TOKENS;
        &self.values[(self.table[block] as usize * self.heads + self.head) * size..][..size]
    }
}

/// One tile of query rows.
pub(crate) struct Tile<'a> {
    /// `[D, R]`: queries, transposed.
    pub(crate) queries: &'a [f32],
    /// Position of each row: it sees keys `0..=position`. Ascending.
    pub(crate) positions: &'a [usize],
    /// 1 / sqrt(D).
    pub(crate) scale: f32,
}

/// Attention of a tile: `out [R, P]` (columns past D are unspecified). `weights` holds `R * row_stride(last position)`.
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

/// Elements of a row of attention weights for a query at `position`.
pub(crate) fn row_stride(position: usize) -> usize {
    (position + 1).next_multiple_of(BLOCK_TOKENS)
}

#[inline(always)]
fn attend_rows<L: Lanes, const R: usize>(tile: &Tile<'_>, keys: &Keys<'_>, weights: &mut [f32], out: &mut [f32]) {
    let (first, last) = (tile.positions[0], tile.positions[R - 1]);
    let stride = row_stride(last);
    let width = padded(keys.head_dim);
    let weights = &mut weights[..R * stride];
    for block in 0..stride / BLOCK_TOKENS {
        scores::<L, R>(
            tile.queries,
            keys.key_block(block),
            tile.scale,
            &mut weights[block * BLOCK_TOKENS..],
            stride,
        );
    }
    let mut sums = [0f32; R];
    for row in 0..R {
        sums[row] = exponentials::<L>(&mut weights[row * stride..][..tile.positions[row] + 1]).1;
    }
    let out = &mut out[..R * width];
    for column in (0..width).step_by(LANES) {
        let mut totals = [[0f32; LANES]; R];
        // First the keys that every row sees, then the rest of each row: for each element this is one ascending chain.
        for block in 0..(first + 1).div_ceil(BLOCK_TOKENS) {
            let seen = BLOCK_TOKENS.min(first + 1 - block * BLOCK_TOKENS);
            let values = keys.value_block(block);
            for j in 0..seen {
                let value: &[f32; LANES] = vector(values, j * width + column);
                let at = block * BLOCK_TOKENS + j;
                for_each_row!(R, |row| {
                    multiply_add::<L, LANES>(&mut totals[row], weights[row * stride + at], value);
                });
            }
        }
        for_each_row!(R, |row| {
            for j in first + 1..=tile.positions[row] {
                let values = keys.value_block(j / BLOCK_TOKENS);
                let value: &[f32; LANES] = vector(values, j % BLOCK_TOKENS * width + column);
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
