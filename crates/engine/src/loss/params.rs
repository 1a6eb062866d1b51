//! Parameters of the losses, read from the snake_case keys of a config block.
//!
//! A key that a loss does not read is an error that names it. Ignoring it would train with other numbers than the user expects.

use serde_json::{Map, Value};

use super::aggregation::Aggregation;
use super::correction::{Correction, Level, Mode};
use super::objective::Objective;
use super::reference::{Estimator, ReferenceKl};
use crate::error::EngineError;

const SHARED_KEYS: &[&str] = &[
    "log_ratio_clamp",
    "aggregation",
    "global_tokens",
    "max_completion_length",
    "correction",
    "kl",
];
const CLIP_KEYS: &[&str] = &["epsilon_low", "epsilon_high", "delta", "dual_clip"];

/// The parts of the policy stream of a loss.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PolicyParams {
    /// The term of one token; None for the loss `kl`, which has the reference term alone.
    pub(super) objective: Option<Objective>,
    /// Log ratios are limited to plus and minus this before `exp`.
    pub(super) log_ratio_clamp: f64,
    pub(super) aggregation: Aggregation,
    pub(super) correction: Option<Correction>,
    pub(super) kl: Option<ReferenceKl>,
}

/// prime-rl's constants of the reference-KL stream, which no config key changes there.
pub(super) const REF_KL_MASK_LOW: f64 = 0.2;
pub(super) const REF_KL_TAU: f64 = 1e-3;
/// Default limit of log ratios; GSPO's ratio is a mean over a sequence and has a tighter one (verl).
const LOG_RATIO_CLAMP: f64 = 20.0;
const LOG_RATIO_CLAMP_GSPO: f64 = 10.0;

/// The loss's own keys; None for a name that has no policy stream.
fn own_keys(loss: &str) -> Option<&'static [&'static str]> {
    Some(match loss {
        "default" => &["dppo_mask_low", "dppo_mask_high", "adv_tau", "kl_tau"],
        "ipo" => &["ipo_threshold", "adv_tau", "kl_tau"],
        "grpo" | "ppo" | "two_sided" | "dapo" | "dr_grpo" | "gspo" => CLIP_KEYS,
        "cispo" => &["epsilon_low", "epsilon_high", "bounds"],
        "sapo" => &["tau_pos", "tau_neg"],
        "kl" => &[],
        _ => return None,
    })
}

impl PolicyParams {
    /// Reads `params` (an object or null) over the defaults of `loss`, the name of a loss with a policy stream.
    pub(super) fn read(loss: &str, params: &Value) -> Result<Self, EngineError> {
        let own = own_keys(loss).unwrap_or_default();
        let fields = Fields::open(loss, params, &[own, SHARED_KEYS])?;
        let kl = match fields.value("kl") {
            Some(value) => Some(read_kl(loss, value)?),
            None if loss == "kl" => Some(ReferenceKl::default()),
            None => None,
        };
        let clamp = if loss == "gspo" {
            LOG_RATIO_CLAMP_GSPO
        } else {
            LOG_RATIO_CLAMP
        };
        let log_ratio_clamp = fields.number("log_ratio_clamp", clamp)?;
        if log_ratio_clamp <= 0.0 {
            return Err(fields.too_small("log_ratio_clamp", log_ratio_clamp));
        }
        Ok(PolicyParams {
            objective: read_objective(loss, &fields)?,
            log_ratio_clamp,
            aggregation: read_aggregation(loss, &fields)?,
            correction: fields
                .value("correction")
                .map(|value| read_correction(loss, value))
                .transpose()?,
            kl,
        })
    }
}

/// Reads the limit of log ratios, the only parameter of `ref_kl`; `ce` has none.
pub(super) fn read_stream_params(loss: &str, params: &Value) -> Result<f64, EngineError> {
    let keys: &[&str] = if loss == "ref_kl" { &["log_ratio_clamp"] } else { &[] };
    let fields = Fields::open(loss, params, &[keys])?;
    let clamp = fields.number("log_ratio_clamp", LOG_RATIO_CLAMP)?;
    if clamp <= 0.0 {
        return Err(fields.too_small("log_ratio_clamp", clamp));
    }
    Ok(clamp)
}

fn read_objective(loss: &str, fields: &Fields<'_>) -> Result<Option<Objective>, EngineError> {
    let clip = |low: f64, high: f64, delta: Option<f64>, sequence: bool| -> Result<Objective, EngineError> {
        Ok(Objective::Clip {
            low: fields.number("epsilon_low", low)?,
            high: fields.number("epsilon_high", high)?,
            delta: fields.optional("delta", delta)?,
            dual_clip: fields.optional("dual_clip", None)?,
            sequence,
        })
    };
    Ok(Some(match loss {
        "default" => Objective::Dppo {
            mask_low: fields.number("dppo_mask_low", 0.2)?,
            mask_high: fields.number("dppo_mask_high", 0.2)?,
            adv_tau: fields.number("adv_tau", 1.0)?,
            kl_tau: fields.number("kl_tau", 1e-3)?,
        },
        "ipo" => Objective::Ipo {
            threshold: fields.number("ipo_threshold", 0.1)?,
            adv_tau: fields.number("adv_tau", 1.0)?,
            kl_tau: fields.number("kl_tau", 1e-3)?,
        },
        "grpo" | "ppo" | "dr_grpo" => clip(0.2, 0.2, None, false)?,
        "two_sided" => clip(0.2, 0.2, Some(4.0), false)?,
        "dapo" => clip(0.2, 0.28, None, false)?,
        "gspo" => clip(3e-4, 4e-4, None, true)?,
        "cispo" => Objective::Cispo {
            low: fields.number("epsilon_low", 10.0)?,
            high: fields.number("epsilon_high", 0.2)?,
            absolute: match fields.text("bounds", "offset")? {
                "offset" => false,
                "absolute" => true,
                other => return Err(fields.wrong("bounds", other, "offset or absolute")),
            },
        },
        "sapo" => Objective::Sapo {
            tau_pos: fields.positive("tau_pos", 1.0)?,
            tau_neg: fields.positive("tau_neg", 1.05)?,
        },
        _ => return Ok(None),
    }))
}

fn read_aggregation(loss: &str, fields: &Fields<'_>) -> Result<Aggregation, EngineError> {
    let default = match loss {
        "grpo" | "gspo" | "sapo" => "sequence-mean-token-mean/all",
        "dapo" => "token-mean/global",
        "dr_grpo" => "sum/(B*L)",
        _ => "token-mean",
    };
    let name = fields.text("aggregation", default)?;
    let global_tokens = fields.optional("global_tokens", None)?;
    let max_length = fields.optional("max_completion_length", None)?;
    let aggregation = match name {
        "token-mean" => Aggregation::TokenMean,
        "token-mean/global" => Aggregation::TokenMeanGlobal(global_tokens),
        "sequence-mean-token-mean/all" => Aggregation::SequenceMean { nonempty: false },
        "sequence-mean-token-mean/nonempty" => Aggregation::SequenceMean { nonempty: true },
        "sum/(B*L)" => match max_length {
            Some(length) if length > 0.0 => Aggregation::SumOverLength(length),
            _ => {
                return Err(EngineError::LossInput(format!(
                    "aggregation \"sum/(B*L)\" of loss {loss:?} needs max_completion_length above 0"
                )));
            }
        },
        "sum" => Aggregation::Sum,
        other => {
            let names = "token-mean, token-mean/global, sequence-mean-token-mean/all, \
                sequence-mean-token-mean/nonempty, sum/(B*L) or sum";
            return Err(fields.wrong("aggregation", other, names));
        }
    };
    let read = |key: &str, wanted: bool, given: bool| {
        if given && !wanted {
            let message = format!("{key} of loss {loss:?} is not read by aggregation {name:?}");
            return Err(EngineError::LossInput(message));
        }
        Ok(())
    };
    let global = matches!(aggregation, Aggregation::TokenMeanGlobal(_));
    read("global_tokens", global, global_tokens.is_some())?;
    let length = matches!(aggregation, Aggregation::SumOverLength(_));
    read("max_completion_length", length, max_length.is_some())?;
    Ok(aggregation)
}

fn read_correction(loss: &str, value: &Value) -> Result<Correction, EngineError> {
    let block = format!("{loss}.correction");
    let fields = Fields::open(&block, value, &[&["level", "mode", "low", "high"]])?;
    let level = match fields.text("level", "token")? {
        "token" => Level::Token,
        "sequence" => Level::Sequence,
        "geometric" => Level::Geometric,
        other => return Err(fields.wrong("level", other, "token, sequence or geometric")),
    };
    let mode = match fields.text("mode", "truncate")? {
        "truncate" => Mode::Truncate,
        "mask" => Mode::Mask,
        other => return Err(fields.wrong("mode", other, "truncate or mask")),
    };
    let (low, high) = (fields.number("low", 0.0)?, fields.optional("high", None)?);
    if let Some(high) = high.filter(|&high| low > high) {
        return Err(EngineError::LossInput(format!(
            "low of loss {block:?} is {low}, above its high, {high}"
        )));
    }
    Ok(Correction { level, mode, low, high })
}

fn read_kl(loss: &str, value: &Value) -> Result<ReferenceKl, EngineError> {
    let block = format!("{loss}.kl");
    let fields = Fields::open(&block, value, &[&["estimator", "coef", "unbiased"]])?;
    let default = ReferenceKl::default();
    Ok(ReferenceKl {
        estimator: match fields.text("estimator", "k3")? {
            "k1" => Estimator::K1,
            "k2" => Estimator::K2,
            "k3" => Estimator::K3,
            other => return Err(fields.wrong("estimator", other, "k1, k2 or k3")),
        },
        coef: fields.number("coef", default.coef)?,
        unbiased: match fields.value("unbiased") {
            None => default.unbiased,
            Some(Value::Bool(unbiased)) => *unbiased,
            Some(other) => return Err(fields.wrong("unbiased", &other.to_string(), "true or false")),
        },
    })
}

/// The entries of one block; all keys were found to be known.
struct Fields<'a> {
    loss: &'a str,
    entries: Option<&'a Map<String, Value>>,
}

impl<'a> Fields<'a> {
    fn open(loss: &'a str, params: &'a Value, known: &[&[&str]]) -> Result<Self, EngineError> {
        let entries = match params {
            Value::Null => None,
            Value::Object(entries) => Some(entries),
            other => {
                let message = format!("params of loss {loss:?} are {other}, not an object");
                return Err(EngineError::LossInput(message));
            }
        };
        let known = known.concat();
        match entries.and_then(|entries| entries.keys().find(|key| !known.contains(&key.as_str()))) {
            None => Ok(Self { loss, entries }),
            Some(key) => {
                let hint = if known.is_empty() {
                    "it has no parameters".to_owned()
                } else {
                    format!("known: {}", known.join(", "))
                };
                Err(EngineError::LossInput(format!(
                    "unknown key {key:?} of loss {loss:?}; {hint}"
                )))
            }
        }
    }

    /// The entry, unless it is absent or null.
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.entries?.get(key).filter(|value| !value.is_null())
    }

    fn optional(&self, key: &str, default: Option<f64>) -> Result<Option<f64>, EngineError> {
        let Some(value) = self.value(key) else {
            return Ok(default);
        };
        match value.as_f64().filter(|number| number.is_finite()) {
            Some(number) if number < 0.0 => Err(self.too_small(key, number)),
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(key, &value.to_string(), "a finite number")),
        }
    }

    fn number(&self, key: &str, default: f64) -> Result<f64, EngineError> {
        Ok(self.optional(key, Some(default))?.unwrap_or(default))
    }

    fn positive(&self, key: &str, default: f64) -> Result<f64, EngineError> {
        let number = self.number(key, default)?;
        if number > 0.0 {
            Ok(number)
        } else {
            Err(self.too_small(key, number))
        }
    }

    fn text(&self, key: &str, default: &'a str) -> Result<&'a str, EngineError> {
        match self.value(key) {
            None => Ok(default),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.wrong(key, &other.to_string(), "text")),
        }
    }

    fn too_small(&self, key: &str, number: f64) -> EngineError {
        EngineError::LossInput(format!("{key} of loss {:?} is {number}, too small", self.loss))
    }

    fn wrong(&self, key: &str, found: &str, expected: &str) -> EngineError {
        EngineError::LossInput(format!("{key} of loss {:?} is {found}, not {expected}", self.loss))
    }
}
