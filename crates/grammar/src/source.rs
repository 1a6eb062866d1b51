//! The format of a text, as its author writes it, and as llguidance reads it.

use llguidance::JsonCompileOptions;
use llguidance::api::{GrammarWithLexer, TopLevelGrammar};
use serde_json::Value;

use crate::ebnf;
use crate::error::GrammarError;
use crate::structural;

/// Longest source in bytes.
const MAX_SOURCE_BYTES: usize = 256 << 10;
/// Most brackets of a grammar inside each other.
const MAX_NESTING: usize = 256;

/// A format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The kind of text.
    pub kind: SourceKind,
    /// JSON that the format writes has no white space outside of strings.
    pub compact: bool,
    /// The format begins behind the first occurrence of this text and at most eight characters of white space; what stands before is free.
    pub after: Option<String>,
}

/// The kinds of formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceKind {
    /// A document that matches this JSON Schema.
    JsonSchema(String),
    /// The same, where only what a regular expression matches, or nothing, can be white space between the document's parts.
    SpacedJson {
        /// The JSON Schema.
        schema: String,
        /// In the syntax of Rust's `regex`.
        white_space: String,
    },
    /// A text that this regular expression matches as a whole, in the syntax of Rust's `regex`.
    Regex(String),
    /// One of these texts.
    Choice(Vec<String>),
    /// A text of this grammar in llguidance's dialect of Lark.
    Lark(String),
    /// A text of this grammar in EBNF, as llama.cpp, xgrammar and vLLM write it.
    Ebnf(String),
    /// A text with this structural tag of vLLM, as JSON.
    StructuralTag(String),
}

impl SourceKind {
    /// A grammar in EBNF if its first rule is written with `::=`, otherwise in Lark.
    pub fn grammar(text: String) -> Self {
        if ebnf::is_ebnf(&text) {
            SourceKind::Ebnf(text)
        } else {
            SourceKind::Lark(text)
        }
    }
}

/// A source whose size was checked.
pub(crate) struct Checked<'source> {
    source: &'source Source,
    mark: Option<u32>,
}

impl Source {
    /// Checks what can be checked before compiling. `mark` is the token that `after` is, if it is one.
    pub(crate) fn read(&self, mark: Option<u32>) -> Result<Checked<'_>, GrammarError> {
        let bytes = match &self.kind {
            SourceKind::JsonSchema(text)
            | SourceKind::Regex(text)
            | SourceKind::Lark(text)
            | SourceKind::Ebnf(text)
            | SourceKind::StructuralTag(text) => text.len(),
            SourceKind::SpacedJson { schema, white_space } => schema.len() + white_space.len(),
            SourceKind::Choice(texts) => texts.iter().map(String::len).sum(),
        };
        if bytes > MAX_SOURCE_BYTES {
            return Err(GrammarError::TooLarge(format!(
                "it has {bytes} bytes; at most {MAX_SOURCE_BYTES} are possible"
            )));
        }
        Ok(Checked { source: self, mark })
    }
}

impl Checked<'_> {
    /// As llguidance reads it. `token` is the token without text that is written like this, if there is one.
    pub(crate) fn grammar(&self, token: &dyn Fn(&str) -> Option<u32>) -> Result<TopLevelGrammar, GrammarError> {
        let mut parts = Vec::new();
        let mut answer = match &self.source.kind {
            SourceKind::JsonSchema(text) => GrammarWithLexer::from_json_schema(self.schema(parsed(text)?, None)?),
            SourceKind::SpacedJson { schema, white_space } => {
                if self.source.compact {
                    let problem = "JSON without white space has no pattern of white space";
                    return Err(GrammarError::Invalid(problem.to_owned()));
                }
                GrammarWithLexer::from_json_schema(self.schema(parsed(schema)?, Some(white_space.clone()))?)
            }
            SourceKind::Regex(text) => GrammarWithLexer::from_regex(text),
            SourceKind::Choice(texts) => GrammarWithLexer::from_lark(choice(texts)?),
            SourceKind::Lark(text) => GrammarWithLexer::from_lark(shallow(text)?.to_owned()),
            SourceKind::Ebnf(text) => GrammarWithLexer::from_lark(ebnf::to_lark(text)?),
            SourceKind::StructuralTag(text) => {
                let structure = structural::structure(text, token)?;
                for (at, schema) in structure.schemas.into_iter().enumerate() {
                    parts.push(GrammarWithLexer {
                        name: Some(format!("s{at}")),
                        ..GrammarWithLexer::from_json_schema(self.schema(schema, None)?)
                    });
                }
                GrammarWithLexer::from_lark(structure.lark)
            }
        };
        let mut grammars = Vec::new();
        if let Some(text) = &self.source.after {
            grammars.push(GrammarWithLexer::from_lark(behind(text, self.mark)));
            answer.name = Some("answer".to_owned());
        }
        grammars.push(answer);
        grammars.append(&mut parts);
        Ok(TopLevelGrammar {
            grammars,
            max_tokens: None,
        })
    }

    fn schema(&self, mut schema: Value, whitespace_pattern: Option<String>) -> Result<Value, GrammarError> {
        match &schema {
            Value::Bool(true) => schema = Value::Object(serde_json::Map::new()),
            Value::Bool(false) => return Err(GrammarError::Empty("the JSON Schema false matches nothing".to_owned())),
            Value::Object(_) => {}
            _ => {
                return Err(GrammarError::Invalid(
                    "a JSON Schema is an object or a boolean".to_owned(),
                ));
            }
        }
        // They replace those that a schema may bring, which could switch off its checks.
        let options = JsonCompileOptions {
            whitespace_flexible: !self.source.compact,
            whitespace_pattern,
            ..JsonCompileOptions::default()
        };
        options.apply_to(&mut schema);
        Ok(schema)
    }
}

fn parsed(schema: &str) -> Result<Value, GrammarError> {
    serde_json::from_str(schema).map_err(|error| GrammarError::Invalid(format!("the JSON Schema is no JSON: {error}")))
}

/// The grammar of a text and the answer behind it. The white space between them is that of JSON, because readers of JSON refuse any other, and
/// it has a bound, so that a model cannot write blanks up to its length.
fn behind(text: &str, mark: Option<u32>) -> String {
    match mark {
        Some(id) => format!("start: BEFORE? <[{id}]> /[ \\t\\r\\n]{{0,8}}/ @answer\nBEFORE: /(?s:.+)/"),
        None => format!(
            "start: before /[ \\t\\r\\n]{{0,8}}/ @answer\nbefore[suffix={}]: /(?s:.*)/",
            quoted(text)
        ),
    }
}

fn choice(texts: &[String]) -> Result<String, GrammarError> {
    if texts.is_empty() {
        return Err(GrammarError::Empty("there is nothing to choose from".to_owned()));
    }
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    // One terminal, because the cost of a rule grows with its alternatives.
    Ok(format!("start: CHOICE\nCHOICE: {}", texts.join(" | ")))
}

/// A text as a literal of a grammar.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// The compiler goes into brackets by calling itself, so that their depth needs a limit.
fn shallow(text: &str) -> Result<&str, GrammarError> {
    let mut depth = 0usize;
    for sign in text.bytes() {
        match sign {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(GrammarError::TooLarge(format!(
                "it has more than {MAX_NESTING} brackets inside each other"
            )));
        }
    }
    Ok(text)
}
