//! Structural tags, as vLLM and xgrammar write them: free text in which a trigger begins a tag with a fixed content, and formats made of others.
//!
//! Read here: `{"structures": [{"begin", "schema", "end"}], "triggers": [...]}` and `{"format": ...}` with the types `const_string`, `json_schema`,
//! `regex`, `any_text`, `sequence`, `or`, `tag`, `triggered_tags` and `tags_with_separator`. Others are refused by name.
//!
//! A text is read in one way only. So everything must say where it ends: free text and a regular expression end before the first text that may
//! follow them, and what cannot say it is refused. A part of `begin`, `end` or a trigger that is one token without text is that token.

mod fields;
mod format;
mod literal;
mod writer;

use serde_json::Value;

use crate::error::GrammarError;

/// A structural tag in Lark.
#[derive(Debug)]
pub(crate) struct Structure {
    pub(crate) lark: String,
    /// The JSON Schemas that it names `@s0`, `@s1`, ...
    pub(crate) schemas: Vec<Value>,
}

/// Reads one from its JSON. `token` is the token without text that is written like this, if there is one.
///
/// # Errors
/// `Invalid` with the path of the field, `TooLarge`.
pub(crate) fn structure(json: &str, token: &dyn Fn(&str) -> Option<u32>) -> Result<Structure, GrammarError> {
    let value: Value = serde_json::from_str(json)
        .map_err(|error| GrammarError::Invalid(format!("the structural tag is no JSON: {error}")))?;
    writer::write(&format::read(&value)?, token)
}
