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

/// Gradients of a tile of 1, 2 or 4 rows. `weights` holds `2 * R * row_stride(positions, window)`.
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
        rows => unreachable!("a tile has 1, 2 or 4 rows, not {rows}"),
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

    for column in (0..width).step_by(LANES) {
        let mut totals = [[0f32; LANES]; R];
        let mut query = [[0f32; LANES]; R];
        let mut grad = [[0f32; LANES]; R];
        for_each_row!(R, |row| {
            query[row] = *vector(tile.query_rows, row * width + column);
            grad[row] = *vector(tile.grad_rows, row * width + column);
        });
        for j in first_key(first, tile.window) - begin..last + 1 - begin {
            let at = (begin + j) * width + column;
            let key = vector(keys.key_rows, at);
            let mut grad_key = *vector(grads.keys, at);
            let mut grad_value = *vector(grads.values, at);
            for_each_row!(R, |row| {
                let (p, ds) = (weights[row * stride + j], grad_weights[row * stride + j]);
                multiply_add::<L, LANES>(&mut totals[row], ds, key);
                multiply_add::<L, LANES>(&mut grad_key, ds, &query[row]);
                multiply_add::<L, LANES>(&mut grad_value, p, &grad[row]);
            });
            grads.keys[at..at + LANES].copy_from_slice(&grad_key);
            grads.values[at..at + LANES].copy_from_slice(&grad_value);
        }
        for_each_row!(R, |row| {
            grads.queries[row * width + column..][..LANES].copy_from_slice(&totals[row]);
        });
    }
}

/// Turns exponentials into weights `p`, and the gradients of weights into the gradients of scores (times `scale`).
#[inline(always)]
pub(crate) fn softmax_backward<L: Lanes>(p: &mut [f32], grad: &mut [f32], sum: f32, scale: f32) {
    let n = p.len();
    let grad = &mut grad[..n];
    let whole = n - n % LANES;
    let mut lanes = [0f32; LANES];
    for base in (0..whole).step_by(LANES) {
        for lane in 0..LANES {
            let i = base + lane;
            p[i] /= sum;
            lanes[lane] = L::mul_add(p[i], grad[i], lanes[lane]);
        }
    }
    for i in whole..n {
        p[i] /= sum;
        lanes[i - whole] = L::mul_add(p[i], grad[i], lanes[i - whole]);
    }
    let mean = sum_lanes(lanes);
    for i in 0..n {
        grad[i] = p[i] * (grad[i] - mean) * scale;
    }
}
