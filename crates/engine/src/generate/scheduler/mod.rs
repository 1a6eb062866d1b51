//! Which requests compute how many tokens in the next step.
//!
//! Running requests go first: those that decode (one token each), then those whose prompt is still being computed, in chunks
//! that fit the step's token budget. The rest of the budget admits waiting requests by rank (priority, then arrival), as
//! long as there are blocks for all their tokens and one spare block for each `block_tokens` running requests. A decoding
//! request that needs a block when none is left takes those of the request with the last rank, which goes back to waiting
//! with its sampled tokens and is computed again later. Since a cache holds at least one longest request, the first rank always
//! makes progress.
//!
//! With the prefix cache, a request waits while another one computes the same prompt, and then takes over all of it but the last token, which is
//! always computed. The requests of a group come at once: their prompt is computed once, however short.
//!
//! This module does not know the model, the sampler or threads.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;

use super::blocks::{BlockCopy, BlockManager};
use super::sequence::Sequence;

/// Limits of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_num_seqs: usize,
    pub(super) max_batched_tokens: usize,
    pub(super) prefix_cache: bool,
}

/// A running request's share of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Index in the running requests.
    pub(super) index: usize,
    /// Tokens to compute, from the first that is not in the cache.
    pub(super) count: usize,
}

/// Counters that only grow.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Totals {
    pub(super) preemptions: u64,
    pub(super) prompt_tokens: u64,
    pub(super) prefix_queries: u64,
    pub(super) prefix_hits: u64,
}

/// Requests by state, and the blocks they hold.
#[derive(Debug)]
pub(super) struct Scheduler {
    limits: Limits,
    pub(super) manager: BlockManager,
    /// Sorted by rank.
    pub(super) running: Vec<Sequence>,
    waiting: BTreeMap<(i64, u64), Sequence>,
    /// Copies to make, in this order, before the planned step is computed.
    pub(super) copies: Vec<BlockCopy>,
    pub(super) totals: Totals,
}

impl Scheduler {
    pub(super) fn new(manager: BlockManager, limits: Limits) -> Self {
        Scheduler {
            limits,
            manager,
            running: Vec::new(),
            waiting: BTreeMap::new(),
            copies: Vec::new(),
            totals: Totals::default(),
        }
    }

    pub(super) fn enqueue(&mut self, sequence: Sequence) {
        self.waiting.insert(sequence.rank(), sequence);
    }

    /// Number of requests that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a request that arrived before `barrier` is still live.
    pub(super) fn has_before(&self, barrier: u64) -> bool {
        self.running.iter().any(|sequence| sequence.arrival < barrier)
            || self.waiting.keys().any(|(_, arrival)| *arrival < barrier)
    }

    /// Share of the blocks that are held.
    pub(super) fn usage(&self) -> f64 {
        let total = self.manager.total();
        (total - self.manager.available()) as f64 / total as f64
    }

    /// Plans the next step; requests that arrived at `barrier` or later are not admitted.
    pub(super) fn schedule(&mut self, barrier: u64, shares: &mut Vec<Share>) {
        shares.clear();
        self.copies.clear();
        let mut budget = self.limits.max_batched_tokens;
        let preempted = self.share_decodes(&mut budget, shares);
        for (index, sequence) in self.running.iter().enumerate() {
            let count = sequence.pending().min(budget);
            if sequence.pending() > 1 && count > 0 {
                shares.push(Share { index, count });
                budget -= count;
            }
        }
        if !preempted {
            self.admit(barrier, budget, shares);
        }
    }

    /// Gives every decoding request its token; returns whether a request had to be put back.
    fn share_decodes(&mut self, budget: &mut usize, shares: &mut Vec<Share>) -> bool {
        let mut preempted = false;
        let mut index = 0;
        while index < self.running.len() && *budget > 0 {
            if self.running[index].pending() == 1 {
                while index < self.running.len() && !self.running[index].grow(&mut self.manager) {
                    self.preempt_last();
                    preempted = true;
                }
                if index < self.running.len() {
                    shares.push(Share { index, count: 1 });
                    *budget -= 1;
                }
            }
            index += 1;
        }
        preempted
    }

    fn preempt_last(&mut self) {
        if let Some(mut sequence) = self.running.pop() {
            sequence.release(&mut self.manager);
            self.totals.preemptions += 1;
            self.enqueue(sequence);
        }
    }

    fn admit(&mut self, barrier: u64, mut budget: usize, shares: &mut Vec<Share>) {
        let mut admitted = Vec::new();
        let mut computing: HashSet<u64> = HashSet::new();
        if self.limits.prefix_cache && !self.waiting.is_empty() {
            let prompts = self.running.iter().filter(|sequence| sequence.computes_prompt());
            computing.extend(prompts.map(|sequence| sequence.prompt_hash));
        }
        let mut after = Bound::Unbounded;
        while budget > 0 && self.running.len() + admitted.len() < self.limits.max_num_seqs {
            let next = self
                .waiting
                .range((after, Bound::Unbounded))
                .find(|((_, arrival), sequence)| *arrival < barrier && !computing.contains(&sequence.prompt_hash))
                .map(|(rank, _)| *rank);
            let Some(rank) = next else { break };
            let Some(mut sequence) = self.waiting.remove(&rank) else {
                break;
            };
            after = Bound::Excluded(rank);
            let reserve = (self.running.len() + admitted.len()).div_ceil(self.manager.block_tokens());
            if !sequence.admit(&mut self.manager, self.limits.prefix_cache, reserve, &mut self.copies) {
                self.waiting.insert(rank, sequence);
                break;
            }
            self.count_admission(&mut sequence);
            if self.limits.prefix_cache && sequence.computes_prompt() {
                computing.insert(sequence.prompt_hash);
            }
            let count = sequence.pending().min(budget);
            budget -= count;
            admitted.push((sequence, count));
        }
        for (sequence, count) in admitted {
            let rank = sequence.rank();
            let index = self.running.partition_point(|other| other.rank() < rank);
            for share in shares.iter_mut().filter(|share| share.index >= index) {
                share.index += 1;
            }
            self.running.insert(index, sequence);
            shares.push(Share { index, count });
        }
    }

    fn count_admission(&mut self, sequence: &mut Sequence) {
        if self.limits.prefix_cache {
            self.totals.prefix_queries += sequence.tokens.len() as u64;
            self.totals.prefix_hits += sequence.computed as u64;
        }
        sequence.stages.admit();
        if sequence.cached_tokens.is_none() {
            self.totals.prompt_tokens += sequence.tokens.len() as u64;
            sequence.cached_tokens = Some(u32::try_from(sequence.computed).unwrap_or(u32::MAX));
        }
    }

    /// Notes that a share was computed.
    pub(super) fn advance(&mut self, share: Share) {
        self.running[share.index].advance(share.count, &mut self.manager, self.limits.prefix_cache);
    }

    /// Takes out the requests that `gone` says, running and waiting, and gives their blocks back. Sorted by rank.
    pub(super) fn remove(&mut self, mut gone: impl FnMut(&Sequence) -> bool) -> Vec<Sequence> {
        let mut out = self.remove_running(&mut gone);
        let ranks: Vec<_> = self
            .waiting
            .iter()
            .filter(|(_, sequence)| gone(sequence))
            .map(|(rank, _)| *rank)
            .collect();
        out.extend(ranks.iter().filter_map(|rank| self.waiting.remove(rank)));
        out
    }

    /// Takes out only running requests that `gone` says.
    pub(super) fn remove_running(&mut self, mut gone: impl FnMut(&Sequence) -> bool) -> Vec<Sequence> {
        let mut out: Vec<Sequence> = self.running.extract_if(.., |sequence| gone(sequence)).collect();
        for sequence in &mut out {
            sequence.release(&mut self.manager);
        }
        out
    }

    /// Forgets every known prefix after a change of the weights, and puts requests that have not sampled yet back in the queue: a
    /// completion whose tokens are all of one version then has all its keys and values from that version too.
    pub(super) fn weights_changed(&mut self) {
        self.forget_prefixes();
        let (sampled, unsampled): (Vec<_>, Vec<_>) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(|sequence| sequence.completion_len() > 0);
        self.running = sampled;
        for mut sequence in unsampled {
            sequence.release(&mut self.manager);
            self.enqueue(sequence);
        }
    }

    /// Forgets every known prefix, and puts every running request back in the queue: the cache is about to lose its contents.
    pub(super) fn give_cache_up(&mut self) {
        self.forget_prefixes();
        while !self.running.is_empty() {
            self.preempt_last();
        }
    }

    /// Forgets every known prefix.
    pub(super) fn forget_prefixes(&mut self) {
        self.manager.forget_all();
        self.running.iter_mut().for_each(|sequence| sequence.stop_sharing());
    }
}

#[cfg(test)]
mod tests;
