//! One request in flight: its tokens, how many of them are in the key-value cache, and when it ends.
//!
//! Invariants: `computed < tokens.len()`; `blocks` cover at least `computed` tokens; the sampled tokens with their
//! log-probabilities are never taken back, not even by a preemption, which gives up keys and values only.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::blocks::{BlockCopy, BlockManager, Predecessor, Salt};
use super::constraint::Constraint;
use super::controls::Occurrences;
use super::measures::Stages;
use super::ranking::Ranked;
use super::recording::Recording;
use super::request::{FinishReason, GenerateRequest};
use crate::config::ModelConfig;

/// A sampled token that has not been handed to the mailbox yet.
#[derive(Debug, Clone)]
pub(super) struct SampledToken {
    pub(super) id: u32,
    pub(super) logprob: f32,
    pub(super) ranked: Option<Ranked>,
    pub(super) version: u64,
}

/// How a completion ended, with the stop token to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Finish {
    pub(super) reason: FinishReason,
    pub(super) stop_token: Option<u32>,
}

/// A live request.
#[derive(Debug)]
pub(super) struct Sequence {
    /// Serial number of the request; also its key in the mailbox.
    pub(super) arrival: u64,
    pub(super) request: GenerateRequest,
    /// The prompt, then the completion so far.
    pub(super) tokens: Vec<u32>,
    /// Tokens whose keys and values are in the cache.
    pub(super) computed: usize,
    pub(super) blocks: Vec<u32>,
    /// How many leading blocks were made known to the prefix cache, or found there.
    known_blocks: usize,
    predecessor: Predecessor,
    /// Whether full blocks are made known to the prefix cache.
    shares: bool,
    /// Prompt tokens found in the prefix cache at the first admission.
    pub(super) cached_tokens: Option<u32>,
    /// Sampled tokens not handed over yet.
    pub(super) unsent: Vec<SampledToken>,
    pub(super) ending_tokens: Vec<u32>,
    pub(super) constraint: Option<Constraint>,
    /// Counts of the tokens so far; empty without penalties.
    pub(super) occurrences: Occurrences,
    pub(super) stages: Stages,
    /// Where the request wants to know the experts of its tokens.
    pub(super) recording: Option<Recording>,
    salt: Salt,
    /// Hash of prompt and salt; equal prompts have equal hashes.
    pub(super) prompt_hash: u64,
}

impl Sequence {
    pub(super) fn new(arrival: u64, mut request: GenerateRequest, config: &ModelConfig) -> Self {
        request.controls.prepare();
        let ending_tokens = request.ending_tokens(config);
        let salt = Salt {
            text: request.cache_salt.as_deref().map(Into::into),
            adapter: request.adapter.as_ref().map(|adapter| adapter.serial()),
        };
        let mut hasher = DefaultHasher::new();
        (&salt, &request.prompt_token_ids).hash(&mut hasher);
        Sequence {
            prompt_hash: hasher.finish(),
            arrival,
            tokens: request.prompt_token_ids.clone(),
            computed: 0,
            blocks: Vec::new(),
            known_blocks: 0,
            predecessor: Predecessor::Salt(salt.clone()),
            shares: true,
            cached_tokens: None,
            unsent: Vec::new(),
            ending_tokens,
            constraint: request.format.take().map(Constraint::new),
            occurrences: Occurrences::of_prompt(&request.controls, &request.prompt_token_ids),
            stages: Stages::begin(),
            recording: config
                .moe
                .as_ref()
                .zip(request.routed_experts_from)
                .map(|(moe, first)| Recording::new(first as usize, moe)),
            salt,
            request,
        }
    }

    /// The order in which requests run: priority, then arrival.
    pub(super) fn rank(&self) -> (i64, u64) {
        (self.request.priority, self.arrival)
    }

    /// Tokens sampled so far.
    pub(super) fn completion_len(&self) -> usize {
        self.tokens.len() - self.request.prompt_token_ids.len()
    }

    /// The tokens sampled so far.
    pub(super) fn completion(&self) -> &[u32] {
        &self.tokens[self.request.prompt_token_ids.len()..]
    }

    /// Tokens that a step still has to compute before the next one can be sampled.
    pub(super) fn pending(&self) -> usize {
        self.tokens.len() - self.computed
    }

    /// Whether the next step computes more of the prompt than its last token: others with the same prompt can take that over afterwards.
    pub(super) fn computes_prompt(&self) -> bool {
        self.completion_len() == 0 && self.pending() > 1
    }

    /// Ids that cannot be sampled now.
    pub(super) fn banned(&self) -> &[u32] {
        if self.completion_len() < self.request.min_tokens as usize {
            &self.ending_tokens
        } else {
            &[]
        }
    }

    /// Takes blocks for all tokens so far, known prefixes first. Gives everything back and returns false when fewer than `reserve` blocks
    /// would be left over. When the last block can be copied from a known one, the copy is added to `copies`.
    pub(super) fn admit(
        &mut self,
        manager: &mut BlockManager,
        prefix_cache: bool,
        reserve: usize,
        copies: &mut Vec<BlockCopy>,
    ) -> bool {
        debug_assert!(self.blocks.is_empty() && self.computed == 0);
        let root = Predecessor::Salt(self.salt.clone());
        // The last token is always computed: its row gives the next token's logits.
        let limit = if prefix_cache {
            (self.tokens.len() - 1) / manager.block_tokens()
        } else {
            0
        };
        let (held, predecessor) = manager.hold_prefix(root, &self.tokens, limit);
        let missing = manager.blocks_for(self.tokens.len()) - held.len();
        if manager.available() < missing + reserve {
            manager.release(&held);
            return false;
        }
        let full = held.len();
        let rest = &self.tokens[full * manager.block_tokens()..];
        let end = if prefix_cache && full == limit && rest.len() > 1 {
            manager.find_end(&predecessor, rest)
        } else {
            None
        };
        self.known_blocks = full;
        self.predecessor = predecessor;
        self.shares = true;
        self.blocks = held;
        for _ in 0..missing {
            self.blocks.extend(manager.allocate());
        }
        self.computed = full * manager.block_tokens();
        if let Some(from) = end {
            self.computed = self.tokens.len() - 1;
            copies.push(BlockCopy {
                from,
                to: self.blocks[full],
            });
        }
        true
    }

    /// Makes sure that there is a block for every token; returns false when one is missing and none is available.
    pub(super) fn grow(&mut self, manager: &mut BlockManager) -> bool {
        while self.blocks.len() < manager.blocks_for(self.tokens.len()) {
            match manager.allocate() {
                Some(block) => self.blocks.push(block),
                None => return false,
            }
        }
        true
    }

    /// Records that `count` more tokens are in the cache, and makes the blocks known that became full.
    pub(super) fn advance(&mut self, count: usize, manager: &mut BlockManager, prefix_cache: bool) {
        self.computed += count;
        if !prefix_cache || !self.shares {
            return;
        }
        let size = manager.block_tokens();
        while (self.known_blocks + 1) * size <= self.computed {
            let at = self.known_blocks;
            let tokens = &self.tokens[at * size..(at + 1) * size];
            let before = std::mem::replace(&mut self.predecessor, Predecessor::Salt(Salt::default()));
            self.predecessor = manager.make_known(self.blocks[at], before, tokens);
            self.known_blocks += 1;
        }
        let prompt = self.request.prompt_token_ids.len();
        if self.computed == prompt && !prompt.is_multiple_of(size) {
            let at = self.known_blocks;
            manager.make_prompt_end_known(
                self.blocks[at],
                self.predecessor.clone(),
                &self.tokens[at * size..prompt],
            );
        }
    }

    /// Called when the prefix cache was emptied or the weights changed: until this request is admitted again, none of its blocks is made
    /// known, because they may mix weights and their predecessors cannot be found.
    pub(super) fn stop_sharing(&mut self) {
        self.shares = false;
    }

    /// Gives back all blocks; the tokens stay.
    pub(super) fn release(&mut self, manager: &mut BlockManager) {
        manager.release(&std::mem::take(&mut self.blocks));
        self.computed = 0;
        self.known_blocks = 0;
        if self.completion_len() == 0
            && let Some(recording) = &mut self.recording
        {
            recording.restart();
        }
    }

    /// Appends a sampled token and says whether it ends the completion.
    pub(super) fn push(&mut self, token: SampledToken, config: &ModelConfig, max_model_len: usize) -> Option<Finish> {
        let id = token.id;
        self.stages.sample();
        self.tokens.push(id);
        self.unsent.push(token);
        if self.request.controls.has_penalties() {
            self.occurrences.add(id);
        }
        if self.ending_tokens.binary_search(&id).is_ok() {
            let is_eos = !self.request.ignore_eos && config.eos_token_ids.contains(&id);
            return Some(Finish {
                reason: FinishReason::Stop,
                stop_token: (!is_eos).then_some(id),
            });
        }
        let full = self.completion_len() >= self.request.max_tokens as usize || self.tokens.len() >= max_model_len;
        full.then_some(Finish {
            reason: FinishReason::Length,
            stop_token: None,
        })
    }
}
