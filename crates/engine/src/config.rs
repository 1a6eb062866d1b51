//! A model's architecture as read from a Hugging Face `config.json`.
//!
//! What the engine cannot compute exactly is refused by name: an unknown architecture, and every key whose value would change the
//! mathematics. Keys that only describe (versions, token ids, initialisation) are kept but not interpreted.

use std::path::Path;

use serde_json::Value;

use crate::error::EngineError;

/// The supported families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// `LlamaForCausalLM`: no biases, no QK-norm.
    Llama,
    /// `Qwen2ForCausalLM` (Qwen2 and 2.5): biases on q, k, v.
    Qwen2,
    /// `Qwen3ForCausalLM`: RMSNorm on the heads of q and k.
    Qwen3,
}

impl Architecture {
    const ALL: [Self; 3] = [Self::Llama, Self::Qwen2, Self::Qwen3];

    /// `model_type` of config.json.
    pub fn model_type(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
        }
    }

    fn class_name(self) -> &'static str {
        match self {
            Self::Llama => "LlamaForCausalLM",
            Self::Qwen2 => "Qwen2ForCausalLM",
            Self::Qwen3 => "Qwen3ForCausalLM",
        }
    }
}

/// How rotary frequencies are changed for long contexts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RopeScaling {
    /// Not at all.
    None,
    /// Every frequency divided by `factor`.
    Linear {
        /// The divisor.
        factor: f64,
    },
    /// Llama 3: low frequencies divided by `factor`, high ones kept, those between interpolated.
    Llama3 {
        /// The divisor of low frequencies.
        factor: f64,
        /// Wavelengths above `original_max_position_embeddings / low_freq_factor` are low frequencies.
        low_freq_factor: f64,
        /// Wavelengths below `original_max_position_embeddings / high_freq_factor` are high frequencies.
        high_freq_factor: f64,
        /// The context length before scaling.
        original_max_position_embeddings: f64,
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
    /// Width of the feed-forward layer.
    pub intermediate_size: usize,
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
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Change of the rotary frequencies.
    pub rope_scaling: RopeScaling,
    /// The longest sequence that the model was made for, in tokens.
    pub max_position_embeddings: usize,
    /// Whether the head shares the embedding's weights.
    pub tie_word_embeddings: bool,
    /// Standard deviation of a random initialisation.
    pub initializer_range: f64,
    /// End-of-sequence ids of generation_config.json, else of config.json; empty when neither names one.
    pub eos_token_ids: Vec<u32>,
    raw: Value,
}

impl ModelConfig {
    /// Reads `dir/config.json`, and the end-of-sequence ids from `dir/generation_config.json` when it is there.
    ///
    /// # Errors
    /// [`EngineError::Io`] when config.json cannot be read; [`EngineError::Config`] or [`EngineError::ArchitectureUnsupported`] as for
    /// [`ModelConfig::from_json`].
    pub fn from_dir(dir: &Path) -> Result<Self, EngineError> {
        let path = dir.join("config.json");
        let text = std::fs::read_to_string(&path).map_err(|source| EngineError::Io {
            action: "read",
            path: path.clone(),
            source,
        })?;
        let mut config = Self::from_json(&text).map_err(|error| match error {
            EngineError::Config(m) => EngineError::Config(format!("{}: {m}", path.display())),
            EngineError::ArchitectureUnsupported(m) => {
                EngineError::ArchitectureUnsupported(format!("{}: {m}", path.display()))
            }
            other => other,
        })?;
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
            Err(source) => return Err(EngineError::Io { action: "read", path, source }),
        }
        Ok(config)
    }

    /// Parses the text of a config.json.
    ///
    /// # Errors
    /// [`EngineError::ArchitectureUnsupported`] naming an unknown architecture; [`EngineError::Config`] naming the key and value that is
    /// missing, malformed, or would change the mathematics.
    pub fn from_json(text: &str) -> Result<Self, EngineError> {
        let raw: Value =
            serde_json::from_str(text).map_err(|e| EngineError::Config(format!("config.json is not valid JSON: {e}")))?;
        if !raw.is_object() {
            return Err(EngineError::Config("config.json is not a JSON object".into()));
        }
        let architecture = architecture(&raw)?;
        refuse_what_changes_the_mathematics(&raw, architecture)?;

        let hidden_size = size(&raw, "hidden_size")?;
        let num_heads = size(&raw, "num_attention_heads")?;
        let num_kv_heads = match (optional(&raw, "num_key_value_heads"), architecture) {
            (Some(_), _) => size(&raw, "num_key_value_heads")?,
            (None, Architecture::Llama) => num_heads,
            (None, _) => 32,
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
            return Err(EngineError::Config(format!("head_dim {head_dim} is odd: rotary embedding needs an even one")));
        }
        let (rope_theta, rope_scaling) = rope(&raw)?;
        let eps = number(&raw, "rms_norm_eps", 1e-6)?;
        if !(eps > 0.0 && eps < 1.0) {
            return Err(EngineError::Config(format!("rms_norm_eps {eps} is not between 0 and 1")));
        }
        let config = Self {
            architecture,
            vocab_size: size(&raw, "vocab_size")?,
            hidden_size,
            intermediate_size: size(&raw, "intermediate_size")?,
            num_layers: size(&raw, "num_hidden_layers")?,
            num_heads,
            num_kv_heads,
            head_dim,
            rms_norm_eps: eps as f32,
            rope_theta,
            rope_scaling,
            max_position_embeddings: match optional(&raw, "max_position_embeddings") {
                Some(_) => size(&raw, "max_position_embeddings")?,
                None if architecture == Architecture::Llama => 2048,
                None => 32768,
            },
            tie_word_embeddings: flag(&raw, "tie_word_embeddings")?,
            initializer_range: number(&raw, "initializer_range", 0.02)?,
            eos_token_ids: token_ids(&raw, "eos_token_id")?,
            raw,
        };
        config.check_size()?;
        Ok(config)
    }

    /// The config.json that this was read from, with `dtype` set to `float32`, the dtype of what the engine writes.
    pub fn to_json(&self) -> String {
        let mut value = self.raw.clone();
        if let Some(object) = value.as_object_mut() {
            let key = if object.contains_key("torch_dtype") { "torch_dtype" } else { "dtype" };
            object.insert(key.into(), "float32".into());
            if key == "torch_dtype" && object.contains_key("dtype") {
                object.insert("dtype".into(), "float32".into());
            }
        }
        // A value parsed from JSON prints as JSON.
        format!("{value:#}\n")
    }

    /// Whether q, k and v have biases.
    pub fn qkv_bias(&self) -> bool {
        self.architecture == Architecture::Qwen2
    }

    /// Whether the heads of q and k are normalised.
    pub fn qk_norm(&self) -> bool {
        self.architecture == Architecture::Qwen3
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

    /// The rotary frequencies of the `head_dim / 2` pairs, in radians per token.
    ///
    /// Rounded to f32 where transformers rounds (`_compute_default_rope_parameters`, `_compute_llama3_parameters`).
    pub fn inverse_frequencies(&self) -> Vec<f32> {
        let half = self.head_dim / 2;
        (0..half)
            .map(|pair| {
                let exponent = (2 * pair) as f32 / self.head_dim as f32;
                let base = (1.0 / self.rope_theta.powf(f64::from(exponent))) as f32;
                match self.rope_scaling {
                    RopeScaling::None => base,
                    RopeScaling::Linear { factor } => base / factor as f32,
                    RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
                        let frequency = f64::from(base);
                        let wavelength = 2.0 * std::f64::consts::PI / frequency;
                        if wavelength > original_max_position_embeddings / low_freq_factor {
                            (frequency / factor) as f32
                        } else if wavelength < original_max_position_embeddings / high_freq_factor {
                            base
                        } else {
                            let smooth = (original_max_position_embeddings / wavelength - low_freq_factor)
                                / (high_freq_factor - low_freq_factor);
                            ((1.0 - smooth) * frequency / factor + smooth * frequency) as f32
                        }
                    }
                }
            })
            .collect()
    }

    /// Refuses shapes whose parameter count does not fit in memory arithmetic, before anything is allocated.
    fn check_size(&self) -> Result<(), EngineError> {
        const MOST_PARAMETERS: u128 = 1 << 40;
        let [vocab, hidden, ffn, layers, qkv] =
            [self.vocab_size, self.hidden_size, self.intermediate_size, self.num_layers, self.num_heads]
                .map(|value| value as u128);
        let attention = qkv * self.head_dim as u128 * 4;
        let total = vocab * hidden * 2 + layers * hidden * (attention + 3 * ffn);
        if total > MOST_PARAMETERS || self.vocab_size > u32::MAX as usize {
            return Err(EngineError::Config(format!("config.json describes {total} parameters: more than the engine runs")));
        }
        Ok(())
    }
}

fn architecture(raw: &Value) -> Result<Architecture, EngineError> {
    let unknown = |key: &str, value: &Value| {
        let known = Architecture::ALL.map(Architecture::class_name).join(", ");
        EngineError::ArchitectureUnsupported(format!("{key} = {value}: the engine runs {known}"))
    };
    let by_type = match optional(raw, "model_type") {
        None => None,
        Some(value) => {
            let found = Architecture::ALL.into_iter().find(|known| value.as_str() == Some(known.model_type()));
            Some(found.ok_or_else(|| unknown("model_type", value))?)
        }
    };
    let by_class = match optional(raw, "architectures") {
        None => None,
        Some(value) => {
            let names = value.as_array().map(Vec::as_slice);
            let found = match names {
                Some([name]) => Architecture::ALL.into_iter().find(|known| name.as_str() == Some(known.class_name())),
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
        (None, None) => Err(EngineError::ArchitectureUnsupported("neither model_type nor architectures is given".into())),
    }
}

/// Keys that must be absent, null, or have the one value under which they change nothing.
fn refuse_what_changes_the_mathematics(raw: &Value, architecture: Architecture) -> Result<(), EngineError> {
    const MUST_BE_FALSE: [&str; 6] =
        ["mlp_bias", "use_sliding_window", "use_mrope", "is_encoder_decoder", "clip_qkv", "use_bidirectional_attention"];
    const MUST_BE_ONE: [&str; 10] = [
        "partial_rotary_factor",
        "logit_scale",
        "logits_scaling",
        "embedding_multiplier",
        "residual_multiplier",
        "scale_emb",
        "scale_depth",
        "lm_head_multiplier",
        "mup_base_width",
        "rope_ratio",
    ];
    const MUST_BE_ZERO: [&str; 6] =
        ["attention_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop", "residual_dropout"];
    const MUST_BE_ABSENT: [&str; 14] = [
        "quantization_config",
        "compression_config",
        "attention_multiplier",
        "query_pre_attn_scalar",
        "attn_logit_softcapping",
        "final_logit_softcapping",
        "num_experts",
        "num_local_experts",
        "n_routed_experts",
        "attention_chunk_size",
        "no_rope_layers",
        "kv_lora_rank",
        "adapter_config",
        "dual_chunk_attention_config",
    ];
    let refuse = |key: &str, value: &Value, must: &str| {
        Err(EngineError::Config(format!("{key} = {value} is not supported: it must be {must}")))
    };
    for key in MUST_BE_FALSE {
        if let Some(value) = optional(raw, key)
            && value.as_bool() != Some(false)
        {
            return refuse(key, value, "false or absent");
        }
    }
    for key in MUST_BE_ONE {
        if let Some(value) = optional(raw, key)
            && value.as_f64() != Some(1.0)
        {
            return refuse(key, value, "1 or absent");
        }
    }
    for key in MUST_BE_ZERO {
        if let Some(value) = optional(raw, key)
            && value.as_f64() != Some(0.0)
        {
            return refuse(key, value, "0 or absent");
        }
    }
    for key in MUST_BE_ABSENT {
        if let Some(value) = optional(raw, key) {
            return refuse(key, value, "absent");
        }
    }
    for key in ["hidden_act", "hidden_activation"] {
        if let Some(value) = optional(raw, key)
            && !matches!(value.as_str(), Some("silu" | "swish"))
        {
            return refuse(key, value, "\"silu\"");
        }
    }
    if let Some(value) = optional(raw, "attention_bias") {
        // Qwen2 always has biases on q, k and v and never on o; its class does not read the key.
        let harmless = architecture == Architecture::Qwen2 && value.is_boolean();
        if !harmless && value.as_bool() != Some(false) {
            return refuse("attention_bias", value, "false or absent (a bias on o_proj is not implemented)");
        }
    }
    if let Some(value) = optional(raw, "layer_types") {
        let full = value.as_array().is_some_and(|types| types.iter().all(|t| t.as_str() == Some("full_attention")));
        if !full {
            return refuse("layer_types", value, "\"full_attention\" for every layer");
        }
    }
    if let Some(value) = optional(raw, "sliding_window")
        && optional(raw, "use_sliding_window").is_none()
        && architecture == Architecture::Llama
    {
        return refuse("sliding_window", value, "null or absent");
    }
    Ok(())
}

/// `rope_theta` and scaling, from the top level (transformers 4) or `rope_parameters` (transformers 5).
fn rope(raw: &Value) -> Result<(f64, RopeScaling), EngineError> {
    let mut blocks = Vec::new();
    for key in ["rope_parameters", "rope_scaling"] {
        if let Some(value) = optional(raw, key) {
            if !value.is_object() {
                return Err(EngineError::Config(format!("{key} = {value} is not an object")));
            }
            blocks.push((key, value));
        }
    }
    let mut theta = optional(raw, "rope_theta").map(|_| number(raw, "rope_theta", 0.0)).transpose()?;
    let mut scaling = None;
    for (key, block) in blocks {
        let at = |error: EngineError| EngineError::Config(format!("{key}: {error}"));
        if optional(block, "rope_theta").is_some() {
            theta = Some(number(block, "rope_theta", 0.0).map_err(at)?);
        }
        if let Some(value) = optional(block, "partial_rotary_factor")
            && value.as_f64() != Some(1.0)
        {
            return Err(EngineError::Config(format!(
                "{key}.partial_rotary_factor = {value} is not supported: it must be 1 or absent"
            )));
        }
        let kind = optional(block, "rope_type").or_else(|| optional(block, "type"));
        let found = match kind.map(|value| (value, value.as_str())) {
            None | Some((_, Some("default"))) => RopeScaling::None,
            Some((_, Some("linear"))) => RopeScaling::Linear { factor: positive(block, "factor").map_err(at)? },
            Some((_, Some("llama3"))) => RopeScaling::Llama3 {
                factor: positive(block, "factor").map_err(at)?,
                low_freq_factor: positive(block, "low_freq_factor").map_err(at)?,
                high_freq_factor: positive(block, "high_freq_factor").map_err(at)?,
                original_max_position_embeddings: positive(block, "original_max_position_embeddings").map_err(at)?,
            },
            Some((value, _)) => {
                return Err(EngineError::Config(format!(
                    "{key}.rope_type = {value} is not supported: one of \"default\", \"linear\", \"llama3\""
                )));
            }
        };
        match scaling {
            Some(earlier) if earlier != found => {
                return Err(EngineError::Config("rope_parameters and rope_scaling disagree".into()));
            }
            _ => scaling = Some(found),
        }
    }
    let theta = theta.unwrap_or(10_000.0);
    if !(theta.is_finite() && theta > 0.0) {
        return Err(EngineError::Config(format!("rope_theta = {theta} is not a positive number")));
    }
    Ok((theta, scaling.unwrap_or(RopeScaling::None)))
}

// ---- typed look-ups; null counts as absent ----

fn optional<'a>(raw: &'a Value, key: &str) -> Option<&'a Value> {
    raw.get(key).filter(|value| !value.is_null())
}

fn size(raw: &Value, key: &str) -> Result<usize, EngineError> {
    const LARGEST: u64 = 1 << 31;
    let value = optional(raw, key).ok_or_else(|| EngineError::Config(format!("config.json lacks {key}")))?;
    match value.as_u64() {
        Some(found) if (1..=LARGEST).contains(&found) => Ok(found as usize),
        _ => Err(EngineError::Config(format!("{key} = {value} is not a positive whole number"))),
    }
}

fn number(raw: &Value, key: &str, default: f64) -> Result<f64, EngineError> {
    match optional(raw, key) {
        None => Ok(default),
        Some(value) => value.as_f64().ok_or_else(|| EngineError::Config(format!("{key} = {value} is not a number"))),
    }
}

fn positive(raw: &Value, key: &str) -> Result<f64, EngineError> {
    let found = number(raw, key, f64::NAN)?;
    if found > 0.0 { Ok(found) } else { Err(EngineError::Config(format!("{key} is missing or not positive"))) }
}

fn flag(raw: &Value, key: &str) -> Result<bool, EngineError> {
    match optional(raw, key) {
        None => Ok(false),
        Some(value) => {
            value.as_bool().ok_or_else(|| EngineError::Config(format!("{key} = {value} is neither true nor false")))
        }
    }
}

fn token_ids(raw: &Value, key: &str) -> Result<Vec<u32>, EngineError> {
    let wrong = |value: &Value| EngineError::Config(format!("{key} = {value} is not a token id or a list of them"));
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match optional(raw, key) {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => {
            values.iter().map(|value| id(value).ok_or_else(|| wrong(value))).collect::<Result<_, _>>()
        }
        Some(value) => Ok(vec![id(value).ok_or_else(|| wrong(value))?]),
    }
}
