//! Requests to the engine and what it gives back, as JavaScript sees them.

use std::sync::Arc;

use napi::bindgen_prelude::{Float32Array, Reference, Uint32Array};
use napi_derive::napi;
use prl_engine::generate::{FinishReason, GenerateRequest, Increment, LogitControls, Ranked, RankedScores};
use prl_engine::{Adapter, EngineError};

use super::grammar::NativeGrammar;
use crate::batch::NativeRoutedExperts;
use crate::error::NativeError;
use crate::numbers::whole;

/// One prompt to continue.
#[napi(object, use_nullable = true)]
pub struct NativeGenerateRequest {
    pub id: String,
    pub prompt_token_ids: Uint32Array,
    pub max_tokens: u32,
    /// The sequence does not stop before it has so many tokens.
    pub min_tokens: u32,
    /// 0 takes the most likely token.
    pub temperature: f64,
    /// 1 switches it off.
    pub top_p: f64,
    /// -1 switches it off.
    pub top_k: i64,
    /// 0 switches it off.
    pub min_p: f64,
    /// Null changes no logit.
    pub controls: Option<NativeLogitControls>,
    /// What the completion has to match; null allows everything.
    pub format: Option<Reference<NativeGrammar>>,
    /// Each token's rank, and so many of the most likely tokens; null gives neither.
    pub top_logprobs: Option<u32>,
    /// Reports the experts that tokens went to, from this one of the prompt on; null reports none.
    pub routed_experts_from: Option<u32>,
    /// 0 to 2^53 - 1.
    pub seed: f64,
    /// Further ids that end the sequence.
    pub stop_token_ids: Vec<u32>,
    /// The model's end-of-sequence ids do not end the sequence.
    pub ignore_eos: bool,
    /// Requests share cached prefixes only with those of an equal salt.
    pub cache_salt: Option<String>,
    /// A loaded adapter that computes the request; null for the engine's current weights.
    pub adapter: Option<String>,
    /// A lower number runs earlier.
    pub priority: i64,
    /// One increment at the end in place of one per step.
    pub final_only: bool,
}

/// What a request changes about logits.
#[napi(object, use_nullable = true)]
pub struct NativeLogitControls {
    /// Null allows every token.
    pub allowed_token_ids: Option<Uint32Array>,
    /// Token sequences that do not come.
    pub bad_words: Vec<Vec<u32>>,
    /// Tokens that have a bias.
    pub bias_token_ids: Uint32Array,
    /// One per token of `bias_token_ids`.
    pub biases: Float32Array,
    /// 1 switches it off.
    pub repetition_penalty: f64,
    /// 0 switches it off.
    pub frequency_penalty: f64,
    /// 0 switches it off.
    pub presence_penalty: f64,
}

/// What one or more steps added to a request.
#[napi(object, use_nullable = true)]
pub struct NativeIncrement {
    /// Id of the request.
    pub id: String,
    pub token_ids: Uint32Array,
    /// One per token id.
    pub logprobs: Float32Array,
    /// Null unless the request has `top_logprobs`.
    pub ranking: Option<NativeRanking>,
    /// The experts of further tokens, one fewer in all than there are tokens; null unless the request has `routed_experts_from`.
    pub routed_experts: Option<NativeRoutedExperts>,
    /// Flat pairs (first token of the completion, version).
    pub policy_versions: Vec<f64>,
    /// stop | length | abort; null while the request runs.
    pub finish_reason: Option<String>,
    /// The token id that stopped it.
    pub stop_reason: Option<u32>,
    /// How many prompt tokens came from the prefix cache.
    pub cached_tokens: u32,
    /// Null except with the first token and at the end of a sequence that has one.
    pub times: Option<NativeRequestTimes>,
    /// Why the request failed: `[PRL_CODE] text`.
    pub error: Option<String>,
}

/// Seconds that the parts of a request took.
#[napi(object, use_nullable = true)]
pub struct NativeRequestTimes {
    /// Before its first step.
    pub queued: f64,
    /// From there to the first token.
    pub prefill: f64,
    /// From there to the last token so far.
    pub decode: f64,
}

/// Where tokens stand among all tokens of their places.
#[napi(object, use_nullable = true)]
pub struct NativeRanking {
    /// One per token: how many tokens are at least as likely, itself included; 0 for a token without a predecessor.
    pub ranks: Uint32Array,
    /// The most likely tokens of each place, one row per token.
    pub top_token_ids: Uint32Array,
    /// Their log-probabilities.
    pub top_logprobs: Float32Array,
}

/// Packed tokens to score.
#[napi(object, use_nullable = true)]
pub struct NativeRankedScoring {
    pub ids: Uint32Array,
    pub cu_seqlens: Uint32Array,
    /// One for all tokens, or one for each.
    pub temperatures: Float32Array,
    /// How many of the most likely tokens are named.
    pub top: u32,
}

/// Log-probabilities of given tokens, and where they stand.
#[napi(object, use_nullable = true)]
pub struct NativeRankedScores {
    pub logprobs: Float32Array,
    pub ranking: NativeRanking,
}

pub(crate) fn request(
    request: NativeGenerateRequest,
    adapter: Option<Arc<Adapter>>,
) -> Result<GenerateRequest, NativeError> {
    Ok(GenerateRequest {
        adapter,
        id: request.id,
        prompt_token_ids: request.prompt_token_ids.to_vec(),
        max_tokens: request.max_tokens,
        min_tokens: request.min_tokens,
        temperature: request.temperature as f32,
        top_p: request.top_p as f32,
        top_k: request.top_k,
        min_p: request.min_p as f32,
        controls: request.controls.map(controls).unwrap_or_default(),
        format: request.format.map(|grammar| grammar.format()),
        top_logprobs: request.top_logprobs,
        routed_experts_from: request.routed_experts_from,
        seed: whole("seed", request.seed)?,
        stop_token_ids: request.stop_token_ids,
        ignore_eos: request.ignore_eos,
        cache_salt: request.cache_salt,
        priority: request.priority,
        final_only: request.final_only,
    })
}

fn controls(controls: NativeLogitControls) -> LogitControls {
    let biased = controls.bias_token_ids.iter().copied();
    LogitControls {
        allowed_token_ids: controls.allowed_token_ids.as_ref().map(|ids| ids.to_vec()),
        bad_words: controls.bad_words,
        logit_bias: biased.zip(controls.biases.iter().copied()).collect(),
        repetition_penalty: controls.repetition_penalty as f32,
        frequency_penalty: controls.frequency_penalty as f32,
        presence_penalty: controls.presence_penalty as f32,
    }
}

pub(crate) fn increment(increment: Increment) -> NativeIncrement {
    let ranked = increment.ranked;
    let width = ranked.first().map_or(0, |first| first.top.len());
    NativeIncrement {
        id: increment.id,
        token_ids: Uint32Array::new(increment.token_ids),
        logprobs: Float32Array::new(increment.logprobs),
        ranking: (!ranked.is_empty()).then(|| ranking(&ranked, width)),
        routed_experts: increment.routed_experts.as_ref().map(NativeRoutedExperts::recorded),
        policy_versions: increment
            .policy_versions
            .iter()
            .flat_map(|&(first, version)| [f64::from(first), version as f64])
            .collect(),
        finish_reason: increment.finish_reason.map(|reason| {
            match reason {
                FinishReason::Stop => "stop",
                FinishReason::Length => "length",
                FinishReason::Abort => "abort",
            }
            .to_owned()
        }),
        stop_reason: increment.stop_reason,
        cached_tokens: increment.cached_tokens,
        times: increment.times.map(|times| NativeRequestTimes {
            queued: times.queued,
            prefill: times.prefill,
            decode: times.decode,
        }),
        error: increment
            .error
            .map(|error| NativeError::from(EngineError::from(error)).to_string()),
    }
}

pub(crate) fn ranked_scores(scores: RankedScores, top: u32) -> NativeRankedScores {
    NativeRankedScores {
        logprobs: Float32Array::new(scores.logprobs),
        ranking: ranking(&scores.ranked, top as usize),
    }
}

/// Rows of `width` tokens; a token without a predecessor has a row of zeros.
fn ranking(ranked: &[Ranked], width: usize) -> NativeRanking {
    let mut top_token_ids = vec![0; ranked.len() * width];
    let mut top_logprobs = vec![0.0; ranked.len() * width];
    for (row, one) in ranked.iter().enumerate() {
        for (column, (id, logprob)) in one.top.iter().enumerate() {
            top_token_ids[row * width + column] = *id;
            top_logprobs[row * width + column] = *logprob;
        }
    }
    NativeRanking {
        ranks: Uint32Array::new(ranked.iter().map(|one| one.rank).collect()),
        top_token_ids: Uint32Array::new(top_token_ids),
        top_logprobs: Float32Array::new(top_logprobs),
    }
}
