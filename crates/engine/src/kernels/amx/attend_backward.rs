//! Gradients of attention in tiles of bfloat16 numbers; the formulas are those of the kernel in f32.
//!
//! Weights are computed again as the forward kernel computes them. They, the gradients of scores, queries, keys, values and the gradients of
//! the outputs are rounded where they are multiplied. Query rows come in chunks, counted from a sequence's first one, whose sums over rows are
//! added in ascending order.

use super::attend::{GROUP, Groups, weigh};
use super::{SIDE, Sums, Tiles, place, tile_columns, tile_rows};
use crate::isa::Tier;
use crate::kernels::attention::padded;
use crate::kernels::attention_backward::softmax_backward;
use crate::kernels::buffer::Buffer;
use crate::kernels::pairs::{Pair, VECTOR, pair_columns, pair_turned};
use crate::kernels::{Lanes, tiered};

/// Query rows of a chunk: whole left tiles, also of its transpose.
pub(crate) const CHUNK: usize = 64;

/// Rows of one head, padded to whole vectors with zeros.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f32],
    /// Elements of a row.
    pub(crate) width: usize,
    pub(crate) count: usize,
}

/// A head's keys and values, the gradients of them, and working memory.
#[derive(Default)]
pub(crate) struct Head {
    width: usize,
    /// Groups of keys.
    groups: usize,
    /// `[group][pair of the width][key]`.
    keys: Buffer<Pair>,
    values: Buffer<Pair>,
    /// `[32 columns][pair of keys][column]`.
    key_rows: Buffer<Pair>,
    grad_keys: Buffer,
    grad_values: Buffer,
    grad_queries: Buffer,
    scores: Buffer,
    grad_scores: Buffer,
    left: Buffer<Pair>,
    right: Buffer<Pair>,
}

/// A chunk of query rows.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    pub(crate) queries: Rows<'a>,
    /// Gradients of the outputs.
    pub(crate) grads: Rows<'a>,
    /// Position of each row, ascending.
    pub(crate) positions: &'a [usize],
    pub(crate) window: usize,
    pub(crate) scale: f32,
}

impl Head {
    /// Elements from one row of gradients to the next.
    pub(crate) fn stride(&self) -> usize {
        self.width.next_multiple_of(GROUP)
    }

    /// Gradients of the keys.
    pub(crate) fn grad_keys(&self) -> &[f32] {
        &self.grad_keys
    }

    /// Gradients of the values.
    pub(crate) fn grad_values(&self) -> &[f32] {
        &self.grad_values
    }

    /// Takes keys and values, whose gradients become 0.
    ///
    /// # Safety
    /// The tier is [`Tier::Amx`].
    pub(crate) unsafe fn load(&mut self, keys: Rows<'_>, values: Rows<'_>) {
        (self.width, self.groups) = (padded(keys.width), keys.count.div_ceil(GROUP));
        let stride = self.stride();
        for gradients in [&mut self.grad_keys, &mut self.grad_values] {
            gradients.resize(self.groups * GROUP * stride);
            gradients.fill(0.0);
        }
        // SAFETY: the tier has the features.
        unsafe {
            turn(keys, &mut self.keys);
            turn(values, &mut self.values);
            pair(keys, &mut self.key_rows);
        }
    }

    /// Adds what a chunk gives to the gradients of keys and values, and returns the gradients of its queries.
    ///
    /// # Safety
    /// The tier is [`Tier::Amx`].
    pub(crate) unsafe fn backward(&mut self, chunk: &Chunk<'_>) -> &[f32] {
        let (rows, stride) = (chunk.positions.len(), self.stride());
        let groups = Groups::of(chunk.positions, chunk.window);
        let (depth, width) = (stride / GROUP, groups.width());
        let room = rows.next_multiple_of(SIDE);
        self.grad_queries.resize(room * stride);
        self.scores.resize(room * width);
        self.grad_scores.resize(room * width);
        self.left
            .resize((room * SIDE * depth.max(groups.count)).max(width * SIDE * rows.div_ceil(GROUP)));
        let right = groups.base * depth * SIDE * GROUP..(groups.base + groups.count) * depth * SIDE * GROUP;
        // SAFETY: by the contract the process may use the tiles, and the processor has the features.
        unsafe {
            let tiles = Tiles::configure();
            for (of, with, out) in [
                (chunk.queries, &self.keys, &mut self.scores),
                (chunk.grads, &self.values, &mut self.grad_scores),
            ] {
                lay_rows(of, depth, &mut self.left);
                let sums = Sums {
                    out: &mut *out,
                    stride: width,
                    load: false,
                };
                tiles.multiply_panels(rows, (&self.left, depth), &with[right.clone()], sums);
            }
            for (row, position) in chunk.positions.iter().enumerate() {
                let seen = groups.seen(*position, chunk.window);
                let at = row * width..(row + 1) * width;
                let (weights, gradients) = (&mut self.scores[at.clone()], &mut self.grad_scores[at]);
                let sum = weigh(Tier::Amx, weights, seen.0, seen.1, chunk.scale);
                differentiate(Tier::Amx, weights, gradients, seen, (sum, chunk.scale));
            }
            let of = |values| Rows {
                values,
                width,
                count: rows,
            };
            lay_rows(of(&self.grad_scores), groups.count, &mut self.left);
            for panel in 0..depth {
                let begin = (panel * self.groups + groups.base) * SIDE * GROUP;
                let right = &self.key_rows[begin..][..groups.count * SIDE * GROUP];
                let out = &mut self.grad_queries[panel * GROUP..];
                tiles.multiply_panels(
                    rows,
                    (&self.left, groups.count),
                    right,
                    Sums {
                        out,
                        stride,
                        load: false,
                    },
                );
            }
            let first = groups.base * GROUP * stride;
            for (weights, with, out) in [
                (&self.grad_scores, chunk.queries, &mut self.grad_keys),
                (&self.scores, chunk.grads, &mut self.grad_values),
            ] {
                lay_columns(of(weights), &mut self.left);
                pair(with, &mut self.right);
                let sums = Sums {
                    out: &mut out[first..],
                    stride,
                    load: true,
                };
                tiles.multiply_panels(width, (&self.left, rows.div_ceil(GROUP)), &self.right, sums);
            }
        }
        &self.grad_queries
    }
}

tiered! {
    /// Turns the exponentials that a row sees into weights, and the gradients of weights into those of scores; 0 for what it does not see.
    fn differentiate(weights: &mut [f32], gradients: &mut [f32], seen: (usize, usize), of: (f32, f32)) = differentiate_body
}

#[inline(always)]
fn differentiate_body<L: Lanes>(
    weights: &mut [f32],
    gradients: &mut [f32],
    seen: (usize, usize),
    (sum, scale): (f32, f32),
) {
    let (from, to) = seen;
    softmax_backward::<L>(&mut weights[from..to], &mut gradients[from..to], sum, scale);
    gradients[..from].fill(0.0);
    gradients[to..].fill(0.0);
}

/// Left tiles of rows, `length` along k.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn lay_rows(rows: Rows<'_>, length: usize, out: &mut [Pair]) {
    for row in (0..rows.count).step_by(SIDE) {
        let (at, step) = place(row, rows.count, length);
        let height = SIDE.min(rows.count - row);
        // Behind a row of an odd number of vectors, the last tile has zeros.
        tile_rows(
            &rows.values[row * rows.width..],
            (rows.width, rows.width),
            height,
            (&mut out[at..], step),
        );
    }
}

/// Left tiles of the columns of rows.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn lay_columns(rows: Rows<'_>, out: &mut [Pair]) {
    let length = rows.count.div_ceil(GROUP);
    for column in (0..rows.width).step_by(SIDE) {
        let (at, step) = place(column, rows.width, length);
        tile_columns(
            &rows.values[column..],
            (rows.width, rows.count),
            SIDE,
            (&mut out[at..], step),
        );
    }
}

/// Right tiles of the transpose of rows: `[32 rows][pair of the width][row]`, zeros behind the last row and the width.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn turn(rows: Rows<'_>, out: &mut Buffer<Pair>) {
    let size = rows.width.div_ceil(GROUP) * SIDE * GROUP;
    out.resize(rows.count.div_ceil(GROUP) * size);
    out.fill(Pair::default());
    for (at, part) in rows.values[..rows.count * rows.width]
        .chunks(VECTOR * rows.width)
        .enumerate()
    {
        let to = &mut out[at / 2 * size + at % 2 * VECTOR..];
        pair_turned(part, rows.width, (to, GROUP));
    }
}

/// Right tiles of rows: `[32 columns][pair of rows][column]`, zeros behind the last row and column.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn pair(rows: Rows<'_>, out: &mut Buffer<Pair>) {
    let size = rows.count.div_ceil(GROUP) * SIDE * GROUP;
    out.resize(rows.width.div_ceil(GROUP) * size);
    out.fill(Pair::default());
    for column in (0..rows.width).step_by(VECTOR) {
        let to = &mut out[column / GROUP * size + column % GROUP..];
        pair_columns(&rows.values[column..], (rows.width, rows.count), VECTOR, (to, GROUP));
    }
}
