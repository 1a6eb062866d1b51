//! Importance correction for the difference between sampler and trainer: weights of the policy term, held constant.
//!
//! With the ratio `rho = exp(old_logprob - inference_logprob)` (log ratios limited first):
//!
//! - `level`: `token` takes each token's `rho`, `sequence` the product over the sequence's tokens, `geometric` the geometric mean;
//! - `mode`: `truncate` gives `clamp(rho, low, high)`; `mask` gives 0 outside `[low, high]`, and inside `rho`, or 1 for `geometric`: the mean
//!   says whether a sequence can be trusted; it is no importance weight.
//!
//! TIS is token, truncate with high 2 (verl, slime; OpenRLHF has 0.5 to 5), sequence TIS truncates the product at 2 to 10 (verl), IcePop
//! is token, mask with 0.5 to 5 (arXiv:2510.18855), masked importance sampling is sequence, mask with high 3 (TRL), Geo-RS (rejection by the
//! geometric mean) is geometric, mask with 0.99 to 1.01 (SkyRL). A token on the boundary is kept. Without `old_logprobs` every `rho` is 1 and nothing changes: the
//! ratio of the loss is against the sampler then.

use super::Real;

/// The ratio that is compared with the bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Level {
    Token,
    Sequence,
    Geometric,
}

/// The treatment of a ratio out of bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mode {
    Truncate,
    Mask,
}

/// Bounds and rule; `high` None is no upper bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Correction {
    pub(super) level: Level,
    pub(super) mode: Mode,
    pub(super) low: f64,
    pub(super) high: Option<f64>,
}

impl Correction {
    /// The weights of a sequence's members from their log ratios, each already within its limits.
    pub(super) fn weights<F: Real>(&self, log_ratios: &[F], limit: F) -> Vec<F> {
        let whole = match self.level {
            Level::Token => return log_ratios.iter().map(|&log| self.weight(log)).collect(),
            Level::Sequence => sum(log_ratios),
            Level::Geometric => sum(log_ratios) / F::from_f64(log_ratios.len().max(1) as f64),
        };
        vec![self.weight(whole.clamp(-limit, limit)); log_ratios.len()]
    }

    fn weight<F: Real>(&self, log_ratio: F) -> F {
        let (low, high) = (F::from_f64(self.low), F::from_f64(self.high.unwrap_or(f64::INFINITY)));
        let ratio = log_ratio.exp();
        match self.mode {
            Mode::Truncate => ratio.clamp(low, high),
            Mode::Mask if ratio < low || ratio > high => F::ZERO,
            Mode::Mask if self.level == Level::Geometric => F::ONE,
            Mode::Mask => ratio,
        }
    }
}

fn sum<F: Real>(values: &[F]) -> F {
    let mut total = F::ZERO;
    for &value in values {
        total += value;
    }
    total
}
