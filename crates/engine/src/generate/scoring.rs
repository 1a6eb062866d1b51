//! Log-probabilities of given tokens with their ranks and the most probable tokens: the numbers of [`Model::logprobs`], and where they stand.

use std::sync::{Mutex, PoisonError};

use super::ranking::{MAX_TOP_LOGPROBS, Ranked, rank_row};
use crate::compute::Compute;
use crate::error::EngineError;
use crate::head::{self, Target};
use crate::model::Model;

/// Rows whose logits are held at a time.
const ROWS_AT_ONCE: usize = 64;
/// Rows that one task of the pool ranks.
const ROWS_PER_TASK: usize = 4;

/// The scores of packed tokens, one entry for each. The first token of a segment has log-probability 0, rank 0 and no others.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedScores {
    /// The same bits as [`Model::logprobs`].
    pub logprobs: Vec<f32>,
    /// Rank and most probable tokens in place of each token.
    pub ranked: Vec<Ranked>,
}

/// The tokens that are scored: see [`Model::logprobs`].
#[derive(Debug, Clone)]
pub struct Scoring {
    /// Packed tokens.
    pub input_ids: Vec<u32>,
    /// Where segments begin, and the end of the last.
    pub cu_seqlens: Vec<u32>,
    /// One for all tokens, or one for each.
    pub temperatures: Vec<f32>,
}

/// Scores with the `top` most probable tokens of each place.
pub(super) fn score_ranked(
    model: &Model,
    compute: &Compute,
    scoring: &Scoring,
    top: u32,
) -> Result<RankedScores, EngineError> {
    let Scoring {
        input_ids,
        cu_seqlens,
        temperatures,
    } = scoring;
    let vocab = model.config().vocab_size;
    if top > MAX_TOP_LOGPROBS || top as usize > vocab {
        return Err(EngineError::Input(format!(
            "{top} most probable tokens: at most {} are possible",
            vocab.min(MAX_TOP_LOGPROBS as usize)
        )));
    }
    head::check_temperatures(temperatures, input_ids.len())?;
    let hidden = model.forward_packed(compute, input_ids, cu_seqlens)?;
    let width = model.config().hidden_size;
    let unscored = Ranked {
        rank: 0,
        top: Vec::new(),
    };
    let mut scores = RankedScores {
        logprobs: vec![0.0; input_ids.len()],
        ranked: vec![unscored; input_ids.len()],
    };
    let targets = head::all_targets(input_ids, cu_seqlens, temperatures);
    let mut rows = Vec::new();
    for targets in targets.chunks(ROWS_AT_ONCE) {
        rows.resize(targets.len() * width, 0.0);
        head::gather(&hidden, width, targets, &mut rows);
        let logits = model.head_logits(compute, &rows);
        for (target, (logprob, ranked)) in targets.iter().zip(rank_rows(compute, &logits, targets, top)) {
            scores.logprobs[target.token_at] = logprob;
            scores.ranked[target.token_at] = ranked;
        }
    }
    Ok(scores)
}

/// One entry for each target, whose row of `logits` has the same place.
fn rank_rows(compute: &Compute, logits: &[f32], targets: &[Target], top: u32) -> Vec<(f32, Ranked)> {
    let vocab = logits.len() / targets.len();
    let mut ranked: Vec<Option<(f32, Ranked)>> = vec![None; targets.len()];
    let tasks: Vec<_> = ranked.chunks_mut(ROWS_PER_TASK).map(Mutex::new).collect();
    compute.run(tasks.len(), |task| {
        let mut results = tasks[task].lock().unwrap_or_else(PoisonError::into_inner);
        for (offset, result) in results.iter_mut().enumerate() {
            let row = task * ROWS_PER_TASK + offset;
            let logits = &logits[row * vocab..(row + 1) * vocab];
            let Target { temperature, token, .. } = targets[row];
            *result = Some(rank_row(compute, logits, temperature, token, top as usize));
        }
    });
    drop(tasks);
    ranked.into_iter().flatten().collect()
}
