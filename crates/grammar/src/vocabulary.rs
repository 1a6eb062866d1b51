//! The bytes of a tokenizer's tokens.
//!
//! Tokens without text never stand for text: special tokens, those that end a sequence, and marks such as `<tool_call>`,
//! which readers of completions recognise by their id. A grammar can name one (`<[151657]>`).

use std::fmt::Debug;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;

use llguidance::api::ParserLimits;
use llguidance::toktrie::{ApproximateTokEnv, INVALID_TOKEN, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};
use llguidance::{ParserFactory, token_bytes_from_tokenizer_json};
use serde_json::Value;

use crate::error::GrammarError;
use crate::grammar::Grammar;
use crate::source::Source;

/// Most tokens of a tokenizer. llguidance makes room for every id up to the largest, so that one id in a file could take all memory.
const MOST_TOKENS: usize = 1 << 21;
/// Longest token that llguidance can index; GLM-4 has one of 1,024 spaces.
const MOST_TOKEN_BYTES: usize = 1 << 10;
/// llguidance's index has fewer nodes, and at most one for each byte of a token. The largest vocabularies have 2 million bytes.
const INDEX_NODES: usize = 1 << 22;
/// Largest grammar in symbols of its rules.
const MAX_GRAMMAR_SYMBOLS: usize = 200_000;
/// Most alternatives that the parser follows at the same time. Their cost is quadratic: an ambiguous grammar at this limit costs about 0.1 s for
/// one token of 151,936; at llguidance's own limit of 2,000 it costs seconds.
const MAX_ALTERNATIVES: usize = 500;
/// Most items that the parser makes for one token.
const MAX_STEP_ITEMS: usize = 20_000;
/// Stack of the thread that compiles: a chain of rules nests as deep as it is long.
const COMPILER_STACK_BYTES: usize = 256 << 20;

/// The tokens of one model.
pub struct Vocabulary {
    factory: Arc<ParserFactory>,
    tokens: TokEnv,
}

impl Vocabulary {
    /// Reads `tokenizer.json` for a model of `size` tokens; `endings` end sequences whatever their text is.
    ///
    /// # Errors
    /// `Tokenizer` when the file cannot be read, is neither a byte-level nor a byte-fallback tokenizer, or has a token beyond 2^21.
    pub fn read(tokenizer_json: &Path, size: usize, endings: &[u32]) -> Result<Self, GrammarError> {
        let failed = |problem: String| GrammarError::Tokenizer(format!("{}: {problem}", tokenizer_json.display()));
        let text = std::fs::read_to_string(tokenizer_json).map_err(|error| failed(error.to_string()))?;
        let json: Value = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        if let Some((token, id)) = largest_id(&json).filter(|(_, id)| *id >= MOST_TOKENS as u64) {
            return Err(failed(format!(
                "token {token:?} has id {id}; at most {MOST_TOKENS} tokens are possible"
            )));
        }
        if size > MOST_TOKENS {
            return Err(failed(format!(
                "its model has {size} tokens; at most {MOST_TOKENS} are possible"
            )));
        }
        // It panics on a token that is named like a byte and is none.
        let mut words = catch_unwind(|| token_bytes_from_tokenizer_json(&json))
            .map_err(|_| failed("it has a token whose bytes are not clear".to_owned()))?
            .map_err(|error| failed(format!("the bytes of its tokens are not known: {error}")))?;
        words.resize(size, Vec::new());
        let marks = json["added_tokens"].as_array().into_iter().flatten();
        for mark in marks.filter(|token| token["content"].as_str().is_some_and(is_mark)) {
            let word = mark["id"]
                .as_u64()
                .and_then(|id| words.get_mut(usize::try_from(id).ok()?));
            word.into_iter().for_each(make_special);
        }
        Self::of(words, endings)
    }

    /// The same from the bytes of each token. Tokens without bytes, and those of more than 1,024, never come: a format is followed by others that
    /// stand for the same text.
    ///
    /// # Errors
    /// `Tokenizer` when no token has a text, or all together have more than four million bytes.
    pub fn of(mut words: Vec<Vec<u8>>, endings: &[u32]) -> Result<Self, GrammarError> {
        for id in endings {
            words.get_mut(*id as usize).into_iter().for_each(make_special);
        }
        words
            .iter_mut()
            .filter(|word| word.len() > MOST_TOKEN_BYTES)
            .for_each(Vec::clear);
        let bytes: usize = words.iter().map(Vec::len).sum();
        if bytes >= INDEX_NODES {
            return Err(GrammarError::Tokenizer(format!(
                "the tokens have {bytes} bytes together; fewer than {INDEX_NODES} are possible"
            )));
        }
        if words.iter().all(|word| word.is_empty() || is_special(word)) {
            return Err(GrammarError::Tokenizer(
                "no token of the tokenizer has a text".to_owned(),
            ));
        }
        let size = u32::try_from(words.len())
            .map_err(|_| GrammarError::Tokenizer("the tokenizer has more than 2^32 tokens".to_owned()))?;
        let trie = TokTrie::from(&TokRxInfo::new(size, INVALID_TOKEN), &words);
        // Any way to write a text in tokens is allowed: the model chooses.
        let tokens: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let slices = llguidance::earley::SlicedBiasComputer::general_slices();
        let mut factory = ParserFactory::new(&tokens, InferenceCapabilities::default(), &slices)
            .map_err(|error| GrammarError::Tokenizer(format!("the tokens cannot be indexed: {error}")))?;
        factory.quiet();
        *factory.limits_mut() = ParserLimits {
            max_grammar_size: MAX_GRAMMAR_SYMBOLS,
            max_items_in_row: MAX_ALTERNATIVES,
            step_max_items: MAX_STEP_ITEMS,
            verbose_errors: false,
            ..ParserLimits::default()
        };
        Ok(Vocabulary {
            factory: Arc::new(factory),
            tokens,
        })
    }

    /// Compiles a format.
    ///
    /// # Errors
    /// `Invalid`, `TooLarge` or `Empty`.
    pub fn compile(&self, source: &Source) -> Result<Grammar, GrammarError> {
        let mark = source
            .after
            .as_deref()
            .and_then(|text| self.tokens.tok_trie().get_special_token(text));
        let grammar = source.read(mark)?;
        std::thread::scope(|scope| {
            std::thread::Builder::new()
                .name("prl-grammar".to_owned())
                .stack_size(COMPILER_STACK_BYTES)
                .spawn_scoped(scope, || Grammar::compile(&self.factory, &self.tokens, grammar))
                .map_err(|error| GrammarError::TooLarge(format!("no thread could be started to compile it: {error}")))?
                .join()
                .unwrap_or_else(|_| Err(GrammarError::Invalid("the compiler failed on it".to_owned())))
        })
    }
}

impl Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vocabulary").finish_non_exhaustive()
    }
}

/// The token with the largest id of a tokenizer.json.
fn largest_id(json: &Value) -> Option<(&str, u64)> {
    let added = json["added_tokens"].as_array().into_iter().flatten();
    let added = added.map(|token| (token["content"].as_str().unwrap_or_default(), &token["id"]));
    let words = json["model"]["vocab"].as_object().into_iter().flatten();
    let words = words.map(|(word, id)| (word.as_str(), id));
    let all = added.chain(words);
    all.filter_map(|(token, id)| Some((token, id.as_u64()?)))
        .max_by_key(|(_, id)| *id)
}

/// Whether an added token is written like a mark.
fn is_mark(content: &str) -> bool {
    content.len() > 2 && content.starts_with('<') && content.ends_with('>')
}

fn is_special(word: &[u8]) -> bool {
    word.first() == Some(&TokTrie::SPECIAL_TOKEN_MARKER)
}

fn make_special(word: &mut Vec<u8>) {
    if !is_special(word) {
        word.insert(0, TokTrie::SPECIAL_TOKEN_MARKER);
    }
}
