//! Attention in tiles against the same sums in portable Rust, to the bit.

use proptest::prelude::*;

use super::attend::{Queries, Scratch, attend};
use super::reference::{chain, flushed};
use crate::isa::Tier;
use crate::kernels::Fused;
use crate::kernels::attention::{BLOCK_TOKENS, Keys, exponentials, first_key, padded};
use crate::kernels::element::{Bf16, Number};

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    let next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 22) as f32 - 2.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn near(value: f32) -> f32 {
    Bf16::nearest(flushed(value)).widen()
}

/// One head of a sequence, by token.
struct Head {
    dim: usize,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Head {
    /// Blocks in descending order, between blocks of numbers that no result may depend on.
    fn stored(&self) -> (Vec<f32>, Vec<f32>, Vec<u32>) {
        let (dim, width) = (self.dim, padded(self.dim));
        let length = self.keys.len() / dim;
        let blocks = length.div_ceil(BLOCK_TOKENS);
        let mut keys = vec![f32::NAN; 2 * blocks * dim * BLOCK_TOKENS];
        let mut values = vec![f32::NAN; 2 * blocks * width * BLOCK_TOKENS];
        let table: Vec<u32> = (0..blocks).map(|block| (2 * (blocks - block) - 1) as u32).collect();
        for token in 0..length {
            let (block, at) = (table[token / BLOCK_TOKENS] as usize, token % BLOCK_TOKENS);
            for d in 0..dim {
                keys[(block * dim + d) * BLOCK_TOKENS + at] = self.keys[token * dim + d];
                values[(block * BLOCK_TOKENS + at) * width + d] = self.values[token * dim + d];
            }
            values[(block * BLOCK_TOKENS + at) * width..][dim..width].fill(0.0);
        }
        (keys, values, table)
    }

    fn expected(&self, query: &[f32], position: usize, window: usize, scale: f32) -> Vec<f32> {
        let dim = self.dim;
        let first = first_key(position, window);
        let score = |key: usize| {
            let products = (0..dim).map(|d| (near(query[d]), near(self.keys[key * dim + d])));
            chain(0.0, products) * scale
        };
        let mut weights: Vec<f32> = (first..=position).map(score).collect();
        let (_, sum) = exponentials::<Fused>(&mut weights);
        let of = |d: usize| {
            let weight = |key: usize| key.checked_sub(first).map_or(0.0, |at| near(weights[at]));
            let products = (0..=position).map(|key| (weight(key), near(self.values[key * dim + d])));
            (chain(0.0, products) + 0.0) / sum
        };
        (0..dim).map(of).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_output_is_the_chain_over_the_keys_that_its_query_sees(
        dim in 1usize..100,
        (length, rows, group) in (1usize..120, 1usize..100, 1usize..4),
        window in prop_oneof![Just(usize::MAX), 1usize..60],
        seed in any::<u64>(),
    ) {
        if !Tier::Amx.is_available() {
            return Ok(());
        }
        let head = Head { dim, keys: numbers(length * dim, seed), values: numbers(length * dim, seed ^ 5) };
        let (keys, values, table) = head.stored();
        let rows = rows.min(length * group);
        let positions: Vec<usize> = (0..rows).map(|row| length - 1 - (rows - 1 - row) / group).collect();
        let queries = numbers(rows * dim, seed ^ 9);
        let row = |i: usize| &queries[i * dim..][..dim];
        let scale = 1.0 / (dim as f32).sqrt();
        let keys = Keys { keys: &keys, values: &values, table: &table, head_dim: dim, heads: 1, head: 0 };
        let mut scratch = Scratch::default();
        // SAFETY: the tier is there.
        let (stride, found) = unsafe { attend(&Queries { row, positions: &positions, window, scale }, &keys, &mut scratch) };
        for (i, found) in found.chunks(stride).take(rows).enumerate() {
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&found[..dim]), bits(&head.expected(row(i), positions[i], window, scale)), "row {}", i);
        }
    }
}
