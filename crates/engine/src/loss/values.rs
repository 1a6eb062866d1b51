//! Checks where columns come in: values that no sampler, reference or environment can give are refused by name. [`super::policy_loss`] does
//! not check them again.

use super::Real;
use crate::error::EngineError;

/// The largest number that counts as a log-probability: rounding leaves some a little above 0.
const MOST_LOGPROB: f64 = 1e-3;

/// Refuses `values` that are read and are no log-probability.
///
/// # Errors
/// `LossInput` naming the column, the first such value and its place.
pub fn check_logprobs<F: Real>(name: &str, values: &[F], is_read: impl Fn(usize) -> bool) -> Result<(), EngineError> {
    let is_logprob = |value: f64| value.is_finite() && value <= MOST_LOGPROB;
    check(name, values, is_read, is_logprob, "a finite log-probability, at most 0")
}

/// Refuses `values` that are read and are not finite.
///
/// # Errors
/// `LossInput` naming the column, the first such value and its place.
pub fn check_finite<F: Real>(name: &str, values: &[F], is_read: impl Fn(usize) -> bool) -> Result<(), EngineError> {
    check(name, values, is_read, f64::is_finite, "a finite number")
}

fn check<F: Real>(
    name: &str,
    values: &[F],
    is_read: impl Fn(usize) -> bool,
    is_right: impl Fn(f64) -> bool,
    wanted: &str,
) -> Result<(), EngineError> {
    let wrong = |(t, value): &(usize, &F)| is_read(*t) && !is_right(value.to_f64());
    match values.iter().enumerate().find(wrong) {
        None => Ok(()),
        Some((t, value)) => Err(EngineError::LossInput(format!(
            "{name}[{t}] is {}, not {wanted}",
            value.to_f64()
        ))),
    }
}
