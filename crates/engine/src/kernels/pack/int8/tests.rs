//! The numbers that int8 keeps, in every tier and both directions.

use proptest::prelude::*;

use super::{GROUP, PanelRows};
use crate::compute::Compute;
use crate::config::{BaseDtype, WeightDtype, WeightFormat};
use crate::isa::Tier;
use crate::kernels::element::{Bf16, Number};
use crate::kernels::pack::{Packed, Panels, panel_width};

const INT8: WeightFormat = WeightFormat {
    dtype: WeightDtype::F32,
    base: Some(BaseDtype::Int8),
};

/// The numbers that stand for the row-major `weight [rows, columns]`, read back from its transpose, or from itself.
fn kept(tier: Tier, format: WeightFormat, (weight, columns): (&[f32], usize), is_transposed: bool) -> Vec<f32> {
    let compute = Compute::new(2, Some(tier)).expect("the pool starts");
    let rows = weight.len() / columns;
    let mut packed = Packed::projection(format);
    if is_transposed {
        packed.pack_transposed(&compute, weight, rows, columns);
    } else {
        packed.pack(&compute, weight, rows, columns);
    }
    let Panels::Int8(panels) = packed.values() else {
        panic!("a projection in int8 is kept in int8");
    };
    let (k, n, width) = (packed.k(), packed.n(), panel_width(tier));
    let mut found = vec![f32::NAN; weight.len()];
    for panel in 0..packed.panels() {
        // Stretches begin anywhere.
        let cut = k / 3;
        for (first, count) in [(0, cut), (cut, k - cut)] {
            let mut out = vec![f32::NAN; count * width];
            panels.widen(tier, PanelRows { panel, first, count }, &mut out);
            for at in 0..count {
                for column in 0..width {
                    let (row, column, value) = (first + at, panel * width + column, out[at * width + column]);
                    if column >= n {
                        assert_eq!(value, 0.0, "columns past N are zeros");
                    } else if is_transposed {
                        found[column * columns + row] = value;
                    } else {
                        found[row * columns + column] = value;
                    }
                }
            }
        }
    }
    found
}

fn tiers() -> impl Iterator<Item = Tier> {
    Tier::ALL.into_iter().filter(|tier| tier.is_available())
}

/// The scale of a group as the format defines it, computed in f64.
fn scale_of(group: &[f32]) -> f64 {
    let most = group
        .iter()
        .fold(0f64, |most, weight| most.max(f64::from(weight.abs())));
    f64::from(Bf16::nearest((most / 127.0) as f32).widen())
}

fn weights() -> impl Strategy<Value = (Vec<f32>, usize)> {
    let weight = prop_oneof![
        4 => -2f32..2.0,
        1 => Just(0.0),
        1 => (-30f32..30.0).prop_map(f32::exp2),
        1 => (-127i32..=127).prop_map(|whole| whole as f32 + 0.5),
    ];
    (1usize..6, 1usize..200)
        .prop_flat_map(move |(rows, columns)| (prop::collection::vec(weight.clone(), rows * columns), Just(columns)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_weight_becomes_the_nearest_multiple_of_its_groups_scale((weight, columns) in weights()) {
        let found = kept(Tier::Portable, INT8, (&weight, columns), true);
        for (row, kept) in weight.chunks(columns).zip(found.chunks(columns)) {
            for (group, kept) in row.chunks(GROUP).zip(kept.chunks(GROUP)) {
                let scale = scale_of(group);
                for (&weight, &kept) in group.iter().zip(kept) {
                    let (weight, kept) = (f64::from(weight), f64::from(kept));
                    prop_assert!((weight - kept).abs() <= scale * (0.5 + 1e-5), "{} {} {}", weight, kept, scale);
                    prop_assert!(weight != 0.0 || kept == 0.0);
                    if scale > 0.0 {
                        let multiple = kept / scale;
                        prop_assert_eq!(multiple, multiple.round(), "{} is no multiple of {}", kept, scale);
                        prop_assert!(multiple.abs() <= 127.0);
                    }
                }
            }
        }
    }

    #[test]
    fn all_tiers_and_both_directions_keep_the_same_numbers((weight, columns) in weights()) {
        let expected = kept(Tier::Portable, INT8, (&weight, columns), true);
        let rounded: Vec<f32> = expected.iter().map(|value| Bf16::nearest(*value).widen()).collect();
        for tier in tiers() {
            for is_transposed in [true, false] {
                let of = |dtype| kept(tier, WeightFormat { dtype, ..INT8 }, (&weight, columns), is_transposed);
                prop_assert_eq!(&of(WeightDtype::F32), &expected, "{:?} {}", tier, is_transposed);
                prop_assert_eq!(&of(WeightDtype::Bf16), &rounded, "{:?} {}", tier, is_transposed);
            }
        }
    }
}

#[test]
fn ties_go_to_the_even_multiple_and_groups_of_zeros_stay_zeros() {
    // 127 makes the scale 1.
    let mut weight = vec![0f32; 2 * GROUP];
    weight[..6].copy_from_slice(&[127.0, 0.5, 1.5, -2.5, -127.0, 63.49]);
    let found = kept(Tier::Portable, INT8, (&weight, 2 * GROUP), true);
    assert_eq!(found[..6], [127.0, 0.0, 2.0, -2.0, -127.0, 63.0]);
    assert_eq!(found[6..], [0f32; 2 * GROUP - 6]);
}

#[test]
fn numbers_below_the_smallest_scale_stay_within_half_of_it() {
    let weight = [1e-38f32, -3e-39, f32::MIN_POSITIVE, 0.0];
    let found = kept(Tier::Portable, INT8, (&weight, weight.len()), true);
    for (weight, kept) in weight.iter().zip(&found) {
        assert!((weight - kept).abs() <= f32::MIN_POSITIVE / 2.0, "{weight} {kept}");
    }
}

#[test]
fn a_weight_takes_a_byte_and_each_group_two_more() {
    let (n, k) = (3 * GROUP, 2 * GROUP);
    let weight = vec![1f32; n * k];
    for tier in tiers() {
        let compute = Compute::new(1, Some(tier)).expect("the pool starts");
        let [mut transposed, mut plain] = [INT8; 2].map(Packed::projection);
        transposed.pack_transposed(&compute, &weight, n, k);
        plain.pack(&compute, &weight, n, k);
        for packed in [transposed, plain] {
            let Panels::Int8(panels) = packed.values() else {
                panic!("a projection in int8 is kept in int8");
            };
            assert_eq!(panels.bytes(), n * k + 2 * (n * k / GROUP), "{tier:?}");
        }
    }
}
