//! The report of a forward and backward pass, combined exactly over bins.

use std::collections::BTreeMap;

use super::batch::{Bin, TrainBatch};
use crate::loss::{LossOutput, MeanSum, mean_metrics, merge_metrics, mismatch_kl};

/// Loss and metrics of one [`crate::Trainer::forward_backward`].
#[derive(Debug, Clone, PartialEq)]
pub struct StepStats {
    /// Sum of the bins' losses.
    pub loss: f64,
    /// Means over the tokens of all bins, under prime-rl's names (`loss`, `entropy/all`, `mismatch_kl/all`, `is_masked`, ...; those without
    /// a member are left out). `tokens` counts the tokens that train. `mismatch_on_policy/{tokens,max_abs_logprob_diff,kl}` are over the mask
    /// tokens of sequences that the version being trained sampled as a whole, except tokens of the cross-entropy stream alone. A batch with
    /// `env_ids` has `entropy/<id>` and `mismatch_kl/<id>` of each environment too. `router_aux_loss` is the loss that balances the experts
    /// without its factor, where that is not 0; it is no part of `loss`.
    pub metrics: Vec<(String, f64)>,
}

#[derive(Default)]
pub(crate) struct Statistics {
    loss: f64,
    sums: Vec<(String, f64)>,
    entropy: MeanSum,
    on_policy: Option<OnPolicy>,
    environments: BTreeMap<u16, Environment>,
    balance: Option<f64>,
}

#[derive(Default, Clone, Copy)]
struct Environment {
    entropy: MeanSum,
    mismatch_kl: MeanSum,
}

#[derive(Default, Clone, Copy)]
struct OnPolicy {
    kl: MeanSum,
    max_abs_diff: f64,
}

/// The numbers that the head computed for a bin.
#[derive(Clone, Copy)]
pub(crate) struct Scores<'a> {
    /// One for each token.
    pub(crate) logprobs: &'a [f32],
    /// One for each target.
    pub(crate) entropies: &'a [f32],
}

impl Statistics {
    /// Adds a bin.
    pub(crate) fn add(&mut self, batch: &TrainBatch<'_>, bin: &Bin, scores: Scores<'_>, loss: &LossOutput<f32>) {
        let Scores { logprobs, entropies } = scores;
        self.loss += f64::from(loss.loss);
        merge_metrics(&mut self.sums, &loss.metrics);
        for &entropy in entropies {
            self.entropy.add(f64::from(entropy));
        }
        self.add_environments(batch, bin, logprobs, entropies);
        let Some(version) = batch.on_policy_version else { return };
        let on_policy = self.on_policy.get_or_insert_default();
        for sequence in bin.sequences.clone() {
            let range = batch.cu_seqlens[sequence] as usize..batch.cu_seqlens[sequence + 1] as usize;
            if !batch.sampled_wholly_by(range.clone(), version) {
                continue;
            }
            for token in range.filter(|&token| batch.is_compared(token)) {
                let (logprob, inference) = compared(batch, bin, logprobs, token);
                on_policy.kl.add(mismatch_kl(logprob, inference));
                let diff = (logprob - inference).abs();
                // A NaN counts as the largest difference.
                if diff.is_nan() || diff > on_policy.max_abs_diff {
                    on_policy.max_abs_diff = diff;
                }
            }
        }
    }

    /// Adds a bin's share of the loss that balances the experts.
    pub(crate) fn add_balance(&mut self, loss: f64) {
        *self.balance.get_or_insert(0.0) += loss;
    }

    fn add_environments(&mut self, batch: &TrainBatch<'_>, bin: &Bin, logprobs: &[f32], entropies: &[f32]) {
        let Some(env_ids) = batch.env_ids else { return };
        let mut targets = bin.targets.iter().zip(entropies).peekable();
        for sequence in bin.sequences.clone() {
            let end = batch.cu_seqlens[sequence + 1] as usize;
            let environment = self.environments.entry(env_ids[sequence]).or_default();
            while let Some((_, &entropy)) = targets.next_if(|(target, _)| bin.tokens.start + target.token_at < end) {
                environment.entropy.add(f64::from(entropy));
            }
            let range = batch.cu_seqlens[sequence] as usize..end;
            for token in range.filter(|&token| batch.is_compared(token)) {
                let (logprob, inference) = compared(batch, bin, logprobs, token);
                environment.mismatch_kl.add(mismatch_kl(logprob, inference));
            }
        }
    }

    pub(crate) fn finish(self) -> StepStats {
        let mut metrics = vec![
            ("loss".to_owned(), self.loss),
            ("tokens".to_owned(), self.entropy.count),
        ];
        self.entropy_mean(&mut metrics);
        for (name, value) in mean_metrics(&self.sums) {
            let name = if name == "mismatch_kl" {
                "mismatch_kl/all".to_owned()
            } else {
                name
            };
            metrics.push((name, value));
        }
        for (id, Environment { entropy, mismatch_kl }) in &self.environments {
            for (name, mean) in [("entropy", entropy), ("mismatch_kl", mismatch_kl)] {
                if mean.count > 0.0 {
                    metrics.push((format!("{name}/{id}"), mean.sum / mean.count));
                }
            }
        }
        if let Some(OnPolicy { kl, max_abs_diff }) = self.on_policy {
            metrics.push(("mismatch_on_policy/tokens".to_owned(), kl.count));
            if kl.count > 0.0 {
                metrics.push(("mismatch_on_policy/max_abs_logprob_diff".to_owned(), max_abs_diff));
                metrics.push(("mismatch_on_policy/kl".to_owned(), kl.sum / kl.count));
            }
        }
        if let Some(loss) = self.balance {
            metrics.push(("router_aux_loss".to_owned(), loss));
        }
        StepStats {
            loss: self.loss,
            metrics,
        }
    }

    fn entropy_mean(&self, metrics: &mut Vec<(String, f64)>) {
        if self.entropy.count > 0.0 {
            metrics.push(("entropy/all".to_owned(), self.entropy.sum / self.entropy.count));
        }
    }
}

/// The log-probabilities of a sampled token under the trainer and under its sampler.
fn compared(batch: &TrainBatch<'_>, bin: &Bin, logprobs: &[f32], token: usize) -> (f64, f64) {
    let (logprob, inference) = (logprobs[token - bin.tokens.start], batch.inference_logprobs[token]);
    (f64::from(logprob), f64::from(inference))
}
