//! The inner loop of a product of bfloat16 numbers: one tile of C, its f32 accumulators in registers.
//!
//! VDPBF16PS adds the products of a pair to an accumulator one after the other, that of the higher k first, each sum rounded to the nearest.
//! The products themselves are exact. Numbers and sums below the smallest normal one count as 0.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_dpbf16_ps, _mm512_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_storeu_ps,
};

use super::tile::TileKernel;
use crate::kernels::for_each_row;
use crate::kernels::pairs::Pair;

/// Columns of a tile: two vectors of accumulators.
const COLUMNS: usize = 32;

/// The kernel for tiles of `height` rows and 32 columns; a length counts pairs. Calling it is sound on machines that have the features.
pub(super) fn kernels_avx512_bf16(height: usize) -> TileKernel<Pair, Pair> {
    match height {
        12 => tile::<12>,
        1 => tile::<1>,
        2 => tile::<2>,
        _ => tile::<4>,
    }
}

/// # Safety
/// As for [`TileKernel`].
#[expect(clippy::too_many_arguments, reason = "as of `TileKernel`")]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
unsafe fn tile<const MR: usize>(length: usize, a: *const Pair, b: *const Pair, c: *mut f32, stride: usize, load: bool) {
    let mut sums = [[_mm512_setzero_ps(); 2]; MR];
    // SAFETY: by the contract every address below is inside its operand; any 512 bits are pairs.
    unsafe {
        if load {
            for_each_row!(MR, |row| {
                let c = c.add(row * stride);
                sums[row] = [_mm512_loadu_ps(c), _mm512_loadu_ps(c.add(COLUMNS / 2))];
            });
        }
        for at in 0..length {
            let b = b.add(at * COLUMNS);
            let b = [b, b.add(COLUMNS / 2)].map(|half| half.cast::<__m512bh>().read_unaligned());
            let a = a.add(at * MR).cast::<i32>();
            for_each_row!(MR, |row| {
                let a = std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(*a.add(row)));
                sums[row][0] = _mm512_dpbf16_ps(sums[row][0], a, b[0]);
                sums[row][1] = _mm512_dpbf16_ps(sums[row][1], a, b[1]);
            });
        }
        for_each_row!(MR, |row| {
            let c = c.add(row * stride);
            _mm512_storeu_ps(c, sums[row][0]);
            _mm512_storeu_ps(c.add(COLUMNS / 2), sums[row][1]);
        });
    }
}
