//! The peak of the cores: multiply-adds of registers, without memory.

use prl_engine::{Compute, WeightDtype};

/// Operations per second of all threads at the same time, in the instructions that multiply weights of the format; None where there is no loop of them
/// here (tiles, and processors that are not x86-64).
pub(crate) fn peak(compute: &Compute, dtype: WeightDtype) -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    return x86_64::peak(compute, dtype);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (compute, dtype);
        None
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m512bh, _mm256_fmadd_ps, _mm256_setzero_ps, _mm512_dpbf16_ps, _mm512_fmadd_ps, _mm512_setzero_ps,
    };
    use std::hint::black_box;
    use std::time::Instant;

    use prl_engine::{Compute, Tier, WeightDtype};

    /// Sums that wait for their last addition only: more than two multipliers have under way, and with the operands no more than AVX2 has registers.
    const CHAINS: usize = 14;
    /// Some milliseconds.
    const TURNS: usize = 1 << 21;

    macro_rules! multiply_adds {
        ($name:ident, $features:literal, $zero:expr, $multiply_add:expr) => {
            #[target_feature(enable = $features)]
            fn $name() {
                let (a, b) = black_box(($zero, $zero));
                let mut sums = [black_box($zero); CHAINS];
                for _ in 0..TURNS {
                    for sum in &mut sums {
                        *sum = $multiply_add(*sum, a, b);
                    }
                }
                black_box(sums);
            }
        };
    }

    multiply_adds!(fused, "avx2,fma", _mm256_setzero_ps(), |sum, a, b| _mm256_fmadd_ps(
        a, b, sum
    ));
    multiply_adds!(fused_wide, "avx512f", _mm512_setzero_ps(), |sum, a, b| _mm512_fmadd_ps(
        a, b, sum
    ));
    multiply_adds!(pairs, "avx512f,avx512bf16", _mm512_setzero_ps(), |sum, a, b| {
        // SAFETY: any 512 bits are pairs.
        let [a, b] = unsafe { [a, b].map(|bits| std::mem::transmute::<_, __m512bh>(bits)) };
        _mm512_dpbf16_ps(sum, a, b)
    });

    pub(super) fn peak(compute: &Compute, dtype: WeightDtype) -> Option<f64> {
        let (run, operations): (unsafe fn(), usize) = match (compute.tier(), dtype) {
            (Tier::Portable, _) | (Tier::Amx, WeightDtype::Bf16) => return None,
            (Tier::Avx2, _) => (fused, 2 * 8),
            (Tier::Avx512Bf16, WeightDtype::Bf16) => (pairs, 4 * 16),
            (Tier::Avx512 | Tier::Avx512Bf16 | Tier::Amx, _) => (fused_wide, 2 * 16),
        };
        let of_a_thread = || {
            let start = Instant::now();
            // SAFETY: a `Compute` has only tiers whose instructions the machine has.
            unsafe { run() };
            (TURNS * CHAINS * operations) as f64 / start.elapsed().as_secs_f64()
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..compute.threads()).map(|_| scope.spawn(of_a_thread)).collect();
            Some(
                threads
                    .into_iter()
                    .map(|thread| thread.join().expect("a loop of registers"))
                    .sum(),
            )
        })
    }
}
