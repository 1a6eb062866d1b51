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

impl Slot {
    /// Whether it is the router of a mixture of experts.
    pub(crate) fn is_router(&self) -> bool {
        self.name.ends_with(".mlp.gate.weight")
    }

    /// Whether it belongs to a layer: it is neither the embedding, nor the head, nor the last norm.
    pub(crate) fn is_in_a_layer(&self) -> bool {
        self.name.contains(".layers.")
    }
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
    /// Empty without [`ModelConfig::attention_bias`].
    pub(crate) o_bias: Range<usize>,
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
    /// Empty without [`ModelConfig::mlp_bias`], as is `down_bias`.
    pub(crate) gate_up_bias: Range<usize>,
    pub(crate) down: Range<usize>,
    pub(crate) down_bias: Range<usize>,
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

/// Consecutive parameters of a layout.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    first: usize,
    values: &'a [f32],
}

impl<'a> Part<'a> {
    /// The parameters from `first` on.
    pub(crate) fn new(first: usize, values: &'a [f32]) -> Self {
        Self { first, values }
    }

    /// All parameters.
    pub(crate) fn whole(flat: &'a [f32]) -> Self {
        Self::new(0, flat)
    }

    /// Whether it has the parameters of a range.
    pub(crate) fn has(&self, range: &Range<usize>) -> bool {
        self.first <= range.start && range.end <= self.first + self.values.len()
    }

    /// The parameters of a range.
    ///
    /// # Panics
    /// When it does not have them.
    pub(crate) fn values(&self, range: &Range<usize>) -> &'a [f32] {
        if range.is_empty() {
            // A part that an architecture lacks lies nowhere.
            return &[];
        }
        &self.values[range.start - self.first..range.end - self.first]
    }
}

/// Tensors laid out so far.
#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    total: usize,
}

impl Slots {
    fn add(&mut self, name: String, shape: &[usize]) -> Range<usize> {
        let first = self.total;
        self.total += shape.iter().product::<usize>();
        let range = first..self.total;
        self.slots.push(Slot {
            name,
            shape: shape.to_vec(),
            range: range.clone(),
        });
        range
    }

    /// The vectors that are there in some architectures only; an empty range otherwise.
    fn add_if<const N: usize>(&mut self, there: bool, vectors: [(String, usize); N]) -> Range<usize> {
        if !there {
            return 0..0;
        }
        let first = self.total;
        for (name, len) in vectors {
            self.add(name, &[len]);
        }
        first..self.total
    }

    fn layer(&mut self, config: &ModelConfig, layer: usize) -> LayerRanges {
        let (hidden, dim) = (config.hidden_size, config.head_dim);
        let (q, kv) = (config.q_width(), config.kv_width());
        let name = |part: &str| format!("model.layers.{layer}.{part}");
        let input_norm = self.add(name("input_layernorm.weight"), &[hidden]);
        let first = self.add(name("self_attn.q_proj.weight"), &[q, hidden]).start;
        self.add(name("self_attn.k_proj.weight"), &[kv, hidden]);
        let qkv = first..self.add(name("self_attn.v_proj.weight"), &[kv, hidden]).end;
        let biases = [("q", q), ("k", kv), ("v", kv)];
        let biases = biases.map(|(part, len)| (name(&format!("self_attn.{part}_proj.bias")), len));
        let qkv_bias = self.add_if(config.qkv_bias(), biases);
        let q_norm = self.add_if(config.qk_norm(), [(name("self_attn.q_norm.weight"), dim)]);
        let k_norm = self.add_if(config.qk_norm(), [(name("self_attn.k_norm.weight"), dim)]);
        let o = self.add(name("self_attn.o_proj.weight"), &[hidden, q]);
        let o_bias = self.add_if(config.attention_bias, [(name("self_attn.o_proj.bias"), hidden)]);
        let post_norm = self.add(name("post_attention_layernorm.weight"), &[hidden]);
        let (router, networks) = match config.moe(layer) {
            None => {
                let network = self.network(config, &name("mlp"), config.intermediate_size);
                (0..0, vec![network])
            }
            Some(moe) => {
                let expert = |expert: usize| name(&format!("mlp.experts.{expert}"));
                let networks = (0..moe.num_experts)
                    .map(|index| self.network(config, &expert(index), moe.intermediate_size))
                    .collect();
                (self.add(name("mlp.gate.weight"), &[moe.num_experts, hidden]), networks)
            }
        };
        LayerRanges {
            input_norm,
            qkv,
            qkv_bias,
            q_norm,
            k_norm,
            o,
            o_bias,
            post_norm,
            router,
            networks,
        }
    }

    fn network(&mut self, config: &ModelConfig, path: &str, width: usize) -> NetworkRanges {
        let hidden = config.hidden_size;
        let name = |part: &str| format!("{path}.{part}");
        let first = self.add(name("gate_proj.weight"), &[width, hidden]).start;
        let gate_up = first..self.add(name("up_proj.weight"), &[width, hidden]).end;
        let down = self.add(name("down_proj.weight"), &[hidden, width]);
        let biases = ["gate_proj.bias", "up_proj.bias"].map(|part| (name(part), width));
        NetworkRanges {
            width,
            gate_up,
            gate_up_bias: self.add_if(config.mlp_bias, biases),
            down,
            down_bias: self.add_if(config.mlp_bias, [(name("down_proj.bias"), hidden)]),
        }
    }
}

impl Layout {
    /// The layout of a model with this config.
    pub(crate) fn new(config: &ModelConfig) -> Self {
        let hidden = config.hidden_size;
        let mut slots = Slots::default();
        let embedding = slots.add(EMBEDDING.into(), &[config.vocab_size, hidden]);
        let layers = (0..config.num_layers).map(|layer| slots.layer(config, layer)).collect();
        let final_norm = slots.add("model.norm.weight".into(), &[hidden]);
        let head = if config.tie_word_embeddings {
            embedding.clone()
        } else {
            slots.add(HEAD.into(), &[config.vocab_size, hidden])
        };
        let Slots { slots, total } = slots;
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

    /// The parts in which a model can be loaded: the embedding, each layer, and what comes behind the layers.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let layers = self.layers.iter().map(|layer| layer.input_norm.start);
        let starts: Vec<usize> = layers.chain([self.final_norm.start, self.total]).collect();
        let first = self.embedding.start;
        std::iter::once(first)
            .chain(starts.clone())
            .zip(starts)
            .map(|(start, end)| start..end)
    }

    /// The tensors that lie in a range.
    pub(crate) fn slots_in(&self, range: &Range<usize>) -> &[Slot] {
        let before = |at: usize| self.slots.partition_point(|slot| slot.range.start < at);
        &self.slots[before(range.start)..before(range.end)]
    }
}
