//! The kernels: plain loops over arrays of constant size, written once and compiled once per instruction-set tier.
//!
//! A kernel's body is a generic, always-inlined function over a [`Lanes`] type; `tiered!` makes one `#[target_feature]` instantiation per
//! tier and the function that picks it. The compiler neither reorders nor fuses float operations, so the bits of a result follow from the
//! order written in the body; that order is a function of indices only, never of the number of rows or threads.

#![expect(
    clippy::needless_range_loop,
    reason = "index loops over several arrays are what the compiler vectorises best"
)]

pub(crate) mod adamw;
#[cfg(target_arch = "x86_64")]
pub(crate) mod amx;
pub(crate) mod attention;
pub(crate) mod attention_backward;
pub(crate) mod buffer;
pub(crate) mod element;
pub(crate) mod gemm;
pub(crate) mod math;
pub(crate) mod noise;
pub(crate) mod norm;
pub(crate) mod pack;
#[cfg(target_arch = "x86_64")]
mod pairs;
pub(crate) mod rotary;
pub(crate) mod route;
pub(crate) mod softmax;
pub(crate) mod swiglu;
pub(crate) mod transpose;

/// Accumulators of a vectorised reduction: element `i` goes to accumulator `i % LANES`, and the accumulators are added as a fixed tree.
pub(crate) const LANES: usize = 16;

/// The differences between tiers.
pub(crate) trait Lanes: Copy {
    /// Whether products are fused into sums.
    const FUSED: bool;
    /// Sums of [`LANES`] numbers that a kernel adds to in turn, each waiting for its last addition only: enough to keep the multipliers busy,
    /// few enough for the registers.
    const CHAINS: usize;

    /// `a * b + c`.
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        if Self::FUSED { a.mul_add(b, c) } else { a * b + c }
    }
}

/// Multiply, then add.
#[derive(Clone, Copy)]
pub(crate) struct Plain;
/// Fused multiply-add.
#[derive(Clone, Copy)]
pub(crate) struct Fused;
/// Fused multiply-add of [`LANES`] numbers in one register.
#[derive(Clone, Copy)]
pub(crate) struct FusedWide;

impl Lanes for Plain {
    const FUSED: bool = false;
    const CHAINS: usize = 1;
}

impl Lanes for Fused {
    const FUSED: bool = true;
    const CHAINS: usize = 4;
}

impl Lanes for FusedWide {
    const FUSED: bool = true;
    const CHAINS: usize = 8;
}

/// Adds the accumulators of a reduction in a fixed tree.
#[inline(always)]
pub(crate) fn sum_lanes(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// `sums[i] += a * b[i]`: the step of every product kernel.
#[inline(always)]
pub(crate) fn multiply_add<L: Lanes, const N: usize>(sums: &mut [f32; N], a: f32, b: &[f32; N]) {
    for i in 0..N {
        sums[i] = L::mul_add(a, b[i], sums[i]);
    }
}

/// Runs a block for each row below `$rows`, at most 12, without a loop: the compiler then keeps each row's accumulators in registers. With
/// nested loops its unrolling limits decide. The conditions are constants, because the compiler then leaves out the rows that there are not before
/// LLVM sees them: with comparisons it handed over twice as much code.
macro_rules! for_each_row {
    ($rows:expr, |$row:ident| $body:block) => {
        const { assert!($rows <= 12, "twelve rows are written out") };
        $crate::kernels::for_each_row!(@ $rows, $row, $body, 0 1 2 3 4 5 6 7 8 9 10 11)
    };
    (@ $rows:expr, $row:ident, $body:block, $($index:literal)*) => {
        $(if const { $rows > $index } {
            let $row = $index;
            $body
        })*
    };
}
pub(crate) use for_each_row;

/// Defines `fn $name(tier, ..)` that runs `$body` of the tier's [`Lanes`], compiled for the tier.
macro_rules! tiered {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:ident $(<$rows:literal>)?) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name(tier: $crate::isa::Tier, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    $body::<$crate::kernels::Fused $(, $rows)?>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
                fn avx512($($arg: $ty),*) $(-> $ret)? {
                    $body::<$crate::kernels::FusedWide $(, $rows)?>($($arg),*)
                }
                match tier {
                    $crate::isa::Tier::Avx512 | $crate::isa::Tier::Avx512Bf16 | $crate::isa::Tier::Amx => {
                        // SAFETY: a `Compute` hands out only tiers that the machine has.
                        return unsafe { avx512($($arg),*) };
                    }
                    // SAFETY: as above.
                    $crate::isa::Tier::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::isa::Tier::Portable => {}
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = tier;
            $body::<$crate::kernels::Plain $(, $rows)?>($($arg),*)
        }
    };
}
pub(crate) use tiered;
