//! Left tiles: 16 rows of 32 bfloat16 numbers, made of f32.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _mm512_setzero_si512, _mm512_storeu_si512};

use super::{SIDE, TILE};
use crate::kernels::pairs::{AHEAD, Pair, consecutive_pairs, sixteen, sixteen_pairs, turned};

/// Numbers of a row of a tile.
const DEPTH: usize = 2 * SIDE;

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
            // SAFETY: a row of a tile is 512 bits.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), consecutive_pairs(part)) };
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
            // SAFETY: a row of a tile is 512 bits.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), row) };
        }
    }
}
