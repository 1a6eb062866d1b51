//! Typed look-ups in a config's JSON; null counts as absent.

use serde_json::Value;

use crate::error::EngineError;

pub(super) fn optional<'a>(raw: &'a Value, key: &str) -> Option<&'a Value> {
    raw.get(key).filter(|value| !value.is_null())
}

pub(super) fn size(raw: &Value, key: &str) -> Result<usize, EngineError> {
    const LARGEST: u64 = 1 << 31;
    let value = optional(raw, key).ok_or_else(|| EngineError::Config(format!("config.json lacks {key}")))?;
    match value.as_u64() {
        Some(found) if (1..=LARGEST).contains(&found) => Ok(found as usize),
        _ => Err(EngineError::Config(format!(
            "{key} = {value} is not a positive whole number"
        ))),
    }
}

pub(super) fn number(raw: &Value, key: &str, default: f64) -> Result<f64, EngineError> {
    match optional(raw, key) {
        None => Ok(default),
        Some(value) => value
            .as_f64()
            .ok_or_else(|| EngineError::Config(format!("{key} = {value} is not a number"))),
    }
}

pub(super) fn positive(raw: &Value, key: &str) -> Result<f64, EngineError> {
    let found = number(raw, key, f64::NAN)?;
    if found > 0.0 {
        Ok(found)
    } else {
        Err(EngineError::Config(format!("{key} is missing or not positive")))
    }
}

pub(super) fn flag(raw: &Value, key: &str) -> Result<bool, EngineError> {
    match optional(raw, key) {
        None => Ok(false),
        Some(value) => value
            .as_bool()
            .ok_or_else(|| EngineError::Config(format!("{key} = {value} is neither true nor false"))),
    }
}

pub(super) fn token_ids(raw: &Value, key: &str) -> Result<Vec<u32>, EngineError> {
    let wrong = |value: &Value| EngineError::Config(format!("{key} = {value} is not a token id or a list of them"));
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match optional(raw, key) {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => values
            .iter()
            .map(|value| id(value).ok_or_else(|| wrong(value)))
            .collect::<Result<_, _>>(),
        Some(value) => Ok(vec![id(value).ok_or_else(|| wrong(value))?]),
    }
}
