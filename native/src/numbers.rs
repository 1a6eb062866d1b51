//! Whole numbers that JavaScript sends as doubles. What does not fit is refused, never wrapped, cut or taken for 0.

use crate::error::NativeError;

/// The largest integer of which a double holds every smaller one.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// `value` as a whole number from 0 to 2^53 - 1, or PRL_ENGINE_INPUT with its `name` in JavaScript.
pub(crate) fn whole(name: &str, value: f64) -> Result<u64, NativeError> {
    if value.fract() == 0.0 && (0.0..=MAX_SAFE_INTEGER).contains(&value) {
        Ok(value as u64)
    } else {
        let message = format!("{name} is {value}: give a whole number from 0 to 2^53 - 1");
        Err(NativeError::new("PRL_ENGINE_INPUT", message))
    }
}

/// The same for sizes in memory.
pub(crate) fn size(name: &str, value: f64) -> Result<usize, NativeError> {
    usize::try_from(whole(name, value)?).map_err(|_| {
        NativeError::new(
            "PRL_ENGINE_INPUT",
            format!("{name} is {value}: more than this machine addresses"),
        )
    })
}
