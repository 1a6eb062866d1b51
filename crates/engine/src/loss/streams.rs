//! The three token streams of prime-rl's loss: policy gradient, cross-entropy, KL to a reference.
//!
//! Formulas: prime-rl's `default_loss_fn`, `ce` and `ref_kl_loss_fn`. With `d = logprob - inference_logprob` limited to
//! plus and minus `log_ratio_clamp`, `rho = exp(d)` and `rise = exp(logprob) - exp(inference_logprob)`:
//!
//! - policy gradient: `w (-[keep] adv_tau A rho + kl_tau d^2)`, dropped when `rise > dppo_mask_high` for A > 0 and when
//!   `rise < -dppo_mask_low` otherwise; the squared term counts on dropped tokens too;
//! - cross-entropy: `-w logprob`;
//! - reference KL: the policy term with `A = reference_logprob - logprob` (within the same limits as `d`) held constant,
//!   dropped when `rise < -0.2`, and `1e-3 d^2`.
//!
//! Tokens outside a stream are skipped, never multiplied by zero, so an infinity under the mask cannot become NaN. Where
//! the log ratio is cut by its limit the value is constant and so its gradient is zero (prime-rl has no limit). The choice
//! to keep or drop a token is not differentiated.
//!
//! Sums run in `f64` in ascending token order; the per-token terms are in the precision given.

use super::metrics::MeanSum;
use super::params::{PolicyParams, REF_KL_MASK_LOW, REF_KL_TAU};
use super::{LossInputs, Real};

/// What one stream adds to the loss: the sum of its terms (before the denominator) and its number of members.
#[derive(Debug, Default)]
pub(super) struct StreamSum {
    pub(super) sum: f64,
    pub(super) members: f64,
}

/// Metrics of all streams.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) mismatch_kl: MeanSum,
    pub(super) masked_mismatch_kl: MeanSum,
    pub(super) unmasked_mismatch_kl: MeanSum,
    pub(super) is_masked: MeanSum,
    pub(super) is_masked_low: MeanSum,
    pub(super) is_masked_high: MeanSum,
    pub(super) masked_advantage_positive: MeanSum,
    pub(super) masked_advantage_negative: MeanSum,
    pub(super) nll: MeanSum,
    pub(super) ref_kl_kl: MeanSum,
    pub(super) ref_kl_is_masked: MeanSum,
}

/// The ratio of one token to the policy that sampled it.
struct Ratio<F> {
    /// Log ratio within its limits.
    log: F,
    ratio: F,
    /// Change of the token's probability.
    rise: F,
    /// Whether the log ratio is inside its limits, so that a gradient flows through it.
    flows: bool,
}

impl<F: Real> Ratio<F> {
    fn new(logprob: F, inference_logprob: F, limit: F) -> Self {
        let raw = logprob - inference_logprob;
        let log = raw.clamp(-limit, limit);
        // `log == raw` is false for what was cut; NaN must not count as cut: it has to show in the gradient.
        let flows = !(raw < -limit || raw > limit);
        Ratio {
            log,
            ratio: log.exp(),
            rise: logprob.exp() - inference_logprob.exp(),
            flows,
        }
    }

    /// The k3 estimate `rho - log rho - 1` of the divergence between sampler and trainer.
    fn mismatch(&self) -> f64 {
        (self.ratio - self.log - F::ONE).to_f64()
    }

    /// `w (-[keep] a rho + tau d^2)` and its derivative by the log-probability.
    fn term(&self, keep: bool, advantage: F, tau: F, weight: F) -> (F, F) {
        let policy = if keep { -(advantage * self.ratio) } else { F::ZERO };
        let value = weight * (policy + tau * self.log * self.log);
        let slope = if self.flows {
            weight * (policy + (tau + tau) * self.log)
        } else {
            F::ZERO
        };
        (value, slope)
    }
}

fn weight_at<F: Real>(weights: Option<&[F]>, t: usize, absent: F) -> F {
    weights.map_or(absent, |weights| weights[t])
}

/// Whether token `t` is in the policy-gradient stream: on the mask with a weight other than 0 (absent: 1).
pub(super) fn in_policy<F: Real>(inputs: &LossInputs<'_, F>, t: usize) -> bool {
    inputs.mask[t] != 0 && weight_at(inputs.rl_weights, t, F::ONE) != F::ZERO
}

/// Adds the policy-gradient stream; `denominator` divides the gradient only.
pub(super) fn policy<F: Real>(
    inputs: &LossInputs<'_, F>,
    params: &PolicyParams,
    denominator: F,
    grad: &mut [F],
    metrics: &mut Metrics,
) -> StreamSum {
    let limit = F::from_f64(params.log_ratio_clamp);
    let (low, high) = (F::from_f64(params.dppo_mask_low), F::from_f64(params.dppo_mask_high));
    let (adv_tau, kl_tau) = (F::from_f64(params.adv_tau), F::from_f64(params.kl_tau));
    let mut total = StreamSum::default();
    for t in (0..inputs.logprobs.len()).filter(|&t| in_policy(inputs, t)) {
        let ratio = Ratio::new(inputs.logprobs[t], inputs.inference_logprobs[t], limit);
        let advantage = inputs.advantages[t];
        let positive = advantage > F::ZERO;
        let dropped_high = positive && ratio.rise > high;
        let dropped_low = !positive && ratio.rise < -low;
        let dropped = dropped_high || dropped_low;
        let weight = weight_at(inputs.rl_weights, t, F::ONE);
        let (value, slope) = ratio.term(!dropped, adv_tau * advantage, kl_tau, weight);
        total.sum += value.to_f64();
        total.members += 1.0;
        grad[t] += slope / denominator;

        let mismatch = ratio.mismatch();
        metrics.mismatch_kl.add(mismatch);
        metrics.is_masked.add(f64::from(u8::from(dropped)));
        metrics.is_masked_low.add(f64::from(u8::from(dropped_low)));
        metrics.is_masked_high.add(f64::from(u8::from(dropped_high)));
        if dropped {
            metrics.masked_mismatch_kl.add(mismatch);
            metrics.masked_advantage_positive.add(f64::from(u8::from(positive)));
            metrics
                .masked_advantage_negative
                .add(f64::from(u8::from(advantage < F::ZERO)));
        } else {
            metrics.unmasked_mismatch_kl.add(mismatch);
        }
    }
    total
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

/// Adds the reference-KL stream. `absent` is the weight on the mask when the stream is not given; `reference` has one entry
/// per token.
pub(super) fn reference_kl<F: Real>(
    inputs: &LossInputs<'_, F>,
    reference: &[F],
    absent: F,
    log_ratio_clamp: f64,
    denominator: F,
    grad: &mut [F],
    metrics: &mut Metrics,
) -> StreamSum {
    let limit = F::from_f64(log_ratio_clamp);
    let (low, tau) = (F::from_f64(REF_KL_MASK_LOW), F::from_f64(REF_KL_TAU));
    let mut total = StreamSum::default();
    for t in 0..inputs.logprobs.len() {
        let weight = stream_weight(inputs.ref_kl_weights, inputs.mask, t, absent);
        if weight == F::ZERO {
            continue;
        }
        let ratio = Ratio::new(inputs.logprobs[t], inputs.inference_logprobs[t], limit);
        let advantage = (reference[t] - inputs.logprobs[t]).clamp(-limit, limit);
        let dropped = ratio.rise < -low;
        let (value, slope) = ratio.term(!dropped, advantage, tau, weight);
        total.sum += value.to_f64();
        total.members += 1.0;
        grad[t] += slope / denominator;
        metrics.ref_kl_kl.add(-advantage.to_f64());
        metrics.ref_kl_is_masked.add(f64::from(u8::from(dropped)));
        if !in_policy(inputs, t) {
            metrics.mismatch_kl.add(ratio.mismatch());
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
