//! A compiled format, and the way of one completion through it.

use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use llguidance::api::StopReason;
use llguidance::toktrie::TokEnv;
use llguidance::{Matcher, ParserFactory};

use crate::error::GrammarError;
use crate::source::Checked;

/// A compiled format.
pub struct Grammar {
    /// Never moved from the beginning; completions copy it.
    beginning: Mutex<Matcher>,
    tokens: TokEnv,
}

impl Grammar {
    pub(crate) fn compile(factory: &ParserFactory, tokens: &TokEnv, source: Checked<'_>) -> Result<Self, GrammarError> {
        let grammar = source.grammar(&|name| tokens.tok_trie().get_special_token(name))?;
        let matcher = Matcher::new(factory.create_parser(grammar));
        if let Some(problem) = matcher.get_error() {
            return Err(classify(&problem));
        }
        let grammar = Grammar {
            beginning: Mutex::new(matcher),
            tokens: tokens.clone(),
        };
        let mut first = grammar.start(&[]);
        let can_be_empty = first.may_end();
        let allowed = first.matcher.compute_mask();
        if let Err(error) = allowed
            && !can_be_empty
        {
            let problem = error.to_string();
            return Err(if has_no_token(&problem) {
                GrammarError::Empty("no text that the model's tokens can write matches it".to_owned())
            } else {
                classify(&problem)
            });
        }
        Ok(grammar)
    }

    /// The way of a new completion. `endings` are the tokens that end it: those without a text can come where the text may end.
    pub fn start(&self, endings: &[u32]) -> Progress {
        let beginning = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        let trie = self.tokens.tok_trie();
        let without_text =
            |id: &u32| (*id as usize) < trie.vocab_size() && (trie.is_special_token(*id) || trie.token_len(*id) == 0);
        Progress {
            // Copies share nothing, so that no completion waits for another one, or comes to another end because of it.
            matcher: beginning.deep_clone(),
            read: 0,
            endings: endings.iter().copied().filter(without_text).collect(),
        }
    }
}

impl Debug for Grammar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grammar").finish_non_exhaustive()
    }
}

/// How far a completion has come.
pub struct Progress {
    matcher: Matcher,
    /// Tokens of the completion that the matcher knows.
    read: usize,
    endings: Vec<u32>,
}

impl Progress {
    /// Makes the logits of tokens that cannot follow `completion` minus infinity, and says whether any can follow. Each call has the completion
    /// of the call before, and more. It costs at most `step_lexer_fuel` and `step_max_items` of llguidance.
    ///
    /// # Errors
    /// Says why the format cannot be followed any more.
    pub fn restrict(&mut self, completion: &[u32], logits: &mut [f32]) -> Result<bool, String> {
        let new = completion.get(self.read..).unwrap_or_default();
        self.matcher.consume_tokens(new).map_err(|error| {
            format!(
                "the required format cannot be followed: {}",
                first_line(&error.to_string())
            )
        })?;
        self.read = completion.len();
        let ends = self.may_end();
        let allowed = if self.matcher.is_stopped() {
            None
        } else {
            match self.matcher.compute_mask() {
                Ok(allowed) => Some(allowed),
                Err(error) if ends && has_no_token(&error.to_string()) => None,
                Err(error) => return Err(dead_end(&self.matcher, &error.to_string())),
            }
        };
        let kept: Vec<(u32, f32)> = if ends { self.endings.as_slice() } else { &[] }
            .iter()
            .filter_map(|id| logits.get(*id as usize).map(|logit| (*id, *logit)))
            .collect();
        match &allowed {
            None => logits.fill(f32::NEG_INFINITY),
            Some(allowed) => {
                let known = allowed.len().min(logits.len());
                allowed.iter_unset_entries(|id| {
                    if let Some(logit) = logits.get_mut(id) {
                        *logit = f32::NEG_INFINITY;
                    }
                });
                logits[known..].fill(f32::NEG_INFINITY);
            }
        }
        let is_possible = allowed.is_some() || !kept.is_empty();
        for (id, logit) in kept {
            logits[id as usize] = logit;
        }
        Ok(is_possible)
    }

    /// Whether the text so far matches as a whole.
    fn may_end(&mut self) -> bool {
        match self.matcher.stop_reason() {
            StopReason::NotStopped => self.matcher.is_accepting().unwrap_or(false),
            StopReason::NoExtension => true,
            _ => false,
        }
    }
}

impl Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress")
            .field("read", &self.read)
            .finish_non_exhaustive()
    }
}

/// Whether a mask is missing because no token can follow. A matcher that has failed no longer knows why.
fn has_no_token(problem: &str) -> bool {
    first_line(problem) == "NoExtensionBias"
}

fn dead_end(matcher: &Matcher, problem: &str) -> String {
    if has_no_token(problem) {
        return "the required format cannot be followed: no token of the model continues the text".to_owned();
    }
    match matcher.stop_reason() {
        StopReason::LexerTooComplex | StopReason::ParserTooComplex => format!(
            "the required format is too complex to find the next token within the limits: {}",
            first_line(problem)
        ),
        _ => format!("the required format cannot be followed: {}", first_line(problem)),
    }
}

/// The compiler's message by its kind.
fn classify(problem: &str) -> GrammarError {
    let line = first_line(problem).to_owned();
    let lower = line.to_lowercase();
    if lower.contains("unsatisfiable") {
        return GrammarError::Empty(line);
    }
    let is_limit = ["too large", "too big", "too many", "too complex", "fuel", "limit"]
        .iter()
        .any(|word| lower.contains(word));
    if is_limit {
        GrammarError::TooLarge(line)
    } else {
        GrammarError::Invalid(line)
    }
}

/// Without the traces that llguidance adds.
fn first_line(problem: &str) -> &str {
    problem.split("\n<").next().unwrap_or(problem).trim()
}
