//! The KL penalty towards a reference policy, added to the policy term token by token.
//!
//! Estimators (Schulman, "Approximating KL divergence") of KL(policy || reference) at a sampled token, with `D = logprob - reference`
//! limited to plus and minus `log_ratio_clamp`: k1 = D, k2 = D^2 / 2, k3 = exp(-D) - 1 + D. The gradient is that of the estimate. For k1 it
//! is the constant 1, whose expectation is 0, so k1 is a value to watch rather than to train on (verl, TRL use k3, `low_var_kl`).
//! `unbiased` multiplies by the ratio of the loss, which makes value and gradient right off-policy too (TRL
//! `use_bias_correction_kl`); the ratio takes part in the gradient.

use super::Real;

/// The estimator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Estimator {
    K1,
    K2,
    K3,
}

/// Estimate, its factor, and whether the ratio weighs it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ReferenceKl {
    pub(super) estimator: Estimator,
    pub(super) coef: f64,
    pub(super) unbiased: bool,
}

impl Default for ReferenceKl {
    fn default() -> Self {
        ReferenceKl {
            estimator: Estimator::K3,
            coef: 1e-3,
            unbiased: false,
        }
    }
}

impl ReferenceKl {
    /// The estimate (without `coef`) and its derivative by `logprob`.
    pub(super) fn term<F: Real>(&self, logprob: F, reference: F, limit: F) -> (F, F) {
        let raw = logprob - reference;
        let difference = raw.clamp(-limit, limit);
        let flows = if raw < -limit || raw > limit { F::ZERO } else { F::ONE };
        match self.estimator {
            Estimator::K1 => (difference, flows),
            Estimator::K2 => (F::from_f64(0.5) * difference * difference, flows * difference),
            Estimator::K3 => {
                let inverse = (-difference).exp();
                (inverse - F::ONE + difference, flows * (F::ONE - inverse))
            }
        }
    }
}
