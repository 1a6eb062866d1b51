//! Tiny random models and a collector of increments, for the tests of generation.

#![allow(dead_code, clippy::allow_attributes, reason = "each test binary uses a part of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_engine::generate::{FinishReason, GenerateRequest, Generator, GeneratorOptions, Increment, Ranked};
use prl_engine::{Compute, Model};

pub(crate) const VOCAB: u32 = 40;
pub(crate) const EOS: u32 = 39;
pub(crate) const MAX_LEN: usize = 512;

/// The model families, each with another grouping of heads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Family {
    Llama,
    Mistral,
    Qwen2,
    Qwen3,
    Qwen3Moe,
}

impl Family {
    pub(crate) const ALL: [Self; 5] = [Self::Llama, Self::Mistral, Self::Qwen2, Self::Qwen3, Self::Qwen3Moe];

    fn config(self) -> String {
        let (class, model_type, kv_heads, tied) = match self {
            Self::Llama => ("LlamaForCausalLM", "llama", 4, false),
            Self::Mistral => ("MistralForCausalLM", "mistral", 2, false),
            Self::Qwen2 => ("Qwen2ForCausalLM", "qwen2", 1, true),
            Self::Qwen3 => ("Qwen3ForCausalLM", "qwen3", 2, true),
            Self::Qwen3Moe => ("Qwen3MoeForCausalLM", "qwen3_moe", 2, false),
        };
        let more = match self {
            Self::Mistral => r#""sliding_window":21,"#,
            Self::Qwen3Moe => {
                r#""num_experts":6,"num_experts_per_tok":2,"moe_intermediate_size":20,"norm_topk_prob":true,"#
            }
            Self::Llama | Self::Qwen2 | Self::Qwen3 => "",
        };
        format!(
            r#"{{"architectures":["{class}"],"model_type":"{model_type}","vocab_size":{VOCAB},"hidden_size":36,
            "intermediate_size":52,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":{kv_heads},
            "head_dim":12,{more}"rms_norm_eps":1e-6,"rope_theta":10000.0,"max_position_embeddings":{MAX_LEN},
            "tie_word_embeddings":{tied},"hidden_act":"silu","initializer_range":0.3,"eos_token_id":{EOS}}}"#
        )
    }
}

/// A random checkpoint under `dir`; equal seeds give equal weights.
pub(crate) fn checkpoint(dir: &Path, family: Family, seed: u64) -> PathBuf {
    let source = dir.join(format!("{family:?}-config"));
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("config.json"), family.config()).unwrap();
    let out = dir.join(format!("{family:?}-{seed}"));
    prl_engine::random_checkpoint(&source, &out, seed).unwrap();
    out
}

pub(crate) fn compute(threads: usize) -> Arc<Compute> {
    Compute::new(threads, None).unwrap()
}

pub(crate) fn model(dir: &Path, family: Family, seed: u64, compute: &Arc<Compute>) -> Arc<Model> {
    Arc::new(Model::load(&checkpoint(dir, family, seed), compute).unwrap())
}

/// A deadline that only a hang reaches.
pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

/// A deterministic stream of numbers for prompts and choices.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    pub(crate) fn tokens(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.below(u64::from(VOCAB) - 1) as u32).collect()
    }
}

/// All increments of one request put together.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Completion {
    pub(crate) token_ids: Vec<u32>,
    pub(crate) logprobs: Vec<f32>,
    pub(crate) ranked: Vec<Ranked>,
    /// Rows of the experts of its tokens, where they are recorded.
    pub(crate) experts: Vec<u16>,
    /// Policy version of each token.
    pub(crate) versions: Vec<u64>,
    pub(crate) finish_reason: Option<FinishReason>,
    pub(crate) stop_reason: Option<u32>,
    pub(crate) error: Option<String>,
    pub(crate) cached_tokens: u32,
    pub(crate) increments: usize,
}

impl Completion {
    fn ended(&self) -> bool {
        self.finish_reason.is_some() || self.error.is_some()
    }

    fn add(&mut self, increment: Increment) {
        assert!(!self.ended(), "{}: an increment after the last one", increment.id);
        let first = self.token_ids.len();
        assert_eq!(increment.token_ids.len(), increment.logprobs.len());
        assert_eq!(increment.policy_versions.is_empty(), increment.token_ids.is_empty());
        if let Some(row) = increment.policy_versions.first() {
            assert_eq!(
                row.0 as usize, first,
                "{}: the first version row is of the first new token",
                increment.id
            );
        }
        for index in first..first + increment.token_ids.len() {
            let row = increment
                .policy_versions
                .iter()
                .rev()
                .find(|row| row.0 as usize <= index)
                .unwrap();
            self.versions.push(row.1);
        }
        self.token_ids.extend(increment.token_ids);
        self.logprobs.extend(increment.logprobs);
        self.ranked.extend(increment.ranked);
        self.experts
            .extend(increment.routed_experts.into_iter().flat_map(|experts| experts.ids));
        self.finish_reason = increment.finish_reason;
        self.stop_reason = increment.stop_reason;
        self.error = increment.error.map(|error| error.to_string());
        self.cached_tokens = increment.cached_tokens;
        self.increments += 1;
    }

    /// Tokens and the bits of their log-probabilities.
    pub(crate) fn sampled(&self) -> (Vec<u32>, Vec<u32>) {
        (
            self.token_ids.clone(),
            self.logprobs.iter().map(|logprob| logprob.to_bits()).collect(),
        )
    }
}

/// Completions by request id.
#[derive(Debug, Default)]
pub(crate) struct Collector(pub(crate) BTreeMap<String, Completion>);

impl Collector {
    pub(crate) fn take(&mut self, increments: Vec<Increment>) {
        for increment in increments {
            self.0.entry(increment.id.clone()).or_default().add(increment);
        }
    }

    pub(crate) fn ended(&self) -> usize {
        self.0.values().filter(|completion| completion.ended()).count()
    }

    /// Picks increments up until `count` requests have ended.
    pub(crate) fn until_ended(&mut self, generator: &Generator, count: usize) {
        while self.ended() < count {
            let increments = generator.next(soon()).unwrap();
            assert!(
                !increments.is_empty(),
                "nothing came within the deadline: {:?}",
                generator.stats()
            );
            self.take(increments);
        }
    }
}

/// Runs requests to their end.
pub(crate) fn complete(generator: &Generator, requests: Vec<GenerateRequest>) -> BTreeMap<String, Completion> {
    let count = requests.len();
    generator.submit(requests).unwrap();
    let mut collector = Collector::default();
    collector.until_ended(generator, count);
    collector.0
}

/// A running generator.
pub(crate) struct Fixture {
    _dir: tempfile::TempDir,
    pub(crate) generator: Generator,
    /// Models to swap to; the first is the one that it started with.
    pub(crate) models: Vec<Arc<Model>>,
}

/// A generator of a one-thread Qwen3 with weights 0, and other weights to swap to.
pub(crate) fn fixture(options: GeneratorOptions) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let compute = compute(1);
    let models: Vec<_> = (0..3)
        .map(|seed| model(dir.path(), Family::Qwen3, seed, &compute))
        .collect();
    let generator = Generator::start(Arc::clone(&models[0]), compute, options).unwrap();
    Fixture {
        _dir: dir,
        generator,
        models,
    }
}

/// A request that ends at `max_tokens` only.
pub(crate) fn endless(id: &str, prompt: &[u32], max_tokens: u32) -> GenerateRequest {
    GenerateRequest {
        ignore_eos: true,
        ..GenerateRequest::new(id, prompt.to_vec(), max_tokens)
    }
}
