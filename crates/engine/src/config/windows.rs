//! How far each layer's attention looks back, from the keys that the architecture's class in transformers reads.

use serde_json::Value;

use super::Architecture;
use super::lookup::{flag, optional, size};
use super::refuse::refuse;
use crate::error::EngineError;

/// The window that a class of transformers takes when `sliding_window` is absent.
const DEFAULT_WINDOW: usize = 4096;
/// Its number of first layers without a window.
const DEFAULT_FULL_LAYERS: usize = 28;

/// Per layer how many keys a query sees, its own among them; None where it sees all before it.
pub(super) fn windows(
    raw: &Value,
    architecture: Architecture,
    layers: usize,
) -> Result<Vec<Option<usize>>, EngineError> {
    let types = layer_types(raw, layers)?;
    let window = window(raw, architecture)?;
    match (architecture, types) {
        (Architecture::Qwen2 | Architecture::Qwen3, Some(types)) => {
            if window.is_none() && types.contains(&true) {
                return refuse_types(
                    raw,
                    "\"full_attention\" for every layer without use_sliding_window and sliding_window",
                );
            }
            Ok(types.into_iter().map(|slides| window.filter(|_| slides)).collect())
        }
        (Architecture::Qwen2 | Architecture::Qwen3, None) => {
            let full = match optional(raw, "max_window_layers") {
                None => DEFAULT_FULL_LAYERS,
                Some(value) => value.as_u64().map_or_else(
                    || {
                        Err(EngineError::Config(format!(
                            "max_window_layers = {value} is not a number of layers"
                        )))
                    },
                    |full| Ok(full as usize),
                )?,
            };
            Ok((0..layers).map(|layer| window.filter(|_| layer >= full)).collect())
        }
        // The other classes do not read layer_types.
        (_, Some(types)) if types.iter().any(|slides| *slides != window.is_some()) => {
            refuse_types(raw, "the same for every layer, as sliding_window says")
        }
        _ => Ok(vec![window; layers]),
    }
}

fn refuse_types<T>(raw: &Value, must: &str) -> Result<T, EngineError> {
    refuse("layer_types", &raw["layer_types"], must)
}

/// The window of the layers that have one.
fn window(raw: &Value, architecture: Architecture) -> Result<Option<usize>, EngineError> {
    let named = match raw.get("sliding_window") {
        None => Some(DEFAULT_WINDOW),
        Some(Value::Null) => None,
        Some(_) => Some(size(raw, "sliding_window")?),
    };
    let uses = flag(raw, "use_sliding_window")?;
    match architecture {
        Architecture::Qwen2 | Architecture::Qwen3 => Ok(named.filter(|_| uses)),
        Architecture::Mistral => match optional(raw, "use_sliding_window") {
            // The class slides over the window whatever the key says.
            Some(value) if named.is_some() != uses => refuse("use_sliding_window", value, "absent"),
            _ => Ok(named),
        },
        // The class slides in every layer, whatever max_window_layers says.
        Architecture::Qwen3Moe => Ok(named.filter(|_| uses)),
        Architecture::Llama => match optional(raw, "sliding_window") {
            _ if uses => refuse("use_sliding_window", &Value::Bool(true), "false or absent"),
            Some(value) if optional(raw, "use_sliding_window").is_none() => {
                refuse("sliding_window", value, "null or absent")
            }
            _ => Ok(None),
        },
    }
}

/// Per layer whether its attention slides.
fn layer_types(raw: &Value, layers: usize) -> Result<Option<Vec<bool>>, EngineError> {
    let Some(value) = optional(raw, "layer_types") else {
        return Ok(None);
    };
    let slides = |kind: &Value| match kind.as_str() {
        Some("full_attention") => Some(false),
        Some("sliding_attention") => Some(true),
        _ => None,
    };
    match value.as_array().map(|types| types.iter().map(slides).collect()) {
        Some(Some(types)) => {
            let types: Vec<bool> = types;
            if types.len() == layers {
                return Ok(Some(types));
            }
            Err(EngineError::Config(format!(
                "layer_types has {} entries for num_hidden_layers = {layers}",
                types.len()
            )))
        }
        _ => refuse_types(raw, "\"full_attention\" or \"sliding_attention\" for every layer"),
    }
}
