//! From samples and a plan to one [`Batch`] per rank. The samples are borrowed from their owner (`sample`).
//!
//! The place of every bin in the columns is known before anything is copied, so bins are filled independently, by
//! several threads when there is much to copy.

mod fill;
mod room;
pub(crate) mod sample;
pub(crate) mod spare;

use std::ops::Range;
use std::thread;

use crate::batch::{Batch, Counts};
use crate::experts::RoutedExpertsBuf;
use crate::{MAX_RANKS, PackError};
use fill::{Bin, ColumnsMut, Shape, Streams};
use room::column;
use sample::SampleRef;

/// Most tokens of `pad_to_multiple_of`: far above any kernel's tile, and small enough that an empty bin stays cheap.
const MAX_PADDING_MULTIPLE: u32 = 1 << 16;
/// Tokens that are worth a thread: copying fewer takes less time than starting one.
const TOKENS_PER_THREAD: usize = 1 << 19;

/// How the batches are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildOptions {
    /// Trainer ranks; bin `i` of the plan belongs to rank `i % ranks`.
    pub ranks: u32,
    /// Most tokens of a bin before padding; longer samples are cut to this length.
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
/// a bin is above `seq_len`, there are no bins or their number is no multiple of the ranks); [`PackError::Sample`] for a
/// malformed sample, or one of which nothing is left when it is cut.
pub fn build_batch(
    samples: &[SampleRef<'_>],
    plan: &[Vec<u32>],
    options: BuildOptions,
) -> Result<Vec<Batch>, PackError> {
    build_batch_reusing(samples, plan, options, Vec::new())
}

/// [`build_batch`] in the memory of batches that are not needed any more, so that the system need not clear new memory.
/// Their content is overwritten.
///
/// # Errors
/// As [`build_batch`]; the memory is freed then.
pub fn build_batch_reusing(
    samples: &[SampleRef<'_>],
    plan: &[Vec<u32>],
    options: BuildOptions,
    spare: Vec<Batch>,
) -> Result<Vec<Batch>, PackError> {
    check_options(options)?;
    check_plan(samples, plan, options)?;
    let streams = Streams::of(samples);
    let shapes: Vec<Shape> = plan.iter().map(|bin| Shape::of(bin, samples, options)).collect();
    let ranks = options.ranks as usize;
    let of_rank = |rank: usize| (rank..plan.len()).step_by(ranks);
    let mut batches = Vec::with_capacity(ranks);
    let mut spare = spare.into_iter();
    for rank in 0..ranks {
        let spare = spare.next().unwrap_or_default();
        batches.push(with_room(of_rank(rank).map(|bin| shapes[bin]), streams, spare)?);
    }
    drop(spare);
    let mut bins = Vec::with_capacity(plan.len());
    for (rank, batch) in batches.iter_mut().enumerate() {
        let mut columns = ColumnsMut::of(batch);
        let mut start = 0;
        for bin in of_rank(rank) {
            bins.push(Bin {
                members: &plan[bin],
                start,
                columns: columns.take(shapes[bin]),
            });
            start += shapes[bin].tokens;
        }
    }
    let counts = fill(bins, samples, options)?;
    for batch in &mut batches {
        batch.counts = counts;
        debug_assert_eq!(batch.view().check(), Ok(()));
    }
    Ok(batches)
}

/// A batch whose columns have room for bins of these shapes, with its bins' boundaries.
fn with_room(bins: impl Iterator<Item = Shape>, streams: Streams, spare: Batch) -> Result<Batch, PackError> {
    let mut total = Shape::default();
    let mut bin_seq_offsets = vec![0];
    for bin in bins {
        total = total + bin;
        bin_seq_offsets.push(total.sequences as u32);
    }
    let Shape {
        tokens,
        sequences,
        spans,
    } = total;
    if u32::try_from(tokens).is_err() {
        return Err(PackError::Input("a rank has more tokens than 32 bits count".to_owned()));
    }
    let stream = |present: bool, spare: Option<Vec<f32>>| present.then(|| column(spare.unwrap_or_default(), tokens));
    let routed_experts = streams.experts.map(|shape| {
        let spare = spare.routed_experts.map(|experts| experts.ids);
        let ids = column(spare.unwrap_or_default(), tokens * shape.row_bytes());
        RoutedExpertsBuf { shape, ids }
    });
    let mut cu_seqlens = column(spare.cu_seqlens, sequences + 1);
    cu_seqlens[0] = 0;
    Ok(Batch {
        input_ids: column(spare.input_ids, tokens),
        inference_logprobs: column(spare.inference_logprobs, tokens),
        advantages: column(spare.advantages, tokens),
        temperatures: column(spare.temperatures, tokens),
        loss_mask: column(spare.loss_mask, tokens),
        cu_seqlens,
        env_ids: column(spare.env_ids, sequences),
        bin_seq_offsets,
        policy_version_spans: column(spare.policy_version_spans, spans),
        rl_weights: stream(streams.rl, spare.rl_weights),
        ce_weights: stream(streams.ce, spare.ce_weights),
        ref_kl_weights: stream(streams.ref_kl, spare.ref_kl_weights),
        reference_logprobs: stream(streams.reference, spare.reference_logprobs),
        routed_experts,
        counts: Counts::default(),
    })
}

/// Fills all bins. Returns the tokens in each loss over all of them, or the error of the first bad sample of the plan.
fn fill(mut bins: Vec<Bin<'_>>, samples: &[SampleRef<'_>], options: BuildOptions) -> Result<Counts, PackError> {
    let tokens: usize = bins.iter().map(Bin::tokens).sum();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let shares = shares(&bins, (tokens / TOKENS_PER_THREAD).clamp(1, cores));
    thread::scope(|scope| {
        let mut others = Vec::with_capacity(shares.len());
        for share in shares.into_iter().skip(1).rev() {
            let own = bins.split_off(share.start);
            others.push(scope.spawn(move || fill_in_turn(own, samples, options)));
        }
        let mut counts = fill_in_turn(bins, samples, options)?;
        for other in others.into_iter().rev() {
            counts = counts + other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(counts)
    })
}

/// At most `count` runs of bins with similar numbers of tokens.
fn shares(bins: &[Bin<'_>], count: usize) -> Vec<Range<usize>> {
    let fair = bins.iter().map(Bin::tokens).sum::<usize>().div_ceil(count);
    let mut shares = Vec::with_capacity(count);
    let (mut start, mut tokens) = (0, 0);
    for (at, bin) in bins.iter().enumerate() {
        tokens += bin.tokens();
        if tokens >= fair {
            shares.push(start..at + 1);
            (start, tokens) = (at + 1, 0);
        }
    }
    if start < bins.len() {
        shares.push(start..bins.len());
    }
    shares
}

fn fill_in_turn(bins: Vec<Bin<'_>>, samples: &[SampleRef<'_>], options: BuildOptions) -> Result<Counts, PackError> {
    let mut counts = Counts::default();
    for bin in bins {
        counts = counts + bin.fill(samples, options)?;
    }
    Ok(counts)
}

/// Tokens of a sample that are kept.
pub(crate) fn used(sample: &SampleRef<'_>, options: BuildOptions) -> usize {
    sample.kept_tokens(options.seq_len)
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
