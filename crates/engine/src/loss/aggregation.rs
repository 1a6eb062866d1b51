//! How the terms of tokens become one number.
//!
//! | name | sum of the terms divided by | who |
//! |---|---|---|
//! | `token-mean` | tokens of the policy stream: the caller's count, or these inputs' own | prime-rl (all ranks), TRL `bnpo` (a micro-batch), verl |
//! | `token-mean/global` | `global_tokens`, or as `token-mean` | DAPO (arXiv:2503.14476), TRL `dapo` |
//! | `sequence-mean-token-mean/all` | each sequence's tokens, then all sequences | GRPO (arXiv:2402.03300), TRL `grpo` |
//! | `sequence-mean-token-mean/nonempty` | each sequence's tokens, then the sequences that have some | verl |
//! | `sum/(B*L)` | sequences times `max_completion_length` | Dr. GRPO (arXiv:2503.20783), TRL `dr_grpo` |
//! | `sum` | 1 | Tinker |
//!
//! The number of sequences comes from the caller (over all ranks, or over all bins of a trainer) or from these inputs. It counts sequences
//! that train: padding is a sequence of the columns but not of the batch.

/// The rule of one loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Aggregation {
    TokenMean,
    TokenMeanGlobal(Option<f64>),
    SequenceMean { nonempty: bool },
    SumOverLength(f64),
    Sum,
}

/// Counts that divide, over everything that makes one step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    /// Tokens of the policy stream.
    pub(super) tokens: f64,
    /// Sequences.
    pub(super) sequences: f64,
    /// Sequences with at least one token of the policy stream.
    pub(super) nonempty: f64,
}

impl Aggregation {
    /// The divisor of the terms of a sequence with `members` tokens; at least 1 for counts, so that nothing divides by zero.
    pub(super) fn divisor(self, members: usize, scope: Scope) -> f64 {
        match self {
            Self::TokenMean => scope.tokens.max(1.0),
            Self::TokenMeanGlobal(tokens) => tokens.unwrap_or(scope.tokens).max(1.0),
            Self::SequenceMean { nonempty } => {
                let sequences = if nonempty { scope.nonempty } else { scope.sequences };
                members.max(1) as f64 * sequences.max(1.0)
            }
            Self::SumOverLength(length) => scope.sequences.max(1.0) * length,
            Self::Sum => 1.0,
        }
    }
}
