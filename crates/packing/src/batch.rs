//! The columns that one trainer rank reads for one step, and what must hold of them.
//!
//! Shapes: T tokens, S sequences, B bins (micro-batches), K version spans. Whoever makes or reads a batch calls
//! [`Batch::validate`]; consumers rely on its invariants and check nothing again.

use crate::PackError;
use crate::scan::{first, first_pair};

/// The version of tokens that no policy sampled: prompts, tool output, padding.
pub const UNSAMPLED: u32 = u32::MAX;

/// One rank's share of a step, in columns.
///
/// Position `t` of a per-token column belongs to `input_ids[t]` given its predecessors in its sequence. Sequences never
/// attend to each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Token ids, `[T]`.
    pub input_ids: Vec<u32>,
    /// Log-probabilities by the sampling policy in nats, `[T]`; 0 at sequence starts, finite on the mask.
    pub inference_logprobs: Vec<f32>,
    /// Advantages, `[T]`; finite on the mask.
    pub advantages: Vec<f32>,
    /// Sampling temperatures, `[T]`; finite and not negative, 1 on padding.
    pub temperatures: Vec<f32>,
    /// 1 for tokens that train, else 0, `[T]`; 0 at sequence starts.
    pub loss_mask: Vec<u8>,
    /// Where sequences start, over the whole rank from 0 to T, `[S+1]`; no sequence is empty.
    pub cu_seqlens: Vec<u32>,
    /// Index into the step's environment names, `[S]`; 0 on padding.
    pub env_ids: Vec<u16>,
    /// Bin `b` holds the sequences from `[b]` to `[b+1]`, `[B+1]`; no bin is empty.
    pub bin_seq_offsets: Vec<u32>,
    /// Rows (first token, version), `[K]`, ascending from token 0, with a row at every sequence start.
    pub policy_version_spans: Vec<[u32; 2]>,
    /// Weights of the policy loss, `[T]`; absent means 1 on the mask.
    pub rl_weights: Option<Vec<f32>>,
    /// Weights of the cross-entropy loss, `[T]`, whatever the mask; absent means 0. 0 at sequence starts.
    pub ce_weights: Option<Vec<f32>>,
    /// Weights of the reference KL loss, `[T]`, whatever the mask; absent means 0. 0 at sequence starts.
    pub ref_kl_weights: Option<Vec<f32>>,
    /// Log-probabilities by the reference policy, `[T]`; finite where `ref_kl_weights` is not 0.
    pub reference_logprobs: Option<Vec<f32>>,
    /// Tokens in the policy loss over all ranks of the step: on the mask with an rl weight other than 0.
    pub n_rl: u64,
    /// Tokens in the cross-entropy loss over all ranks of the step: ce weight other than 0.
    pub n_ce: u64,
    /// Tokens in the reference KL loss over all ranks of the step: ref_kl weight other than 0.
    pub n_ref_kl: u64,
}

/// Tokens in each loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// In the policy loss.
    pub rl: u64,
    /// In the cross-entropy loss.
    pub ce: u64,
    /// In the reference KL loss.
    pub ref_kl: u64,
}

impl Batch {
    /// Tokens of this rank, padding included.
    pub fn tokens(&self) -> usize {
        self.input_ids.len()
    }

    /// Bins of this rank.
    pub fn bins(&self) -> usize {
        self.bin_seq_offsets.len().saturating_sub(1)
    }

    /// Tokens of this rank in each loss; [`Batch::n_rl`] and its siblings are the sums over ranks.
    pub fn local_counts(&self) -> Counts {
        let nonzero = |weights: &Option<Vec<f32>>| {
            weights.as_ref().map_or(0, |weights| {
                weights.iter().filter(|&&weight| weight != 0.0).count() as u64
            })
        };
        let rl = match &self.rl_weights {
            None => self.loss_mask.iter().filter(|&&mask| mask != 0).count() as u64,
            Some(weights) => {
                let members = self
                    .loss_mask
                    .iter()
                    .zip(weights)
                    .filter(|&(&mask, &weight)| mask != 0 && weight != 0.0);
                members.count() as u64
            }
        };
        Counts {
            rl,
            ce: nonzero(&self.ce_weights),
            ref_kl: nonzero(&self.ref_kl_weights),
        }
    }

    /// Checks every invariant that the fields document.
    ///
    /// # Errors
    /// [`PackError::Batch`] naming the column and the place that break one.
    pub fn validate(&self) -> Result<(), PackError> {
        self.check_all().map_err(PackError::Batch)
    }

    pub(crate) fn check_all(&self) -> Result<(), String> {
        self.check_lengths()?;
        check_offsets("cu_seqlens", &self.cu_seqlens, self.tokens())?;
        check_offsets("bin_seq_offsets", &self.bin_seq_offsets, self.env_ids.len())?;
        if self.cu_seqlens.len() != self.env_ids.len() + 1 {
            return Err(format!(
                "{} cu_seqlens for {} env_ids",
                self.cu_seqlens.len(),
                self.env_ids.len()
            ));
        }
        self.check_spans()?;
        self.check_sequence_starts()?;
        self.check_values()?;
        let local = self.local_counts();
        if local.rl > self.n_rl || local.ce > self.n_ce || local.ref_kl > self.n_ref_kl {
            let global = (self.n_rl, self.n_ce, self.n_ref_kl);
            return Err(format!("global counts {global:?} are below this rank's {local:?}"));
        }
        Ok(())
    }

    fn check_lengths(&self) -> Result<(), String> {
        let tokens = self.tokens();
        if tokens == 0 || u32::try_from(tokens).is_err() {
            return Err(format!("it has {tokens} tokens"));
        }
        let optional = |stream: &Option<Vec<f32>>| stream.as_ref().map_or(tokens, Vec::len);
        let columns = [
            ("inference_logprobs", self.inference_logprobs.len()),
            ("advantages", self.advantages.len()),
            ("temperatures", self.temperatures.len()),
            ("loss_mask", self.loss_mask.len()),
            ("rl_weights", optional(&self.rl_weights)),
            ("ce_weights", optional(&self.ce_weights)),
            ("ref_kl_weights", optional(&self.ref_kl_weights)),
            ("reference_logprobs", optional(&self.reference_logprobs)),
        ];
        match columns.iter().find(|(_, length)| *length != tokens) {
            Some((name, length)) => Err(format!("{name} has {length} entries for {tokens} tokens")),
            None => Ok(()),
        }
    }

    fn check_spans(&self) -> Result<(), String> {
        let spans = &self.policy_version_spans;
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
            ("inference_logprobs", Some(&self.inference_logprobs)),
            ("ce_weights", self.ce_weights.as_ref()),
            ("ref_kl_weights", self.ref_kl_weights.as_ref()),
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

    fn check_values(&self) -> Result<(), String> {
        if let Some(token) = first(&self.loss_mask, |&mask| mask > 1) {
            return Err(format!("loss_mask is {} at token {token}", self.loss_mask[token]));
        }
        if let Some(token) = first(&self.temperatures, |&value| !value.is_finite() || value < 0.0) {
            return Err(format!("temperatures is {} at token {token}", self.temperatures[token]));
        }
        for (name, column) in [
            ("inference_logprobs", &self.inference_logprobs),
            ("advantages", &self.advantages),
        ] {
            if let Some(token) = first_pair(column, &self.loss_mask, |value, mask| mask != 0 && !value.is_finite()) {
                return Err(format!("{name} is {} at token {token}, which trains", column[token]));
            }
        }
        let weights = [
            ("rl_weights", &self.rl_weights),
            ("ce_weights", &self.ce_weights),
            ("ref_kl_weights", &self.ref_kl_weights),
        ];
        for (name, column) in weights {
            let Some(column) = column else { continue };
            if let Some(token) = first(column, |value| !value.is_finite()) {
                return Err(format!("{name} is {} at token {token}", column[token]));
            }
        }
        let (Some(column), Some(weights)) = (&self.reference_logprobs, &self.ref_kl_weights) else {
            return Ok(());
        };
        match first_pair(column, weights, |value, weight| weight != 0.0 && !value.is_finite()) {
            Some(token) => Err(format!("reference_logprobs is {} at token {token}", column[token])),
            None => Ok(()),
        }
    }
}

/// Offsets rise strictly from 0 to `end`.
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
