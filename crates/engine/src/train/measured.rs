//! Kernels of a training step by themselves, for `benches/kernels.rs`. Nothing else calls them: they are no part of the crate's interface.

use std::sync::Arc;

use super::backward::attention::{Around, attention_backward};
use super::backward::weights::{Matrix, weight_gradient};
use crate::compute::Compute;
use crate::config::{ModelConfig, WeightDtype};
use crate::kernels::buffer::Buffer;
use crate::kernels::gemm::{Left, gemm};
use crate::kernels::pack::Packed;
use crate::model::attend::attend_rows;
use crate::model::cache::LayerStore;
use crate::model::layer::{Pass, for_rows};
use crate::model::rope::{Rope, RopeTable};
use crate::model::rows::{Packing, Rows};

/// Causal attention of one sequence in one layer.
pub struct Attention<'a> {
    compute: &'a Compute,
    config: &'a ModelConfig,
    rope: Arc<RopeTable>,
    rows: Rows,
    store: LayerStore,
    turned: Vec<f32>,
    qkv: Vec<f32>,
    attended: Vec<f32>,
    grad_qkv: Vec<f32>,
}

impl<'a> Attention<'a> {
    /// A sequence of so many tokens in a layer of such a model.
    pub fn new(compute: &'a Compute, config: &'a ModelConfig, tokens: usize) -> Self {
        let mut packing = Packing::default();
        packing.push(&vec![0; tokens]);
        let rows = packing.finish();
        Self {
            compute,
            config,
            // The queries and keys are turned already.
            rope: Rope::new(config).up_to(1),
            store: LayerStore::new(config, compute.tier(), rows.num_blocks()),
            rows,
            turned: numbers(tokens * (config.q_width() + config.kv_width())),
            qkv: numbers(tokens * config.qkv_width()),
            attended: vec![0.0; tokens * config.q_width()],
            grad_qkv: vec![0.0; tokens * config.qkv_width()],
        }
    }

    /// Stores keys and values, and gives the outputs.
    pub fn forward(&mut self) -> &[f32] {
        let (q, kv, all) = (self.config.q_width(), self.config.kv_width(), self.config.qkv_width());
        let writer = self.store.writer();
        for_rows(self.compute, self.rows.len(), |first, count| {
            for row in first..first + count {
                let keys = &self.turned[row * (q + kv) + q..][..kv];
                let values = &self.qkv[row * all + q + kv..][..kv];
                // SAFETY: no two rows have the same slot: packed blocks are consecutive.
                unsafe { writer.write(self.rows.slots[row], keys, values) };
            }
        });
        let pass = Pass::plain(self.compute, self.config, &self.rope, &self.rows);
        attend_rows(pass, &self.store, &self.turned, &mut self.attended);
        &self.attended
    }

    /// The gradients of queries, keys and values, where that of an output is the output of the last [`Self::forward`].
    pub fn backward(&mut self) -> &[f32] {
        let around = Around {
            turned: &self.turned,
            qkv: &self.qkv,
            grad_attended: &self.attended,
        };
        let pass = Pass::plain(self.compute, self.config, &self.rope, &self.rows);
        attention_backward(pass, around, &mut self.grad_qkv, &mut Buffer::default());
        &self.grad_qkv
    }
}

/// A projection `x . weight^T` of so many tokens, and the gradient of its weight.
pub struct Projection<'a> {
    compute: &'a Compute,
    tokens: usize,
    outputs: usize,
    inputs: usize,
    x: Vec<f32>,
    out: Vec<f32>,
    weight: Packed,
    gradient: Vec<f32>,
    packed: Packed,
}

impl<'a> Projection<'a> {
    /// With a weight `[outputs, inputs]` that is kept as `dtype`.
    pub fn new(compute: &'a Compute, dtype: WeightDtype, [tokens, outputs, inputs]: [usize; 3]) -> Self {
        let mut weight = Packed::kept_as(dtype);
        weight.pack_transposed(compute, &numbers(outputs * inputs), outputs, inputs);
        Self {
            compute,
            tokens,
            outputs,
            inputs,
            x: numbers(tokens * inputs),
            out: numbers(tokens * outputs),
            weight,
            gradient: vec![0.0; outputs * inputs],
            packed: Packed::activations(dtype),
        }
    }

    /// Computes the outputs.
    pub fn forward(&mut self) -> &[f32] {
        let left = Left::rows(&self.x, self.inputs);
        gemm(self.compute, self.tokens, left, &self.weight, &mut self.out, false);
        &self.out
    }

    /// Adds to the gradient of the weight, where that of an output is the output itself.
    pub fn add_gradient(&mut self) -> &[f32] {
        weight_gradient(
            self.compute,
            Matrix::new(&self.out, self.outputs),
            Matrix::new(&self.x, self.inputs),
            Some(&mut self.gradient),
            &mut self.packed,
        );
        &self.gradient
    }
}

/// Numbers between -1 and 1.
fn numbers(count: usize) -> Vec<f32> {
    (0..count as u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 8) as f32 / (1u32 << 23) as f32 - 1.0)
        .collect()
}
