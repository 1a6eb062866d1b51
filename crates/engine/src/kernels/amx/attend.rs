//! Causal attention of query rows over the keys of one sequence and one key-value head, in tiles of bfloat16 numbers.
//!
//! Keys and values are bfloat16 numbers. Queries and the exponentials of the scores are rounded to such where they are multiplied; scores, their
//! maximum, exponentials and the sum of these are in f32, as in the kernel of the other tiers. A score is the chain over the head's width, an output the
//! chain over the keys in groups of 32, counted from the sequence's start. Keys that a query does not see weigh 0, and those that no query of
//! the call sees have values of 0, so the bits depend on the sequence alone.

use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

use super::{SIDE, Sums, Tiles, place, tile_rows};
use crate::isa::Tier;
use crate::kernels::attention::{BLOCK_TOKENS, Keys, exponentials, first_key, padded};
use crate::kernels::buffer::Buffer;
use crate::kernels::element::Bf16;
use crate::kernels::pairs::{Pair, VECTOR, interleaved, store};
use crate::kernels::{Lanes, tiered};

/// Keys of a group: those of a row of a left tile, and the columns of two right tiles.
pub(crate) const GROUP: usize = 2 * SIDE;

/// Query rows of one head of keys.
pub(crate) struct Queries<'a, F> {
    /// The query of a row.
    pub(crate) row: F,
    /// Position of each row, ascending.
    pub(crate) positions: &'a [usize],
    /// How many keys a row sees, up to its own.
    pub(crate) window: usize,
    /// 1 / sqrt(head width).
    pub(crate) scale: f32,
}

/// Working memory, and the outputs.
#[derive(Default)]
pub(crate) struct Scratch {
    queries: Buffer<Pair>,
    keys: Buffer<Pair>,
    values: Buffer<Pair>,
    scores: Buffer,
    weights: Buffer<Pair>,
    out: Buffer,
}

/// The groups of keys that the rows of a call see.
#[derive(Clone, Copy)]
pub(crate) struct Groups {
    /// The first group.
    pub(crate) base: usize,
    /// How many there are.
    pub(crate) count: usize,
    /// The first and the last key that a row sees.
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Groups {
    pub(crate) fn of(positions: &[usize], window: usize) -> Self {
        let (first, last) = (first_key(positions[0], window), positions[positions.len() - 1]);
        let base = first / GROUP;
        Self {
            base,
            count: last / GROUP + 1 - base,
            first,
            last,
        }
    }

    /// Elements of a row of scores.
    pub(crate) fn width(self) -> usize {
        self.count * GROUP
    }

    /// The keys that a row at `position` sees, counted from the first one of the first group.
    pub(crate) fn seen(self, position: usize, window: usize) -> (usize, usize) {
        let begin = self.base * GROUP;
        (first_key(position, window) - begin, position + 1 - begin)
    }
}

/// Attention of the rows: row `i` of the head's width begins at `i` times the returned stride of the returned slice.
///
/// # Safety
/// The tier is [`Tier::Amx`].
pub(crate) unsafe fn attend<'a, 'q, F: Fn(usize) -> &'q [f32]>(
    queries: &Queries<'a, F>,
    keys: &Keys<'_, Bf16>,
    scratch: &'a mut Scratch,
) -> (usize, &'a [f32]) {
    let (rows, dim) = (queries.positions.len(), keys.head_dim);
    let groups = Groups::of(queries.positions, queries.window);
    let (depth, panels) = (dim.div_ceil(GROUP), dim.div_ceil(GROUP));
    let (stride, room) = (panels * GROUP, rows.next_multiple_of(SIDE));
    scratch.queries.resize(room * SIDE * depth);
    scratch.keys.resize(groups.count * depth * SIDE * GROUP);
    scratch.values.resize(panels * groups.count * SIDE * GROUP);
    scratch.scores.resize(room * groups.width());
    scratch.weights.resize(room * SIDE * groups.count);
    scratch.out.resize(room * stride);
    // SAFETY: by the contract the process may use the tiles, and the processor has the features.
    unsafe {
        for row in 0..rows {
            let (at, step) = place(row, rows, depth);
            tile_rows((queries.row)(row), (dim, dim), 1, (&mut scratch.queries[at..], step));
        }
        pair_keys(keys, groups, &mut scratch.keys);
        pair_values(keys, groups, &mut scratch.values);
        let tiles = Tiles::configure();
        tiles.multiply_panels(
            rows,
            (&scratch.queries, depth),
            &scratch.keys,
            Sums {
                out: &mut scratch.scores,
                stride: groups.width(),
                load: false,
            },
        );
        for (row, position) in queries.positions.iter().enumerate() {
            let scores = &mut scratch.scores[row * groups.width()..][..groups.width()];
            let (from, to) = groups.seen(*position, queries.window);
            let sum = weigh(Tier::Amx, scores, from, to, queries.scale);
            let (at, step) = place(row, rows, groups.count);
            tile_rows(
                scores,
                (groups.width(), groups.width()),
                1,
                (&mut scratch.weights[at..], step),
            );
            scores[0] = sum;
        }
        tiles.multiply_panels(
            rows,
            (&scratch.weights, groups.count),
            &scratch.values,
            Sums {
                out: &mut scratch.out,
                stride,
                load: false,
            },
        );
    }
    for row in 0..rows {
        divide(
            Tier::Amx,
            &mut scratch.out[row * stride..][..stride],
            scratch.scores[row * groups.width()],
        );
    }
    (stride, &scratch.out)
}

tiered! {
    /// Turns the scores `from..to` of a row into exponentials, the others into zeros, and returns the sum.
    pub(crate) fn weigh(row: &mut [f32], from: usize, to: usize, scale: f32) -> f32 = weigh_body
}

#[inline(always)]
fn weigh_body<L: Lanes>(row: &mut [f32], from: usize, to: usize, scale: f32) -> f32 {
    let (seen, behind) = row.split_at_mut(to);
    behind.fill(0.0);
    let (before, seen) = seen.split_at_mut(from);
    before.fill(0.0);
    for score in &mut *seen {
        *score *= scale;
    }
    exponentials::<L>(seen).1
}

tiered! {
    /// Divides all elements. A zero becomes positive first: its sign depends on how many groups of keys that weigh 0 were added.
    fn divide(row: &mut [f32], by: f32) = divide_body
}

#[inline(always)]
fn divide_body<L: Lanes>(row: &mut [f32], by: f32) {
    for value in row {
        *value = (*value + 0.0) / by;
    }
}

/// Makes right tiles of the keys, `[group][pair of the head's width][key]`, and fetches the values meanwhile. What lies outside of the blocks that are seen becomes 0.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn pair_keys(keys: &Keys<'_, Bf16>, groups: Groups, out: &mut [Pair]) {
    let size = keys.head_dim.div_ceil(GROUP) * SIDE * GROUP;
    for (at, out) in out.chunks_exact_mut(size).enumerate() {
        for half in 0..2 {
            let at_block = (groups.base + at) * 2 + half;
            let seen = (groups.first / BLOCK_TOKENS..=groups.last / BLOCK_TOKENS).contains(&at_block);
            let block = if seen { keys.key_block(at_block) } else { &[] };
            let values = if seen { keys.value_block(at_block) } else { &[] };
            for line in values.chunks(2 * VECTOR) {
                _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast());
            }
            let mut rows = block.chunks(2 * BLOCK_TOKENS);
            for out in out.chunks_exact_mut(GROUP) {
                let (even, odd) = rows
                    .next()
                    .unwrap_or_default()
                    .split_at_checked(BLOCK_TOKENS)
                    .unwrap_or_default();
                store(interleaved(even, odd), &mut out[half * VECTOR..]);
            }
        }
    }
}

/// Makes right tiles of the values, `[32 columns][group][pair of keys][column]`. Keys that no row sees become 0.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn pair_values(keys: &Keys<'_, Bf16>, groups: Groups, out: &mut [Pair]) {
    let width = padded(keys.head_dim);
    let size = groups.count * SIDE * GROUP;
    for at in 0..2 * groups.count {
        let (block, first) = (groups.base * 2 + at, (groups.base * 2 + at) * BLOCK_TOKENS);
        let seen = groups.first < first + BLOCK_TOKENS && first <= groups.last;
        let values = if seen { keys.value_block(block) } else { &[] };
        for step in 0..BLOCK_TOKENS / 2 {
            let row = |token: usize| {
                let seen = groups.first <= first + token && first + token <= groups.last;
                if seen { &values[token * width..][..width] } else { &[] }
            };
            let (even, odd) = (row(2 * step), row(2 * step + 1));
            let begin = (at * BLOCK_TOKENS / 2 + step) * GROUP;
            for (panel, out) in out.chunks_exact_mut(size).enumerate() {
                for half in [0, VECTOR] {
                    let from = panel * GROUP + half;
                    let (even, odd) = (
                        even.get(from..).unwrap_or_default(),
                        odd.get(from..).unwrap_or_default(),
                    );
                    store(interleaved(even, odd), &mut out[begin + half..]);
                }
            }
        }
    }
}
