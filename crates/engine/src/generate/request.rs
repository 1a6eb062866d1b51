//! The generator's inputs and outputs: requests, increments, options, counters.
//!
//! They hold token ids only; stop strings and text belong to the caller. Nothing here touches the model.

use std::sync::Arc;

use super::constraint::TokenFormat;
use super::controls::LogitControls;
use super::measures::{AdapterCounts, RequestTimes, StepSizes};
use super::ranking::{MAX_TOP_LOGPROBS, Ranked};
use crate::config::ModelConfig;
use crate::error::EngineError;
use crate::model::lora::Adapter;
use crate::model::routes::{NO_EXPERT, RecordedExperts};

/// One completion to sample.
#[derive(Debug, Clone)]
pub struct GenerateRequest {
    /// Name of the request; no two live requests may share one.
    pub id: String,
    /// The prompt, at least one token.
    pub prompt_token_ids: Vec<u32>,
    /// The largest number of tokens to sample, at least 1.
    pub max_tokens: u32,
    /// End-of-sequence and stop tokens cannot be sampled before this many tokens. While the mask is on, the reported
    /// log-probabilities are of the masked distribution, which the trainer does not compute: parity needs 0.
    pub min_tokens: u32,
    /// 0 takes the most probable token (lowest id on ties) and reports at temperature 1; else at least
    /// [`MIN_TEMPERATURE`].
    pub temperature: f32,
    /// Nucleus mass in (0, 1]; 1 is off. Parity with the trainer needs 1.
    pub top_p: f32,
    /// Number of most probable tokens kept; -1 or 0 is off. Parity with the trainer needs it off.
    pub top_k: i64,
    /// Tokens less probable than this share of the most probable one are left out, 0 to 1; 0 is off. Parity with the trainer needs 0.
    pub min_p: f32,
    /// Changes of the logits. Parity with the trainer needs the default.
    pub controls: LogitControls,
    /// The format that the completion keeps to; None allows everything. Log-probabilities are those among the allowed tokens, as with
    /// `LogitControls::allowed_token_ids`, so parity with the trainer needs None.
    pub format: Option<Arc<dyn TokenFormat>>,
    /// Reports each token's rank and so many of the most probable tokens, at most [`MAX_TOP_LOGPROBS`]; None reports neither.
    pub top_logprobs: Option<u32>,
    /// Returns the experts that the tokens from this one of the prompt on went to; None returns none. There are none of the last sampled
    /// token, which was not computed.
    pub routed_experts_from: Option<u32>,
    /// Seed of the draws; token n depends on (seed, n) and the distribution only.
    pub seed: u64,
    /// Tokens that end the completion (and are part of it).
    pub stop_token_ids: Vec<u32>,
    /// Whether the model's end-of-sequence tokens are ordinary tokens.
    pub ignore_eos: bool,
    /// Requests share cached prefixes only with requests of equal salt.
    pub cache_salt: Option<String>,
    /// The adapter that computes the request; None for that of the generator's model.
    pub adapter: Option<Arc<Adapter>>,
    /// A lower number runs earlier; equal priorities run in order of arrival.
    pub priority: i64,
    /// Whether to report once, when finished, rather than as tokens come.
    pub final_only: bool,
}

/// The smallest temperature other than 0.
pub const MIN_TEMPERATURE: f32 = 1e-3;

impl GenerateRequest {
    /// A request with every option off: temperature 1, seed 0, end at end-of-sequence or `max_tokens`.
    pub fn new(id: impl Into<String>, prompt_token_ids: Vec<u32>, max_tokens: u32) -> Self {
        GenerateRequest {
            id: id.into(),
            prompt_token_ids,
            max_tokens,
            min_tokens: 0,
            temperature: 1.0,
            top_p: 1.0,
            top_k: -1,
            min_p: 0.0,
            controls: LogitControls::default(),
            format: None,
            top_logprobs: None,
            routed_experts_from: None,
            seed: 0,
            stop_token_ids: Vec::new(),
            ignore_eos: false,
            cache_salt: None,
            adapter: None,
            priority: 0,
            final_only: false,
        }
    }

    /// Says why the request cannot run on a model of `config` with at most `max_model_len` tokens; None when it can.
    pub(super) fn reject(&self, config: &ModelConfig, max_model_len: usize) -> Option<String> {
        let prompt = self.prompt_token_ids.len();
        let vocab = config.vocab_size;
        if prompt == 0 {
            return Some("prompt_token_ids is empty; it needs at least one token".to_owned());
        }
        if let Some((at, id)) = self
            .prompt_token_ids
            .iter()
            .enumerate()
            .find(|(_, id)| **id as usize >= vocab)
        {
            return Some(format!(
                "prompt_token_ids[{at}] is {id}, outside the vocabulary of {vocab}"
            ));
        }
        if prompt >= max_model_len {
            return Some(format!(
                "the prompt has {prompt} tokens; max_model_len {max_model_len} leaves none to sample"
            ));
        }
        if self.max_tokens == 0 {
            return Some("max_tokens is 0; it must be at least 1".to_owned());
        }
        if self.min_tokens > self.max_tokens {
            return Some(format!(
                "min_tokens {} is above max_tokens {}",
                self.min_tokens, self.max_tokens
            ));
        }
        if !(self.temperature == 0.0 || (self.temperature.is_finite() && self.temperature >= MIN_TEMPERATURE)) {
            return Some(format!(
                "temperature is {}; it must be 0 or at least {MIN_TEMPERATURE}",
                self.temperature
            ));
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return Some(format!("top_p is {}; it must be above 0 and at most 1", self.top_p));
        }
        if self.top_k < -1 {
            return Some(format!(
                "top_k is {}; it must be positive, or -1 or 0 for off",
                self.top_k
            ));
        }
        if !(0.0..=1.0).contains(&self.min_p) {
            return Some(format!("min_p is {}; it must be from 0 to 1", self.min_p));
        }
        let most = MAX_TOP_LOGPROBS.min(u32::try_from(vocab).unwrap_or(u32::MAX));
        if let Some(count) = self.top_logprobs.filter(|count| *count > most) {
            return Some(format!("top_logprobs is {count}; at most {most} are possible"));
        }
        if let Some(problem) = self.reject_recording(config) {
            return Some(problem);
        }
        if let Some(problem) = self.controls.reject(vocab) {
            return Some(problem);
        }
        if self.min_tokens > 0
            && self
                .ending_tokens(config)
                .iter()
                .filter(|id| (**id as usize) < vocab)
                .count()
                >= vocab
        {
            return Some("min_tokens is set and every token of the vocabulary ends the completion".to_owned());
        }
        None
    }

    fn reject_recording(&self, config: &ModelConfig) -> Option<String> {
        let first = self.routed_experts_from?;
        let Some(moe) = config.moe.as_ref().filter(|moe| moe.routers() > 0) else {
            return Some("routed_experts_from is set, and the model has no mixture of experts".to_owned());
        };
        if moe.num_experts > usize::from(NO_EXPERT) {
            return Some(format!(
                "routed_experts_from is set, and the model has {} experts: ids up to {} are recorded",
                moe.num_experts,
                NO_EXPERT - 1
            ));
        }
        let prompt = self.prompt_token_ids.len();
        (first as usize > prompt).then(|| format!("routed_experts_from is {first}, and the prompt has {prompt} tokens"))
    }

    /// The tokens that end the completion, ascending and without duplicates.
    pub(super) fn ending_tokens(&self, config: &ModelConfig) -> Vec<u32> {
        let eos: &[u32] = if self.ignore_eos { &[] } else { &config.eos_token_ids };
        let mut ids = [eos, &self.stop_token_ids].concat();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// An end-of-sequence or stop token was sampled; it is the last of the completion. Or the format allows no further token, and
    /// the request has no token that ends it.
    Stop,
    /// `max_tokens` or the model's length was reached.
    Length,
    /// The caller, a pause or a close ended it.
    Abort,
}

/// Tokens of one request since the last [`super::Generator::next`], and how it ended if it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Increment {
    /// The request's id.
    pub id: String,
    /// New tokens.
    pub token_ids: Vec<u32>,
    /// Log-probability of each new token under the distribution that it was drawn from.
    pub logprobs: Vec<f32>,
    /// Rank and most probable tokens of each new token; empty unless the request asks for them.
    pub ranked: Vec<Ranked>,
    /// The experts of the tokens that were computed since the last increment, which are one fewer than there are tokens; None unless the
    /// request asks for them.
    pub routed_experts: Option<RecordedExperts>,
    /// Ascending rows (index of a token in the whole completion, version that sampled it and the tokens after it). The first row
    /// is for this increment's first token. Empty without tokens.
    pub policy_versions: Vec<(u32, u64)>,
    /// Set in the last increment of a request that ended without an error.
    pub finish_reason: Option<FinishReason>,
    /// The token of `stop_token_ids` that ended it (end-of-sequence tokens are not named, as in vLLM).
    pub stop_reason: Option<u32>,
    /// Set in the last increment of a request that failed.
    pub error: Option<RequestError>,
    /// Prompt tokens whose keys and values came from the prefix cache at the first admission.
    pub cached_tokens: u32,
    /// Set in the increment of the first token and in the last one, where a token was sampled.
    pub times: Option<RequestTimes>,
}

impl Increment {
    /// Whether this is the last increment of its request.
    pub fn is_last(&self) -> bool {
        self.finish_reason.is_some() || self.error.is_some()
    }
}

/// Why a request failed; the message says what was wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It asks for what cannot be done.
    #[error("{0}")]
    Input(String),
    /// The generator holds as many requests as it may.
    #[error("{0}")]
    Full(String),
    /// The engine could not compute it. The request is not at fault.
    #[error("{0}")]
    Computation(String),
    /// The generation thread panicked.
    #[error("{0}")]
    Panic(String),
}

impl From<RequestError> for EngineError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Input(message) => Self::Input(message),
            RequestError::Full(message) => Self::Capacity(message),
            RequestError::Computation(message) => Self::Computation(message),
            RequestError::Panic(message) => Self::Failed(message),
        }
    }
}

/// The fate of live requests when the generator pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseMode {
    /// They stay, with their keys and values, and continue after `resume`.
    Keep,
    /// They finish first; requests submitted later wait.
    Wait,
    /// They end as aborted.
    Abort,
}

/// Sizes and switches of a generator.
#[derive(Debug, Clone)]
pub struct GeneratorOptions {
    /// Most requests that decode together.
    pub max_num_seqs: usize,
    /// Most tokens of one step over all requests; longer prompts are computed in chunks.
    pub max_batched_tokens: usize,
    /// Most tokens of a prompt with its completion (None: the model's `max_position_embeddings`).
    pub max_model_len: Option<usize>,
    /// Number of blocks of the key-value cache; wins over `kv_bytes`.
    pub kv_blocks: Option<usize>,
    /// Bytes of the key-value cache. With neither: enough for every running sequence at full length, at most 256 MiB, and
    /// always enough for one sequence.
    pub kv_bytes: Option<usize>,
    /// Most requests held at once beyond `max_num_seqs`; more are refused.
    pub max_waiting: usize,
    /// Whether full blocks are kept for later requests with the same prefix, and the same prompt is computed once for all that have it.
    pub prefix_cache: bool,
    /// Version of the weights that the generator starts with.
    pub version: u64,
    /// Digest of those weights, if known.
    pub digest: Option<String>,
}

impl Default for GeneratorOptions {
    fn default() -> Self {
        GeneratorOptions {
            max_num_seqs: 256,
            max_batched_tokens: 512,
            max_model_len: None,
            kv_blocks: None,
            kv_bytes: None,
            max_waiting: 65_536,
            prefix_cache: true,
            version: 0,
            digest: None,
        }
    }
}

/// Counters and gauges of a generator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GeneratorStats {
    /// Requests that hold keys and values.
    pub running: usize,
    /// Requests that wait for their first or next admission.
    pub waiting: usize,
    /// The adapters of requests that hold keys and values, where the adapters have names.
    pub running_adapters: AdapterCounts,
    /// Share of the key-value blocks that running requests hold, 0 to 1.
    pub kv_usage: f64,
    /// Tokens that the key-value cache can hold.
    pub kv_cache_tokens: usize,
    /// Steps run.
    pub steps: u64,
    /// How many tokens the steps computed.
    pub step_sizes: StepSizes,
    /// Requests put back because blocks ran out.
    pub preemptions: u64,
    /// Prompt tokens of admitted requests.
    pub prompt_tokens_total: u64,
    /// Tokens sampled.
    pub generation_tokens_total: u64,
    /// Tokens looked up in the prefix cache.
    pub prefix_queries: u64,
    /// Tokens found there.
    pub prefix_hits: u64,
    /// Version of the current weights.
    pub version: u64,
    /// Digest of the current weights, if known.
    pub digest: Option<String>,
    /// Whether the generator is paused.
    pub paused: bool,
}
