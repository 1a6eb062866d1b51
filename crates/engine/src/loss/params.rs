//! Parameters of the losses, read from a config block's own snake_case keys.
//!
//! A key that no loss knows is an error that names it; a key of the wider set (design, section 16) that this loss does not
//! read yet is unsupported rather than ignored, because ignoring it would give other numbers.

use serde_json::Value;

use crate::error::EngineError;

/// Keys that some loss of the public list reads, but none that exists here.
const KEYS_OF_OTHER_LOSSES: &[&str] = &[
    "epsilon_low",
    "epsilon_high",
    "delta",
    "dual_clip",
    "aggregation",
    "global_tokens",
    "max_completion_length",
    "correction",
    "kl",
];

/// Parameters of the policy-gradient stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PolicyParams {
    /// Largest fall of the probability kept when the advantage is not positive.
    pub(super) dppo_mask_low: f64,
    /// Largest rise of the probability kept when the advantage is positive.
    pub(super) dppo_mask_high: f64,
    /// Factor of the policy-gradient term.
    pub(super) adv_tau: f64,
    /// Factor of the squared log ratio.
    pub(super) kl_tau: f64,
    /// The log ratio is limited to plus and minus this before `exp`.
    pub(super) log_ratio_clamp: f64,
}

impl Default for PolicyParams {
    fn default() -> Self {
        PolicyParams {
            dppo_mask_low: 0.2,
            dppo_mask_high: 0.2,
            adv_tau: 1.0,
            kl_tau: 1e-3,
            log_ratio_clamp: 20.0,
        }
    }
}

/// prime-rl's constants of the reference-KL stream, which no config key changes there.
pub(super) const REF_KL_MASK_LOW: f64 = 0.2;
pub(super) const REF_KL_TAU: f64 = 1e-3;

impl PolicyParams {
    /// Reads the keys in `known` from `params` (an object or null) over the defaults.
    pub(super) fn read(loss: &str, params: &Value, known: &[&str]) -> Result<Self, EngineError> {
        let mut out = PolicyParams::default();
        let entries = match params {
            Value::Null => return Ok(out),
            Value::Object(entries) => entries,
            other => {
                return Err(EngineError::LossInput(format!(
                    "params of loss {loss:?} are {other}, not an object"
                )));
            }
        };
        for (key, value) in entries {
            if !known.contains(&key.as_str()) {
                return Err(foreign_key(loss, key, known));
            }
            let number = value.as_f64().filter(|number| number.is_finite()).ok_or_else(|| {
                EngineError::LossInput(format!("{key} of loss {loss:?} is {value}, not a finite number"))
            })?;
            let slot = match key.as_str() {
                "dppo_mask_low" => &mut out.dppo_mask_low,
                "dppo_mask_high" => &mut out.dppo_mask_high,
                "adv_tau" => &mut out.adv_tau,
                "kl_tau" => &mut out.kl_tau,
                _ => &mut out.log_ratio_clamp,
            };
            *slot = number;
            if number < 0.0 || (key == "log_ratio_clamp" && number == 0.0) {
                return Err(EngineError::LossInput(format!(
                    "{key} of loss {loss:?} is {number}, too small"
                )));
            }
        }
        Ok(out)
    }
}

fn foreign_key(loss: &str, key: &str, known: &[&str]) -> EngineError {
    if KEYS_OF_OTHER_LOSSES.contains(&key) {
        return EngineError::LossUnsupported(format!("key {key:?} of loss {loss:?} is not implemented yet"));
    }
    let hint = if known.is_empty() {
        "it has no parameters".to_owned()
    } else {
        format!("known: {}", known.join(", "))
    };
    EngineError::LossInput(format!("unknown key {key:?} of loss {loss:?}; {hint}"))
}
