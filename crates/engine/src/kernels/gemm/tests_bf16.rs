//! Products of bfloat16 numbers against the chain that the instruction defines, to the bit, and against f64 within the bound of the rounding.

use proptest::prelude::*;

use super::test_operands::numbers;
use super::{Left, gemm};
use crate::compute::Compute;
use crate::config::WeightDtype;
use crate::isa::Tier;
use crate::kernels::amx::reference::{self, flushed};
use crate::kernels::element::{Bf16, Number};
use crate::kernels::pack::Packed;

/// The product of a tier that multiplies bfloat16 numbers, in portable Rust.
fn chain(tier: Tier, first: f32, products: impl Iterator<Item = (f32, f32)>) -> f32 {
    if tier == Tier::Amx {
        return reference::chain(first, products);
    }
    let products: Vec<_> = products.collect();
    let add = |sum: f32, (a, b): &(f32, f32)| flushed(flushed(*a).mul_add(flushed(*b), flushed(sum)));
    products
        .chunks(2)
        .fold(first, |sum, pair| pair.iter().rev().fold(sum, add))
}

/// The number that a product takes in the place of `value`.
fn near(value: f32) -> f32 {
    Bf16::nearest(flushed(value)).widen()
}

fn tiers() -> impl Iterator<Item = Tier> {
    Tier::ALL
        .into_iter()
        .filter(|tier| tier.multiplies_bf16() && tier.is_available())
}

/// Numbers below the smallest normal one count as 0, sums that become so small do too, and what is not finite goes on as it does in f32.
#[test]
fn denormal_numbers_are_zeros_and_what_is_not_finite_spreads() {
    let [m, n, k] = [5, 3, 70];
    let tiny = f32::MIN_POSITIVE;
    let special = [
        tiny / 2.0,
        -tiny,
        1.5 * tiny,
        f32::from_bits(0x007f_ffff),
        1e-20,
        -1e-20,
        1e-19,
        1e-38,
        0.0,
        -0.0,
        1.0,
        3e38,
        f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    for (finite, seeds) in [(11, 400), (special.len(), 100)] {
        for seed in 0..seeds {
            let of = |count, seed| {
                let places = numbers(count, seed).into_iter();
                let place = |x: f32| ((x + 1.0) / 2.0 * finite as f32) as usize;
                places.map(|x| special[place(x).min(finite - 1)]).collect::<Vec<_>>()
            };
            let (a, b, begin) = (of(m * k, seed), of(n * k, seed + 1000), of(m * n, seed + 2000));
            for tier in tiers() {
                let compute = Compute::new(1, Some(tier)).expect("the pool starts");
                let mut packed = Packed::kept_as(WeightDtype::Bf16);
                packed.pack_transposed(&compute, &b, n, k);
                let mut found = begin.clone();
                gemm(&compute, m, Left::rows(&a, k), &packed, &mut found, true);
                for (at, found) in found.iter().enumerate() {
                    let (row, column) = (at / n, at % n);
                    let products = (0..k).map(|i| (near(a[row * k + i]), near(b[column * k + i])));
                    let expected = chain(tier, begin[at], products);
                    let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                    assert!(same, "{tier:?} {seed} {row} {column}: {found:e} {expected:e}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_element_is_the_chain_that_the_instruction_defines(
        (m, n, k) in (1usize..120, 1usize..80, 1usize..1200),
        threads in 1usize..4,
        (transposed, columns, accumulate) in any::<(bool, bool, bool)>(),
        seed in any::<u64>(),
    ) {
        let (a, b, begin) = (numbers(m * k, seed), numbers(k * n, seed ^ 7), numbers(m * n, seed ^ 9));
        let b_at = |at: usize, column: usize| if transposed { b[column * k + at] } else { b[at * n + column] };
        let a_at = |row: usize, at: usize| if columns { a[at * m + row] } else { a[row * k + at] };
        for tier in tiers() {
            let compute = Compute::new(threads, Some(tier)).expect("the pool starts");
            let mut packed = Packed::kept_as(WeightDtype::Bf16);
            if transposed {
                packed.pack_transposed(&compute, &b, n, k);
            } else {
                packed.pack(&compute, &b, k, n);
            }
            let left = if columns { Left::columns(&a, m) } else { Left::rows(&a, k) };
            let mut found = begin.clone();
            gemm(&compute, m, left, &packed, &mut found, accumulate);
            for (row, column) in [(0, 0), (m - 1, n - 1), (m / 2, n / 3), (m / 3, n / 2)] {
                let first = if accumulate { begin[row * n + column] } else { 0.0 };
                let rounded = (0..k).map(|at| (near(a_at(row, at)), near(b_at(at, column))));
                let expected = chain(tier, first, rounded);
                let (mut exact, mut size) = (f64::from(first), f64::from(first.abs()));
                for at in 0..k {
                    let product = f64::from(a_at(row, at)) * f64::from(b_at(at, column));
                    exact += product;
                    size += product.abs();
                }
                let result = found[row * n + column];
                prop_assert_eq!(result.to_bits(), expected.to_bits(), "{:?}", tier);
                // A number of eight bits is off by 2^-8 at most, and so is each factor; each of the k sums is by 2^-24.
                let bound = size * (2.0 / 256.0 + 1.0 / 65_536.0 + k as f64 / 16_777_216.0);
                prop_assert!((f64::from(result) - exact).abs() <= bound, "{:?} {} {} {}", tier, result, exact, bound);
            }
        }
    }
}
