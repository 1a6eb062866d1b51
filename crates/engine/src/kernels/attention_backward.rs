//! Gradients of causal attention for a tile of query rows, recomputing the weights from queries and keys.
//!
//! With p = softmax(s), s = scale * q.k and o = sum p v: dv_j += p_j do, dp_j = do.v_j, ds_j = p_j (dp_j - sum p dp) scale,
//! dq = sum ds_j k_j, dk_j += ds_j q. Every sum runs over the ascending keys that a query sees (or ascending query rows, for keys and values).
//!
//! Legend as in the forward kernel: R rows of a tile, D head width, P padded head width, B tokens of a block, K keys.

use std::ops::Range;

use super::attention::{BLOCK_TOKENS, exponentials, first_block, first_key, padded, row_stride, scores, vector};
use super::{LANES, Lanes, for_each_row, multiply_add, sum_lanes, tiered};
use crate::isa::Tier;

/// A tile of query rows and the gradients of their outputs.
pub(crate) struct BackwardTile<'a> {
    /// `[D, R]`: queries, transposed.
    pub(crate) queries: &'a [f32],
    /// `[R, P]`: queries.
    pub(crate) query_rows: &'a [f32],
    /// `[D, R]`: gradients of the outputs, transposed.
    pub(crate) grads: &'a [f32],
    /// `[R, P]`: gradients of the outputs.
    pub(crate) grad_rows: &'a [f32],
    /// Position of each row, ascending.
    pub(crate) positions: &'a [usize],
    /// How many keys a row sees, up to its own.
    pub(crate) window: usize,
    /// 1 / sqrt(D).
    pub(crate) scale: f32,
}

/// Keys and values of a sequence and head; pads are zero.
pub(crate) struct BackwardKeys<'a> {
    /// Blocks `[D, B]` of keys, transposed.
    pub(crate) keys: &'a [f32],
    /// Blocks `[D, B]` of values, transposed.
    pub(crate) values: &'a [f32],
    /// `[K, P]`: keys.
    pub(crate) key_rows: &'a [f32],
    pub(crate) head_dim: usize,
}

/// Where gradients go.
pub(crate) struct BackwardGrads<'a> {
    /// `[R, P]`, overwritten.
    pub(crate) queries: &'a mut [f32],
    /// `[K, P]`, added to.
    pub(crate) keys: &'a mut [f32],
    /// `[K, P]`, added to.
    pub(crate) values: &'a mut [f32],
}

/// Gradients of a tile of 1, 2, 4 or 8 rows. `weights` holds `2 * R * row_stride(positions, window)`.
///
/// # Panics
/// When the tile has another number of rows.
pub(crate) fn attend_backward(
    tier: Tier,
    tile: &BackwardTile<'_>,
    keys: &BackwardKeys<'_>,
    weights: &mut [f32],
    grads: &mut BackwardGrads<'_>,
) {
    match tile.positions.len() {
        1 => backward_1(tier, tile, keys, weights, grads),
        2 => backward_2(tier, tile, keys, weights, grads),
        4 => backward_4(tier, tile, keys, weights, grads),
        8 => backward_8(tier, tile, keys, weights, grads),
        rows => unreachable!("a tile has 1, 2, 4 or 8 rows, not {rows}"),
    }
}

tiered! {
    fn backward_1(tile: &BackwardTile<'_>, keys: &BackwardKeys<'_>, weights: &mut [f32], grads: &mut BackwardGrads<'_>) = backward_rows<1>
}

tiered! {
    fn backward_2(tile: &BackwardTile<'_>, keys: &BackwardKeys<'_>, weights: &mut [f32], grads: &mut BackwardGrads<'_>) = backward_rows<2>
}

tiered! {
    fn backward_4(tile: &BackwardTile<'_>, keys: &BackwardKeys<'_>, weights: &mut [f32], grads: &mut BackwardGrads<'_>) = backward_rows<4>
}

tiered! {
    fn backward_8(tile: &BackwardTile<'_>, keys: &BackwardKeys<'_>, weights: &mut [f32], grads: &mut BackwardGrads<'_>) = backward_rows<8>
}

#[inline(always)]
fn backward_rows<L: Lanes, const R: usize>(
    tile: &BackwardTile<'_>,
    keys: &BackwardKeys<'_>,
    weights: &mut [f32],
    grads: &mut BackwardGrads<'_>,
) {
    let (first, last) = (tile.positions[0], tile.positions[R - 1]);
    let stride = row_stride(first, last, tile.window);
    let base = first_block(first, tile.window);
    let width = padded(keys.head_dim);
    let block_size = keys.head_dim * BLOCK_TOKENS;
    let (weights, grad_weights) = weights[..2 * R * stride].split_at_mut(R * stride);
    let blocks = stride / BLOCK_TOKENS;
    let key = |block: usize| &keys.keys[(base + block) * block_size..][..block_size];
    let value = |block: usize| &keys.values[(base + block) * block_size..][..block_size];
    scores::<L, R, _>((tile.queries, tile.scale), blocks, key, weights);
    scores::<L, R, _>((tile.grads, 1.0), blocks, value, grad_weights);
    // From here on keys are counted from the first one of block `base`.
    let begin = base * BLOCK_TOKENS;
    for row in 0..R {
        let position = tile.positions[row];
        let seen = first_key(position, tile.window) - begin..position + 1 - begin;
        let (p, ds) = (
            &mut weights[row * stride..][..stride],
            &mut grad_weights[row * stride..][..stride],
        );
        let (_, sum) = exponentials::<L>(&mut p[seen.clone()]);
        softmax_backward::<L>(&mut p[seen.clone()], &mut ds[seen.clone()], sum, tile.scale);
        for unseen in [0..seen.start, seen.end..stride] {
            p[unseen.clone()].fill(0.0);
            ds[unseen].fill(0.0);
        }
    }

    let columns = Columns {
        vectors: width / LANES,
        keys: first_key(first, tile.window) - begin..last + 1 - begin,
        stride,
    };
    let key_lines = lines(&keys.key_rows[begin * width..]);
    let grad_keys = lines_mut(&mut grads.keys[begin * width..]);
    let grad_values = lines_mut(&mut grads.values[begin * width..]);
    let mut at = 0;
    while at < columns.vectors {
        // As many vectors at once as there are registers for their accumulators.
        if const { L::CHAINS >= 8 } && at + 1 < columns.vectors {
            add_keys::<L, R, 2>((grad_weights, key_lines), &columns, at, grads.queries);
            add_rows::<L, R, 2>((grad_weights, tile.query_rows), &columns, at, grad_keys);
            add_rows::<L, R, 2>((weights, tile.grad_rows), &columns, at, grad_values);
            at += 2;
        } else {
            add_keys::<L, R, 1>((grad_weights, key_lines), &columns, at, grads.queries);
            add_rows::<L, R, 1>((grad_weights, tile.query_rows), &columns, at, grad_keys);
            add_rows::<L, R, 1>((weights, tile.grad_rows), &columns, at, grad_values);
            at += 1;
        }
    }
}

/// Columns of keys, values and queries, in vectors.
struct Columns {
    /// All of them: the padded head width.
    vectors: usize,
    /// The keys that the tile's rows see.
    keys: Range<usize>,
    /// Weights of a row.
    stride: usize,
}

impl Columns {
    /// The blocks of the keys, with the keys of each.
    #[inline(always)]
    fn blocks(&self) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let Range { start, end } = self.keys;
        (start / BLOCK_TOKENS..end.div_ceil(BLOCK_TOKENS)).map(move |block| {
            let at = block * BLOCK_TOKENS;
            (at, start.max(at) - at..end.min(at + BLOCK_TOKENS) - at)
        })
    }
}

/// `out[r] = sum_j weights[r, j] * keys[j]` in the V vectors from `first` on.
#[inline(always)]
fn add_keys<L: Lanes, const R: usize, const V: usize>(
    (weights, keys): (&[f32], &[[f32; LANES]]),
    columns: &Columns,
    first: usize,
    out: &mut [f32],
) {
    let mut totals = [[[0f32; LANES]; V]; R];
    for (at, some) in columns.blocks() {
        let of_rows = weights_of_block::<R>(weights, columns.stride, at);
        for j in some {
            let key = keys[(at + j) * columns.vectors + first..].first_chunk::<V>();
            let key = key.expect("keys have the vectors");
            for_each_row!(R, |row| {
                let weight = of_rows[row][j % BLOCK_TOKENS];
                for_each_row!(V, |v| {
                    multiply_add::<L, LANES>(&mut totals[row][v], weight, &key[v])
                });
            });
        }
    }
    let out = lines_mut(out);
    for_each_row!(R, |row| {
        for_each_row!(V, |v| { out[row * columns.vectors + first + v] = totals[row][v] });
    });
}

/// `out[j] += sum_r weights[r, j] * rows[r]` in the V vectors from `first` on.
#[inline(always)]
fn add_rows<L: Lanes, const R: usize, const V: usize>(
    (weights, rows): (&[f32], &[f32]),
    columns: &Columns,
    first: usize,
    out: &mut [[f32; LANES]],
) {
    let lines = lines(rows);
    let mut of_rows = [[[0f32; LANES]; V]; R];
    for_each_row!(R, |row| {
        for_each_row!(V, |v| { of_rows[row][v] = lines[row * columns.vectors + first + v] });
    });
    for (at, some) in columns.blocks() {
        let weights = weights_of_block::<R>(weights, columns.stride, at);
        for j in some {
            let out = out[(at + j) * columns.vectors + first..].first_chunk_mut::<V>();
            let out = out.expect("keys have the vectors");
            let mut sums = *out;
            for_each_row!(R, |row| {
                let weight = weights[row][j % BLOCK_TOKENS];
                for_each_row!(V, |v| {
                    multiply_add::<L, LANES>(&mut sums[v], weight, &of_rows[row][v])
                });
            });
            *out = sums;
        }
    }
}

/// The weights of each row for the keys of a block, the first of which is `at`.
#[inline(always)]
fn weights_of_block<const R: usize>(weights: &[f32], stride: usize, at: usize) -> [&[f32; BLOCK_TOKENS]; R] {
    let mut of_rows = [&[0f32; BLOCK_TOKENS]; R];
    for_each_row!(R, |row| { of_rows[row] = vector(weights, row * stride + at) });
    of_rows
}

#[inline(always)]
fn lines(values: &[f32]) -> &[[f32; LANES]] {
    values.as_chunks().0
}

#[inline(always)]
fn lines_mut(values: &mut [f32]) -> &mut [[f32; LANES]] {
    values.as_chunks_mut().0
}

/// Turns exponentials into weights `p`, and the gradients of weights into the gradients of scores (times `scale`).
#[inline(always)]
pub(crate) fn softmax_backward<L: Lanes>(p: &mut [f32], grad: &mut [f32], sum: f32, scale: f32) {
    let n = p.len();
    let grad = &mut grad[..n];
    let mut lanes = [0f32; LANES];
    let (p_lines, p_tail) = p.as_chunks_mut::<LANES>();
    let (grad_lines, grad_tail) = grad.as_chunks_mut::<LANES>();
    for (p, grad) in p_lines.iter_mut().zip(&*grad_lines) {
        for lane in 0..LANES {
            p[lane] /= sum;
            lanes[lane] = L::mul_add(p[lane], grad[lane], lanes[lane]);
        }
    }
    for (lane, (p, grad)) in p_tail.iter_mut().zip(&*grad_tail).enumerate() {
        *p /= sum;
        lanes[lane] = L::mul_add(*p, *grad, lanes[lane]);
    }
    let mean = sum_lanes(lanes);
    for (grad, p) in grad_lines.iter_mut().zip(&*p_lines) {
        for lane in 0..LANES {
            grad[lane] = p[lane] * (grad[lane] - mean) * scale;
        }
    }
    for (grad, p) in grad_tail.iter_mut().zip(&*p_tail) {
        *grad = *p * (*grad - mean) * scale;
    }
}
