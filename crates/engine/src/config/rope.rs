//! Rotary parameters, in the places where transformers 4 and 5 keep them.

use serde_json::Value;

use super::lookup::{number, optional, positive};
use super::{Llama3, RopeScaling, Yarn};
use crate::error::EngineError;

const ORIGINAL: &str = "original_max_position_embeddings";

/// `rope_theta` and scaling, from the top level (transformers 4) or `rope_parameters` (transformers 5).
pub(super) fn rope(raw: &Value, max_positions: usize) -> Result<(f64, RopeScaling), EngineError> {
    let mut blocks = Vec::new();
    for key in ["rope_parameters", "rope_scaling"] {
        if let Some(value) = optional(raw, key) {
            if !value.is_object() {
                return Err(EngineError::Config(format!("{key} = {value} is not an object")));
            }
            blocks.push((key, value));
        }
    }
    let mut theta = optional(raw, "rope_theta")
        .map(|_| number(raw, "rope_theta", 0.0))
        .transpose()?;
    let mut scaling = None;
    for (key, block) in blocks {
        if optional(block, "rope_theta").is_some() {
            theta = Some(number(block, "rope_theta", 0.0).map_err(|error| at(key, error))?);
        }
        refuse_kinds_of_layers_and_parts_of_heads(key, block)?;
        let found = scaling_of(key, block, max_positions)?;
        if let (Some(top), RopeScaling::Llama3(_) | RopeScaling::Yarn(_)) = (optional(raw, ORIGINAL), found)
            && optional(block, ORIGINAL) != Some(top)
        {
            return Err(EngineError::ConfigUnsupported(format!(
                "{ORIGINAL} = {top} is not supported beside another value in {key}: write it there alone"
            )));
        }
        match scaling {
            Some(earlier) if earlier != found => {
                return Err(EngineError::Config("rope_parameters and rope_scaling disagree".into()));
            }
            _ => scaling = Some(found),
        }
    }
    let theta = theta.unwrap_or(10_000.0);
    if !(theta.is_finite() && theta > 0.0) {
        return Err(EngineError::Config(format!(
            "rope_theta = {theta} is not a positive number"
        )));
    }
    let scaling = scaling.unwrap_or(RopeScaling::None);
    if matches!(scaling, RopeScaling::Yarn(_)) && theta <= 1.0 {
        return Err(EngineError::Config(format!(
            "rope_theta = {theta} has no frequencies for rope_type \"yarn\": it must be above 1"
        )));
    }
    Ok((theta, scaling))
}

/// Names the block of an error.
fn at(key: &str, error: EngineError) -> EngineError {
    EngineError::Config(format!("{key}: {error}"))
}

fn refuse_kinds_of_layers_and_parts_of_heads(key: &str, block: &Value) -> Result<(), EngineError> {
    let is_nested =
        |map: &'_ serde_json::Map<String, Value>| map.iter().find(|(_, v)| v.is_object()).map(|(k, _)| k.clone());
    if let Some(inner) = block.as_object().and_then(is_nested) {
        return Err(EngineError::ConfigUnsupported(format!(
            "{key}.{inner} is not supported: every layer must have the same rotary parameters"
        )));
    }
    if let Some(value) = optional(block, "partial_rotary_factor")
        && value.as_f64() != Some(1.0)
    {
        return Err(EngineError::ConfigUnsupported(format!(
            "{key}.partial_rotary_factor = {value} is not supported: it must be 1 or absent"
        )));
    }
    Ok(())
}

fn scaling_of(key: &str, block: &Value, max_positions: usize) -> Result<RopeScaling, EngineError> {
    let needed = |name: &str| positive(block, name).map_err(|error| at(key, error));
    let kind = optional(block, "rope_type").or_else(|| optional(block, "type"));
    Ok(match kind.map(|value| (value, value.as_str())) {
        None | Some((_, Some("default"))) => RopeScaling::None,
        Some((_, Some("linear"))) => RopeScaling::Linear {
            factor: needed("factor")?,
        },
        Some((_, Some("dynamic"))) => RopeScaling::Dynamic {
            factor: needed("factor")?,
        },
        Some((_, Some("llama3"))) => RopeScaling::Llama3(Llama3 {
            factor: needed("factor")?,
            low_freq_factor: needed("low_freq_factor")?,
            high_freq_factor: needed("high_freq_factor")?,
            original_max_position_embeddings: needed(ORIGINAL)?,
        }),
        Some((_, Some("yarn"))) => {
            RopeScaling::Yarn(yarn(block, max_positions as f64).map_err(|error| at(key, error))?)
        }
        Some((value, _)) => {
            return Err(EngineError::ConfigUnsupported(format!(
                "{key}.rope_type = {value} is not supported: one of \"default\", \"linear\", \"dynamic\", \"llama3\", \"yarn\""
            )));
        }
    })
}

/// The defaults are those of `_compute_yarn_parameters`.
fn yarn(block: &Value, max_positions: f64) -> Result<Yarn, EngineError> {
    let or = |key: &str, default: f64| match optional(block, key) {
        None => Ok(default),
        Some(_) => positive(block, key),
    };
    let original_max_position_embeddings = or(ORIGINAL, max_positions)?;
    let factor = match block.get("factor") {
        Some(Value::Null) => max_positions / original_max_position_embeddings,
        _ => positive(block, "factor")?,
    };
    let (mscale, mscale_all_dim) = (number(block, "mscale", 0.0)?, number(block, "mscale_all_dim", 0.0)?);
    let inferred = Yarn::attention_factor(factor, mscale, mscale_all_dim);
    let attention_factor = or("attention_factor", inferred)?;
    if !(attention_factor.is_finite() && attention_factor > 0.0) {
        return Err(EngineError::Config(format!(
            "mscale = {mscale} and mscale_all_dim = {mscale_all_dim} give an attention factor of {attention_factor}"
        )));
    }
    let truncate = match block.get("truncate") {
        None => true,
        Some(Value::Bool(truncate)) => *truncate,
        Some(other) => {
            return Err(EngineError::Config(format!(
                "truncate = {other} is neither true nor false"
            )));
        }
    };
    Ok(Yarn {
        factor,
        attention_factor,
        beta_fast: or("beta_fast", 32.0)?,
        beta_slow: or("beta_slow", 1.0)?,
        truncate,
        original_max_position_embeddings,
    })
}
