//! Left tiles: 16 rows of 32 bfloat16 numbers, made of f32.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _mm512_setzero_si512};

use super::{SIDE, TILE};
use crate::kernels::pairs::{AHEAD, Pair, consecutive_pairs, sixteen, sixteen_pairs, store, turned};

/// Numbers of a row of a tile.
const DEPTH: usize = 2 * SIDE;

/// Where the left tiles of a row begin among those of `rows`, which are `length` long, and pairs from one tile to the next along k: the tiles
/// of 32 rows lie side by side.
pub(crate) fn place(row: usize, rows: usize, length: usize) -> (usize, usize) {
    let upper = row / DEPTH * DEPTH;
    let beside = DEPTH.min(rows - upper).next_multiple_of(SIDE);
    let tile = (row - upper) / SIDE * SIDE;
    (upper * SIDE * length + (tile + row % SIDE) * SIDE, beside * SIDE)
}

/// Makes the tiles of `height`, at most 16, rows of `length` numbers each, `stride` apart: those of k from 0 to 31, from 32 to 63 and so on,
/// each `step` pairs behind the one before. Behind a row's end stand zeros; rows behind the last one keep what they hold.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn tile_rows(
    rows: &[f32],
    (stride, length): (usize, usize),
    height: usize,
    (out, step): (&mut [Pair], usize),
) {
    for i in 0..height {
        let row = &rows[i * stride..][..length];
        for (at, part) in row.chunks(DEPTH).enumerate() {
            let to = &mut out[at * step + i * SIDE..][..SIDE];
            store(consecutive_pairs(part), to);
        }
    }
}

/// [`tile_rows`] of the first `height`, at most 16, columns of `length` rows, `stride` apart.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn tile_columns(
    rows: &[f32],
    (stride, length): (usize, usize),
    height: usize,
    (out, step): (&mut [Pair], usize),
) {
    let row = |at: usize| {
        if at < length {
            sixteen(&rows[at * stride..][..height])
        } else {
            sixteen(&[])
        }
    };
    for first in (0..length).step_by(DEPTH) {
        let to = &mut out[first / DEPTH * step..][..TILE];
        let mut pairs = [_mm512_setzero_si512(); SIDE];
        for (at, pairs) in pairs.iter_mut().enumerate() {
            for ahead in [first + 2 * at + AHEAD, first + 2 * at + 1 + AHEAD] {
                _mm_prefetch::<_MM_HINT_T0>(rows.as_ptr().wrapping_add(ahead * stride).cast());
            }
            *pairs = sixteen_pairs(row(first + 2 * at), row(first + 2 * at + 1));
        }
        for (to, row) in to.chunks_exact_mut(SIDE).zip(turned(pairs)) {
            store(row, to);
        }
    }
}
