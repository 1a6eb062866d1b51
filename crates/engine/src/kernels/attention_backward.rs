//! Gradients of causal attention for a tile of query rows, recomputing the weights from queries and keys.
//!
//! With p = softmax(s), s = scale * q.k and o = sum p v: dv_j += p_j do, dp_j = do.v_j, ds_j = p_j (dp_j - sum p dp) scale,
//! dq = sum ds_j k_j, dk_j += ds_j q. Every sum runs over the ascending keys that a query sees (or ascending query rows, for keys and values).
//!
//! Legend as in the forward kernel: R rows of a tile, D head width, P padded head width, B tokens of a block, K keys.

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

    let (vectors, from, to) = (width / LANES, first_key(first, tile.window) - begin, last + 1 - begin);
    let key_lines = lines(&keys.key_rows[begin * width..]);
    let grad_keys = lines_mut(&mut grads.keys[begin * width..]);
    let grad_values = lines_mut(&mut grads.values[begin * width..]);
    for vector_at in 0..vectors {
        let column = vector_at * LANES;
        let mut totals = [[0f32; LANES]; R];
        let mut query = [[0f32; LANES]; R];
        let mut grad = [[0f32; LANES]; R];
        for_each_row!(R, |row| {
            query[row] = *vector(tile.query_rows, row * width + column);
            grad[row] = *vector(tile.grad_rows, row * width + column);
        });
        for block in from / BLOCK_TOKENS..to.div_ceil(BLOCK_TOKENS) {
            let at = block * BLOCK_TOKENS;
            let mut p = [&[0f32; BLOCK_TOKENS]; R];
            let mut ds = [&[0f32; BLOCK_TOKENS]; R];
            for_each_row!(R, |row| {
                p[row] = vector(weights, row * stride + at);
                ds[row] = vector(grad_weights, row * stride + at);
            });
            for j in from.max(at) - at..to.min(at + BLOCK_TOKENS) - at {
                let line = (at + j) * vectors + vector_at;
                let key = key_lines[line];
                let mut grad_key = grad_keys[line];
                let mut grad_value = grad_values[line];
                for_each_row!(R, |row| {
                    multiply_add::<L, LANES>(&mut totals[row], ds[row][j], &key);
                    multiply_add::<L, LANES>(&mut grad_key, ds[row][j], &query[row]);
                    multiply_add::<L, LANES>(&mut grad_value, p[row][j], &grad[row]);
                });
                grad_keys[line] = grad_key;
                grad_values[line] = grad_value;
            }
        }
        for_each_row!(R, |row| {
            grads.queries[row * width + column..][..LANES].copy_from_slice(&totals[row]);
        });
    }
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
