//! Filling the columns of one bin.

use std::ops::Add;

use super::sample::{Advantages, SampleRef};
use super::{BuildOptions, used};
use crate::PackError;
use crate::batch::{Batch, Counts, UNSAMPLED};
use crate::experts::{ExpertShape, NO_EXPERT_BYTE, RoutedExperts};
use crate::scan::{count, count_pairs};

const PADDING_TEMPERATURE: f32 = 1.0;

/// Which optional streams the step has.
#[derive(Clone, Copy)]
pub(crate) struct Streams {
    pub(crate) rl: bool,
    pub(crate) ce: bool,
    pub(crate) ref_kl: bool,
    pub(crate) reference: bool,
    pub(crate) experts: Option<ExpertShape>,
}

impl Streams {
    pub(crate) fn of(samples: &[SampleRef<'_>]) -> Self {
        Self {
            rl: samples.iter().any(|sample| sample.rl_weights.is_some()),
            ce: samples.iter().any(|sample| sample.ce_weights.is_some()),
            ref_kl: samples.iter().any(|sample| sample.ref_kl_weights.is_some()),
            reference: samples.iter().any(|sample| sample.reference_logprobs.is_some()),
            experts: samples
                .iter()
                .find_map(|sample| sample.routed_experts)
                .map(|experts| experts.shape),
        }
    }
}

/// The lengths that a bin takes in the columns, padding included.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shape {
    pub(crate) tokens: usize,
    pub(crate) sequences: usize,
    pub(crate) spans: usize,
}

impl Shape {
    pub(crate) fn of(members: &[u32], samples: &[SampleRef<'_>], options: BuildOptions) -> Self {
        let members = members.iter().map(|&sample| &samples[sample as usize]);
        let own = members.fold(Self::default(), |sum, sample| {
            let tokens = used(sample, options);
            let spans = kept_spans(sample, tokens).len().max(1);
            sum + Self {
                tokens,
                sequences: 1,
                spans,
            }
        });
        let tokens = own.tokens.max(1).next_multiple_of(options.pad_to_multiple_of as usize);
        let padding = usize::from(tokens > own.tokens);
        Self {
            tokens,
            sequences: own.sequences + padding,
            spans: own.spans + padding,
        }
    }
}

impl Add for Shape {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens + other.tokens,
            sequences: self.sequences + other.sequences,
            spans: self.spans + other.spans,
        }
    }
}

/// The part of a batch's columns that is not filled yet.
#[derive(Default)]
pub(crate) struct ColumnsMut<'a> {
    input_ids: &'a mut [u32],
    inference_logprobs: &'a mut [f32],
    advantages: &'a mut [f32],
    temperatures: &'a mut [f32],
    loss_mask: &'a mut [u8],
    rl_weights: Option<&'a mut [f32]>,
    ce_weights: Option<&'a mut [f32]>,
    ref_kl_weights: Option<&'a mut [f32]>,
    reference_logprobs: Option<&'a mut [f32]>,
    /// Rows of this shape.
    routed_experts: Option<(ExpertShape, &'a mut [u8])>,
    sequence_ends: &'a mut [u32],
    env_ids: &'a mut [u16],
    version_spans: &'a mut [[u32; 2]],
}

impl<'a> ColumnsMut<'a> {
    pub(crate) fn of(batch: &'a mut Batch) -> Self {
        Self {
            input_ids: &mut batch.input_ids,
            inference_logprobs: &mut batch.inference_logprobs,
            advantages: &mut batch.advantages,
            temperatures: &mut batch.temperatures,
            loss_mask: &mut batch.loss_mask,
            rl_weights: batch.rl_weights.as_deref_mut(),
            ce_weights: batch.ce_weights.as_deref_mut(),
            ref_kl_weights: batch.ref_kl_weights.as_deref_mut(),
            reference_logprobs: batch.reference_logprobs.as_deref_mut(),
            routed_experts: batch
                .routed_experts
                .as_mut()
                .map(|experts| (experts.shape, &mut experts.ids[..])),
            sequence_ends: &mut batch.cu_seqlens[1..],
            env_ids: &mut batch.env_ids,
            version_spans: &mut batch.policy_version_spans,
        }
    }

    /// Splits off the first part of every column.
    pub(crate) fn take(&mut self, shape: Shape) -> Self {
        let Shape {
            tokens,
            sequences,
            spans,
        } = shape;
        let stream = |column: &mut Option<&'a mut [f32]>| column.as_mut().map(|column| front(column, tokens));
        Self {
            input_ids: front(&mut self.input_ids, tokens),
            inference_logprobs: front(&mut self.inference_logprobs, tokens),
            advantages: front(&mut self.advantages, tokens),
            temperatures: front(&mut self.temperatures, tokens),
            loss_mask: front(&mut self.loss_mask, tokens),
            rl_weights: stream(&mut self.rl_weights),
            ce_weights: stream(&mut self.ce_weights),
            ref_kl_weights: stream(&mut self.ref_kl_weights),
            reference_logprobs: stream(&mut self.reference_logprobs),
            routed_experts: self
                .routed_experts
                .as_mut()
                .map(|(shape, ids)| (*shape, front(ids, tokens * shape.row_bytes()))),
            sequence_ends: front(&mut self.sequence_ends, sequences),
            env_ids: front(&mut self.env_ids, sequences),
            version_spans: front(&mut self.version_spans, spans),
        }
    }
}

fn front<'a, T>(column: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    let (front, rest) = std::mem::take(column).split_at_mut(length);
    *column = rest;
    front
}

/// A bin of the plan and its place.
pub(crate) struct Bin<'a> {
    pub(crate) members: &'a [u32],
    /// Its first token in the columns of its rank.
    pub(crate) start: usize,
    pub(crate) columns: ColumnsMut<'a>,
}

impl Bin<'_> {
    pub(crate) fn tokens(&self) -> usize {
        self.columns.input_ids.len()
    }

    /// Checks its samples and copies them. Each sample is copied while its columns are in the cache after the check, so that
    /// memory is read once. Every value of the bin's columns is written.
    pub(crate) fn fill(mut self, samples: &[SampleRef<'_>], options: BuildOptions) -> Result<Counts, PackError> {
        let mut counts = Counts::default();
        for &number in self.members {
            let sample = &samples[number as usize];
            let wrong = |reason| PackError::Sample {
                sample: number as usize,
                reason,
            };
            sample.check().map_err(wrong)?;
            self.check_experts(sample).map_err(wrong)?;
            let length = used(sample, options);
            if length == 0 {
                let seq_len = options.seq_len;
                return Err(wrong(format!(
                    "an unbroken run reaches from its first token beyond seq_len {seq_len}"
                )));
            }
            counts = counts + self.push_sample(sample, length);
        }
        if self.tokens() > 0 {
            self.push_padding(options.pad_token_id);
        }
        Ok(counts)
    }

    /// Checks that the sample's experts have the same shape as those of the step.
    fn check_experts(&self, sample: &SampleRef<'_>) -> Result<(), String> {
        match (&self.columns.routed_experts, sample.routed_experts) {
            (Some((expected, _)), Some(RoutedExperts { shape, .. })) if shape != *expected => Err(format!(
                "routed_experts is {shape:?}, that of the step's first sample {expected:?}"
            )),
            _ => Ok(()),
        }
    }

    fn push_sample(&mut self, sample: &SampleRef<'_>, length: usize) -> Counts {
        let start = self.start;
        let spans = kept_spans(sample, length);
        let own = self.close_sequence(length, sample.env_id, spans.len().max(1));
        own.input_ids.copy_from_slice(&sample.token_ids[..length]);
        own.inference_logprobs[0] = 0.0;
        own.inference_logprobs[1..].copy_from_slice(&sample.logprobs[1..length]);
        let mask = &sample.mask[..length];
        own.loss_mask.copy_from_slice(mask);
        match sample.advantages {
            Advantages::PerToken(advantages) => own.advantages.copy_from_slice(&advantages[..length]),
            Advantages::Uniform(advantage) => {
                for (value, &mask) in own.advantages.iter_mut().zip(mask) {
                    *value = if mask == 0 { 0.0 } else { advantage };
                }
            }
        }
        own.temperatures.fill(sample.temperature);
        for (row, &[first, version]) in own.version_spans.iter_mut().zip(spans) {
            *row = [index(start) + first, version];
        }
        if spans.is_empty() {
            own.version_spans[0] = [index(start), UNSAMPLED];
        }
        match (own.rl_weights, sample.rl_weights) {
            (Some(column), Some(weights)) => column.copy_from_slice(&weights[..length]),
            (Some(column), None) => {
                for (weight, &mask) in column.iter_mut().zip(mask) {
                    *weight = f32::from(mask);
                }
            }
            (None, _) => {}
        }
        let zero_filled = [
            (own.ce_weights, sample.ce_weights),
            (own.ref_kl_weights, sample.ref_kl_weights),
            (own.reference_logprobs, sample.reference_logprobs),
        ];
        for (column, stream) in zero_filled {
            match (column, stream) {
                (Some(column), Some(stream)) => column.copy_from_slice(&stream[..length]),
                (Some(column), None) => column.fill(0.0),
                (None, _) => {}
            }
        }
        match (own.routed_experts, sample.routed_experts) {
            (Some((_, column)), Some(experts)) => column.copy_from_slice(experts.first(length)),
            (Some((_, column)), None) => column.fill(NO_EXPERT_BYTE),
            (None, _) => {}
        }
        counts_of(sample, length)
    }

    fn push_padding(&mut self, token_id: u32) {
        let start = self.start;
        let own = self.close_sequence(self.tokens(), 0, 1);
        own.input_ids.fill(token_id);
        own.temperatures.fill(PADDING_TEMPERATURE);
        own.loss_mask.fill(0);
        let streams = [
            own.rl_weights,
            own.ce_weights,
            own.ref_kl_weights,
            own.reference_logprobs,
        ];
        let present = streams.into_iter().flatten();
        for column in present.chain([own.inference_logprobs, own.advantages]) {
            column.fill(0.0);
        }
        if let Some((_, column)) = own.routed_experts {
            column.fill(NO_EXPERT_BYTE);
        }
        own.version_spans[0] = [index(start), UNSAMPLED];
    }

    /// The columns of the next sequence.
    fn close_sequence(&mut self, tokens: usize, env_id: u16, spans: usize) -> ColumnsMut<'_> {
        let own = self.columns.take(Shape {
            tokens,
            sequences: 1,
            spans,
        });
        self.start += tokens;
        own.sequence_ends[0] = index(self.start);
        own.env_ids[0] = env_id;
        own
    }
}

fn counts_of(sample: &SampleRef<'_>, length: usize) -> Counts {
    let mask = &sample.mask[..length];
    let nonzero =
        |weights: Option<&[f32]>| weights.map_or(0, |weights| count(&weights[..length], |weight| weight != 0.0));
    let rl = match sample.rl_weights {
        None => count(mask, |mask| mask != 0),
        Some(weights) => count_pairs(mask, &weights[..length], |mask, weight| (mask != 0) & (weight != 0.0)),
    };
    Counts {
        rl,
        sequences: u64::from(rl > 0),
        ce: nonzero(sample.ce_weights),
        ref_kl: nonzero(sample.ref_kl_weights),
    }
}

/// The version spans of the first `length` tokens.
fn kept_spans<'a>(sample: &SampleRef<'a>, length: usize) -> &'a [[u32; 2]] {
    let spans = sample.version_spans;
    &spans[..spans.partition_point(|[first, _]| (*first as usize) < length)]
}

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("a rank's tokens were checked to fit 32 bits")
}
