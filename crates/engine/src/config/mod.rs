//! A model's architecture as read from a Hugging Face `config.json`.
//!
//! The engine refuses by name what it cannot compute exactly: an unknown architecture, and every key whose value would change the
//! mathematics. Keys that only describe (versions, token ids, initialisation) are kept but not interpreted.

mod difference;
mod dtype;
mod frequencies;
mod hub_name;
mod lookup;
mod moe;
mod refuse;
mod rope;
mod windows;

use std::path::Path;

use serde_json::Value;

pub use dtype::{BaseDtype, WeightDtype, WeightFormat};

use crate::error::EngineError;
pub use frequencies::{Llama3, Yarn};
pub(crate) use hub_name::hub_name;
use lookup::{flag, number, optional, size, token_ids};
pub use moe::Moe;
use moe::moe;
use refuse::refuse_what_changes_the_mathematics;
use rope::rope;
use windows::windows;

/// The supported families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// `LlamaForCausalLM`: no biases unless the config asks for them, no QK-norm.
    Llama,
    /// `MistralForCausalLM`: Llama with a sliding window.
    Mistral,
    /// `Qwen2ForCausalLM` (Qwen2 and 2.5): biases on q, k, v.
    Qwen2,
    /// `Qwen3ForCausalLM`: RMSNorm on the heads of q and k.
    Qwen3,
    /// `Qwen3MoeForCausalLM`: Qwen3 with mixtures of experts.
    Qwen3Moe,
}

impl Architecture {
    const ALL: [Self; 5] = [Self::Llama, Self::Mistral, Self::Qwen2, Self::Qwen3, Self::Qwen3Moe];

    /// `model_type` of config.json.
    pub fn model_type(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Mistral => "mistral",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
            Self::Qwen3Moe => "qwen3_moe",
        }
    }

    fn class_name(self) -> &'static str {
        match self {
            Self::Llama => "LlamaForCausalLM",
            Self::Mistral => "MistralForCausalLM",
            Self::Qwen2 => "Qwen2ForCausalLM",
            Self::Qwen3 => "Qwen3ForCausalLM",
            Self::Qwen3Moe => "Qwen3MoeForCausalLM",
        }
    }
}

/// How rotary frequencies are changed for long contexts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RopeScaling {
    /// Frequencies stay as they are.
    None,
    /// Every frequency divided by `factor`.
    Linear {
        /// The divisor.
        factor: f64,
    },
    /// Llama 3: low frequencies divided by `factor`, high ones kept, those between interpolated.
    Llama3(Llama3),
    /// YaRN: as Llama 3 with other bounds; cosines and sines have a factor too.
    Yarn(Yarn),
    /// Frequencies that fall with the length of a sequence beyond `max_position_embeddings`; up to there they stay as they are.
    Dynamic {
        /// How fast they fall.
        factor: f64,
    },
}

/// The numbers that fix a model's shape and mathematics.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    /// The family.
    pub architecture: Architecture,
    /// Number of token ids; the width of logits.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of a layer's feed-forward network, where it has one.
    pub intermediate_size: usize,
    /// The networks of layers that have several; None where every layer has one.
    pub moe: Option<Moe>,
    /// Number of layers.
    pub num_layers: usize,
    /// Query heads.
    pub num_heads: usize,
    /// Key and value heads; divides `num_heads`.
    pub num_kv_heads: usize,
    /// Width of a head; even.
    pub head_dim: usize,
    /// Epsilon of every RMSNorm.
    pub rms_norm_eps: f32,
    /// Whether all projections of attention have biases.
    pub attention_bias: bool,
    /// Whether the projections of feed-forward networks have biases.
    pub mlp_bias: bool,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Change of the rotary frequencies.
    pub rope_scaling: RopeScaling,
    /// Per layer how many keys a query sees, its own among them; None where it sees all before it.
    pub sliding_windows: Vec<Option<usize>>,
    /// The longest sequence that the model was made for, in tokens.
    pub max_position_embeddings: usize,
    /// Whether the head shares the embedding's weights.
    pub tie_word_embeddings: bool,
    /// How the weights are kept and written. The caller's choice, whatever format the checkpoint has; f32 unless set.
    pub dtype: WeightDtype,
    /// How the projections of frozen weights are kept, when it is not as `dtype`. The caller's choice too.
    pub base_dtype: Option<BaseDtype>,
    /// Standard deviation of a random initialisation.
    pub initializer_range: f64,
    /// End-of-sequence ids of generation_config.json, else of config.json; empty when neither names one.
    pub eos_token_ids: Vec<u32>,
    /// Its name on the hub, when it was read from the hub's cache.
    pub(crate) hub_name: Option<String>,
    raw: Value,
}

impl ModelConfig {
    /// Reads `dir/config.json`, and the end-of-sequence ids from `dir/generation_config.json` when it is there.
    ///
    /// # Errors
    /// [`EngineError::Io`] when config.json cannot be read; [`EngineError::Config`], [`EngineError::ConfigUnsupported`] or
    /// [`EngineError::ArchitectureUnsupported`] as for [`ModelConfig::from_json`].
    pub fn from_dir(dir: &Path) -> Result<Self, EngineError> {
        let path = dir.join("config.json");
        let text = std::fs::read_to_string(&path).map_err(|source| EngineError::Io {
            action: "read",
            path: path.clone(),
            source,
        })?;
        let mut config = Self::from_json(&text).map_err(|error| match error {
            EngineError::Config(m) => EngineError::Config(format!("{}: {m}", path.display())),
            EngineError::ConfigUnsupported(m) => EngineError::ConfigUnsupported(format!("{}: {m}", path.display())),
            EngineError::ArchitectureUnsupported(m) => {
                EngineError::ArchitectureUnsupported(format!("{}: {m}", path.display()))
            }
            other => other,
        })?;
        config.hub_name = dir.canonicalize().ok().and_then(|dir| hub_name(&dir.to_string_lossy()));
        let path = dir.join("generation_config.json");
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let value: Value = serde_json::from_str(&text)
                    .map_err(|e| EngineError::Config(format!("{}: not valid JSON: {e}", path.display())))?;
                if value.get("eos_token_id").is_some_and(|ids| !ids.is_null()) {
                    config.eos_token_ids = token_ids(&value, "eos_token_id")?;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => {
                return Err(EngineError::Io {
                    action: "read",
                    path,
                    source,
                });
            }
        }
        Ok(config)
    }

    /// Parses the text of a config.json.
    ///
    /// # Errors
    /// [`EngineError::ArchitectureUnsupported`] naming an unknown architecture; [`EngineError::Config`] naming the key and value that is
    /// missing or malformed; [`EngineError::ConfigUnsupported`] naming those under which the engine would compute something else.
    pub fn from_json(text: &str) -> Result<Self, EngineError> {
        let raw: Value = serde_json::from_str(text)
            .map_err(|e| EngineError::Config(format!("config.json is not valid JSON: {e}")))?;
        if !raw.is_object() {
            return Err(EngineError::Config("config.json is not a JSON object".into()));
        }
        let architecture = architecture(&raw)?;
        refuse_what_changes_the_mathematics(&raw, architecture)?;

        let hidden_size = size(&raw, "hidden_size")?;
        let num_heads = size(&raw, "num_attention_heads")?;
        // As in transformers: null means one per query head, and Qwen's classes replace an absent key by 32, that of Qwen3-MoE by 4, Mistral's by 8.
        let num_kv_heads = match (raw.get("num_key_value_heads"), architecture) {
            (None, Architecture::Qwen2 | Architecture::Qwen3) => 32,
            (None, Architecture::Mistral) => 8,
            (None, Architecture::Qwen3Moe) => 4,
            (None | Some(Value::Null), _) => num_heads,
            (Some(_), _) => size(&raw, "num_key_value_heads")?,
        };
        let head_dim = match (optional(&raw, "head_dim"), architecture) {
            (Some(_), _) => size(&raw, "head_dim")?,
            (None, Architecture::Qwen3) => 128,
            (None, _) => {
                if !hidden_size.is_multiple_of(num_heads) {
                    return Err(EngineError::Config(format!(
                        "hidden_size {hidden_size} is no multiple of num_attention_heads {num_heads} and head_dim is not given"
                    )));
                }
                hidden_size / num_heads
            }
        };
        if !num_heads.is_multiple_of(num_kv_heads) {
            return Err(EngineError::Config(format!(
                "num_attention_heads {num_heads} is no multiple of num_key_value_heads {num_kv_heads}"
            )));
        }
        if !head_dim.is_multiple_of(2) {
            return Err(EngineError::Config(format!(
                "head_dim {head_dim} is odd: rotary embedding needs an even one"
            )));
        }
        let max_position_embeddings = match optional(&raw, "max_position_embeddings") {
            Some(_) => size(&raw, "max_position_embeddings")?,
            None if architecture == Architecture::Llama => 2048,
            None if architecture == Architecture::Mistral => 131_072,
            None => 32768,
        };
        let (rope_theta, rope_scaling) = rope(&raw, max_position_embeddings)?;
        let num_layers = layers(&raw)?;
        let eps = number(&raw, "rms_norm_eps", 1e-6)?;
        if !(eps > 0.0 && eps < 1.0) {
            return Err(EngineError::Config(format!(
                "rms_norm_eps {eps} is not between 0 and 1"
            )));
        }
        let mut config = Self {
            architecture,
            vocab_size: size(&raw, "vocab_size")?,
            hidden_size,
            moe: moe(&raw, architecture, num_layers)?,
            intermediate_size: size(&raw, "intermediate_size")?,
            num_layers,
            num_heads,
            num_kv_heads,
            head_dim,
            rms_norm_eps: eps as f32,
            // Qwen2's class does not read the key: q, k and v have biases and o has none.
            attention_bias: architecture != Architecture::Qwen2 && flag(&raw, "attention_bias")?,
            mlp_bias: flag(&raw, "mlp_bias")?,
            rope_theta,
            rope_scaling,
            sliding_windows: Vec::new(),
            max_position_embeddings,
            tie_word_embeddings: flag(&raw, "tie_word_embeddings")?,
            dtype: WeightDtype::F32,
            base_dtype: None,
            initializer_range: number(&raw, "initializer_range", 0.02)?,
            eos_token_ids: token_ids(&raw, "eos_token_id")?,
            hub_name: None,
            raw,
        };
        config.check_size()?;
        config.sliding_windows = windows(&config.raw, architecture, num_layers)?;
        Ok(config)
    }

    /// The same model with its weights kept in this format, and written in its `dtype`.
    #[must_use]
    pub fn kept_as(mut self, format: impl Into<WeightFormat>) -> Self {
        WeightFormat {
            dtype: self.dtype,
            base: self.base_dtype,
        } = format.into();
        self
    }

    /// The formats of the weights.
    pub fn format(&self) -> WeightFormat {
        WeightFormat {
            dtype: self.dtype,
            base: self.base_dtype,
        }
    }

    /// The config.json that this was read from, with the `dtype` in which the engine writes weights, and with the `model_type` and
    /// `architectures` that transformers needs to load it.
    pub fn to_json(&self) -> String {
        let mut value = self.raw.clone();
        if let Some(object) = value.as_object_mut() {
            for (key, name) in [
                ("model_type", Value::from(self.architecture.model_type())),
                ("architectures", vec![self.architecture.class_name()].into()),
            ] {
                if object.get(key).is_none_or(Value::is_null) {
                    object.insert(key.into(), name);
                }
            }
            let key = if object.contains_key("torch_dtype") {
                "torch_dtype"
            } else {
                "dtype"
            };
            object.insert(key.into(), self.dtype.name().into());
            if key == "torch_dtype" && object.contains_key("dtype") {
                object.insert("dtype".into(), self.dtype.name().into());
            }
        }
        // A value parsed from JSON prints as JSON.
        format!("{value:#}\n")
    }

    /// Whether q, k and v have biases.
    pub fn qkv_bias(&self) -> bool {
        self.architecture == Architecture::Qwen2 || self.attention_bias
    }

    /// Whether the heads of q and k are normalised.
    pub fn qk_norm(&self) -> bool {
        matches!(self.architecture, Architecture::Qwen3 | Architecture::Qwen3Moe)
    }

    /// The networks of a layer that has several.
    pub(crate) fn moe(&self, layer: usize) -> Option<&Moe> {
        self.moe.as_ref().filter(|moe| moe.layers[layer])
    }

    /// How many keys a query of the layer sees, up to its own; more than any sequence has where it sees all.
    pub(crate) fn window(&self, layer: usize) -> usize {
        self.sliding_windows[layer].unwrap_or(usize::MAX)
    }

    /// Width of all query heads together.
    pub fn q_width(&self) -> usize {
        self.num_heads * self.head_dim
    }

    /// Width of all key heads (or all value heads) together.
    pub fn kv_width(&self) -> usize {
        self.num_kv_heads * self.head_dim
    }

    /// Width of q, k and v side by side.
    pub fn qkv_width(&self) -> usize {
        self.q_width() + 2 * self.kv_width()
    }

    /// Refuses a sequence of `tokens` tokens whose numbers would depend on more than the tokens before each.
    pub(crate) fn check_length(&self, tokens: usize) -> Result<(), EngineError> {
        if matches!(self.rope_scaling, RopeScaling::Dynamic { .. }) && tokens > self.max_position_embeddings {
            // The frequencies of all tokens would change with every further one: keys in the cache and shared beginnings would be wrong.
            return Err(EngineError::Input(format!(
                "a sequence of {tokens} tokens: with rope_type \"dynamic\" the engine computes at most max_position_embeddings = {}",
                self.max_position_embeddings
            )));
        }
        Ok(())
    }

    /// Refuses, before anything is allocated, shapes whose parameter count overflows sizes in memory.
    fn check_size(&self) -> Result<(), EngineError> {
        const MOST_PARAMETERS: u128 = 1 << 36;
        let experts = self.moe.as_ref();
        let ffn = experts.map_or(0, |moe| moe.num_experts.saturating_mul(moe.intermediate_size));
        let [vocab, hidden, ffn, layers, qkv] = [
            self.vocab_size,
            self.hidden_size,
            self.intermediate_size.max(ffn),
            self.num_layers,
            self.num_heads,
        ]
        .map(|value| value as u128);
        let attention = qkv * self.head_dim as u128 * 4;
        let total = vocab * hidden * 2 + layers * hidden * (attention + 3 * ffn);
        if total > MOST_PARAMETERS || self.vocab_size > u32::MAX as usize {
            return Err(EngineError::Config(format!(
                "config.json describes {total} parameters: more than the engine runs"
            )));
        }
        Ok(())
    }
}

/// The number of layers, with its limit before anything has an element for each of them.
fn layers(raw: &Value) -> Result<usize, EngineError> {
    const MOST_LAYERS: usize = 1 << 12;
    let layers = size(raw, "num_hidden_layers")?;
    if layers > MOST_LAYERS {
        return Err(EngineError::Config(format!(
            "num_hidden_layers = {layers}: the engine runs at most {MOST_LAYERS}"
        )));
    }
    Ok(layers)
}

fn architecture(raw: &Value) -> Result<Architecture, EngineError> {
    let unknown = |key: &str, value: &Value| {
        let known = Architecture::ALL.map(Architecture::class_name).join(", ");
        EngineError::ArchitectureUnsupported(format!("{key} = {value}: the engine runs {known}"))
    };
    let by_type = match optional(raw, "model_type") {
        None => None,
        Some(value) => {
            let found = Architecture::ALL
                .into_iter()
                .find(|known| value.as_str() == Some(known.model_type()));
            Some(found.ok_or_else(|| unknown("model_type", value))?)
        }
    };
    let by_class = match optional(raw, "architectures") {
        None => None,
        Some(value) => {
            let names = value.as_array().map(Vec::as_slice);
            let found = match names {
                Some([name]) => Architecture::ALL
                    .into_iter()
                    .find(|known| name.as_str() == Some(known.class_name())),
                _ => None,
            };
            Some(found.ok_or_else(|| unknown("architectures", value))?)
        }
    };
    match (by_type, by_class) {
        (Some(a), Some(b)) if a != b => Err(EngineError::ArchitectureUnsupported(format!(
            "model_type = {:?} and architectures = [{:?}] disagree",
            a.model_type(),
            b.class_name()
        ))),
        (Some(found), _) | (None, Some(found)) => Ok(found),
        (None, None) => Err(EngineError::ArchitectureUnsupported(
            "neither model_type nor architectures is given".into(),
        )),
    }
}

#[cfg(test)]
mod tests;
