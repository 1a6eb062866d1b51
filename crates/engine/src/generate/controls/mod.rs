//! The changes that a request makes to logits before a token is drawn: allowed tokens, bad words, biases and penalties.
//!
//! Order and formulas are vLLM's: tokens that are not allowed and those that would complete a bad word get minus infinity, then biases are
//! added, then the penalties of repetition, frequency and presence apply, in this order. Repetition looks at prompt and completion, the
//! other two at the completion alone. Greedy requests are changed in the same way.

use std::collections::BTreeMap;

/// Most entries of `logit_bias`.
pub const MAX_LOGIT_BIASES: usize = 1024;
/// Most token sequences in `bad_words`, and most of their tokens together (vLLM's limits).
pub const MAX_BAD_WORDS: usize = 128;
/// See [`MAX_BAD_WORDS`].
pub const MAX_BAD_WORD_TOKENS: usize = 1024;

/// Changes of the logits of one request. The default changes nothing and costs nothing. With any of them the log-probabilities are of
/// the changed distribution, which the trainer does not compute.
#[derive(Debug, Clone, PartialEq)]
pub struct LogitControls {
    /// The only tokens that can be sampled; None allows all.
    pub allowed_token_ids: Option<Vec<u32>>,
    /// Token sequences of which the last token is not sampled where the tokens before it are the end of the completion.
    pub bad_words: Vec<Vec<u32>>,
    /// Numbers to add to the logits of tokens, one entry for each token.
    pub logit_bias: Vec<(u32, f32)>,
    /// Divides positive and multiplies negative logits of tokens in prompt or completion; above 0, 1 is off.
    pub repetition_penalty: f32,
    /// Taken off a token's logit for each time it is in the completion; -2 to 2, 0 is off.
    pub frequency_penalty: f32,
    /// Taken off the logits of tokens in the completion; -2 to 2, 0 is off.
    pub presence_penalty: f32,
}

impl Default for LogitControls {
    fn default() -> Self {
        LogitControls {
            allowed_token_ids: None,
            bad_words: Vec::new(),
            logit_bias: Vec::new(),
            repetition_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
        }
    }
}

/// How often each token is in the completion, 0 for those that are only in the prompt. It follows from a request's tokens, so it is the
/// same whatever else ran and however often the request was put back.
#[derive(Debug, Clone, Default)]
pub(super) struct Occurrences(BTreeMap<u32, u32>);

impl Occurrences {
    /// Counts the tokens of a prompt; empty when `controls` has no penalty that needs it.
    pub(super) fn of_prompt(controls: &LogitControls, prompt: &[u32]) -> Self {
        let counted: &[u32] = if controls.repetition_penalty == 1.0 {
            &[]
        } else {
            prompt
        };
        Occurrences(counted.iter().map(|id| (*id, 0)).collect())
    }

    /// Counts a sampled token.
    pub(super) fn add(&mut self, id: u32) {
        *self.0.entry(id).or_insert(0) += 1;
    }
}

impl LogitControls {
    /// Whether nothing is changed.
    pub(super) fn is_off(&self) -> bool {
        self.allowed_token_ids.is_none()
            && self.bad_words.is_empty()
            && self.logit_bias.is_empty()
            && !self.has_penalties()
    }

    /// Whether the occurrences of tokens matter.
    pub(super) fn has_penalties(&self) -> bool {
        self.repetition_penalty != 1.0 || self.frequency_penalty != 0.0 || self.presence_penalty != 0.0
    }

    /// Sorts what `apply` needs sorted.
    pub(super) fn prepare(&mut self) {
        if let Some(allowed) = &mut self.allowed_token_ids {
            allowed.sort_unstable();
            allowed.dedup();
        }
    }

    /// Says what is wrong for a vocabulary of `vocab` tokens; None when nothing is.
    pub(super) fn reject(&self, vocab: usize) -> Option<String> {
        let outside = |id: &&u32| **id as usize >= vocab;
        if let Some(allowed) = &self.allowed_token_ids {
            if allowed.is_empty() {
                return Some("allowed_token_ids is empty; leave it out to allow every token".to_owned());
            }
            if let Some(id) = allowed.iter().find(outside) {
                return Some(format!("allowed_token_ids has {id}, outside the vocabulary of {vocab}"));
            }
        }
        if self.logit_bias.len() > MAX_LOGIT_BIASES {
            return Some(format!(
                "logit_bias has {} entries; at most {MAX_LOGIT_BIASES} are possible",
                self.logit_bias.len()
            ));
        }
        for (id, bias) in &self.logit_bias {
            if *id as usize >= vocab {
                return Some(format!("logit_bias has {id}, outside the vocabulary of {vocab}"));
            }
            if !bias.is_finite() {
                return Some(format!("logit_bias of {id} is {bias}; it must be finite"));
            }
        }
        self.reject_bad_words(vocab).or_else(|| self.reject_penalties())
    }

    fn reject_bad_words(&self, vocab: usize) -> Option<String> {
        let tokens: usize = self.bad_words.iter().map(Vec::len).sum();
        if self.bad_words.len() > MAX_BAD_WORDS || tokens > MAX_BAD_WORD_TOKENS {
            return Some(format!(
                "bad_words has {} token sequences with {tokens} tokens; at most {MAX_BAD_WORDS} with {MAX_BAD_WORD_TOKENS} are possible",
                self.bad_words.len()
            ));
        }
        if self.bad_words.iter().any(Vec::is_empty) {
            return Some("bad_words has a word without tokens".to_owned());
        }
        self.bad_words
            .iter()
            .flatten()
            .find(|id| **id as usize >= vocab)
            .map(|id| format!("bad_words has the token {id}, outside the vocabulary of {vocab}"))
    }

    fn reject_penalties(&self) -> Option<String> {
        if !(self.repetition_penalty.is_finite() && self.repetition_penalty > 0.0) {
            return Some(format!(
                "repetition_penalty is {}; it must be above 0 and finite",
                self.repetition_penalty
            ));
        }
        [
            ("frequency_penalty", self.frequency_penalty),
            ("presence_penalty", self.presence_penalty),
        ]
        .into_iter()
        .find(|(_, penalty)| !(-2.0..=2.0).contains(penalty))
        .map(|(name, penalty)| format!("{name} is {penalty}; it must be from -2 to 2"))
    }

    /// Changes the logits of the token after `completion`.
    pub(super) fn apply(&self, logits: &mut [f32], completion: &[u32], occurrences: &Occurrences) {
        if let Some(allowed) = &self.allowed_token_ids {
            let mut next = 0;
            for &id in allowed {
                logits[next..id as usize].fill(f32::NEG_INFINITY);
                next = id as usize + 1;
            }
            logits[next..].fill(f32::NEG_INFINITY);
        }
        for word in &self.bad_words {
            if let Some((last, before)) = word.split_last()
                && completion.ends_with(before)
            {
                logits[*last as usize] = f32::NEG_INFINITY;
            }
        }
        for (id, bias) in &self.logit_bias {
            logits[*id as usize] += bias;
        }
        if self.has_penalties() {
            self.penalise(logits, occurrences);
        }
    }

    fn penalise(&self, logits: &mut [f32], occurrences: &Occurrences) {
        for (&id, &count) in &occurrences.0 {
            let logit = &mut logits[id as usize];
            *logit *= if *logit > 0.0 {
                1.0 / self.repetition_penalty
            } else {
                self.repetition_penalty
            };
            if count > 0 {
                *logit -= self.frequency_penalty * count as f32;
                *logit -= self.presence_penalty;
            }
        }
    }
}

#[cfg(test)]
mod tests;
