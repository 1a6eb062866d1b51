//! The policy-gradient term of one token, to be minimised, and its derivative by the token's log-probability.
//!
//! A is the advantage, `r = exp(logprob - old_logprob)` and `w = exp(logprob - inference_logprob)`. Log ratios are limited to plus and minus
//! `log_ratio_clamp`; where one is cut, the ratio is constant and its gradient zero.
//!
//! | loss | term | source, departures |
//! |---|---|---|
//! | `default` | `-[keep] adv_tau A w + kl_tau (log w)^2`, dropped when the probability rose by more than `dppo_mask_high` (A > 0) or fell by more than `dppo_mask_low` (else) | prime-rl `default_loss_fn`; the limit of the log ratio is ours |
//! | `ipo` | the same, dropped when the probability moved by more than `ipo_threshold` either way | prime-rl |
//! | `ppo` | `-min(r A, clip(r, 1 - epsilon_low, 1 + epsilon_high) A)` | arXiv:1707.06347 |
//! | `grpo`, `dr_grpo`, `dapo` | as `ppo`; they differ in aggregation and `epsilon_high` | arXiv:2402.03300, 2503.20783, 2503.14476 |
//! | `two_sided` | `-min(min(r, delta) A, clip(r) A)` | INTELLECT-2, arXiv:2505.07291; TRL `delta` |
//! | `dual_clip` c (a parameter) | for A < 0 `min(term, -c A)` | arXiv:1912.09729; verl has it on with c = 3, here it is off |
//! | `gspo` | as `ppo` with the sequence's `s = exp(mean log r)` in place of r; each token carries `s exp(logprob - sg(logprob))` | arXiv:2507.18071; the limit is 10 as in verl |
//! | `cispo` | `-sg(clip(r)) A logprob`; clip to `[1 - epsilon_low, 1 + epsilon_high]` with `bounds = offset`, to `[0, epsilon_high]` with `absolute` | arXiv:2506.13585; verl (10, 0.2) is the default, TRL is absolute with 5 |
//! | `sapo` | `-(4 / tau) sigmoid(tau (r - 1)) A`, tau by the sign of A | arXiv:2511.20347 |
//!
//! The choice of a branch is not differentiated.

use super::Real;

/// One loss's rule for a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Objective {
    Dppo {
        mask_low: f64,
        mask_high: f64,
        adv_tau: f64,
        kl_tau: f64,
    },
    Ipo {
        threshold: f64,
        adv_tau: f64,
        kl_tau: f64,
    },
    Clip {
        low: f64,
        high: f64,
        delta: Option<f64>,
        dual_clip: Option<f64>,
        /// The ratio is the sequence's.
        sequence: bool,
    },
    Cispo {
        low: f64,
        high: f64,
        /// `high` is the bound itself and there is no lower one.
        absolute: bool,
    },
    Sapo {
        tau_pos: f64,
        tau_neg: f64,
    },
}

/// A ratio, its logarithm within its limits, and whether a gradient flows through it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ratio<F> {
    pub(super) log: F,
    pub(super) value: F,
    pub(super) flows: bool,
}

impl<F: Real> Ratio<F> {
    pub(super) fn new(log_ratio: F, limit: F) -> Self {
        let log = log_ratio.clamp(-limit, limit);
        Ratio {
            log,
            value: log.exp(),
            // NaN must not count as cut: it has to show in the gradient.
            flows: !(log_ratio < -limit || log_ratio > limit),
        }
    }

    /// `slope * dr/dlogprob`: 0 where the ratio is cut.
    fn chain(&self, slope: F) -> F {
        if self.flows { slope * self.value } else { F::ZERO }
    }
}

/// The inputs of an objective for one token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<F> {
    pub(super) logprob: F,
    pub(super) advantage: F,
    /// Probability now minus probability when sampled.
    pub(super) rise: F,
    /// The ratio against the sampler.
    pub(super) whole: Ratio<F>,
    /// The ratio against the policy before this step's updates: the sequence's where the objective asks for it, else the token's.
    pub(super) ratio: Ratio<F>,
}

/// Which bound decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Inside,
    Low,
    High,
}

/// Value, derivative, and whether a bound held the token back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term<F> {
    pub(super) value: F,
    pub(super) slope: F,
    pub(super) bound: Bound,
}

impl Objective {
    /// Whether tokens share the ratio of their sequence.
    pub(super) fn by_sequence(&self) -> bool {
        matches!(self, Self::Clip { sequence: true, .. })
    }

    pub(super) fn term<F: Real>(&self, token: &Token<F>) -> Term<F> {
        let positive = token.advantage > F::ZERO;
        match *self {
            Self::Dppo {
                mask_low,
                mask_high,
                adv_tau,
                kl_tau,
            } => {
                let bound = if positive && token.rise > F::from_f64(mask_high) {
                    Bound::High
                } else if !positive && token.rise < -F::from_f64(mask_low) {
                    Bound::Low
                } else {
                    Bound::Inside
                };
                masked(token, bound, F::from_f64(adv_tau), F::from_f64(kl_tau))
            }
            Self::Ipo {
                threshold,
                adv_tau,
                kl_tau,
            } => {
                let threshold = F::from_f64(threshold);
                let bound = if token.rise > threshold {
                    Bound::High
                } else if token.rise < -threshold {
                    Bound::Low
                } else {
                    Bound::Inside
                };
                masked(token, bound, F::from_f64(adv_tau), F::from_f64(kl_tau))
            }
            Self::Clip {
                low,
                high,
                delta,
                dual_clip,
                ..
            } => clipped(token, low, high, delta, dual_clip),
            Self::Cispo { low, high, absolute } => {
                let (low, high) = if absolute {
                    (F::ZERO, F::from_f64(high))
                } else {
                    (F::from_f64((1.0 - low).max(0.0)), F::from_f64(1.0 + high))
                };
                let weight = token.ratio.value.clamp(low, high) * token.advantage;
                Term {
                    value: -(weight * token.logprob),
                    slope: -weight,
                    bound: bound_of(token.ratio.value, low, high),
                }
            }
            Self::Sapo { tau_pos, tau_neg } => {
                let tau = F::from_f64(if positive { tau_pos } else { tau_neg });
                let gate = F::ONE / (F::ONE + (-(tau * (token.ratio.value - F::ONE))).exp());
                let four = F::from_f64(4.0);
                Term {
                    value: -(four / tau * gate * token.advantage),
                    slope: token.ratio.chain(-(four * gate * (F::ONE - gate) * token.advantage)),
                    bound: Bound::Inside,
                }
            }
        }
    }
}

fn bound_of<F: Real>(value: F, low: F, high: F) -> Bound {
    if value < low {
        Bound::Low
    } else if value > high {
        Bound::High
    } else {
        Bound::Inside
    }
}

/// `-[keep] adv_tau A w + kl_tau (log w)^2`.
fn masked<F: Real>(token: &Token<F>, bound: Bound, adv_tau: F, kl_tau: F) -> Term<F> {
    let whole = token.whole;
    let policy = if bound == Bound::Inside {
        -(adv_tau * token.advantage * whole.value)
    } else {
        F::ZERO
    };
    let slope = if whole.flows {
        policy + (kl_tau + kl_tau) * whole.log
    } else {
        F::ZERO
    };
    Term {
        value: policy + kl_tau * whole.log * whole.log,
        slope,
        bound,
    }
}

fn clipped<F: Real>(token: &Token<F>, low: f64, high: f64, delta: Option<f64>, dual_clip: Option<f64>) -> Term<F> {
    let Token { advantage, ratio, .. } = *token;
    let (low, high) = (F::from_f64(1.0 - low), F::from_f64(1.0 + high));
    let most = delta.map(F::from_f64).filter(|most| ratio.value > *most);
    let free = -(most.unwrap_or(ratio.value) * advantage);
    let held = -(ratio.value.clamp(low, high) * advantage);
    let side = bound_of(ratio.value, low, high);
    // The larger loss is the pessimistic one; a NaN stays in the free branch, where it shows.
    let (mut value, mut slope, mut bound) = if held > free {
        (held, F::ZERO, side)
    } else if most.is_some() {
        (free, F::ZERO, Bound::High)
    } else {
        (free, ratio.chain(-advantage), Bound::Inside)
    };
    if let Some(most) = dual_clip
        && advantage < F::ZERO
    {
        let ceiling = -(F::from_f64(most) * advantage);
        if value > ceiling {
            (value, slope, bound) = (ceiling, F::ZERO, Bound::High);
        }
    }
    Term { value, slope, bound }
}
