//! One bin after the other: forward, loss, backward.
//!
//! The loss is a function between the two passes: it sees the log-probabilities of one bin, whose activations wait for the gradient.
//! This module knows no loss by name.

use super::batch::Bin;
use super::statistics::{Scores, Statistics};
use super::{StepStats, TrainBatch, Trainer};
use crate::error::EngineError;
use crate::head;
use crate::loss::{Counts, LossFunction, LossInputs, LossOutput};

impl Trainer {
    pub(super) fn run_bins(
        &mut self,
        batch: &TrainBatch<'_>,
        loss: &mut LossFunction<'_>,
    ) -> Result<StepStats, EngineError> {
        let bins = batch.bins(self.config())?;
        let mut statistics = Statistics::default();
        let sequences = batch.counts.sequences.or_else(|| Some(batch.sequences_that_train()));
        let counts = Counts {
            sequences,
            ..batch.counts
        };
        let mut loss = |inputs: &LossInputs<'_, f32>| loss(inputs, counts);
        let rows: usize = bins.iter().map(|bin| bin.rows.len()).sum();
        for bin in &bins {
            let share = bin.rows.len() as f64 / rows.max(1) as f64;
            self.run_bin((batch, bin, share), &mut loss, &mut statistics)?;
        }
        Ok(statistics.finish())
    }

    fn run_bin(
        &mut self,
        (batch, bin, share): (&TrainBatch<'_>, &Bin, f64),
        loss: &mut impl FnMut(&LossInputs<'_, f32>) -> Result<LossOutput<f32>, EngineError>,
        statistics: &mut Statistics,
    ) -> Result<(), EngineError> {
        let trains = !bin.targets.is_empty();
        let kept = if trains { self.forward(bin) } else { 0 };
        let head = &self.model.weights.head;
        let scored = head::score(&self.compute, head, &self.buffers.hidden, &bin.targets, true);
        let mut logprobs = vec![0f32; bin.tokens.len()];
        for (target, logprob) in bin.targets.iter().zip(&scored.logprobs) {
            logprobs[target.token_at] = *logprob;
        }

        let tokens = bin.tokens.clone();
        let first = batch.cu_seqlens[bin.sequences.start];
        let cu_seqlens: Vec<u32> = batch.cu_seqlens[bin.sequences.start..=bin.sequences.end]
            .iter()
            .map(|at| at - first)
            .collect();
        let column = |values: Option<&'_ [f32]>| values.map(|values| values[tokens.clone()].to_vec());
        let columns = [
            batch.reference_logprobs,
            batch.rl_weights,
            batch.ce_weights,
            batch.ref_kl_weights,
        ]
        .map(column);
        let [reference, rl, ce, ref_kl] = &columns;
        let inputs = LossInputs {
            logprobs: &logprobs,
            inference_logprobs: &batch.inference_logprobs[tokens.clone()],
            old_logprobs: None,
            reference_logprobs: reference.as_deref(),
            advantages: &batch.advantages[tokens.clone()],
            mask: &batch.loss_mask[tokens.clone()],
            cu_seqlens: &cu_seqlens,
            rl_weights: rl.as_deref(),
            ce_weights: ce.as_deref(),
            ref_kl_weights: ref_kl.as_deref(),
        };
        let loss = loss(&inputs)?;
        let gradients = gradient_of_targets(&loss, bin)?;
        let scores = Scores {
            logprobs: &logprobs,
            entropies: &scored.entropies,
        };
        statistics.add(batch, bin, scores, &loss);
        if !loss.loss.is_finite() || gradients.iter().any(|gradient| !gradient.is_finite()) {
            return Err(EngineError::NonFinite(format!(
                "the loss of tokens {}..{} is {}{}: the parameters were left as they were",
                tokens.start,
                tokens.end,
                loss.loss,
                if loss.loss.is_finite() {
                    ", its gradient is not finite"
                } else {
                    ""
                },
            )));
        }
        if trains && self.options.router.aux_loss_coef > 0.0 {
            statistics.add_balance(self.buffers.balance.loss() * share);
        }
        if trains {
            self.backward(bin, (&scored.statistics, &gradients), kept, share);
        }
        Ok(())
    }
}

/// The gradient of each token that trains. The log-probabilities of other tokens are not computed, so their gradient must be 0.
fn gradient_of_targets(loss: &LossOutput<f32>, bin: &Bin) -> Result<Vec<f32>, EngineError> {
    let gradient = &loss.grad_logprobs;
    if gradient.len() != bin.tokens.len() {
        return Err(EngineError::LossInput(format!(
            "the loss returned a gradient of {} entries for {} tokens",
            gradient.len(),
            bin.tokens.len()
        )));
    }
    let mut targets = bin.targets.iter().map(|target| target.token_at).peekable();
    for (token, value) in gradient.iter().enumerate() {
        if targets.next_if_eq(&token).is_none() && *value != 0.0 {
            return Err(EngineError::LossInput(format!(
                "the loss returned the gradient {value} for token {}, which does not train",
                bin.tokens.start + token
            )));
        }
    }
    Ok(bin.targets.iter().map(|target| gradient[target.token_at]).collect())
}
