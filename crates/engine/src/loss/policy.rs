//! The policy stream: sequence by sequence, the objective's term of each token with its correction and reference KL.
//!
//! Term of token t: `rl_weight * (correction * objective + coef * kl)`. Tokens outside the stream are skipped, never multiplied by zero, so an
//! infinity under the mask cannot become NaN. Sums run in `f64` in ascending token order; the per-token terms are in the precision given.

use super::aggregation::Scope;
use super::metrics::{Metrics, mismatch_kl};
use super::objective::{Bound, Objective, Ratio, Token};
use super::params::PolicyParams;
use super::streams::{in_policy, weight_at};
use super::{LossInputs, Real};
use crate::error::EngineError;

/// Adds the gradient of the stream to `grad` and returns its share of the loss.
///
/// # Errors
/// `LossInput` when the reference term has no `reference_logprobs`.
pub(super) fn policy<F: Real>(
    inputs: &LossInputs<'_, F>,
    params: &PolicyParams,
    scope: Scope,
    grad: &mut [F],
    metrics: &mut Metrics,
) -> Result<f64, EngineError> {
    let reference = match (&params.kl, inputs.reference_logprobs) {
        (Some(_), None) => {
            let message = "the KL term of the loss needs reference_logprobs, which are absent";
            return Err(EngineError::LossInput(message.to_owned()));
        }
        (kl, reference) => kl.zip(reference),
    };
    let limit = F::from_f64(params.log_ratio_clamp);
    let old = inputs.old_logprobs.unwrap_or(inputs.inference_logprobs);
    let mut loss = 0.0;
    for sequence in sequences(inputs) {
        let members: Vec<usize> = sequence.filter(|&t| in_policy(inputs, t)).collect();
        if members.is_empty() {
            continue;
        }
        let corrections = params.correction.map(|correction| {
            let clamped = |&t: &usize| (old[t] - inputs.inference_logprobs[t]).clamp(-limit, limit);
            correction.weights(&members.iter().map(clamped).collect::<Vec<F>>(), limit)
        });
        let shared = params
            .objective
            .filter(Objective::by_sequence)
            .map(|_| sequence_ratio(inputs.logprobs, old, &members, limit));
        let divisor = params.aggregation.divisor(members.len(), scope);
        let divide = F::from_f64(divisor);
        let mut sum = 0.0;
        for (index, &t) in members.iter().enumerate() {
            let weight = weight_at(inputs.rl_weights, t, F::ONE);
            let whole = Ratio::new(inputs.logprobs[t] - inputs.inference_logprobs[t], limit);
            let ratio = shared.unwrap_or_else(|| Ratio::new(inputs.logprobs[t] - old[t], limit));
            let (mut value, mut slope) = (F::ZERO, F::ZERO);
            let mismatch = mismatch_kl(inputs.logprobs[t].to_f64(), inputs.inference_logprobs[t].to_f64());
            metrics.mismatch_kl.add(mismatch);
            if let Some(objective) = params.objective {
                let term = objective.term(&Token {
                    logprob: inputs.logprobs[t],
                    advantage: inputs.advantages[t],
                    rise: inputs.logprobs[t].exp() - inputs.inference_logprobs[t].exp(),
                    whole,
                    ratio,
                });
                note_bound(metrics, objective, term.bound, inputs.advantages[t], mismatch);
                (value, slope) = (term.value, term.slope);
                if let Some(weights) = &corrections {
                    metrics.correction.add(weights[index].to_f64());
                    metrics
                        .correction_dropped
                        .add(f64::from(u8::from(weights[index] == F::ZERO)));
                    // A dropped token is left out rather than multiplied by zero: its term may be infinite.
                    (value, slope) = if weights[index] == F::ZERO {
                        (F::ZERO, F::ZERO)
                    } else {
                        (weights[index] * value, weights[index] * slope)
                    };
                }
            }
            if let Some((kl, reference)) = reference {
                let (estimate, derivative) = kl.term(inputs.logprobs[t], reference[t], limit);
                let coef = F::from_f64(kl.coef);
                metrics.reference_kl.add(estimate.to_f64());
                if kl.unbiased {
                    let through = if ratio.flows { estimate } else { F::ZERO };
                    value += coef * ratio.value * estimate;
                    slope += coef * ratio.value * (derivative + through);
                } else {
                    value += coef * estimate;
                    slope += coef * derivative;
                }
            }
            sum += (weight * value).to_f64();
            grad[t] += weight * slope / divide;
        }
        loss += sum / divisor;
    }
    Ok(loss)
}

/// Tokens of the stream, sequences, and sequences that have such tokens.
pub(super) fn scope_of<F: Real>(inputs: &LossInputs<'_, F>) -> Scope {
    let mut scope = Scope {
        tokens: 0.0,
        sequences: 0.0,
        nonempty: 0.0,
    };
    for sequence in sequences(inputs) {
        let members = sequence.filter(|&t| in_policy(inputs, t)).count();
        scope.tokens += members as f64;
        scope.sequences += 1.0;
        scope.nonempty += f64::from(u8::from(members > 0));
    }
    scope
}

/// Token ranges of the sequences; without boundaries all tokens are one.
fn sequences<'a, F>(inputs: &LossInputs<'a, F>) -> Vec<std::ops::Range<usize>> {
    if inputs.cu_seqlens.is_empty() {
        return std::iter::once(0..inputs.logprobs.len()).collect();
    }
    let pairs = inputs.cu_seqlens.windows(2);
    pairs.map(|pair| pair[0] as usize..pair[1] as usize).collect()
}

/// `exp(mean over the members of log ratio)`.
fn sequence_ratio<F: Real>(logprobs: &[F], old: &[F], members: &[usize], limit: F) -> Ratio<F> {
    let mut sum = F::ZERO;
    for &t in members {
        sum += logprobs[t] - old[t];
    }
    Ratio::new(sum / F::from_f64(members.len() as f64), limit)
}

fn note_bound<F: Real>(metrics: &mut Metrics, objective: Objective, bound: Bound, advantage: F, mismatch: f64) {
    let is = |side: Bound| f64::from(u8::from(bound == side));
    if !matches!(objective, Objective::Dppo { .. } | Objective::Ipo { .. }) {
        metrics.clip_low.add(is(Bound::Low));
        metrics.clip_high.add(is(Bound::High));
        return;
    }
    metrics.is_masked.add(1.0 - is(Bound::Inside));
    metrics.is_masked_low.add(is(Bound::Low));
    metrics.is_masked_high.add(is(Bound::High));
    if bound == Bound::Inside {
        metrics.unmasked_mismatch_kl.add(mismatch);
    } else {
        metrics.masked_mismatch_kl.add(mismatch);
        let sign = |is: bool| f64::from(u8::from(is));
        metrics.masked_advantage_positive.add(sign(advantage > F::ZERO));
        metrics.masked_advantage_negative.add(sign(advantage < F::ZERO));
    }
}
