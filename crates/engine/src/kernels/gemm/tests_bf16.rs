//! Products of bfloat16 numbers against the chain that the instruction defines, to the bit, and against f64 within the bound of the rounding.

use proptest::prelude::*;

use super::{Left, gemm};
use crate::compute::Compute;
use crate::config::WeightDtype;
use crate::isa::Tier;
use crate::kernels::element::{Bf16, Number};
use crate::kernels::pack::Packed;

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    let next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_element_is_the_chain_over_pairs(
        (m, n, k) in (1usize..120, 1usize..80, 1usize..1200),
        threads in 1usize..4,
        (transposed, columns, accumulate) in any::<(bool, bool, bool)>(),
        seed in any::<u64>(),
    ) {
        if !Tier::Avx512Bf16.is_available() {
            return Ok(());
        }
        let compute = Compute::new(threads, Some(Tier::Avx512Bf16)).expect("the pool starts");
        let (a, b, begin) = (numbers(m * k, seed), numbers(k * n, seed ^ 7), numbers(m * n, seed ^ 9));
        let mut packed = Packed::kept_as(WeightDtype::Bf16);
        let b_at = |at: usize, column: usize| if transposed { b[column * k + at] } else { b[at * n + column] };
        if transposed {
            packed.pack_transposed(&compute, &b, n, k);
        } else {
            packed.pack(&compute, &b, k, n);
        }
        let a_at = |row: usize, at: usize| if columns { a[at * m + row] } else { a[row * k + at] };
        let left = if columns { Left::columns(&a, m) } else { Left::rows(&a, k) };
        let mut found = begin.clone();
        gemm(&compute, m, left, &packed, &mut found, accumulate);
        let near = |value: f32| Bf16::nearest(value).widen();
        for (row, column) in [(0, 0), (m - 1, n - 1), (m / 2, n / 3), (m / 3, n / 2)] {
            let first = if accumulate { begin[row * n + column] } else { 0.0 };
            let (mut chain, mut exact, mut size) = (first, f64::from(first), f64::from(first.abs()));
            for pair in (0..k).step_by(2) {
                for at in [pair + 1, pair] {
                    if at < k {
                        let (x, y) = (a_at(row, at), b_at(at, column));
                        chain = near(x).mul_add(near(y), chain);
                        exact += f64::from(x) * f64::from(y);
                        size += (f64::from(x) * f64::from(y)).abs();
                    }
                }
            }
            let result = found[row * n + column];
            prop_assert_eq!(result.to_bits(), chain.to_bits());
            // A number of eight bits is off by 2^-8 at most, and so is each factor; each of the k sums is by 2^-24.
            let bound = size * (2.0 / 256.0 + 1.0 / 65_536.0 + k as f64 / 16_777_216.0);
            prop_assert!((f64::from(result) - exact).abs() <= bound, "{} {} {}", result, exact, bound);
        }
    }
}
