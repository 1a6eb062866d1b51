//! Whole numbers that JavaScript sends as doubles. A number that does not fit is refused, never wrapped, rounded or read as 0.

use crate::error::NativeError;

/// A double holds this integer and every smaller one exactly.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// `value` as a whole number from 0 to 2^53 - 1, or PRL_ENGINE_INPUT with the `name` that JavaScript uses for it.
pub(crate) fn whole(name: &str, value: f64) -> Result<u64, NativeError> {
    if value.fract() == 0.0 && (0.0..=MAX_SAFE_INTEGER).contains(&value) {
        Ok(value as u64)
    } else {
        let message = format!("{name} is {value}: give a whole number from 0 to 2^53 - 1");
        Err(NativeError::new("PRL_ENGINE_INPUT", message))
    }
}

/// `value` as a size in memory, or PRL_ENGINE_INPUT.
pub(crate) fn size(name: &str, value: f64) -> Result<usize, NativeError> {
    usize::try_from(whole(name, value)?).map_err(|_| {
        NativeError::new(
            "PRL_ENGINE_INPUT",
            format!("{name} is {value}: more than this machine can address"),
        )
    })
}
