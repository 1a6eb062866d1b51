//! Rotary parameters, in the places where transformers 4 and 5 keep them.

use serde_json::Value;

use super::RopeScaling;
use super::lookup::{number, optional, positive};
use crate::error::EngineError;

/// `rope_theta` and scaling, from the top level (transformers 4) or `rope_parameters` (transformers 5).
pub(super) fn rope(raw: &Value) -> Result<(f64, RopeScaling), EngineError> {
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
        let at = |error: EngineError| EngineError::Config(format!("{key}: {error}"));
        if optional(block, "rope_theta").is_some() {
            theta = Some(number(block, "rope_theta", 0.0).map_err(at)?);
        }
        if let Some((inner, _)) = block
            .as_object()
            .and_then(|map| map.iter().find(|(_, v)| v.is_object()))
        {
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
        let kind = optional(block, "rope_type").or_else(|| optional(block, "type"));
        let found = match kind.map(|value| (value, value.as_str())) {
            None | Some((_, Some("default"))) => RopeScaling::None,
            Some((_, Some("linear"))) => RopeScaling::Linear {
                factor: positive(block, "factor").map_err(at)?,
            },
            Some((_, Some("llama3"))) => RopeScaling::Llama3 {
                factor: positive(block, "factor").map_err(at)?,
                low_freq_factor: positive(block, "low_freq_factor").map_err(at)?,
                high_freq_factor: positive(block, "high_freq_factor").map_err(at)?,
                original_max_position_embeddings: positive(block, "original_max_position_embeddings").map_err(at)?,
            },
            Some((value, _)) => {
                return Err(EngineError::ConfigUnsupported(format!(
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
        return Err(EngineError::Config(format!(
            "rope_theta = {theta} is not a positive number"
        )));
    }
    Ok((theta, scaling.unwrap_or(RopeScaling::None)))
}
