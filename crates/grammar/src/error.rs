//! The crate's one error type. Every variant maps to one code of the project's registry.

/// Why a format cannot be compiled. The message says what is wrong; [`GrammarError::code`] is stable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// It is malformed, or uses something that cannot be enforced.
    #[error("{0}")]
    Invalid(String),
    /// It is larger than the limits, or compiling it costs more.
    #[error("{0}")]
    TooLarge(String),
    /// No text matches it, or none that the tokens can write.
    #[error("{0}")]
    Empty(String),
    /// The tokenizer does not say which text its tokens have.
    #[error("{0}")]
    Tokenizer(String),
}

impl GrammarError {
    /// The codes that this crate raises.
    pub const CODES: &[&str] = &[
        "PRL_GRAMMAR_INVALID",
        "PRL_GRAMMAR_TOO_LARGE",
        "PRL_GRAMMAR_EMPTY",
        "PRL_TOKENIZER",
    ];

    /// The stable code of the error, a key of `ts/errors.ts`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "PRL_GRAMMAR_INVALID",
            Self::TooLarge(_) => "PRL_GRAMMAR_TOO_LARGE",
            Self::Empty(_) => "PRL_GRAMMAR_EMPTY",
            Self::Tokenizer(_) => "PRL_TOKENIZER",
        }
    }
}
