//! The computation of a step: the model over the shares of the running requests, then one token for each complete request.
//!
//! This module does not know commands, the scheduler's decisions or versions.

use std::sync::{Mutex, PoisonError};

use super::sampler::{self, Changes, Draw, Drawn, Formatted, Rows, Undrawable};
use super::scheduler::Share;
use super::sequence::Sequence;
use crate::compute::Compute;
use crate::error::EngineError;
use crate::model::{CachedSequence, KvCache, Model};

/// Rows whose tokens are drawn by one task of the pool.
const ROWS_PER_TASK: usize = 4;

/// The result of a share.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// Part of the prompt is still to be computed.
    Incomplete,
    /// A token was drawn.
    Token(Drawn),
    /// The completion is whole, and nothing can follow.
    Ended,
    /// None can be drawn.
    Failed(Undrawable),
}

/// Computes the shares of `running` and draws a token for each whose sequence is complete: one entry per share.
pub(super) fn compute_step(
    model: &Model,
    compute: &Compute,
    kv: &mut KvCache,
    running: &[Sequence],
    shares: &[Share],
) -> Result<Vec<Outcome>, EngineError> {
    let sequences: Vec<CachedSequence<'_>> = shares
        .iter()
        .map(|share| {
            let sequence = &running[share.index];
            CachedSequence {
                token_ids: &sequence.tokens[sequence.computed..sequence.computed + share.count],
                start: sequence.computed,
                blocks: &sequence.blocks,
                adapter: sequence.request.adapter.as_deref(),
            }
        })
        .collect();
    let hidden = model.forward_cached(compute, &sequences, kv)?;
    let width = model.config().hidden_size;
    let mut last_rows = Vec::with_capacity(hidden.len().min(shares.len() * width));
    let mut outcomes = vec![Outcome::Incomplete; shares.len()];
    let mut sampling = Vec::with_capacity(shares.len());
    let mut end = 0;
    for (at, share) in shares.iter().enumerate() {
        end += share.count;
        if running[share.index].pending() == share.count {
            last_rows.extend_from_slice(&hidden[(end - 1) * width..end * width]);
            sampling.push((at, &running[share.index]));
        }
    }
    if !sampling.is_empty() {
        let logits = model.head_logits(compute, &last_rows);
        let drawn = draw_rows(compute, &logits, model.config().vocab_size, &sampling);
        for ((at, _), token) in sampling.iter().zip(drawn) {
            outcomes[*at] = match token {
                Ok(drawn) => Outcome::Token(drawn),
                Err(Undrawable::Ended) => Outcome::Ended,
                Err(why) => Outcome::Failed(why),
            };
        }
    }
    Ok(outcomes)
}

/// Draws one token per row of `logits` ([rows, vocab]) on the pool.
fn draw_rows(
    compute: &Compute,
    logits: &[f32],
    vocab: usize,
    rows: &[(usize, &Sequence)],
) -> Vec<Result<Drawn, Undrawable>> {
    let mut drawn = vec![Err(Undrawable::NotFinite); rows.len()];
    let tasks: Vec<_> = drawn.chunks_mut(ROWS_PER_TASK).map(Mutex::new).collect();
    compute.run(tasks.len(), |task| {
        let mut results = tasks[task].lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = Rows::default();
        for (offset, result) in results.iter_mut().enumerate() {
            let row = task * ROWS_PER_TASK + offset;
            let how = draw_of(rows[row].1);
            *result = sampler::draw(compute, &logits[row * vocab..(row + 1) * vocab], &how, &mut scratch);
        }
    });
    drop(tasks);
    drawn
}

/// How the next token of a sequence is drawn.
fn draw_of(sequence: &Sequence) -> Draw<'_> {
    let request = &sequence.request;
    Draw {
        temperature: request.temperature,
        top_p: request.top_p,
        top_k: usize::try_from(request.top_k).ok().filter(|k| *k > 0),
        min_p: request.min_p,
        banned: sequence.banned(),
        changes: (!request.controls.is_off()).then(|| Changes {
            controls: &request.controls,
            completion: sequence.completion(),
            occurrences: &sequence.occurrences,
        }),
        format: sequence.constraint.as_ref().map(|constraint| Formatted {
            constraint,
            endings: &sequence.ending_tokens,
            completion: sequence.completion(),
        }),
        top_logprobs: request.top_logprobs,
        seed: request.seed,
        position: sequence.completion_len() as u64,
    }
}
