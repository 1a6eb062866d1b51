//! Products with weights in int8 against products with the numbers that they stand for, to the bit.

use proptest::prelude::*;

use super::test_operands::numbers;
use super::{Left, gemm};
use crate::compute::Compute;
use crate::config::{BaseDtype, WeightDtype, WeightFormat};
use crate::isa::Tier;
use crate::kernels::element::{Bf16, Number};
use crate::kernels::pack::{GROUP, Packed};

/// The numbers that stand for rows of `columns` weights.
fn dequantised(weight: &[f32], columns: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(weight.len());
    for group in weight.chunks(columns).flat_map(|row| row.chunks(GROUP)) {
        let most = group.iter().fold(0f32, |most, weight| most.max(weight.abs()));
        let scale = Bf16::nearest(most / 127.0).widen();
        out.extend(group.iter().map(|weight| (weight / scale).round_ties_even() * scale));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_product_has_the_bits_of_the_numbers_that_stand_for_the_weights(
        (m, n, k) in (prop_oneof![1usize..30, 1usize..120], 1usize..150, 1usize..700),
        threads in 1usize..4,
        (is_transposed, accumulate) in any::<(bool, bool)>(),
        seed in any::<u64>(),
    ) {
        let (a, b, begin) = (numbers(m * k, seed), numbers(k * n, seed ^ 7), numbers(m * n, seed ^ 9));
        let plain = dequantised(&b, if is_transposed { k } else { n });
        for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
            let compute = Compute::new(threads, Some(tier)).expect("the pool starts");
            for dtype in [WeightDtype::F32, WeightDtype::Bf16] {
                let product = |mut packed: Packed, weight: &[f32]| {
                    if is_transposed {
                        packed.pack_transposed(&compute, weight, n, k);
                    } else {
                        packed.pack(&compute, weight, k, n);
                    }
                    let mut c = begin.clone();
                    gemm(&compute, m, Left::rows(&a, k), &packed, &mut c, accumulate);
                    c.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
                };
                let format = WeightFormat { dtype, base: Some(BaseDtype::Int8) };
                let found = product(Packed::projection(format), &b);
                prop_assert_eq!(found, product(Packed::kept_as(dtype), &plain), "{:?} {:?}", tier, dtype);
            }
        }
    }
}
