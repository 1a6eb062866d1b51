//! Attention in tiles against the same sums in portable Rust, to the bit, and its gradients against f64.

use proptest::prelude::*;

use super::attend::{Queries, Scratch, attend};
use super::attend_backward::{CHUNK, Chunk, Head as Gradients, Rows};
use super::reference::{chain, flushed};
use crate::isa::Tier;
use crate::kernels::Fused;
use crate::kernels::attention::{BLOCK_TOKENS, Keys, exponentials, first_key, padded};
use crate::kernels::element::{Bf16, Number};
use crate::kernels::gemm::test_operands;

/// Numbers between -2 and 2.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let numbers = test_operands::numbers(count, seed);
    numbers.into_iter().map(|number| 2.0 * number).collect()
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
    fn stored(&self) -> (Vec<Bf16>, Vec<Bf16>, Vec<u32>) {
        let (dim, width) = (self.dim, padded(self.dim));
        let length = self.keys.len() / dim;
        let blocks = length.div_ceil(BLOCK_TOKENS);
        let not_a_number = Bf16::rounded(f32::NAN);
        let mut keys = vec![not_a_number; 2 * blocks * dim * BLOCK_TOKENS];
        let mut values = vec![not_a_number; 2 * blocks * width * BLOCK_TOKENS];
        let table: Vec<u32> = (0..blocks).map(|block| (2 * (blocks - block) - 1) as u32).collect();
        for token in 0..length {
            let (block, at) = (table[token / BLOCK_TOKENS] as usize, token % BLOCK_TOKENS);
            for d in 0..dim {
                keys[(block * dim + d) * BLOCK_TOKENS + at] = Bf16::rounded(self.keys[token * dim + d]);
                values[(block * BLOCK_TOKENS + at) * width + d] = Bf16::rounded(self.values[token * dim + d]);
            }
            values[(block * BLOCK_TOKENS + at) * width..][dim..width].fill(Bf16::default());
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

/// Sums of the gradients of queries, keys and values in f64, for numbers that are rounded to bfloat16 where they come in.
fn differentiated(head: &Head, [queries, grads]: [&[f32]; 2], positions: &[usize], window: usize) -> [Vec<f64>; 3] {
    let dim = head.dim;
    let wide = |values: &[f32]| values.iter().map(|value| f64::from(near(*value))).collect::<Vec<_>>();
    let [queries, grads, keys, values] = [queries, grads, &head.keys, &head.values].map(wide);
    let dot = |a: &[f64], i: usize, b: &[f64], j: usize| (0..dim).map(|d| a[i * dim + d] * b[j * dim + d]).sum::<f64>();
    let scale = 1.0 / (dim as f64).sqrt();
    let mut out = [vec![0.0; queries.len()], vec![0.0; keys.len()], vec![0.0; keys.len()]];
    for (row, &position) in positions.iter().enumerate() {
        let seen = first_key(position, window)..=position;
        let exponentials: Vec<f64> = seen
            .clone()
            .map(|key| (scale * dot(&queries, row, &keys, key)).exp())
            .collect();
        let sum: f64 = exponentials.iter().sum();
        let weights: Vec<f64> = exponentials.iter().map(|x| x / sum).collect();
        let slopes: Vec<f64> = seen.clone().map(|key| dot(&grads, row, &values, key)).collect();
        let mean: f64 = weights.iter().zip(&slopes).map(|(p, dp)| p * dp).sum();
        for (at, key) in seen.enumerate() {
            let ds = weights[at] * (slopes[at] - mean) * scale;
            for d in 0..dim {
                out[0][row * dim + d] += ds * keys[key * dim + d];
                out[1][key * dim + d] += ds * queries[row * dim + d];
                out[2][key * dim + d] += weights[at] * grads[row * dim + d];
            }
        }
    }
    out
}

/// Rows padded to whole vectors with zeros.
fn laid(values: &[f32], dim: usize) -> Vec<f32> {
    let pad = std::iter::repeat_n(0.0, padded(dim) - dim);
    values
        .chunks(dim)
        .flat_map(|row| row.iter().copied().chain(pad.clone()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gradients_are_near_those_in_f64(
        dim in 1usize..80,
        (length, group) in (1usize..100, 1usize..4),
        window in prop_oneof![Just(usize::MAX), 1usize..60],
        seed in any::<u64>(),
    ) {
        if !Tier::Amx.is_available() {
            return Ok(());
        }
        let head = Head { dim, keys: numbers(length * dim, seed), values: numbers(length * dim, seed ^ 5) };
        let positions: Vec<usize> = (0..length * group).map(|row| row / group).collect();
        let [queries, grads] = [9, 17].map(|salt| numbers(positions.len() * dim, seed ^ salt));
        let expected = differentiated(&head, [&queries, &grads], &positions, window);
        let width = padded(dim);
        let [keys, values, laid_queries, laid_grads] = [&head.keys, &head.values, &queries, &grads].map(|of| laid(of, dim));
        let of = |values| Rows { values, width, count: length };
        let mut sums = Gradients::default();
        // SAFETY: the tier is there.
        unsafe { sums.load(of(&keys), of(&values)) };
        let stride = sums.stride();
        let mut found = Vec::new();
        for (at, positions) in positions.chunks(CHUNK).enumerate() {
            let part = |values| Rows { values, width, count: positions.len() };
            let chunk = Chunk {
                queries: part(&laid_queries[at * CHUNK * width..]),
                grads: part(&laid_grads[at * CHUNK * width..]),
                positions,
                window,
                scale: 1.0 / (dim as f32).sqrt(),
            };
            // SAFETY: as above.
            let gradients = unsafe { sums.backward(&chunk) };
            found.extend_from_slice(&gradients[..positions.len() * stride]);
        }
        for (name, found, expected) in [
            ("queries", &found[..], &expected[0]),
            ("keys", sums.grad_keys(), &expected[1]),
            ("values", sums.grad_values(), &expected[2]),
        ] {
            let found = found.chunks(stride).flat_map(|row| &row[..dim]);
            let (mut error, mut scale) = (0.0, 0.0);
            for (found, expected) in found.zip(expected) {
                error += (f64::from(*found) - expected).powi(2);
                scale += expected.powi(2);
            }
            // Weights and gradients of scores are rounded by 2^-9 of themselves; the bound leaves room for sums that cancel.
            prop_assert!(error.sqrt() <= 0.02 * scale.sqrt() + 1e-6, "{} {} {}", name, error.sqrt(), scale.sqrt());
        }
    }
}
