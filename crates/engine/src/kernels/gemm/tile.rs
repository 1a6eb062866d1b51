//! The inner loop of a matrix product in f32: one tile of C, its accumulators in registers, for every tier and tile height.

#[cfg(target_arch = "x86_64")]
use crate::kernels::Fused;
use crate::kernels::element::Number;
use crate::kernels::{Lanes, Plain, for_each_row, multiply_add};

/// The inner loop of one tile: `c [MR, NR] = a . b`, or `c += a . b` when `load`.
///
/// # Safety
/// `a` points at `length * MR` values, `b` at `length * NR`, `c` at MR rows of NR elements, `stride` apart, that no one else touches.
pub(super) type TileKernel<T, E> =
    unsafe fn(length: usize, a: *const T, b: *const E, c: *mut f32, stride: usize, load: bool);

/// One accumulator per element of the tile, kept in registers.
///
/// # Safety
/// As for [`TileKernel`].
#[expect(
    clippy::too_many_arguments,
    reason = "the operands of a kernel with their dimensions"
)]
#[inline(always)]
unsafe fn tile<L: Lanes, E: Number, const MR: usize, const NR: usize>(
    length: usize,
    a: *const f32,
    b: *const E,
    c: *mut f32,
    stride: usize,
    load: bool,
) {
    let mut sums = [[0f32; NR]; MR];
    // SAFETY: by the contract every address below is inside its operand.
    unsafe {
        if load {
            for_each_row!(MR, |row| { sums[row] = *c.add(row * stride).cast::<[f32; NR]>() });
        }
        for at in 0..length {
            let narrow = &*b.add(at * NR).cast::<[E; NR]>();
            // A loop becomes vectors; `array::map` became single values, four times slower.
            let mut b = [0f32; NR];
            for i in 0..NR {
                b[i] = narrow[i].widen();
            }
            let a = a.add(at * MR);
            for_each_row!(MR, |row| { multiply_add::<L, NR>(&mut sums[row], *a.add(row), &b) });
        }
        for_each_row!(MR, |row| { *c.add(row * stride).cast::<[f32; NR]>() = sums[row] });
    }
}

/// The kernels of a tier: one function per tile height.
macro_rules! tile_kernels {
    ($name:ident, $lanes:ty, $columns:literal, $full:literal, $(#[$feature:meta])*) => {
        /// The kernel for tiles of `height` rows and `$columns` columns. Calling it is sound on machines that have the features.
        pub(super) fn $name<E: Number>(height: usize) -> TileKernel<f32, E> {
            tile_kernels!(@one full, $lanes, $full, $columns, $(#[$feature])*);
            tile_kernels!(@one four, $lanes, 4, $columns, $(#[$feature])*);
            tile_kernels!(@one two, $lanes, 2, $columns, $(#[$feature])*);
            tile_kernels!(@one one, $lanes, 1, $columns, $(#[$feature])*);
            match height {
                $full => full::<E>,
                1 => one::<E>,
                2 => two::<E>,
                _ => four::<E>,
            }
        }
    };
    (@one $name:ident, $lanes:ty, $rows:literal, $columns:literal, $(#[$feature:meta])*) => {
        #[expect(clippy::too_many_arguments, reason = "as of `TileKernel`")]
        $(#[$feature])*
        unsafe fn $name<E: Number>(length: usize, a: *const f32, b: *const E, c: *mut f32, stride: usize, load: bool) {
            // SAFETY: the caller keeps the contract of `tile`, which is the same.
            unsafe { tile::<$lanes, E, $rows, $columns>(length, a, b, c, stride, load) }
        }
    };
}

tile_kernels!(kernels_portable, Plain, 8, 4,);
#[cfg(target_arch = "x86_64")]
tile_kernels!(kernels_avx2, Fused, 16, 6, #[target_feature(enable = "avx2,fma")]);
#[cfg(target_arch = "x86_64")]
tile_kernels!(kernels_avx512, Fused, 32, 12, #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]);
