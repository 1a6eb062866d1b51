//! Where each parameter tensor lies in one flat array.
//!
//! Tensors that one product uses together are neighbours (q, k, v; gate, up), so that the product sees them as one matrix. Every matrix is
//! row-major `[out, in]` as in Hugging Face checkpoints.

use std::collections::HashMap;
use std::ops::Range;

use crate::config::ModelConfig;

const EMBEDDING: &str = "model.embed_tokens.weight";
/// The head's name, when it is not tied to the embedding.
pub(crate) const HEAD: &str = "lm_head.weight";

/// One named tensor.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    /// Its Hugging Face name.
    pub(crate) name: String,
    /// Its shape: two numbers for matrices, one for norms and biases.
    pub(crate) shape: Vec<usize>,
    /// Where its elements lie.
    pub(crate) range: Range<usize>,
}

/// The ranges of one layer.
#[derive(Debug, Clone)]
pub(crate) struct LayerRanges {
    pub(crate) input_norm: Range<usize>,
    /// q, k, v: `[qkv_width, hidden]`.
    pub(crate) qkv: Range<usize>,
    /// Empty when the architecture has no biases.
    pub(crate) qkv_bias: Range<usize>,
    /// Empty when the architecture has no QK-norm.
    pub(crate) q_norm: Range<usize>,
    pub(crate) k_norm: Range<usize>,
    pub(crate) o: Range<usize>,
    pub(crate) post_norm: Range<usize>,
    /// `[experts, hidden]`; empty in a layer with one network.
    pub(crate) router: Range<usize>,
    /// The feed-forward network, or those of the experts.
    pub(crate) networks: Vec<NetworkRanges>,
}

/// The ranges of a feed-forward network.
#[derive(Debug, Clone)]
pub(crate) struct NetworkRanges {
    /// Its width: elements between the projections.
    pub(crate) width: usize,
    /// gate, up: `[2 * width, hidden]`.
    pub(crate) gate_up: Range<usize>,
    pub(crate) down: Range<usize>,
}

/// All tensors of a model.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// In the order of the flat array.
    pub(crate) slots: Vec<Slot>,
    pub(crate) embedding: Range<usize>,
    pub(crate) layers: Vec<LayerRanges>,
    pub(crate) final_norm: Range<usize>,
    /// The embedding's range when the head is tied.
    pub(crate) head: Range<usize>,
    /// Elements of the flat array.
    pub(crate) total: usize,
    index: HashMap<String, usize>,
}

impl Layout {
    /// The layout of a model with this config.
    pub(crate) fn new(config: &ModelConfig) -> Self {
        let mut slots: Vec<Slot> = Vec::new();
        let mut total = 0;
        let mut add = |name: String, shape: &[usize]| {
            let len = shape.iter().product::<usize>();
            slots.push(Slot {
                name,
                shape: shape.to_vec(),
                range: total..total + len,
            });
            total += len;
            total - len..total
        };
        let span = |a: Range<usize>, b: Range<usize>| a.start..b.end;
        let (hidden, dim) = (config.hidden_size, config.head_dim);
        let (q, kv) = (config.q_width(), config.kv_width());

        let embedding = add(EMBEDDING.into(), &[config.vocab_size, hidden]);
        let mut layers = Vec::with_capacity(config.num_layers);
        for layer in 0..config.num_layers {
            let name = |part: &str| format!("model.layers.{layer}.{part}");
            let input_norm = add(name("input_layernorm.weight"), &[hidden]);
            let first = add(name("self_attn.q_proj.weight"), &[q, hidden]);
            add(name("self_attn.k_proj.weight"), &[kv, hidden]);
            let qkv = span(first, add(name("self_attn.v_proj.weight"), &[kv, hidden]));
            let qkv_bias = if config.qkv_bias() {
                let first = add(name("self_attn.q_proj.bias"), &[q]);
                add(name("self_attn.k_proj.bias"), &[kv]);
                span(first, add(name("self_attn.v_proj.bias"), &[kv]))
            } else {
                0..0
            };
            let (q_norm, k_norm) = if config.qk_norm() {
                (
                    add(name("self_attn.q_norm.weight"), &[dim]),
                    add(name("self_attn.k_norm.weight"), &[dim]),
                )
            } else {
                (0..0, 0..0)
            };
            let o = add(name("self_attn.o_proj.weight"), &[hidden, q]);
            let post_norm = add(name("post_attention_layernorm.weight"), &[hidden]);
            let mut network = |part: &str, width: usize| {
                let name = |matrix: &str| name(&format!("mlp.{part}{matrix}_proj.weight"));
                let first = add(name("gate"), &[width, hidden]);
                NetworkRanges {
                    width,
                    gate_up: span(first, add(name("up"), &[width, hidden])),
                    down: add(name("down"), &[hidden, width]),
                }
            };
            let (router, networks) = match config.moe(layer) {
                None => (0..0, vec![network("", config.intermediate_size)]),
                Some(moe) => {
                    let networks = (0..moe.num_experts)
                        .map(|expert| network(&format!("experts.{expert}."), moe.intermediate_size))
                        .collect();
                    (add(name("mlp.gate.weight"), &[moe.num_experts, hidden]), networks)
                }
            };
            layers.push(LayerRanges {
                input_norm,
                qkv,
                qkv_bias,
                q_norm,
                k_norm,
                o,
                post_norm,
                router,
                networks,
            });
        }
        let final_norm = add("model.norm.weight".into(), &[hidden]);
        let head = if config.tie_word_embeddings {
            embedding.clone()
        } else {
            add(HEAD.into(), &[config.vocab_size, hidden])
        };
        let index = slots
            .iter()
            .enumerate()
            .map(|(at, slot)| (slot.name.clone(), at))
            .collect();
        Self {
            slots,
            embedding,
            layers,
            final_norm,
            head,
            total,
            index,
        }
    }

    /// The tensor called `name`; a tied head is found under the head's name too.
    pub(crate) fn slot(&self, name: &str) -> Option<&Slot> {
        let name = if name == HEAD && self.head == self.embedding {
            EMBEDDING
        } else {
            name
        };
        self.index.get(name).map(|&at| &self.slots[at])
    }
}
