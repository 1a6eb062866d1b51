//! Refuses config keys with which the engine would compute something else than the model's authors did.

use serde_json::Value;

use super::Architecture;
use super::lookup::optional;
use crate::error::EngineError;

/// Keys that may only be false.
const MUST_BE_FALSE: [&str; 4] = [
    "use_mrope",
    "is_encoder_decoder",
    "clip_qkv",
    "use_bidirectional_attention",
];
/// Factors that change nothing when they are 1.
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
/// Rates of dropout.
const MUST_BE_ZERO: [&str; 6] = [
    "attention_dropout",
    "hidden_dropout",
    "resid_pdrop",
    "embd_pdrop",
    "attn_pdrop",
    "residual_dropout",
];
/// Keys of other architectures and formats.
const MUST_BE_ABSENT: [&str; 12] = [
    "quantization_config",
    "compression_config",
    "attention_multiplier",
    "query_pre_attn_scalar",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "n_routed_experts",
    "attention_chunk_size",
    "no_rope_layers",
    "kv_lora_rank",
    "adapter_config",
    "dual_chunk_attention_config",
];

/// Keys that must be absent, null, or have the one value under which they change nothing.
pub(super) fn refuse_what_changes_the_mathematics(raw: &Value, architecture: Architecture) -> Result<(), EngineError> {
    refuse_other_values(raw, architecture)?;
    refuse_other_biases(raw, architecture)
}

pub(super) fn refuse<T>(key: &str, value: &Value, must: &str) -> Result<T, EngineError> {
    Err(EngineError::ConfigUnsupported(format!(
        "{key} = {value} is not supported: it must be {must}"
    )))
}

/// Refuses the keys that have one allowed value.
fn refuse_other_values(raw: &Value, architecture: Architecture) -> Result<(), EngineError> {
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
    let experts: &[&str] = match architecture {
        Architecture::Qwen3Moe => &[],
        _ => &["num_experts", "num_local_experts"],
    };
    for &key in MUST_BE_ABSENT.iter().chain(experts) {
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
    Ok(())
}

/// Refuses biases that the architecture's class in transformers does not read.
fn refuse_other_biases(raw: &Value, architecture: Architecture) -> Result<(), EngineError> {
    let (attention, network) = match architecture {
        Architecture::Llama => (true, true),
        Architecture::Mistral => (false, false),
        // Qwen2 has biases on q, k and v whatever the key says.
        Architecture::Qwen2 | Architecture::Qwen3 | Architecture::Qwen3Moe => (true, false),
    };
    for (key, is_read) in [("attention_bias", attention), ("mlp_bias", network)] {
        if let Some(value) = optional(raw, key)
            && !is_read
            && value.as_bool() != Some(false)
        {
            return refuse(key, value, "false or absent");
        }
    }
    Ok(())
}
