//! Formats of texts as masks over tokens: JSON Schema, regular expressions, choices, grammars and structural tags, compiled by
//! llguidance.
//!
//! [`Vocabulary`] knows the bytes of a tokenizer's tokens. It compiles a [`Source`] into a [`Grammar`], which many completions share;
//! each follows it by its own [`Progress`]. The crate knows neither models nor sampling.

mod ebnf;
mod error;
mod grammar;
mod source;
mod structural;
mod vocabulary;

pub use error::GrammarError;
pub use grammar::{Grammar, Progress};
pub use source::{Source, SourceKind};
pub use vocabulary::Vocabulary;
