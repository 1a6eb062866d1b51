//! The columns that one trainer rank reads for one step.
//!
//! Shapes: T tokens, S sequences, B bins (micro-batches), K version spans. A [`Batch`] owns its columns, a
//! [`BatchView`] borrows them from a batch or from a file; `check` has the invariants of both. Code that makes or
//! reads a batch checks it; consumers rely on the invariants and check nothing again.

mod check;
mod columns;
pub(crate) mod file;
pub(crate) mod metadata;

use std::ops::Add;

use crate::PackError;
use crate::experts::{RoutedExperts, RoutedExpertsBuf};

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
    /// The experts that each token went to, `[T, layers, top_k]`; absent when the step records none.
    pub routed_experts: Option<RoutedExpertsBuf>,
    /// Tokens in each loss over all ranks of the step: the denominators.
    pub counts: Counts,
}

/// The columns of a [`Batch`], borrowed; the fields mean the same.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "every field is documented at Batch")]
pub struct BatchView<'a> {
    pub input_ids: &'a [u32],
    pub inference_logprobs: &'a [f32],
    pub advantages: &'a [f32],
    pub temperatures: &'a [f32],
    pub loss_mask: &'a [u8],
    pub cu_seqlens: &'a [u32],
    pub env_ids: &'a [u16],
    pub bin_seq_offsets: &'a [u32],
    pub policy_version_spans: &'a [[u32; 2]],
    pub rl_weights: Option<&'a [f32]>,
    pub ce_weights: Option<&'a [f32]>,
    pub ref_kl_weights: Option<&'a [f32]>,
    pub reference_logprobs: Option<&'a [f32]>,
    pub routed_experts: Option<RoutedExperts<'a>>,
    pub counts: Counts,
}

/// Tokens in each loss, and what else denominators are made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// In the policy loss: on the mask with an rl weight other than 0.
    pub rl: u64,
    /// In the cross-entropy loss: ce weight other than 0, whatever the mask.
    pub ce: u64,
    /// In the reference KL loss: ref_kl weight other than 0, whatever the mask.
    pub ref_kl: u64,
    /// Sequences with a token in the policy loss; 0 when a file does not say.
    pub sequences: u64,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            rl: self.rl + other.rl,
            ce: self.ce + other.ce,
            ref_kl: self.ref_kl + other.ref_kl,
            sequences: self.sequences + other.sequences,
        }
    }
}

impl Batch {
    /// Its columns, borrowed.
    pub fn view(&self) -> BatchView<'_> {
        BatchView {
            input_ids: &self.input_ids,
            inference_logprobs: &self.inference_logprobs,
            advantages: &self.advantages,
            temperatures: &self.temperatures,
            loss_mask: &self.loss_mask,
            cu_seqlens: &self.cu_seqlens,
            env_ids: &self.env_ids,
            bin_seq_offsets: &self.bin_seq_offsets,
            policy_version_spans: &self.policy_version_spans,
            rl_weights: self.rl_weights.as_deref(),
            ce_weights: self.ce_weights.as_deref(),
            ref_kl_weights: self.ref_kl_weights.as_deref(),
            reference_logprobs: self.reference_logprobs.as_deref(),
            routed_experts: self.routed_experts.as_ref().map(RoutedExpertsBuf::view),
            counts: self.counts,
        }
    }

    /// Checks every invariant that the fields document.
    ///
    /// # Errors
    /// [`PackError::Batch`] naming the column and the place that break one.
    pub fn validate(&self) -> Result<(), PackError> {
        self.view().validate()
    }
}

impl BatchView<'_> {
    /// Tokens of this rank, padding included.
    pub fn tokens(&self) -> usize {
        self.input_ids.len()
    }

    /// Bins of this rank.
    pub fn bins(&self) -> usize {
        self.bin_seq_offsets.len().saturating_sub(1)
    }

    /// Tokens of this rank in each loss (sequences are not counted); [`Batch::counts`] is the sum over ranks.
    pub fn local_counts(&self) -> Counts {
        self.counts_of(0..self.tokens())
    }

    /// A copy that owns its columns.
    pub fn to_batch(&self) -> Batch {
        let owned = |stream: Option<&[f32]>| stream.map(<[f32]>::to_vec);
        Batch {
            input_ids: self.input_ids.to_vec(),
            inference_logprobs: self.inference_logprobs.to_vec(),
            advantages: self.advantages.to_vec(),
            temperatures: self.temperatures.to_vec(),
            loss_mask: self.loss_mask.to_vec(),
            cu_seqlens: self.cu_seqlens.to_vec(),
            env_ids: self.env_ids.to_vec(),
            bin_seq_offsets: self.bin_seq_offsets.to_vec(),
            policy_version_spans: self.policy_version_spans.to_vec(),
            rl_weights: owned(self.rl_weights),
            ce_weights: owned(self.ce_weights),
            ref_kl_weights: owned(self.ref_kl_weights),
            reference_logprobs: owned(self.reference_logprobs),
            routed_experts: self.routed_experts.map(RoutedExpertsBuf::from),
            counts: self.counts,
        }
    }

    /// Checks every invariant that the fields of [`Batch`] document.
    ///
    /// # Errors
    /// [`PackError::Batch`] naming the column and the place that break one.
    pub fn validate(&self) -> Result<(), PackError> {
        self.check().map_err(PackError::Batch)
    }
}
