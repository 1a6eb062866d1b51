//! The cross-entropy stream and the reference-KL stream of prime-rl's loss; the policy stream is in `policy`.
//!
//! Formulas: prime-rl's `ce` and `ref_kl_loss_fn`. With `d = logprob - inference_logprob` limited to plus and minus `log_ratio_clamp`,
//! `rho = exp(d)` and `rise = exp(logprob) - exp(inference_logprob)`:
//!
//! - cross-entropy: `-w logprob`;
//! - reference KL: `w (-[keep] A rho + 1e-3 d^2)` with `A = reference_logprob - logprob` (within the same limits as `d`) held constant,
//!   dropped when `rise < -0.2`.
//!
//! Tokens outside a stream are skipped, never multiplied by zero, so an infinity under the mask cannot become NaN. Where
//! the log ratio is cut by its limit the value is constant and so its gradient is zero (prime-rl has no limit). The choice
//! to keep or drop a token is not differentiated.
//!
//! Sums run in `f64` in ascending token order; the per-token terms are in the precision given.

use super::metrics::{Metrics, mismatch_kl};
use super::objective::Ratio;
use super::params::{REF_KL_MASK_LOW, REF_KL_TAU};
use super::{LossInputs, Real};

/// The part of one stream in the loss: the sum of its terms (before the denominator) and its number of members.
#[derive(Debug, Default)]
pub(super) struct StreamSum {
    pub(super) sum: f64,
    pub(super) members: f64,
}

pub(super) fn weight_at<F: Real>(weights: Option<&[F]>, t: usize, absent: F) -> F {
    weights.map_or(absent, |weights| weights[t])
}

/// Whether token `t` is in the policy-gradient stream: on the mask with a weight other than 0 (absent: 1).
pub(super) fn in_policy<F: Real>(inputs: &LossInputs<'_, F>, t: usize) -> bool {
    inputs.mask[t] != 0 && weight_at(inputs.rl_weights, t, F::ONE) != F::ZERO
}

/// Adds the cross-entropy stream. `absent` is the weight on the mask when the stream is not given.
pub(super) fn cross_entropy<F: Real>(
    inputs: &LossInputs<'_, F>,
    absent: F,
    denominator: F,
    grad: &mut [F],
    metrics: &mut Metrics,
) -> StreamSum {
    let mut total = StreamSum::default();
    for (t, (slope, &logprob)) in grad.iter_mut().zip(inputs.logprobs).enumerate() {
        let weight = stream_weight(inputs.ce_weights, inputs.mask, t, absent);
        if weight == F::ZERO {
            continue;
        }
        total.sum += (-(weight * logprob)).to_f64();
        total.members += 1.0;
        *slope += -(weight / denominator);
        metrics.nll.add(-logprob.to_f64());
    }
    total
}

/// The log-probabilities that the reference-KL stream compares with.
pub(super) struct Reference<'a, F> {
    /// The reference's log-probability of each token.
    pub(super) logprobs: &'a [F],
    pub(super) log_ratio_clamp: f64,
}

/// Adds the reference-KL stream. `absent` is the weight on the mask when the stream is not given.
#[expect(clippy::too_many_arguments, reason = "as the other streams, and the reference")]
pub(super) fn reference_kl<F: Real>(
    inputs: &LossInputs<'_, F>,
    reference: Reference<'_, F>,
    absent: F,
    denominator: F,
    grad: &mut [F],
    metrics: &mut Metrics,
) -> StreamSum {
    let Reference {
        logprobs: reference,
        log_ratio_clamp,
    } = reference;
    let limit = F::from_f64(log_ratio_clamp);
    let (low, tau) = (F::from_f64(REF_KL_MASK_LOW), F::from_f64(REF_KL_TAU));
    let mut total = StreamSum::default();
    for t in 0..inputs.logprobs.len() {
        let weight = stream_weight(inputs.ref_kl_weights, inputs.mask, t, absent);
        if weight == F::ZERO {
            continue;
        }
        let ratio = Ratio::new(inputs.logprobs[t] - inputs.inference_logprobs[t], limit);
        let advantage = (reference[t] - inputs.logprobs[t]).clamp(-limit, limit);
        let dropped = inputs.logprobs[t].exp() - inputs.inference_logprobs[t].exp() < -low;
        let policy = if dropped { F::ZERO } else { -(advantage * ratio.value) };
        let value = weight * (policy + tau * ratio.log * ratio.log);
        let slope = if ratio.flows {
            weight * (policy + (tau + tau) * ratio.log)
        } else {
            F::ZERO
        };
        total.sum += value.to_f64();
        total.members += 1.0;
        grad[t] += slope / denominator;
        metrics.ref_kl_kl.add(-advantage.to_f64());
        metrics.ref_kl_is_masked.add(f64::from(u8::from(dropped)));
        if !in_policy(inputs, t) {
            let mismatch = mismatch_kl(inputs.logprobs[t].to_f64(), inputs.inference_logprobs[t].to_f64());
            metrics.mismatch_kl.add(mismatch);
        }
    }
    total
}

/// Number of tokens whose weight in a stream other than the policy's is not 0.
pub(super) fn stream_members<F: Real>(weights: Option<&[F]>, mask: &[u8], absent: F) -> f64 {
    (0..mask.len())
        .map(|t| {
            if stream_weight(weights, mask, t, absent) == F::ZERO {
                0.0
            } else {
                1.0
            }
        })
        .sum()
}

fn stream_weight<F: Real>(weights: Option<&[F]>, mask: &[u8], t: usize, absent: F) -> F {
    match weights {
        Some(weights) => weights[t],
        None if mask[t] != 0 => absent,
        None => F::ZERO,
    }
}
