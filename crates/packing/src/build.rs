//! From samples and a plan to one [`Batch`] per rank.

use crate::batch::{Batch, Counts, UNSAMPLED};
use crate::room::column;
use crate::sample::{Advantages, SampleRef};
use crate::{MAX_RANKS, PackError};

const PADDING_TEMPERATURE: f32 = 1.0;
/// Far above any kernel's tile, and small enough that an empty bin stays cheap.
const MAX_PADDING_MULTIPLE: u32 = 1 << 16;

/// How the batches are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildOptions {
    /// Trainer ranks; bin `i` of the plan belongs to rank `i % ranks`.
    pub ranks: u32,
    /// Most tokens of a bin before padding; longer samples are cut to it.
    pub seq_len: u32,
    /// Every bin is padded to a multiple of this many tokens, at most 65536; 1 pads empty bins only.
    pub pad_to_multiple_of: u32,
    /// Token id of the padding.
    pub pad_token_id: u32,
}

/// Builds the batch of each rank from `plan`, a partition of the samples into bins.
///
/// Within a bin the samples come in the plan's order; padding, if any, is a last sequence with mask 0, env id 0 and
/// temperature 1. An empty bin becomes a bin of padding alone, so that every rank has as many bins. An optional stream
/// is absent unless a sample of the step has it; then every batch has it, filled with its documented default.
///
/// # Errors
/// [`PackError::Input`] when the options or the plan contradict themselves (a sample is missing, repeated or unknown,
/// a bin is above `seq_len`, the bins are no multiple of the ranks, there are none); [`PackError::Sample`] for a
/// malformed sample; [`PackError::Batch`] when a value is not finite where it counts.
pub fn build_batch(
    samples: &[SampleRef<'_>],
    plan: &[Vec<u32>],
    options: BuildOptions,
) -> Result<Vec<Batch>, PackError> {
    check_options(options)?;
    check_plan(samples, plan, options)?;
    let streams = Streams::of(samples);
    let ranks = options.ranks as usize;
    let mut batches = Vec::with_capacity(ranks);
    for rank in 0..ranks {
        let bins = plan.iter().skip(rank).step_by(ranks);
        batches.push(build_rank(samples, bins, options, streams)?);
    }
    let global = batches
        .iter()
        .fold(Counts::default(), |sum, batch: &Batch| sum + batch.counts);
    for batch in &mut batches {
        batch.counts = global;
        debug_assert_eq!(batch.view().check(), Ok(()));
    }
    Ok(batches)
}

/// Which optional streams the step has.
#[derive(Clone, Copy)]
struct Streams {
    rl: bool,
    ce: bool,
    ref_kl: bool,
    reference: bool,
}

impl Streams {
    fn of(samples: &[SampleRef<'_>]) -> Self {
        Self {
            rl: samples.iter().any(|sample| sample.rl_weights.is_some()),
            ce: samples.iter().any(|sample| sample.ce_weights.is_some()),
            ref_kl: samples.iter().any(|sample| sample.ref_kl_weights.is_some()),
            reference: samples.iter().any(|sample| sample.reference_logprobs.is_some()),
        }
    }
}

fn build_rank<'p>(
    samples: &[SampleRef<'_>],
    bins: impl Iterator<Item = &'p Vec<u32>> + Clone,
    options: BuildOptions,
    streams: Streams,
) -> Result<Batch, PackError> {
    let too_large = || PackError::Input("a rank has more tokens than 32 bits count".to_owned());
    let bin_tokens = |bin: &Vec<u32>| {
        let tokens: usize = bin.iter().map(|&sample| used(&samples[sample as usize], options)).sum();
        tokens.max(1).next_multiple_of(options.pad_to_multiple_of as usize)
    };
    let tokens: usize = bins.clone().map(bin_tokens).sum();
    u32::try_from(tokens).map_err(|_| too_large())?;
    let mut batch = with_room_for(tokens, streams);
    for bin in bins {
        let end = batch.input_ids.len() + bin_tokens(bin);
        for &sample in bin {
            let content = &samples[sample as usize];
            // While its columns are in the cache, so that they are read from memory once.
            content.check().map_err(|reason| PackError::Sample {
                sample: sample as usize,
                reason,
            })?;
            let length = used(content, options);
            if length == 0 {
                let seq_len = options.seq_len;
                return Err(PackError::Sample {
                    sample: sample as usize,
                    reason: format!("an unbroken run reaches from its first token beyond seq_len {seq_len}"),
                });
            }
            push_sample(&mut batch, content, length);
            close_sequence(&mut batch, content.env_id);
        }
        if batch.input_ids.len() < end {
            push_padding(&mut batch, end, options.pad_token_id);
            close_sequence(&mut batch, 0);
        }
        batch.bin_seq_offsets.push(index(batch.env_ids.len()));
    }
    Ok(batch)
}

fn with_room_for(tokens: usize, streams: Streams) -> Batch {
    let floats = || column(tokens);
    Batch {
        input_ids: column(tokens),
        inference_logprobs: floats(),
        advantages: floats(),
        temperatures: floats(),
        loss_mask: column(tokens),
        cu_seqlens: vec![0],
        bin_seq_offsets: vec![0],
        rl_weights: streams.rl.then(floats),
        ce_weights: streams.ce.then(floats),
        ref_kl_weights: streams.ref_kl.then(floats),
        reference_logprobs: streams.reference.then(floats),
        ..Batch::default()
    }
}

fn push_sample(batch: &mut Batch, sample: &SampleRef<'_>, length: usize) {
    let start = batch.input_ids.len();
    batch.input_ids.extend_from_slice(&sample.token_ids[..length]);
    batch.inference_logprobs.extend_from_slice(&sample.logprobs[..length]);
    batch.inference_logprobs[start] = 0.0;
    match sample.advantages {
        Advantages::PerToken(advantages) => batch.advantages.extend_from_slice(&advantages[..length]),
        Advantages::Uniform(advantage) => {
            let on_mask = |&mask: &u8| if mask == 0 { 0.0 } else { advantage };
            batch.advantages.extend(sample.mask[..length].iter().map(on_mask));
        }
    }
    batch.temperatures.resize(start + length, sample.temperature);
    batch.loss_mask.extend_from_slice(&sample.mask[..length]);
    if let Some(column) = &mut batch.rl_weights {
        match sample.rl_weights {
            Some(weights) => column.extend_from_slice(&weights[..length]),
            None => column.extend(sample.mask[..length].iter().map(|&mask| f32::from(mask))),
        }
    }
    let zero_filled = [
        (&mut batch.ce_weights, sample.ce_weights),
        (&mut batch.ref_kl_weights, sample.ref_kl_weights),
        (&mut batch.reference_logprobs, sample.reference_logprobs),
    ];
    for (filled, stream) in zero_filled {
        match (filled, stream) {
            (Some(column), Some(stream)) => column.extend_from_slice(&stream[..length]),
            (Some(column), None) => column.resize(start + length, 0.0),
            (None, _) => {}
        }
    }
    if sample.version_spans.is_empty() {
        batch.policy_version_spans.push([index(start), UNSAMPLED]);
    }
    let kept = sample
        .version_spans
        .iter()
        .take_while(|[first, _]| (*first as usize) < length);
    batch
        .policy_version_spans
        .extend(kept.map(|&[first, version]| [index(start) + first, version]));
    let end = batch.input_ids.len();
    batch.counts = batch.counts + batch.view().counts_of(start..end);
}

fn push_padding(batch: &mut Batch, end: usize, pad_token_id: u32) {
    batch
        .policy_version_spans
        .push([index(batch.input_ids.len()), UNSAMPLED]);
    batch.input_ids.resize(end, pad_token_id);
    batch.inference_logprobs.resize(end, 0.0);
    batch.advantages.resize(end, 0.0);
    batch.temperatures.resize(end, PADDING_TEMPERATURE);
    batch.loss_mask.resize(end, 0);
    let streams = [
        &mut batch.rl_weights,
        &mut batch.ce_weights,
        &mut batch.ref_kl_weights,
        &mut batch.reference_logprobs,
    ];
    for column in streams.into_iter().flatten() {
        column.resize(end, 0.0);
    }
}

fn close_sequence(batch: &mut Batch, env_id: u16) {
    batch.cu_seqlens.push(index(batch.input_ids.len()));
    batch.env_ids.push(env_id);
}

/// Tokens of a sample that fit.
fn used(sample: &SampleRef<'_>, options: BuildOptions) -> usize {
    sample.kept_tokens(options.seq_len)
}

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("a rank's tokens were checked to fit 32 bits")
}

// ---- checks of the input ----

fn check_options(options: BuildOptions) -> Result<(), PackError> {
    let BuildOptions {
        ranks,
        seq_len,
        pad_to_multiple_of,
        ..
    } = options;
    if ranks == 0 || ranks > MAX_RANKS {
        return Err(PackError::Input(format!("ranks is {ranks}, expected 1 to {MAX_RANKS}")));
    }
    if seq_len == 0 {
        return Err(PackError::Input("seq_len is 0".to_owned()));
    }
    if pad_to_multiple_of == 0 || pad_to_multiple_of > MAX_PADDING_MULTIPLE {
        return Err(PackError::Input(format!(
            "pad_to_multiple_of is {pad_to_multiple_of}, expected 1 to {MAX_PADDING_MULTIPLE}"
        )));
    }
    Ok(())
}

fn check_plan(samples: &[SampleRef<'_>], plan: &[Vec<u32>], options: BuildOptions) -> Result<(), PackError> {
    if plan.is_empty() || !plan.len().is_multiple_of(options.ranks as usize) {
        let (bins, ranks) = (plan.len(), options.ranks);
        return Err(PackError::Input(format!(
            "{bins} bins are no positive multiple of {ranks} ranks"
        )));
    }
    let mut seen = vec![false; samples.len()];
    for (bin, members) in plan.iter().enumerate() {
        let mut tokens = 0;
        for &sample in members {
            match seen.get_mut(sample as usize) {
                Some(seen @ false) => *seen = true,
                Some(true) => return Err(PackError::Input(format!("the plan has sample {sample} twice"))),
                None => {
                    let count = samples.len();
                    return Err(PackError::Input(format!("the plan has sample {sample} of {count}")));
                }
            }
            tokens += used(&samples[sample as usize], options);
        }
        if tokens > options.seq_len as usize {
            let seq_len = options.seq_len;
            return Err(PackError::Input(format!(
                "bin {bin} has {tokens} tokens, above seq_len {seq_len}"
            )));
        }
    }
    match seen.iter().position(|seen| !seen) {
        Some(sample) => Err(PackError::Input(format!("the plan lacks sample {sample}"))),
        None => Ok(()),
    }
}
