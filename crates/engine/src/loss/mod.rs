//! Loss functions: from log-probabilities and a batch's columns to a number and its gradient.
//!
//! They have no model, no threads and no state. The trainer calls [`policy_loss`] in `f32`, and the public `policyLoss` calls it in the
//! precision given, so a loss is one piece of code with one set of tests.
//!
//! The loss of a set of tokens is `sum_rl / N_rl + sum_ce / N_ce + sum_ref_kl / N_ref_kl` (prime-rl's three components, see
//! `streams`). A token is in the policy stream when its mask is set and its `rl_weights` entry is not 0 (absent: 1); in
//! the others when their weight is not 0, whatever the mask (absent: nowhere, except that the loss named after a stream
//! takes weight 1 on the mask). The denominators are the caller's global counts, or the members in these inputs when none
//! are given; neither is ever below 1. That is the aggregation `token-mean`; `aggregation` has the others.
//!
//! This module does not know how logits become log-probabilities, how tokens are packed, or what a step is.

mod aggregation;
mod correction;
mod metrics;
mod objective;
mod params;
mod policy;
mod real;
mod reference;
mod streams;
mod values;

pub(crate) use metrics::mismatch_kl;
pub use metrics::{MeanSum, mean_metrics, merge_metrics};
pub use real::Real;
pub use values::{check_finite, check_logprobs};

use serde_json::Value;

use crate::error::EngineError;
use aggregation::Scope;
use metrics::Metrics;
use params::{PolicyParams, read_stream_params};
use streams::{Reference, StreamSum};

/// prime-rl's default: DPPO with a binary total-variation mask, and the squared log ratio as KL term.
pub const LOSS_DEFAULT: &str = "default";
/// Cross-entropy alone (supervised fine-tuning).
pub const LOSS_CE: &str = "ce";
/// Distillation towards reference log-probabilities alone.
pub const LOSS_REF_KL: &str = "ref_kl";

/// Every loss by name. Those with a policy stream: see `objective` for their formulas; `kl` is the reference term alone.
pub const LOSSES: &[&str] = &[
    LOSS_DEFAULT,
    "ipo",
    "grpo",
    "ppo",
    "two_sided",
    "dapo",
    "dr_grpo",
    "gspo",
    "cispo",
    "sapo",
    LOSS_REF_KL,
    LOSS_CE,
    "kl",
];

/// Columns of T tokens; `x[t]` belongs to token `t` given its predecessors in its sequence.
#[derive(Debug, Clone, Copy)]
pub struct LossInputs<'a, F> {
    /// Log-probabilities under the policy being trained.
    pub logprobs: &'a [F],
    /// Log-probabilities reported by the sampler.
    pub inference_logprobs: &'a [F],
    /// Log-probabilities before this step's updates (absent: the sampler's). `default` and `ipo` do not read them: their ratio is
    /// against the sampler.
    pub old_logprobs: Option<&'a [F]>,
    /// Log-probabilities of a reference policy; needed by the reference-KL stream.
    pub reference_logprobs: Option<&'a [F]>,
    /// Advantages, one per token.
    pub advantages: &'a [F],
    /// Not 0 where the token was sampled and trains.
    pub mask: &'a [u8],
    /// Boundaries of the sequences, from 0 to T; empty means one sequence.
    pub cu_seqlens: &'a [u32],
    /// Weights of the policy stream (absent: 1 on the mask).
    pub rl_weights: Option<&'a [F]>,
    /// Weights of the cross-entropy stream (absent: 0).
    pub ce_weights: Option<&'a [F]>,
    /// Weights of the reference-KL stream (absent: 0).
    pub ref_kl_weights: Option<&'a [F]>,
}

/// Denominators: how many tokens of the whole batch, over all ranks and bins, are in each stream. Values below 1 count as 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counts {
    /// Tokens of the policy stream.
    pub rl: f64,
    /// Tokens of the cross-entropy stream.
    pub ce: f64,
    /// Tokens of the reference-KL stream.
    pub ref_kl: f64,
    /// Sequences with a token of the policy stream; absent: those of the inputs at hand.
    pub sequences: Option<f64>,
}

/// A loss that the caller computes: from the inputs of a micro-batch and the counts of the whole batch to the micro-batch's share of the
/// loss.
pub type LossFunction<'f> = dyn FnMut(&LossInputs<'_, f32>, Counts) -> Result<LossOutput<f32>, EngineError> + 'f;

/// A loss, its gradient and its metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct LossOutput<F> {
    /// The loss, to be minimised.
    pub loss: F,
    /// Derivative by each entry of `logprobs`; 0 outside every stream.
    pub grad_logprobs: Vec<F>,
    /// `<name>/sum` and `<name>/count` pairs; see [`merge_metrics`] and [`mean_metrics`].
    ///
    /// `mismatch_kl` (over the policy and reference-KL streams, log ratios within 20), `masked_mismatch_kl`, `unmasked_mismatch_kl`, `is_masked`,
    /// `is_masked_low`, `is_masked_high` (over the policy stream), `masked_advantage_positive`, `masked_advantage_negative`
    /// (over its dropped tokens), `clip_ratio/low`, `clip_ratio/high` (losses that clip), `correction/weight`, `correction/is_dropped`,
    /// `reference_kl`, `nll` (unweighted, over the cross-entropy stream), `ref_kl/kl`, `ref_kl/is_masked`. Without a member: absent.
    pub metrics: Vec<(String, f64)>,
}

/// The loss `name` (of [`LOSSES`]) with `params` (an object of the config block's keys, or null) over `inputs`.
///
/// A loss with a policy stream has the other two as well where their weights are given; `ce` and `ref_kl` have their stream only.
/// Parameters that every policy loss reads: `log_ratio_clamp` (20; `gspo` 10), `aggregation` with `global_tokens` or
/// `max_completion_length`, `correction {level, mode, low, high}`, `kl {estimator, coef, unbiased}`; its own are in `objective`.
///
/// # Errors
/// `LossUnknown` for a name outside the list, `LossInput` for columns of different lengths, bad boundaries, bad counts, or a parameter that
/// is unknown, out of range, or missing.
pub fn policy_loss<F: Real>(
    name: &str,
    inputs: &LossInputs<'_, F>,
    params: &Value,
    counts: Option<Counts>,
) -> Result<LossOutput<F>, EngineError> {
    if !LOSSES.contains(&name) {
        let message = format!("unknown loss {name:?}; there are {}", LOSSES.join(", "));
        return Err(EngineError::LossUnknown(message));
    }
    let stream_only = name == LOSS_CE || name == LOSS_REF_KL;
    let policy_params = if stream_only {
        None
    } else {
        Some(PolicyParams::read(name, params)?)
    };
    let log_ratio_clamp = match &policy_params {
        Some(params) => params.log_ratio_clamp,
        None => read_stream_params(name, params)?,
    };
    validate(inputs)?;

    let weight_if_absent = |stream: &str| if name == stream { F::ONE } else { F::ZERO };
    let (ce_absent, ref_kl_absent) = (weight_if_absent(LOSS_CE), weight_if_absent(LOSS_REF_KL));
    let has_ce = name == LOSS_CE || (!stream_only && inputs.ce_weights.is_some());
    let has_ref_kl = name == LOSS_REF_KL || (!stream_only && inputs.ref_kl_weights.is_some());

    let own = policy::scope_of(inputs);
    let counts = match counts {
        Some(counts) => on_the_mask(name, inputs, checked(counts)?),
        None => Counts {
            rl: own.tokens,
            ce: streams::stream_members(inputs.ce_weights, inputs.mask, ce_absent),
            ref_kl: streams::stream_members(inputs.ref_kl_weights, inputs.mask, ref_kl_absent),
            sequences: None,
        },
    };
    let scope = Scope {
        tokens: counts.rl,
        sequences: counts.sequences.unwrap_or(own.sequences),
        nonempty: counts.sequences.unwrap_or(own.nonempty),
    };

    let mut grad = vec![F::ZERO; inputs.logprobs.len()];
    let mut metrics = Metrics::default();
    let mut loss = 0.0;
    if let Some(params) = &policy_params {
        loss += policy::policy(inputs, params, scope, &mut grad, &mut metrics)?;
    }
    let mut add = |stream: StreamSum, count: f64| {
        if stream.members > 0.0 {
            loss += stream.sum / count.max(1.0);
        }
    };
    if has_ce {
        add(
            streams::cross_entropy(inputs, ce_absent, denominator(counts.ce), &mut grad, &mut metrics),
            counts.ce,
        );
    }
    if has_ref_kl {
        let logprobs = inputs.reference_logprobs.ok_or_else(|| {
            EngineError::LossInput("the reference KL stream needs reference_logprobs, which are absent".to_owned())
        })?;
        let reference = Reference {
            logprobs,
            log_ratio_clamp,
        };
        let divide = denominator(counts.ref_kl);
        let stream = streams::reference_kl(inputs, reference, ref_kl_absent, divide, &mut grad, &mut metrics);
        add(stream, counts.ref_kl);
    }
    Ok(LossOutput {
        loss: F::from_f64(loss),
        grad_logprobs: grad,
        metrics: metrics.entries(),
    })
}

/// Refuses a name or parameters that [`policy_loss`] would refuse for every batch.
///
/// # Errors
/// `LossUnknown`, `LossInput`.
pub fn check_loss(name: &str, params: &Value) -> Result<(), EngineError> {
    let empty = LossInputs::<f32> {
        logprobs: &[],
        inference_logprobs: &[],
        old_logprobs: None,
        reference_logprobs: Some(&[]),
        advantages: &[],
        mask: &[],
        cu_seqlens: &[],
        rl_weights: None,
        ce_weights: None,
        ref_kl_weights: None,
    };
    policy_loss(name, &empty, params, None).map(|_| ())
}

/// Where a stream is not given, the loss named after it runs on the mask, so the mask gives its count too.
fn on_the_mask<F>(name: &str, inputs: &LossInputs<'_, F>, counts: Counts) -> Counts {
    match name {
        LOSS_CE if inputs.ce_weights.is_none() && counts.ce < 1.0 => Counts {
            ce: counts.rl,
            ..counts
        },
        LOSS_REF_KL if inputs.ref_kl_weights.is_none() && counts.ref_kl < 1.0 => Counts {
            ref_kl: counts.rl,
            ..counts
        },
        _ => counts,
    }
}

fn denominator<F: Real>(count: f64) -> F {
    F::from_f64(count.max(1.0))
}

fn checked(counts: Counts) -> Result<Counts, EngineError> {
    let named = [
        ("rl", counts.rl),
        ("ce", counts.ce),
        ("ref_kl", counts.ref_kl),
        ("sequences", counts.sequences.unwrap_or(0.0)),
    ];
    for (stream, count) in named {
        if !count.is_finite() || count < 0.0 {
            return Err(EngineError::LossInput(format!(
                "the count of {stream} is {count}, not a finite count"
            )));
        }
    }
    Ok(counts)
}

fn validate<F: Real>(inputs: &LossInputs<'_, F>) -> Result<(), EngineError> {
    let tokens = inputs.logprobs.len();
    let columns = [
        ("inference_logprobs", Some(inputs.inference_logprobs.len())),
        ("advantages", Some(inputs.advantages.len())),
        ("mask", Some(inputs.mask.len())),
        ("old_logprobs", inputs.old_logprobs.map(<[F]>::len)),
        ("reference_logprobs", inputs.reference_logprobs.map(<[F]>::len)),
        ("rl_weights", inputs.rl_weights.map(<[F]>::len)),
        ("ce_weights", inputs.ce_weights.map(<[F]>::len)),
        ("ref_kl_weights", inputs.ref_kl_weights.map(<[F]>::len)),
    ];
    for (name, length) in columns {
        if let Some(length) = length.filter(|length| *length != tokens) {
            let message = format!("{name} has {length} entries, logprobs has {tokens}");
            return Err(EngineError::LossInput(message));
        }
    }
    let boundaries = inputs.cu_seqlens;
    let (Some(&first), Some(&last)) = (boundaries.first(), boundaries.last()) else {
        return Ok(());
    };
    if first != 0 || last as usize != tokens || boundaries.windows(2).any(|pair| pair[0] > pair[1]) {
        let message = format!("cu_seqlens must ascend from 0 to {tokens}, it goes from {first} to {last}");
        return Err(EngineError::LossInput(message));
    }
    Ok(())
}
