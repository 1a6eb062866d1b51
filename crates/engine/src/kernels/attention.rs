//! Causal attention of a few query rows over the keys of one sequence and one key-value head.
//!
//! Keys and values live in blocks of [`BLOCK_TOKENS`] tokens found through a block table, the same for training, prefill and decode. For a
//! query at position p every sum runs over the keys that it sees in ascending order (the normaliser: its key i to accumulator i % LANES), so
//! its bits depend on the sequence alone: not on how many queries share a tile, where a chunk of the prompt ended, or which blocks hold the
//! keys. It sees the keys first..=p, where first is 0 or, in a layer with a window of W tokens, p + 1 - W. Blocks before the tile's first key
//! are not read.
//!
//! Legend: R rows of a tile, D head width, P head width padded to a multiple of LANES, B = BLOCK_TOKENS.

use super::element::{Bf16, Number};
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

/// Keys and values of one layer and one head, kept as numbers of the format E: block `b` of the sequence starts at `table[b] * block_stride + head_offset`.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a, E = f32> {
    /// Blocks of `[D, B]`: keys, transposed.
    pub(crate) keys: &'a [E],
    /// Blocks of `[B, P]`: values.
    pub(crate) values: &'a [E],
    /// Which block of the store holds which stretch of the sequence.
    pub(crate) table: &'a [u32],
    /// Elements of a key block (D * B), and blocks from one table entry to the next (the number of heads).
    pub(crate) head_dim: usize,
    /// Number of heads in a block, and which one this is.
    pub(crate) heads: usize,
    /// See `heads`.
    pub(crate) head: usize,
}

impl<E> Keys<'_, E> {
    #[inline(always)]
    pub(crate) fn key_block(&self, block: usize) -> &[E] {
        let size = self.head_dim * BLOCK_TOKENS;
        &self.keys[(self.table[block] as usize * self.heads + self.head) * size..][..size]
    }

    #[inline(always)]
    pub(crate) fn value_block(&self, block: usize) -> &[E] {
        let size = padded(self.head_dim) * BLOCK_TOKENS;
        &self.values[(self.table[block] as usize * self.heads + self.head) * size..][..size]
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

/// A format that keys and values are kept in.
pub(crate) trait Kept: Number {
    /// Attention of a tile: `out [R, P]` (columns past D are unspecified). `weights` holds `R * row_stride(positions, window)`.
    ///
    /// # Panics
    /// When the tile has other than 1, 2, 3, 4 or 8 rows.
    fn attend(tier: Tier, tile: &Tile<'_>, keys: &Keys<'_, Self>, weights: &mut [f32], out: &mut [f32]);
}

macro_rules! attend_kept {
    ($kept:ident) => {
        impl Kept for $kept {
            fn attend(tier: Tier, tile: &Tile<'_>, keys: &Keys<'_, Self>, weights: &mut [f32], out: &mut [f32]) {
                attend_kept!(@rows $kept, one, 1);
                attend_kept!(@rows $kept, two, 2);
                attend_kept!(@rows $kept, three, 3);
                attend_kept!(@rows $kept, four, 4);
                attend_kept!(@rows $kept, eight, 8);
                match tile.positions.len() {
                    1 => one(tier, tile, keys, weights, out),
                    2 => two(tier, tile, keys, weights, out),
                    3 => three(tier, tile, keys, weights, out),
                    4 => four(tier, tile, keys, weights, out),
                    8 => eight(tier, tile, keys, weights, out),
                    rows => unreachable!("a tile has 1, 2, 3, 4 or 8 rows, not {rows}"),
                }
            }
        }
    };
    (@rows $kept:ident, $name:ident, $rows:literal) => {
        tiered! {
            fn $name(tile: &Tile<'_>, keys: &Keys<'_, $kept>, weights: &mut [f32], out: &mut [f32]) = attend_rows<$rows>
        }
    };
}

attend_kept!(f32);
attend_kept!(Bf16);

/// Elements of a row of attention weights for queries at the positions `first..=last`: whole blocks of keys.
pub(crate) fn row_stride(first: usize, last: usize, window: usize) -> usize {
    (last + 1).next_multiple_of(BLOCK_TOKENS) - first_block(first, window) * BLOCK_TOKENS
}

/// The block of the first key that a query at `position` sees.
pub(crate) fn first_block(position: usize, window: usize) -> usize {
    first_key(position, window) / BLOCK_TOKENS
}

#[inline(always)]
fn attend_rows<L: Lanes, const R: usize>(
    tile: &Tile<'_>,
    keys: &Keys<'_, impl Number>,
    weights: &mut [f32],
    out: &mut [f32],
) {
    let (first, last) = (tile.positions[0], tile.positions[R - 1]);
    let stride = row_stride(first, last, tile.window);
    let base = first_block(first, tile.window);
    let width = padded(keys.head_dim);
    let weights = &mut weights[..R * stride];
    let blocks = stride / BLOCK_TOKENS;
    scores::<L, R, _>(
        (tile.queries, tile.scale),
        blocks,
        |block| keys.key_block(base + block),
        weights,
    );
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
    let weighed = Weighed {
        weights,
        stride,
        base,
        seen,
        common,
        sums,
    };
    let out = &mut out[..R * width];
    let mut column = 0;
    while column < width {
        // As many columns at once as there are chains for the rows. The conditions are constants, so that what a tier never runs is not compiled for it.
        let left = (width - column) / LANES;
        column += LANES
            * if const { L::CHAINS / R >= 4 } && left >= 4 {
                weighed.columns::<L, 4>(keys, width, column, out)
            } else if const { L::CHAINS / R >= 2 } && left >= 2 {
                weighed.columns::<L, 2>(keys, width, column, out)
            } else {
                weighed.columns::<L, 1>(keys, width, column, out)
            };
    }
}

/// The exponentials of a tile's scores, and which keys each row sees. Keys are counted from the first one of block `base`.
struct Weighed<'a, const R: usize> {
    /// `[R, stride]`.
    weights: &'a [f32],
    stride: usize,
    base: usize,
    /// The keys from..to of each row.
    seen: [(usize, usize); R],
    /// The keys that all rows see.
    common: (usize, usize),
    /// The sum of each row's exponentials.
    sums: [f32; R],
}

impl<const R: usize> Weighed<'_, R> {
    /// Writes C vectors of columns, from `column` on, of the weighed sums of the values; returns C.
    #[inline(always)]
    fn columns<L: Lanes, const C: usize>(
        &self,
        keys: &Keys<'_, impl Number>,
        width: usize,
        column: usize,
        out: &mut [f32],
    ) -> usize {
        let Self {
            weights,
            stride,
            base,
            seen,
            common,
            ..
        } = *self;
        let (vectors, first) = (width / LANES, column / LANES);
        let mut totals = [[[0f32; LANES]; C]; R];
        // Each row's keys before the common ones, those, then the rest: for each element this is one ascending chain.
        for_each_row!(R, |row| {
            for j in seen[row].0..common.0.min(seen[row].1) {
                let values =
                    &lines(keys.value_block(base + j / BLOCK_TOKENS))[j % BLOCK_TOKENS * vectors + first..][..C];
                let weight = weights[row * stride + j];
                for_each_row!(C, |at| {
                    multiply_add::<L, LANES>(&mut totals[row][at], weight, &widened(&values[at]))
                });
            }
        });
        for block in common.0 / BLOCK_TOKENS..common.1.div_ceil(BLOCK_TOKENS) {
            let at = block * BLOCK_TOKENS;
            let values = lines(keys.value_block(base + block));
            let mut of_rows = [&[0f32; BLOCK_TOKENS]; R];
            for_each_row!(R, |row| { of_rows[row] = vector(weights, row * stride + at) });
            for j in common.0.max(at) - at..common.1.min(at + BLOCK_TOKENS) - at {
                let values = &values[j * vectors + first..][..C];
                for_each_row!(C, |at| {
                    let value = widened(&values[at]);
                    for_each_row!(R, |row| {
                        multiply_add::<L, LANES>(&mut totals[row][at], of_rows[row][j], &value);
                    });
                });
            }
        }
        for_each_row!(R, |row| {
            for j in common.1..seen[row].1 {
                let values =
                    &lines(keys.value_block(base + j / BLOCK_TOKENS))[j % BLOCK_TOKENS * vectors + first..][..C];
                let weight = weights[row * stride + j];
                for_each_row!(C, |at| {
                    multiply_add::<L, LANES>(&mut totals[row][at], weight, &widened(&values[at]))
                });
            }
            let out = &mut out[row * width + column..][..C * LANES];
            for_each_row!(C, |at| {
                for lane in 0..LANES {
                    out[at * LANES + lane] = totals[row][at][lane] / self.sums[row];
                }
            });
        });
        C
    }
}

/// `out[r, j] = scale * sum_d queries[d, r] * keys[d, j]` for `blocks` blocks of keys, each a chain over ascending d. `out` has R rows of
/// as many numbers.
#[inline(always)]
pub(crate) fn scores<'a, L: Lanes, const R: usize, E: Number>(
    (queries, scale): (&[f32], f32),
    blocks: usize,
    block: impl Fn(usize) -> &'a [E],
    out: &mut [f32],
) {
    let mut at = 0;
    while at < blocks {
        // As many blocks at once as there are chains for the rows.
        let left = blocks - at;
        at += if const { L::CHAINS / R >= 4 } && left >= 4 {
            scores_of::<L, E, R, 4>((queries, scale), (at, blocks), &block, out)
        } else if const { L::CHAINS / R >= 2 } && left >= 2 {
            scores_of::<L, E, R, 2>((queries, scale), (at, blocks), &block, out)
        } else {
            scores_of::<L, E, R, 1>((queries, scale), (at, blocks), &block, out)
        };
    }
}

/// [`scores`] of N blocks from the block `first` on; returns N.
#[inline(always)]
fn scores_of<'a, L: Lanes, E: Number, const R: usize, const N: usize>(
    (queries, scale): (&[f32], f32),
    (first, blocks): (usize, usize),
    block: impl Fn(usize) -> &'a [E],
    out: &mut [f32],
) -> usize {
    let mut sums = [[[0f32; BLOCK_TOKENS]; R]; N];
    let (queries, _) = queries.as_chunks::<R>();
    let mut keys = [[].as_slice(); N];
    for (n, keys) in keys.iter_mut().enumerate() {
        *keys = &block(first + n).as_chunks::<BLOCK_TOKENS>().0[..queries.len()];
    }
    for (d, query) in queries.iter().enumerate() {
        for_each_row!(N, |n| {
            let key = widened(&keys[n][d]);
            for_each_row!(R, |row| {
                multiply_add::<L, BLOCK_TOKENS>(&mut sums[n][row], query[row], &key)
            });
        });
    }
    for_each_row!(R, |row| {
        let out = &mut out[(row * blocks + first) * BLOCK_TOKENS..][..N * BLOCK_TOKENS];
        for_each_row!(N, |n| {
            for lane in 0..BLOCK_TOKENS {
                out[n * BLOCK_TOKENS + lane] = sums[n][row][lane] * scale;
            }
        });
    });
    N
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
fn lines<E>(values: &[E]) -> &[[E; LANES]] {
    values.as_chunks().0
}

/// A copy also in f32: it is one load, where a reference became four.
#[inline(always)]
fn widened<E: Number>(line: &[E; LANES]) -> [f32; LANES] {
    let mut wide = [0f32; LANES];
    for lane in 0..LANES {
        wide[lane] = line[lane].widen();
    }
    wide
}

#[inline(always)]
pub(crate) fn vector(values: &[f32], at: usize) -> &[f32; LANES] {
    match values[at..at + LANES].first_chunk() {
        Some(vector) => vector,
        None => unreachable!("the range has LANES elements"),
    }
}
