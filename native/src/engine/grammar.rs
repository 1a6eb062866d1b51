//! Formats of completions: compiled by `prl-grammar`, followed by the engine.

use std::path::Path;
use std::sync::Arc;

use napi::bindgen_prelude::{Env, PromiseRaw, Uint32Array};
use napi_derive::napi;
use prl_engine::generate::{Next, TokenConstraint, TokenFormat};
use prl_grammar::{Grammar, Progress, Source, SourceKind, Vocabulary};

use crate::error::NativeError;
use crate::runtime::blocking;

/// What a text has to match. Exactly one of the first five is not null.
#[napi(object, use_nullable = true)]
pub struct NativeGrammarSource {
    /// JSON Schema as JSON.
    pub json_schema: Option<String>,
    /// In the syntax of Rust's regex crate; it matches the whole text.
    pub regex: Option<String>,
    /// The text is one of these.
    pub choice: Option<Vec<String>>,
    /// EBNF if the first rule is written with `::=`, otherwise llguidance's dialect of Lark.
    pub grammar: Option<String>,
    /// vLLM's structural tag as JSON.
    pub structural_tag: Option<String>,
    /// The white space that JSON of a JSON Schema can have, a regular expression; null: any.
    pub white_space: Option<String>,
    /// JSON has no white space outside of strings.
    pub compact: bool,
    /// The format begins behind this text; null: at the beginning.
    pub after: Option<String>,
}

/// The texts of a tokenizer's tokens.
#[napi]
pub struct NativeVocabulary {
    vocabulary: Arc<Vocabulary>,
}

/// A compiled format. A request that was submitted with it keeps it.
#[napi]
pub struct NativeGrammar {
    format: Arc<Format>,
}

#[napi]
impl NativeVocabulary {
    /// Reads `tokenizer.json` of a folder for a model of `size` tokens. `endings` end sequences and are no text.
    #[napi(catch_unwind)]
    pub fn load(
        env: &Env,
        dir: String,
        size: u32,
        endings: Uint32Array,
    ) -> napi::Result<PromiseRaw<'_, NativeVocabulary>> {
        blocking(env, move || {
            let path = Path::new(&dir).join("tokenizer.json");
            let vocabulary = Arc::new(Vocabulary::read(&path, size as usize, &endings)?);
            Ok(Self { vocabulary })
        })
    }

    /// Compiles a format.
    #[napi(catch_unwind)]
    pub fn compile<'env>(
        &self,
        env: &'env Env,
        source: NativeGrammarSource,
    ) -> napi::Result<PromiseRaw<'env, NativeGrammar>> {
        let vocabulary = Arc::clone(&self.vocabulary);
        blocking(env, move || {
            let format = Arc::new(Format(vocabulary.compile(&source_of(source)?)?));
            Ok(NativeGrammar { format })
        })
    }
}

impl NativeGrammar {
    pub(crate) fn format(&self) -> Arc<dyn TokenFormat> {
        Arc::clone(&self.format) as Arc<dyn TokenFormat>
    }
}

fn source_of(source: NativeGrammarSource) -> Result<Source, NativeError> {
    let kinds = [
        source.json_schema.map(|schema| match source.white_space {
            None => SourceKind::JsonSchema(schema),
            Some(white_space) => SourceKind::SpacedJson { schema, white_space },
        }),
        source.regex.map(SourceKind::Regex),
        source.choice.map(SourceKind::Choice),
        source.grammar.map(SourceKind::grammar),
        source.structural_tag.map(SourceKind::StructuralTag),
    ];
    let mut given = kinds.into_iter().flatten();
    let (Some(kind), None) = (given.next(), given.next()) else {
        let message =
            "a format is exactly one of a JSON Schema, a regular expression, choices, a grammar and a structural tag";
        return Err(NativeError::new("PRL_GRAMMAR_INVALID", message));
    };
    Ok(Source {
        kind,
        compact: source.compact,
        after: source.after,
    })
}

/// Joins the two crates, which do not know each other.
#[derive(Debug)]
struct Format(Grammar);

#[derive(Debug)]
struct Following(Progress);

impl TokenFormat for Format {
    fn start(&self, endings: &[u32]) -> Box<dyn TokenConstraint> {
        Box::new(Following(self.0.start(endings)))
    }
}

impl TokenConstraint for Following {
    fn restrict(&mut self, completion: &[u32], logits: &mut [f32]) -> Result<Next, String> {
        let is_possible = self.0.restrict(completion, logits)?;
        Ok(if is_possible { Next::Possible } else { Next::Nothing })
    }
}
