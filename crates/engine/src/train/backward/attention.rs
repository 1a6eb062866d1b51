//! Backward pass of a layer's attention: one task per sequence and key-value head.
//!
//! Keys and values that a sequence inherits from the rows of an earlier one get separate gradients. These are added to the gradients of the
//! rows in the order of the sequences.

use std::cell::RefCell;

#[cfg(target_arch = "x86_64")]
use super::attention_in_tiles;
use crate::compute::Compute;
use crate::config::ModelConfig;
use crate::kernels::LANES;
use crate::kernels::attention::{BLOCK_TOKENS, MOST_ROWS, padded, row_stride};
use crate::kernels::attention_backward::{BackwardGrads, BackwardKeys, BackwardTile, attend_backward};
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::element::round;
use crate::kernels::norm::add;
use crate::kernels::transpose::transpose;
#[cfg(target_arch = "x86_64")]
use crate::model::attend::in_tiles;
use crate::model::attend::tile_rows;
use crate::model::cache::keeps_bf16;
use crate::model::layer::Pass;
use crate::model::rows::{Rows, Span};

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

#[derive(Default)]
struct Scratch {
    keys: Buffer,
    values: Buffer,
    key_rows: Buffer,
    value_rows: Buffer,
    grad_keys: Buffer,
    grad_values: Buffer,
    queries: Buffer,
    query_rows: Buffer,
    grads: Buffer,
    grad_rows: Buffer,
    grad_queries: Buffer,
    weights: Buffer,
}

impl Scratch {
    /// `stride`: elements of a row of weights.
    fn make_room_for_a_tile(&mut self, dim: usize, stride: usize) {
        let width = padded(dim);
        for (buffer, len) in [
            (&mut self.queries, MOST_ROWS * dim),
            (&mut self.grads, MOST_ROWS * dim),
            (&mut self.query_rows, MOST_ROWS * width),
            (&mut self.grad_rows, MOST_ROWS * width),
            (&mut self.grad_queries, MOST_ROWS * width),
            (&mut self.weights, 2 * MOST_ROWS * stride),
        ] {
            buffer.resize(len);
        }
        self.query_rows.fill(0.0);
        self.grad_rows.fill(0.0);
    }
}

/// A layer's arrays around attention, all of N rows. W is the width of q, k and v side by side.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// `[N, q + k]`: q and k after norm and rotation.
    pub(crate) turned: &'a [f32],
    /// `[N, W]`: q, k and v, of which v is read.
    pub(crate) qkv: &'a [f32],
    /// `[N, q]`: gradient of attention's output.
    pub(crate) grad_attended: &'a [f32],
}

/// Writes the gradient of (turned q, turned k, v) into `grad_qkv [N, W]`. Every sequence starts at position 0.
pub(crate) fn attention_backward(
    pass: Pass<'_>,
    around: Around<'_>,
    grad_qkv: &mut [f32],
    grad_inherited: &mut Buffer,
) {
    let Pass {
        compute, config, rows, ..
    } = pass;
    let heads = config.num_kv_heads;
    grad_inherited.resize(rows.inherited.len() * 2 * config.kv_width());
    let out = Out {
        grad_qkv: Shared::new(grad_qkv),
        grad_inherited: Shared::new(grad_inherited),
    };
    compute.run(rows.spans.len() * heads, |task| {
        let (span, head) = (&rows.spans[task / heads], task % heads);
        #[cfg(target_arch = "x86_64")]
        if in_tiles(compute.tier(), config) {
            return attention_in_tiles::one_head(pass, (span, head), around, out);
        }
        SCRATCH.with_borrow_mut(|scratch| one_head(pass, (span, head), around, out, scratch));
    });
    add_inherited(compute, config, rows, out);
}

/// Where a sequence's gradients go.
#[derive(Clone, Copy)]
pub(super) struct Out<'a> {
    /// `[N, W]`: gradients of the sequence's rows.
    pub(super) grad_qkv: Shared<'a, f32>,
    /// `[inherited positions, k + v]`: gradients of inherited keys and values.
    grad_inherited: Shared<'a, f32>,
}

/// Adds the gradients of inherited keys and values to those of the rows, sequences in ascending order; each task has some of the columns.
fn add_inherited(compute: &Compute, config: &ModelConfig, rows: &Rows, out: Out<'_>) {
    let (q, all, width) = (config.q_width(), config.qkv_width(), 2 * config.kv_width());
    let stretches = compute.threads().min(width.div_ceil(LANES));
    compute.run(stretches, |index| {
        let columns = width * index / stretches..width * (index + 1) / stretches;
        for (at, inherited) in rows.inherited.iter().enumerate() {
            // SAFETY: no two tasks have the same columns, and an inherited position is no row.
            let (to, from) = unsafe {
                (
                    out.grad_qkv
                        .slice(inherited.row * all + q + columns.start, columns.len()),
                    out.grad_inherited.slice(at * width + columns.start, columns.len()),
                )
            };
            add(compute.tier(), to, from);
        }
    });
}

fn one_head(pass: Pass<'_>, (span, head): (&Span, usize), around: Around<'_>, out: Out<'_>, scratch: &mut Scratch) {
    let (tier, config) = (pass.compute.tier(), pass.config);
    let (dim, width) = (config.head_dim, padded(config.head_dim));
    let (q, kv, all) = (config.q_width(), config.kv_width(), config.qkv_width());
    let group = config.num_heads / config.num_kv_heads;
    let scale = 1.0 / (dim as f32).sqrt();
    load_keys(pass, (span, head), around, scratch);
    scratch.make_room_for_a_tile(dim, row_stride(span.start, span.start + span.len - 1, pass.window));
    let mut positions = [0usize; MOST_ROWS];
    let (mut first, total) = (0, span.len * group);
    while first < total {
        let count = match tile_rows(tier, total - first) {
            3 => 2,
            rows => rows,
        };
        let place = |i: usize| {
            let (token, member) = ((first + i) / group, (first + i) % group);
            (span.row + token, (head * group + member) * dim)
        };
        let query = |i: usize| {
            let (row, at) = place(i);
            &around.turned[row * (q + kv) + at..][..dim]
        };
        let grad = |i: usize| {
            let (row, at) = place(i);
            &around.grad_attended[row * q + at..][..dim]
        };
        for (i, position) in positions[..count].iter_mut().enumerate() {
            *position = span.start + (first + i) / group;
            scratch.query_rows[i * width..][..dim].copy_from_slice(query(i));
            scratch.grad_rows[i * width..][..dim].copy_from_slice(grad(i));
        }
        transpose(tier, count, query, &mut scratch.queries, count);
        transpose(tier, count, grad, &mut scratch.grads, count);
        let tile = BackwardTile {
            queries: &scratch.queries[..count * dim],
            query_rows: &scratch.query_rows,
            grads: &scratch.grads[..count * dim],
            grad_rows: &scratch.grad_rows,
            positions: &positions[..count],
            window: pass.window,
            scale,
        };
        let keys = BackwardKeys {
            keys: &scratch.keys,
            values: &scratch.values,
            key_rows: &scratch.key_rows,
            head_dim: dim,
        };
        attend_backward(
            tier,
            &tile,
            &keys,
            &mut scratch.weights,
            &mut BackwardGrads {
                queries: &mut scratch.grad_queries,
                keys: &mut scratch.grad_keys,
                values: &mut scratch.grad_values,
            },
        );
        for i in 0..count {
            let (row, at) = place(i);
            // SAFETY: a query head of a row belongs to one key-value head's task alone.
            let out = unsafe { out.grad_qkv.slice(row * all + at, dim) };
            out.copy_from_slice(&scratch.grad_queries[i * width..][..dim]);
        }
        first += count;
    }
    let gradients = KeyGradients {
        keys: &scratch.grad_keys,
        values: &scratch.grad_values,
        stride: width,
    };
    write_key_gradients(pass, (span, head), out, gradients);
}

/// Gradients of a head's keys and values, by position.
#[derive(Clone, Copy)]
pub(super) struct KeyGradients<'a> {
    pub(super) keys: &'a [f32],
    pub(super) values: &'a [f32],
    /// Elements from one position to the next.
    pub(super) stride: usize,
}

/// Writes the gradients of a head's keys and values: those of the sequence's rows, and those that it inherited.
pub(super) fn write_key_gradients(
    pass: Pass<'_>,
    (span, head): (&Span, usize),
    out: Out<'_>,
    gradients: KeyGradients<'_>,
) {
    let dim = pass.config.head_dim;
    let (q, kv, all) = (pass.config.q_width(), pass.config.kv_width(), pass.config.qkv_width());
    for position in 0..span.start + span.len {
        let (grads, keys_at, values_at) = match position.checked_sub(span.start) {
            Some(token) => {
                let row = (span.row + token) * all + head * dim;
                (out.grad_qkv, row + q, row + q + kv)
            }
            None => {
                let row = (span.inherited + position) * 2 * kv + head * dim;
                (out.grad_inherited, row, row + kv)
            }
        };
        // SAFETY: a key and a value head of a row, or of an inherited position, belong to one task alone.
        let (keys, values) = unsafe { (grads.slice(keys_at, dim), grads.slice(values_at, dim)) };
        keys.copy_from_slice(&gradients.keys[position * gradients.stride..][..dim]);
        values.copy_from_slice(&gradients.values[position * gradients.stride..][..dim]);
    }
}

/// Lays out a head's keys and values for the kernel, pads zeroed, and clears their gradients.
fn load_keys(pass: Pass<'_>, (span, head): (&Span, usize), around: Around<'_>, scratch: &mut Scratch) {
    let (tier, config, rows) = (pass.compute.tier(), pass.config, pass.rows);
    let (dim, width) = (config.head_dim, padded(config.head_dim));
    let (q, kv, all) = (config.q_width(), config.kv_width(), config.qkv_width());
    let length = span.start + span.len;
    let tokens = length.next_multiple_of(BLOCK_TOKENS);
    for (buffer, len) in [
        (&mut scratch.keys, tokens * dim),
        (&mut scratch.values, tokens * dim),
        (&mut scratch.key_rows, tokens * width),
        (&mut scratch.value_rows, tokens * width),
        (&mut scratch.grad_keys, tokens * width),
        (&mut scratch.grad_values, tokens * width),
    ] {
        buffer.resize(len);
        buffer.fill(0.0);
    }
    let key = |token: usize| &around.turned[rows.row_of(span, token) * (q + kv) + q + head * dim..][..dim];
    let value = |token: usize| &around.qkv[rows.row_of(span, token) * all + q + kv + head * dim..][..dim];
    for token in 0..length {
        scratch.key_rows[token * width..][..dim].copy_from_slice(key(token));
        scratch.value_rows[token * width..][..dim].copy_from_slice(value(token));
    }
    if keeps_bf16(config, tier) {
        // The gradient is that of the function of the keys and values as the forward pass kept them.
        round(tier, &mut scratch.key_rows);
        round(tier, &mut scratch.value_rows);
    }
    let (key_rows, value_rows) = (&scratch.key_rows, &scratch.value_rows);
    for first in (0..length).step_by(BLOCK_TOKENS) {
        let count = BLOCK_TOKENS.min(length - first);
        let block = first * dim..;
        transpose(
            tier,
            count,
            |i| &key_rows[(first + i) * width..][..dim],
            &mut scratch.keys[block.clone()],
            BLOCK_TOKENS,
        );
        transpose(
            tier,
            count,
            |i| &value_rows[(first + i) * width..][..dim],
            &mut scratch.values[block],
            BLOCK_TOKENS,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WeightDtype;
    use crate::isa::Tier;
    use crate::kernels::gemm::test_operands::numbers;
    use crate::model::rope::Rope;
    use crate::model::rows::Packing;

    /// The bits of the gradients of q, k and v; keys and values may be rounded before.
    fn gradients(compute: &Compute, config: &ModelConfig, are_rounded: bool) -> Vec<u32> {
        let mut packing = Packing::default();
        packing.push(&[1, 2, 3, 4, 5]);
        packing.push(&[1, 2, 3, 6, 7, 8]);
        let rows = packing.finish();
        let (q, kv, all) = (config.q_width(), config.kv_width(), config.qkv_width());
        let mut turned = numbers(rows.len() * (q + kv), 1);
        let mut qkv = numbers(rows.len() * all, 2);
        if are_rounded {
            turned
                .chunks_exact_mut(q + kv)
                .for_each(|row| round(Tier::Portable, &mut row[q..]));
            qkv.chunks_exact_mut(all)
                .for_each(|row| round(Tier::Portable, &mut row[q + kv..]));
        }
        let rope = Rope::new(config).up_to(rows.longest);
        let pass = Pass::plain(compute, config, &rope, &rows);
        let around = Around {
            turned: &turned,
            qkv: &qkv,
            grad_attended: &numbers(rows.len() * q, 3),
        };
        let mut grad_qkv = vec![0f32; rows.len() * all];
        attention_backward(pass, around, &mut grad_qkv, &mut Buffer::default());
        grad_qkv.into_iter().map(f32::to_bits).collect()
    }

    #[test]
    fn gradients_are_those_of_the_keys_and_values_that_the_cache_keeps() {
        let json = r#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 16, "hidden_size": 64, "intermediate_size": 64,
            "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
            "max_position_embeddings": 64, "tie_word_embeddings": true}"#;
        let mut config = ModelConfig::from_json(json).expect("a config");
        for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
            let compute = Compute::new(2, Some(tier)).expect("the pool starts");
            for dtype in [WeightDtype::F32, WeightDtype::Bf16] {
                config.dtype = dtype;
                let [as_they_are, rounded] = [false, true].map(|are_rounded| gradients(&compute, &config, are_rounded));
                assert_eq!(as_they_are == rounded, keeps_bf16(&config, tier), "{tier:?} {dtype:?}");
            }
        }
    }
}
