//! Parameters laid out for the forward pass.

use super::embedding::Embedding;
use super::layout::{LayerRanges, Layout, Part};
use crate::compute::Compute;
use crate::config::{ModelConfig, WeightDtype, WeightFormat};
use crate::kernels::element::{Bf16, Number};
use crate::kernels::pack::Packed;

/// One layer, matrices packed for `x . W^T`. Vectors have the values of the weights' format, as f32.
#[derive(Clone, Default)]
pub(crate) struct LayerWeights {
    pub(crate) input_norm: Vec<f32>,
    pub(crate) qkv: Packed,
    pub(crate) qkv_bias: Vec<f32>,
    pub(crate) q_norm: Vec<f32>,
    pub(crate) k_norm: Vec<f32>,
    pub(crate) o: Packed,
    pub(crate) o_bias: Vec<f32>,
    pub(crate) post_norm: Vec<f32>,
    /// Empty in a layer with one network. Its products are in f32 in every tier, because a small difference changes a choice.
    pub(crate) router: Packed,
    pub(crate) networks: Vec<Network>,
}

/// A feed-forward network's matrices.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) gate_up: Packed,
    pub(crate) gate_up_bias: Vec<f32>,
    pub(crate) down: Packed,
    pub(crate) down_bias: Vec<f32>,
}

/// A model's parameters for the forward pass.
#[derive(Clone, Default)]
pub(crate) struct Weights {
    pub(crate) embedding: Embedding,
    pub(crate) layers: Vec<LayerWeights>,
    pub(crate) final_norm: Vec<f32>,
    pub(crate) head: Packed,
}

impl LayerWeights {
    fn kept_as(format: WeightFormat) -> Self {
        Self {
            qkv: Packed::projection(format),
            o: Packed::projection(format),
            router: Packed::widened(format.dtype),
            ..Self::default()
        }
    }

    /// Lays out the layer's parameters again, in the same memory. `part` has all of them.
    fn pack(&mut self, compute: &Compute, config: &ModelConfig, at: &LayerRanges, part: Part<'_>) {
        let hidden = config.hidden_size;
        let vectors = [
            (&at.input_norm, &mut self.input_norm),
            (&at.qkv_bias, &mut self.qkv_bias),
            (&at.q_norm, &mut self.q_norm),
            (&at.k_norm, &mut self.k_norm),
            (&at.o_bias, &mut self.o_bias),
            (&at.post_norm, &mut self.post_norm),
        ];
        for (range, to) in vectors {
            copy(config.dtype, part.values(range), to);
        }
        self.qkv
            .pack_transposed(compute, part.values(&at.qkv), config.qkv_width(), hidden);
        self.o
            .pack_transposed(compute, part.values(&at.o), hidden, config.q_width());
        let experts = at.router.len() / hidden;
        self.router
            .pack_transposed(compute, part.values(&at.router), experts, hidden);
        self.networks
            .resize_with(at.networks.len(), || Network::kept_as(config.format()));
        for (to, at) in self.networks.iter_mut().zip(&at.networks) {
            copy(config.dtype, part.values(&at.gate_up_bias), &mut to.gate_up_bias);
            copy(config.dtype, part.values(&at.down_bias), &mut to.down_bias);
            to.gate_up
                .pack_transposed(compute, part.values(&at.gate_up), 2 * at.width, hidden);
            to.down
                .pack_transposed(compute, part.values(&at.down), hidden, at.width);
        }
    }
}

impl Network {
    /// Empty matrices whose values will be kept in this format.
    pub(crate) fn kept_as(format: WeightFormat) -> Self {
        Self {
            gate_up: Packed::projection(format),
            gate_up_bias: Vec::new(),
            down: Packed::projection(format),
            down_bias: Vec::new(),
        }
    }
}

impl Weights {
    /// Room for weights that are kept as `dtype`.
    pub(crate) fn kept_as(dtype: WeightDtype) -> Self {
        Self {
            embedding: Embedding::kept_as(dtype),
            head: Packed::kept_as(dtype),
            ..Self::default()
        }
    }

    /// Lays out the parameters of `part` again, in the same memory.
    pub(crate) fn pack(&mut self, compute: &Compute, config: &ModelConfig, layout: &Layout, part: Part<'_>) {
        let hidden = config.hidden_size;
        if part.has(&layout.embedding) {
            self.embedding.fill(compute, part.values(&layout.embedding), hidden);
        }
        self.layers
            .resize_with(layout.layers.len(), || LayerWeights::kept_as(config.format()));
        for (to, at) in self.layers.iter_mut().zip(&layout.layers) {
            if part.has(&at.input_norm) {
                to.pack(compute, config, at, part);
            }
        }
        if part.has(&layout.final_norm) {
            copy(config.dtype, part.values(&layout.final_norm), &mut self.final_norm);
        }
        if part.has(&layout.head) {
            self.head
                .pack_transposed(compute, part.values(&layout.head), config.vocab_size, hidden);
        }
    }
}

/// Takes a vector's values in a format, as f32.
fn copy(dtype: WeightDtype, values: &[f32], to: &mut Vec<f32>) {
    to.clear();
    match dtype {
        WeightDtype::F32 => to.extend(values),
        WeightDtype::Bf16 => to.extend(values.iter().map(|value| Bf16::nearest(*value).widen())),
    }
}
