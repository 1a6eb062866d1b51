//! The values that an algorithm gives to each token of a trace, in place of one advantage for all of them.

use std::ops::Range;

use crate::PackError;

/// Columns over the tokens of all samples of a trace, one after the other; absent ones have the defaults of
/// [`crate::SampleRef`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceStreams {
    /// Advantages in place of the trace's one advantage.
    pub advantages: Option<Vec<f32>>,
    /// Weights of the policy loss.
    pub rl_weights: Option<Vec<f32>>,
    /// Weights of the cross-entropy loss.
    pub ce_weights: Option<Vec<f32>>,
    /// Weights of the reference KL loss.
    pub ref_kl_weights: Option<Vec<f32>>,
    /// Log-probabilities by the reference policy.
    pub reference_logprobs: Option<Vec<f32>>,
}

impl TraceStreams {
    /// Checks that every column has an entry for each of the trace's tokens.
    pub(crate) fn check(&self, tokens: usize) -> Result<(), PackError> {
        let columns = [
            ("advantages", &self.advantages),
            ("rl_weights", &self.rl_weights),
            ("ce_weights", &self.ce_weights),
            ("ref_kl_weights", &self.ref_kl_weights),
            ("reference_logprobs", &self.reference_logprobs),
        ];
        for (name, column) in columns {
            if let Some(length) = column.as_ref().map(Vec::len).filter(|length| *length != tokens) {
                let reason = format!("{name} has {length} entries for a trace of {tokens} tokens");
                return Err(PackError::Input(reason));
            }
        }
        Ok(())
    }
}

/// The part of `column` that belongs to a sample.
pub(crate) fn part(column: Option<&Vec<f32>>, tokens: Range<usize>) -> Option<&[f32]> {
    column.map(|column| &column[tokens])
}
