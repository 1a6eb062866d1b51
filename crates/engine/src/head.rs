//! The language-model head: from hidden states to log-probabilities, chunk by chunk.
//!
//! One implementation for the trainer and the sampler, so that both get the same bits. Logits are divided by the temperature first. A chunk
//! of rows is scored at a time: `[T, vocab]` is never held.

use std::cell::RefCell;

use crate::compute::Compute;
use crate::error::EngineError;
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::gemm::{Left, gemm_rows};
use crate::kernels::pack::Packed;
use crate::kernels::softmax::{RowStatistics, row_entropy, row_statistics};

/// Logits that one thread holds at a time, unless a single row is wider.
const CHUNK_LOGITS: usize = 1 << 20;

thread_local! {
    static LOGITS: RefCell<Buffer> = RefCell::default();
}

/// `log softmax(logits / temperature)[token]`, in natural log.
///
/// # Panics
/// When `token` is not below `logits.len()`.
pub fn row_logprob(compute: &Compute, logits: &[f32], temperature: f32, token: u32) -> f32 {
    logits[token as usize] / temperature - row_log_normalizer(compute, logits, temperature)
}

/// `log sum exp(logits / temperature)`: a scaled logit minus this is its log-probability.
pub fn row_log_normalizer(compute: &Compute, logits: &[f32], temperature: f32) -> f32 {
    row_statistics(compute.tier(), logits, temperature).log_normalizer()
}

/// The smallest temperature: divided by a smaller one, large logits overflow.
const LEAST_TEMPERATURE: f32 = 1e-6;

/// Checks that there is one temperature, or one per token, all finite and not too small.
pub(crate) fn check_temperatures(temperatures: &[f32], tokens: usize) -> Result<(), EngineError> {
    if temperatures.len() != 1 && temperatures.len() != tokens {
        return Err(EngineError::Input(format!(
            "{} temperatures for {tokens} tokens: give 1 or {tokens}",
            temperatures.len()
        )));
    }
    match temperatures
        .iter()
        .position(|&t| !(t >= LEAST_TEMPERATURE && t.is_finite()))
    {
        None => Ok(()),
        Some(at) => Err(EngineError::Input(format!(
            "temperature {at} is {}: it must be finite and at least {LEAST_TEMPERATURE}",
            temperatures[at]
        ))),
    }
}

/// A token to score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Row of the hidden state that predicts it.
    pub(crate) row: usize,
    /// Index of the token in the outputs.
    pub(crate) token_at: usize,
    pub(crate) token: u32,
    pub(crate) temperature: f32,
}

/// Every token but the first of each segment, predicted by the row before it.
pub(crate) fn all_targets(input_ids: &[u32], cu_seqlens: &[u32], temperatures: &[f32]) -> Vec<Target> {
    let mut targets = Vec::with_capacity(input_ids.len());
    for pair in cu_seqlens.windows(2) {
        for row in pair[0] as usize..(pair[1] as usize).saturating_sub(1) {
            let token_at = row + 1;
            let temperature = temperature_at(temperatures, token_at);
            targets.push(Target {
                row,
                token_at,
                token: input_ids[token_at],
                temperature,
            });
        }
    }
    targets
}

/// The temperature of a token, from one number for all or one per token.
pub(crate) fn temperature_at(temperatures: &[f32], token_at: usize) -> f32 {
    if temperatures.len() == 1 {
        temperatures[0]
    } else {
        temperatures[token_at]
    }
}

/// The head's result for each target.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scored {
    pub(crate) logprobs: Vec<f32>,
    /// Entropy of the distribution at each target, in nats; empty unless asked for.
    pub(crate) entropies: Vec<f32>,
    /// The normaliser of the logits of each target; empty unless it is requested.
    pub(crate) statistics: Vec<RowStatistics>,
}

/// Log-probabilities of targets, given hidden states `[T, width]` after the final norm; `all` asks for entropies and statistics too.
pub(crate) fn score(compute: &Compute, head: &Packed, hidden: &[f32], targets: &[Target], all: bool) -> Scored {
    let (count, width, vocab) = (targets.len(), head.k(), head.n());
    let mut scored = Scored {
        logprobs: vec![0.0; count],
        entropies: vec![0.0; if all { count } else { 0 }],
        statistics: vec![RowStatistics::default(); if all { count } else { 0 }],
    };
    // Whole tiles where the vocabulary allows it, and chunks for all threads.
    let share = count.div_ceil(2 * compute.threads()).next_multiple_of(12);
    let chunk = (CHUNK_LOGITS / vocab).min(share).clamp(12, 96);
    let logprobs_out = Shared::new(&mut scored.logprobs);
    let entropies_out = Shared::new(&mut scored.entropies);
    let statistics_out = Shared::new(&mut scored.statistics);
    compute.run(count.div_ceil(chunk), |task| {
        let first = task * chunk;
        let items = &targets[first..count.min(first + chunk)];
        LOGITS.with_borrow_mut(|buffer| {
            buffer.resize(items.len() * (vocab + width));
            let (logits, rows) = buffer.split_at_mut(items.len() * vocab);
            gather(hidden, width, items, rows);
            gemm_rows(compute.tier(), Left::rows(rows, width), 0, items.len(), head, logits);
            // SAFETY: chunks are disjoint.
            let logprobs = unsafe { logprobs_out.slice(first, items.len()) };
            for (at, (item, row)) in items.iter().zip(logits.chunks_exact(vocab)).enumerate() {
                let statistics = row_statistics(compute.tier(), row, item.temperature);
                logprobs[at] = row[item.token as usize] / item.temperature - statistics.log_normalizer();
                if all {
                    // SAFETY: chunks are disjoint.
                    let (entropy, kept) =
                        unsafe { (entropies_out.slice(first + at, 1), statistics_out.slice(first + at, 1)) };
                    entropy[0] = row_entropy(compute.tier(), row, item.temperature, statistics);
                    kept[0] = statistics;
                }
            }
        });
    });
    scored
}

/// Copies the hidden states that predict `items` into `rows`.
pub(crate) fn gather(hidden: &[f32], width: usize, items: &[Target], rows: &mut [f32]) {
    for (item, row) in items.iter().zip(rows.chunks_exact_mut(width)) {
        row.copy_from_slice(&hidden[item.row * width..][..width]);
    }
}
