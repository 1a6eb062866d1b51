//! A handle of a tokenizer of the `tokenizers` crate.

use std::path::Path;
use std::sync::Arc;

use napi::bindgen_prelude::{Env, PromiseRaw, Uint32Array};
use napi_derive::napi;
use tokenizers::Tokenizer;

use crate::error::NativeError;
use crate::runtime::blocking;

fn failed(error: impl std::fmt::Display) -> NativeError {
    NativeError::new("PRL_TOKENIZER", error.to_string())
}

/// A loaded tokenizer.json.
#[napi]
pub struct NativeTokenizer {
    tokenizer: Arc<Tokenizer>,
}

#[napi]
impl NativeTokenizer {
    /// Loads `tokenizer.json` from a folder.
    #[napi(catch_unwind)]
    pub fn load(env: &Env, dir: String) -> napi::Result<PromiseRaw<'_, NativeTokenizer>> {
        blocking(env, move || {
            let path = Path::new(&dir).join("tokenizer.json");
            let tokenizer =
                Tokenizer::from_file(&path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
            Ok(Self {
                tokenizer: Arc::new(tokenizer),
            })
        })
    }

    /// Number of tokens, with the added ones.
    #[napi(catch_unwind)]
    pub fn vocab_size(&self) -> u32 {
        u32::try_from(self.tokenizer.get_vocab_size(true)).unwrap_or(u32::MAX)
    }

    #[napi(catch_unwind)]
    pub fn encode(&self, text: String, add_special_tokens: bool) -> napi::Result<Uint32Array> {
        let encoding = self.tokenizer.encode_fast(text, add_special_tokens).map_err(failed)?;
        Ok(Uint32Array::new(encoding.get_ids().to_vec()))
    }

    /// Encodes off the JavaScript thread, for long texts.
    #[napi(catch_unwind)]
    pub fn encode_async<'env>(
        &self,
        env: &'env Env,
        text: String,
        add_special_tokens: bool,
    ) -> napi::Result<PromiseRaw<'env, Uint32Array>> {
        let tokenizer = Arc::clone(&self.tokenizer);
        blocking(env, move || {
            let encoding = tokenizer.encode_fast(text, add_special_tokens).map_err(failed)?;
            Ok(Uint32Array::new(encoding.get_ids().to_vec()))
        })
    }

    /// Decodes each token id alone, off the JavaScript thread.
    #[napi(catch_unwind)]
    pub fn decode_each<'env>(&self, env: &'env Env, ids: Uint32Array) -> napi::Result<PromiseRaw<'env, Vec<String>>> {
        let tokenizer = Arc::clone(&self.tokenizer);
        blocking(env, move || {
            ids.iter()
                .map(|id| tokenizer.decode(&[*id], false).map_err(failed))
                .collect()
        })
    }

    #[napi(catch_unwind)]
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> napi::Result<String> {
        Ok(self.tokenizer.decode(ids, skip_special_tokens).map_err(failed)?)
    }

    #[napi(catch_unwind)]
    pub fn token_to_id(&self, token: String) -> Option<u32> {
        self.tokenizer.token_to_id(&token)
    }

    #[napi(catch_unwind)]
    pub fn id_to_token(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }
}
