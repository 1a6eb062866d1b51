//! Floating-point operations of a decoder model on one sequence, from its `config.json`.
//!
//! There are two terms: the cost of every token (projections, feed-forward, head), and the cost of attention, which grows
//! with the square of the sequence. Norms, activations and the softmax are left out.

use serde_json::Value;

use crate::PackError;

/// Architectures that cost as much as a stack of full causal attention and gated feed-forward layers.
const KNOWN: [&str; 15] = [
    "llama",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "deepseek_v2",
    "deepseek_v3",
    "glm4_moe",
    "olmo2",
    "olmoe",
    "phi3",
    "smollm3",
    "kimi_k2",
];

/// Operations of a forward pass over a sequence of n tokens: `linear * n + quadratic * n^2`. A backward pass takes twice as
/// many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlopModel {
    /// Operations per token outside attention's scores and sums.
    pub linear: f64,
    /// Operations of causal attention per squared token.
    pub quadratic: f64,
}

impl FlopModel {
    /// Reads a Hugging Face `config.json`. Known are dense and mixture-of-experts layers, grouped-query and multi-head latent
    /// attention.
    ///
    /// # Errors
    /// [`PackError::Config`] when the text is no JSON object or a size is missing or absurd;
    /// [`PackError::Unsupported`] for an architecture whose cost this formula does not describe.
    pub fn from_config(json: &str) -> Result<Self, PackError> {
        let config: Value = serde_json::from_str(json).map_err(|error| PackError::Config(error.to_string()))?;
        let config = Config(config.get("text_config").unwrap_or(&config));
        config.check_supported()?;
        let hidden = config.size("hidden_size")?;
        let layers = config.size("num_hidden_layers")?;
        let sparse = config.sparse_layers(layers)?;
        let attention = config.attention(hidden)?;
        let mut parameters = layers * attention.parameters + hidden * config.size("vocab_size")?;
        if sparse < layers {
            parameters += (layers - sparse) * 3.0 * hidden * config.size("intermediate_size")?;
        }
        if sparse > 0.0 {
            parameters += sparse * config.expert_parameters(hidden)?;
        }
        Ok(Self {
            linear: 2.0 * parameters,
            quadratic: layers * attention.heads_width,
        })
    }

    /// Operations on a sequence of `tokens`.
    pub fn flops(&self, tokens: u32) -> f64 {
        let tokens = f64::from(tokens);
        tokens * (self.linear + self.quadratic * tokens)
    }

    pub(crate) fn check(&self) -> Result<(), PackError> {
        let Self { linear, quadratic } = *self;
        let valid = |value: f64| value.is_finite() && value >= 0.0;
        if valid(linear) && valid(quadratic) && valid(self.flops(u32::MAX)) {
            return Ok(());
        }
        let message = format!("the cost has linear {linear} and quadratic {quadratic}, expected numbers from 0 on");
        Err(PackError::Input(message))
    }
}

struct Attention {
    parameters: f64,
    /// Width of all heads' keys and values together: the cost of scores and sums for each pair of tokens.
    heads_width: f64,
}

struct Config<'a>(&'a Value);

impl Config<'_> {
    fn check_supported(&self) -> Result<(), PackError> {
        let unsupported = |what: String| Err(PackError::Unsupported(what));
        let architecture = self.0["model_type"].as_str().unwrap_or("");
        if !KNOWN.contains(&architecture) {
            return unsupported(format!("the cost of model_type {architecture:?}"));
        }
        let window = !self.0["sliding_window"].is_null() && self.0["use_sliding_window"] != Value::Bool(false);
        let layer_types = self.0["layer_types"].as_array().map_or(&[][..], Vec::as_slice);
        match layer_types.iter().find(|kind| *kind != "full_attention") {
            Some(kind) => unsupported(format!("the cost of layers of type {kind}")),
            None if window && layer_types.is_empty() => unsupported("the cost of sliding-window attention".to_owned()),
            None => Ok(()),
        }
    }

    fn attention(&self, hidden: f64) -> Result<Attention, PackError> {
        let heads = self.size("num_attention_heads")?;
        if let Some(latent) = self.optional("kv_lora_rank")? {
            let (nope, rope) = (self.size("qk_nope_head_dim")?, self.size("qk_rope_head_dim")?);
            let value = self.size("v_head_dim")?;
            let query = heads * (nope + rope);
            let queries = match self.optional("q_lora_rank")? {
                Some(rank) => hidden * rank + rank * query,
                None => hidden * query,
            };
            let keys_values = hidden * (latent + rope) + latent * heads * (nope + value);
            return Ok(Attention {
                parameters: queries + keys_values + heads * value * hidden,
                heads_width: heads * (nope + rope + value),
            });
        }
        let groups = self.optional("num_key_value_heads")?.unwrap_or(heads);
        let width = self.optional("head_dim")?.unwrap_or(hidden / heads);
        Ok(Attention {
            parameters: 2.0 * hidden * width * (heads + groups),
            heads_width: 2.0 * heads * width,
        })
    }

    /// Layers whose feed-forward part is a mixture of experts.
    fn sparse_layers(&self, layers: f64) -> Result<f64, PackError> {
        if self.experts()?.is_none() {
            return Ok(0.0);
        }
        let dense = self.optional("first_k_dense_replace")?.unwrap_or(0.0);
        let listed = self.0["mlp_only_layers"].as_array().map_or(0, Vec::len) as f64;
        let step = match self.0["decoder_sparse_step"] {
            Value::Null => 1.0,
            _ => self.size("decoder_sparse_step")?,
        };
        Ok(((layers / step).floor() - dense - listed).max(0.0))
    }

    fn experts(&self) -> Result<Option<f64>, PackError> {
        for name in ["num_experts", "num_local_experts", "n_routed_experts"] {
            if let Some(experts) = self.optional(name)? {
                return Ok(Some(experts));
            }
        }
        Ok(None)
    }

    /// Parameters of one sparse layer that a token uses: router, chosen and shared experts.
    fn expert_parameters(&self, hidden: f64) -> Result<f64, PackError> {
        let width = match self.optional("moe_intermediate_size")? {
            Some(width) => width,
            None => self.size("intermediate_size")?,
        };
        let shared = match self.optional("shared_expert_intermediate_size")? {
            Some(width) => width,
            None => self.optional("n_shared_experts")?.unwrap_or(0.0) * width,
        };
        let chosen = self.size("num_experts_per_tok")? * width;
        let router = hidden * self.experts()?.unwrap_or(0.0);
        Ok(router + 3.0 * hidden * (chosen + shared))
    }

    fn size(&self, name: &str) -> Result<f64, PackError> {
        let missing = || PackError::Config(format!("it lacks {name}"));
        match self.optional(name)? {
            Some(size) if size > 0.0 => Ok(size),
            Some(size) => Err(PackError::Config(format!("{name} is {size}"))),
            None => Err(missing()),
        }
    }

    fn optional(&self, name: &str) -> Result<Option<f64>, PackError> {
        match &self.0[name] {
            Value::Null => Ok(None),
            value => match value.as_u64().and_then(|size| u32::try_from(size).ok()) {
                Some(size) => Ok(Some(f64::from(size))),
                None => Err(PackError::Config(format!("{name} is {value}, expected a whole number"))),
            },
        }
    }
}
