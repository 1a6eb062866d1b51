//! Checks the invariants of a batch's columns.

use std::ops::Range;

use super::{BatchView, Counts};
use crate::scan::{count, count_pairs, first, first_pair};

/// Tokens whose columns stay in a core's cache between the passes over them.
const CACHED_TOKENS: usize = 1 << 14;

impl BatchView<'_> {
    /// Checks every invariant that the fields of [`crate::Batch`] document.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_lengths()?;
        check_offsets("cu_seqlens", self.cu_seqlens, self.tokens())?;
        check_offsets("bin_seq_offsets", self.bin_seq_offsets, self.env_ids.len())?;
        if self.cu_seqlens.len() != self.env_ids.len() + 1 {
            let (offsets, sequences) = (self.cu_seqlens.len(), self.env_ids.len());
            return Err(format!("{offsets} cu_seqlens for {sequences} env_ids"));
        }
        self.check_spans()?;
        self.check_sequence_starts()?;
        let mut local = Counts::default();
        for start in (0..self.tokens()).step_by(CACHED_TOKENS) {
            let tokens = start..(start + CACHED_TOKENS).min(self.tokens());
            self.check_values(tokens.clone())?;
            local = local + self.counts_of(tokens);
        }
        let Counts { rl, ce, ref_kl, .. } = self.counts;
        if local.rl > rl || local.ce > ce || local.ref_kl > ref_kl {
            return Err(format!(
                "global counts {:?} are below this rank's {local:?}",
                self.counts
            ));
        }
        Ok(())
    }

    /// Tokens of this rank in each loss; sequences are not counted.
    pub(crate) fn counts_of(&self, tokens: Range<usize>) -> Counts {
        let nonzero = |weights: Option<&[f32]>| {
            weights.map_or(0, |weights| count(&weights[tokens.clone()], |weight| weight != 0.0))
        };
        let mask = &self.loss_mask[tokens.clone()];
        Counts {
            rl: match self.rl_weights {
                None => count(mask, |mask| mask != 0),
                Some(weights) => count_pairs(mask, &weights[tokens.clone()], |mask, weight| {
                    (mask != 0) & (weight != 0.0)
                }),
            },
            ce: nonzero(self.ce_weights),
            ref_kl: nonzero(self.ref_kl_weights),
            sequences: 0,
        }
    }

    fn check_lengths(&self) -> Result<(), String> {
        let tokens = self.tokens();
        if tokens == 0 || u32::try_from(tokens).is_err() {
            return Err(format!("it has {tokens} tokens"));
        }
        let optional = |stream: Option<&[f32]>| stream.map_or(tokens, <[f32]>::len);
        let columns = [
            ("inference_logprobs", self.inference_logprobs.len()),
            ("advantages", self.advantages.len()),
            ("temperatures", self.temperatures.len()),
            ("loss_mask", self.loss_mask.len()),
            ("rl_weights", optional(self.rl_weights)),
            ("ce_weights", optional(self.ce_weights)),
            ("ref_kl_weights", optional(self.ref_kl_weights)),
            ("reference_logprobs", optional(self.reference_logprobs)),
        ];
        match columns.iter().find(|(_, length)| *length != tokens) {
            Some((name, length)) => Err(format!("{name} has {length} entries for {tokens} tokens")),
            None => self.routed_experts.map_or(Ok(()), |experts| experts.check(tokens)),
        }
    }

    fn check_spans(&self) -> Result<(), String> {
        let spans = self.policy_version_spans;
        if let Some(pair) = spans.windows(2).find(|pair| pair[0][0] >= pair[1][0]) {
            return Err(format!(
                "policy_version_spans do not ascend from {} to {}",
                pair[0][0], pair[1][0]
            ));
        }
        if let Some([first, _]) = spans.last().filter(|[first, _]| *first as usize >= self.tokens()) {
            return Err(format!("policy_version_spans reach token {first} of {}", self.tokens()));
        }
        let mut rows = spans.iter();
        for start in &self.cu_seqlens[..self.cu_seqlens.len() - 1] {
            if !rows.any(|[first, _]| first == start) {
                return Err(format!(
                    "policy_version_spans are not cut at token {start}, where a sequence starts"
                ));
            }
        }
        match spans.first() {
            Some([0, _]) => Ok(()),
            _ => Err("policy_version_spans do not begin at token 0".to_owned()),
        }
    }

    fn check_sequence_starts(&self) -> Result<(), String> {
        let zero_at_starts = [
            ("inference_logprobs", Some(self.inference_logprobs)),
            ("ce_weights", self.ce_weights),
            ("ref_kl_weights", self.ref_kl_weights),
        ];
        for &start in &self.cu_seqlens[..self.cu_seqlens.len() - 1] {
            if self.loss_mask[start as usize] != 0 {
                return Err(format!("loss_mask is not 0 at token {start}, where a sequence starts"));
            }
            for (name, column) in zero_at_starts {
                if column.is_some_and(|column| column[start as usize] != 0.0) {
                    return Err(format!("{name} is not 0 at token {start}, where a sequence starts"));
                }
            }
        }
        Ok(())
    }

    fn check_values(&self, tokens: Range<usize>) -> Result<(), String> {
        let at = |token: usize| tokens.start + token;
        let mask = &self.loss_mask[tokens.clone()];
        if let Some(token) = first(mask, |mask| mask > 1) {
            return Err(format!("loss_mask is {} at token {}", mask[token], at(token)));
        }
        let temperatures = &self.temperatures[tokens.clone()];
        if let Some(token) = first(temperatures, |value| not_finite(value) | (value < 0.0)) {
            return Err(format!(
                "temperatures is {} at token {}",
                temperatures[token],
                at(token)
            ));
        }
        for (name, column) in [
            ("inference_logprobs", self.inference_logprobs),
            ("advantages", self.advantages),
        ] {
            let column = &column[tokens.clone()];
            if let Some(token) = first_pair(column, mask, |value, mask| (mask != 0) & not_finite(value)) {
                return Err(format!(
                    "{name} is {} at token {}, which trains",
                    column[token],
                    at(token)
                ));
            }
        }
        let weights = [
            ("rl_weights", self.rl_weights),
            ("ce_weights", self.ce_weights),
            ("ref_kl_weights", self.ref_kl_weights),
        ];
        for (name, column) in weights {
            let Some(column) = column.map(|column| &column[tokens.clone()]) else {
                continue;
            };
            if let Some(token) = first(column, not_finite) {
                return Err(format!("{name} is {} at token {}", column[token], at(token)));
            }
        }
        let (Some(column), Some(weights)) = (self.reference_logprobs, self.ref_kl_weights) else {
            return Ok(());
        };
        let (column, weights) = (&column[tokens.clone()], &weights[tokens.clone()]);
        match first_pair(column, weights, |value, weight| (weight != 0.0) & not_finite(value)) {
            Some(token) => Err(format!(
                "reference_logprobs is {} at token {}",
                column[token],
                at(token)
            )),
            None => Ok(()),
        }
    }
}

/// Checks that offsets rise strictly from 0 to `end`.
fn check_offsets(name: &str, offsets: &[u32], end: usize) -> Result<(), String> {
    if offsets.len() < 2 || offsets[0] != 0 {
        return Err(format!("{name} does not begin at 0 or has no entries"));
    }
    if let Some(pair) = offsets.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(format!("{name} does not ascend from {} to {}", pair[0], pair[1]));
    }
    match offsets.last() {
        Some(&last) if last as usize == end => Ok(()),
        last => Err(format!("{name} ends at {last:?}, expected {end}")),
    }
}

/// Whether the value is infinite or not a number. A product and a comparison: `is_finite` becomes tests of the bits,
/// which take twice as many vector instructions.
fn not_finite(value: f32) -> bool {
    value * 0.0 != 0.0
}
