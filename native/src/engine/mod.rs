//! The engine: scoring and generation over one loaded model.

mod adapters;
mod generation;
mod grammar;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Env, Float32Array, PromiseRaw, Uint32Array};
use napi_derive::napi;
use prl_engine::generate::{
    Generator, GeneratorOptions, GeneratorStats, PauseMode, RequestError, STEP_SIZE_BOUNDS, Scoring,
};
use prl_engine::{Adapter, BaseDtype, Compute, Model, Tier, WeightDtype, WeightFormat};
use prl_weights::Adapter as Folder;

use crate::error::NativeError;
use crate::numbers::{size, whole};
use crate::runtime::blocking;
use adapters::Adapters;
use generation::{
    NativeGenerateRequest, NativeIncrement, NativeRankedScores, NativeRankedScoring, increment, ranked_scores, request,
};

/// How the weights are laid out that are loaded.
#[napi(object, use_nullable = true)]
pub struct NativeWeightLayout {
    /// Instruction-set tier; null picks the best.
    pub isa: Option<String>,
    /// float32 | bfloat16: how the weights are kept.
    pub dtype: String,
    /// int8: how the projections are kept; null: as `dtype`.
    pub base_dtype: Option<String>,
}

/// How to score and sample with a model.
#[napi(object, use_nullable = true)]
pub struct NativeEngineOptions {
    /// 0 takes every core.
    pub threads: u32,
    /// The folder of an adapter that is part of the weights; null: none.
    pub adapter: Option<String>,
    /// Policy version of the weights in the folder.
    pub version: f64,
    /// Most sequences in one decode step.
    pub max_num_seqs: u32,
    /// Most tokens of one step over all sequences; null lets the generator choose.
    pub max_batched_tokens: Option<u32>,
    /// Longest prompt plus completion in tokens; null takes the model's limit.
    pub max_model_len: Option<u32>,
    /// Null lets the generator choose.
    pub kv_cache_bytes: Option<f64>,
    pub prefix_cache: bool,
}

#[napi(object, use_nullable = true)]
pub struct NativeModelInfo {
    /// `model_type` of config.json.
    pub model_type: String,
    pub vocab_size: u32,
    pub hidden_size: u32,
    pub num_layers: u32,
    /// Longest prompt plus completion in tokens.
    pub max_model_len: u32,
    pub eos_token_ids: Vec<u32>,
}

#[napi(object, use_nullable = true)]
pub struct NativeEngineInfo {
    /// Instruction-set tier in use.
    pub isa: String,
    pub threads: u32,
    pub config: NativeModelInfo,
}

#[napi(object, use_nullable = true)]
pub struct NativeEngineStats {
    /// Sequences that are being decoded.
    pub running: u32,
    /// Requests in the queue.
    pub waiting: u32,
    /// Names of the adapters of sequences that are being decoded.
    pub running_adapters: Vec<String>,
    /// How many of those sequences each of them has.
    pub running_adapter_counts: Vec<u32>,
    /// From 0 to 1.
    pub kv_cache_usage: f64,
    /// Capacity in tokens.
    pub kv_cache_tokens: f64,
    /// Upper bounds of `step_counts` in tokens, one fewer than there are counts.
    pub step_bounds: Vec<f64>,
    /// Steps by the number of their tokens, counted since the start.
    pub step_counts: Vec<f64>,
    /// Tokens of all steps, counted since the start.
    pub step_tokens: f64,
    /// Counted since the start.
    pub preemptions: f64,
    /// Counted since the start.
    pub prompt_tokens: f64,
    /// Counted since the start.
    pub generation_tokens: f64,
    /// Tokens that were looked up, counted since the start.
    pub prefix_cache_queries: f64,
    /// Tokens that were found, counted since the start.
    pub prefix_cache_hits: f64,
    /// Version of the weights in use.
    pub version: f64,
    /// Digest of the weights in use.
    pub digest: Option<String>,
}

struct Inner {
    compute: Arc<Compute>,
    generator: Generator,
    model: Mutex<Arc<Model>>,
    adapters: Adapters,
}

/// A loaded model. Its methods fail with PRL_ENGINE_CLOSED after `close`.
#[napi]
pub struct NativeEngine {
    inner: Mutex<Option<Arc<Inner>>>,
}

fn closed() -> NativeError {
    NativeError::new("PRL_ENGINE_CLOSED", "the engine is closed")
}

pub(crate) fn tier(name: Option<&str>) -> Result<Option<Tier>, NativeError> {
    name.map(|name| Tier::from_name(name).map_err(NativeError::from))
        .transpose()
}

/// The format of these names.
pub(crate) fn weight_format(dtype: &str, base: Option<&str>) -> Result<WeightFormat, NativeError> {
    Ok(WeightFormat {
        dtype: WeightDtype::from_name(dtype)?,
        base: base.map(BaseDtype::from_name).transpose()?,
    })
}

#[napi]
impl NativeEngine {
    /// Loads a checkpoint folder and starts the generator's thread.
    #[napi(catch_unwind)]
    pub fn open(
        env: &Env,
        dir: String,
        layout: NativeWeightLayout,
        options: NativeEngineOptions,
    ) -> napi::Result<PromiseRaw<'_, NativeEngine>> {
        blocking(env, move || {
            let generating = generator_options(&options)?;
            let compute = Compute::new(options.threads as usize, tier(layout.isa.as_deref())?)?;
            let format = weight_format(&layout.dtype, layout.base_dtype.as_deref())?;
            let model = Model::load_as(Path::new(&dir), format, &compute)?;
            Self::start(adapted(model, &options, &compute)?, compute, generating)
        })
    }

    fn inner(&self) -> Result<Arc<Inner>, NativeError> {
        self.inner
            .lock()
            .ok()
            .and_then(|inner| inner.clone())
            .ok_or_else(closed)
    }

    #[napi(catch_unwind)]
    pub fn info(&self) -> napi::Result<NativeEngineInfo> {
        let inner = self.inner()?;
        let model = inner.current()?;
        let config = model.config();
        let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Ok(NativeEngineInfo {
            isa: inner.compute.tier().name().to_owned(),
            threads: count(inner.compute.threads()),
            config: NativeModelInfo {
                model_type: config.architecture.model_type().to_owned(),
                vocab_size: count(config.vocab_size),
                hidden_size: count(config.hidden_size),
                num_layers: count(config.num_layers),
                max_model_len: count(inner.generator.max_model_len()),
                eos_token_ids: config.eos_token_ids.clone(),
            },
        })
    }

    /// Logits of T tokens in packed sequences: T * V numbers.
    #[napi(catch_unwind)]
    pub fn logits<'env>(
        &self,
        env: &'env Env,
        ids: Uint32Array,
        cu_seqlens: Uint32Array,
    ) -> napi::Result<PromiseRaw<'env, Float32Array>> {
        let inner = self.inner()?;
        blocking(env, move || {
            let (ids, cu_seqlens) = (ids.to_vec(), cu_seqlens.to_vec());
            Ok(Float32Array::new(inner.current()?.logits(
                &inner.compute,
                &ids,
                &cu_seqlens,
            )?))
        })
    }

    /// Log-probabilities of packed sequences, computed between two decode steps.
    #[napi(catch_unwind)]
    pub fn logprobs<'env>(
        &self,
        env: &'env Env,
        ids: Uint32Array,
        cu_seqlens: Uint32Array,
        temperatures: Float32Array,
    ) -> napi::Result<PromiseRaw<'env, Float32Array>> {
        let inner = self.inner()?;
        blocking(env, move || {
            let scored = inner
                .generator
                .score(ids.to_vec(), cu_seqlens.to_vec(), temperatures.to_vec());
            Ok(Float32Array::new(scored?))
        })
    }

    /// The same with each token's rank and the most likely tokens of its place.
    #[napi(catch_unwind)]
    pub fn ranked_logprobs<'env>(
        &self,
        env: &'env Env,
        scoring: NativeRankedScoring,
    ) -> napi::Result<PromiseRaw<'env, NativeRankedScores>> {
        let inner = self.inner()?;
        blocking(env, move || {
            let top = scoring.top;
            let scoring = Scoring {
                input_ids: scoring.ids.to_vec(),
                cu_seqlens: scoring.cu_seqlens.to_vec(),
                temperatures: scoring.temperatures.to_vec(),
            };
            Ok(ranked_scores(inner.generator.score_ranked(scoring, top)?, top))
        })
    }

    /// Queues requests. One that names an adapter which is not loaded is refused, the others go on.
    #[napi(catch_unwind)]
    pub fn submit(&self, requests: Vec<NativeGenerateRequest>) -> napi::Result<()> {
        let inner = self.inner()?;
        let (mut known, mut refused) = (Vec::new(), Vec::new());
        for asked in requests {
            let adapter = asked.adapter.as_deref().map(|name| inner.adapters.get(name));
            match adapter.transpose() {
                Ok(adapter) => known.push(request(asked, adapter)?),
                Err(problem) => refused.push((asked.id, problem)),
            }
        }
        inner.generator.submit(known).map_err(NativeError::from)?;
        for (id, problem) in refused {
            let refused = inner.generator.refuse(&id, RequestError::Input(problem));
            refused.map_err(NativeError::from)?;
        }
        Ok(())
    }

    /// Returns every increment since the last call, or waits for one, at most `deadline_ms`.
    #[napi(catch_unwind)]
    pub fn next<'env>(&self, env: &'env Env, deadline_ms: u32) -> napi::Result<PromiseRaw<'env, Vec<NativeIncrement>>> {
        let inner = self.inner()?;
        blocking(env, move || {
            let increments = inner
                .generator
                .next(Instant::now() + Duration::from_millis(deadline_ms.into()))?;
            Ok(increments.into_iter().map(increment).collect())
        })
    }

    /// Ends requests. Each still gives its last increment.
    #[napi(catch_unwind)]
    pub fn abort(&self, ids: Vec<String>) -> napi::Result<()> {
        Ok(self.inner()?.generator.abort(&ids).map_err(NativeError::from)?)
    }

    /// `mode` is keep, wait or abort.
    #[napi(catch_unwind)]
    pub fn pause<'env>(&self, env: &'env Env, mode: String) -> napi::Result<PromiseRaw<'env, ()>> {
        let inner = self.inner()?;
        let mode = match mode.as_str() {
            "keep" => PauseMode::Keep,
            "wait" => PauseMode::Wait,
            "abort" => PauseMode::Abort,
            _ => {
                return Err(NativeError::new(
                    "PRL_ENGINE_INPUT",
                    format!("pause mode \"{mode}\": use keep, wait or abort"),
                )
                .into());
            }
        };
        blocking(env, move || Ok(inner.generator.pause(mode)?))
    }

    /// Continues after a pause.
    #[napi(catch_unwind)]
    pub fn resume(&self) -> napi::Result<()> {
        Ok(self.inner()?.generator.resume().map_err(NativeError::from)?)
    }

    /// Frees the memory of the key-value cache; requests wait.
    #[napi(catch_unwind)]
    pub fn sleep<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let inner = self.inner()?;
        blocking(env, move || Ok(inner.generator.sleep()?))
    }

    /// Takes the memory again; does nothing when awake.
    #[napi(catch_unwind)]
    pub fn wake_up<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let inner = self.inner()?;
        blocking(env, move || Ok(inner.generator.wake_up()?))
    }

    /// Loads other weights, or another adapter of these weights, between two decode steps.
    #[napi(catch_unwind)]
    pub fn swap<'env>(
        &self,
        env: &'env Env,
        dir: String,
        version: f64,
        digest: Option<String>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let (inner, version) = (self.inner()?, whole("version", version)?);
        blocking(env, move || {
            let (current, dir) = (inner.current()?, PathBuf::from(dir));
            let next = if Folder::is_in(&dir) {
                let adapter = Adapter::open(&dir, current.config(), &inner.compute)?;
                Arc::new(current.with_adapter(Some(Arc::new(adapter))))
            } else {
                Arc::new(Model::load_as(&dir, current.config().format(), &inner.compute)?)
            };
            inner.generator.swap(Arc::clone(&next), version, digest)?;
            *inner.model.lock().map_err(|_| closed())? = next;
            Ok(())
        })
    }

    /// Loads an adapter that requests can name. One that has the name already is replaced for requests that come later.
    #[napi(catch_unwind)]
    pub fn load_adapter<'env>(&self, env: &'env Env, name: String, dir: String) -> napi::Result<PromiseRaw<'env, ()>> {
        let inner = self.inner()?;
        blocking(env, move || {
            let adapter = Adapter::open(Path::new(&dir), inner.current()?.config(), &inner.compute)?;
            let adapter = adapter.named(&name);
            inner.adapters.set(name, Arc::new(adapter));
            Ok(())
        })
    }

    /// Forgets an adapter. Requests that have it go on.
    #[napi(catch_unwind)]
    pub fn unload_adapter(&self, name: String) -> napi::Result<()> {
        Ok(self.inner()?.adapters.remove(&name)?)
    }

    /// Forgets cached prefixes between two decode steps.
    #[napi(catch_unwind)]
    pub fn reset_prefix_cache<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let inner = self.inner()?;
        blocking(env, move || Ok(inner.generator.reset_prefix_cache()?))
    }

    /// Fails when the generator's thread has ended.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> napi::Result<NativeEngineStats> {
        let inner = self.inner()?;
        inner.generator.check().map_err(NativeError::from)?;
        let GeneratorStats {
            running,
            waiting,
            running_adapters,
            step_sizes,
            kv_usage,
            kv_cache_tokens,
            preemptions,
            prompt_tokens_total,
            generation_tokens_total,
            prefix_queries,
            prefix_hits,
            version,
            digest,
            ..
        } = inner.generator.stats();
        Ok(NativeEngineStats {
            running: u32::try_from(running).unwrap_or(u32::MAX),
            waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
            running_adapter_counts: running_adapters
                .iter()
                .map(|(_, count)| u32::try_from(*count).unwrap_or(u32::MAX))
                .collect(),
            running_adapters: running_adapters.iter().map(|(name, _)| name.to_string()).collect(),
            step_bounds: STEP_SIZE_BOUNDS.map(|bound| bound as f64).to_vec(),
            step_counts: step_sizes.counts.map(|count| count as f64).to_vec(),
            step_tokens: step_sizes.tokens as f64,
            kv_cache_usage: kv_usage,
            kv_cache_tokens: kv_cache_tokens as f64,
            preemptions: preemptions as f64,
            prompt_tokens: prompt_tokens_total as f64,
            generation_tokens: generation_tokens_total as f64,
            prefix_cache_queries: prefix_queries as f64,
            prefix_cache_hits: prefix_hits as f64,
            version: version as f64,
            digest,
        })
    }

    /// Stops the generator's thread and frees the model.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let inner = self.inner.lock().ok().and_then(|mut inner| inner.take());
        blocking(env, move || {
            if let Some(inner) = inner {
                inner.generator.close();
            }
            Ok(())
        })
    }
}

impl NativeEngine {
    /// An engine on the frozen weights of a trainer, with separate threads.
    pub(crate) fn beside(frozen: Model, options: &NativeEngineOptions) -> Result<Self, NativeError> {
        let generating = generator_options(options)?;
        let compute = Compute::new(options.threads as usize, Some(frozen.tier()))?;
        Self::start(adapted(frozen, options, &compute)?, compute, generating)
    }

    /// Starts the generator's thread.
    fn start(model: Model, compute: Arc<Compute>, options: GeneratorOptions) -> Result<Self, NativeError> {
        let model = Arc::new(model);
        let generator = Generator::start(Arc::clone(&model), Arc::clone(&compute), options)?;
        let inner = Inner {
            compute,
            generator,
            model: Mutex::new(model),
            adapters: Adapters::default(),
        };
        Ok(Self {
            inner: Mutex::new(Some(Arc::new(inner))),
        })
    }
}

fn generator_options(options: &NativeEngineOptions) -> Result<GeneratorOptions, NativeError> {
    let defaults = GeneratorOptions::default();
    let kv_bytes = options.kv_cache_bytes.map(|bytes| size("kvCacheBytes", bytes));
    Ok(GeneratorOptions {
        max_num_seqs: options.max_num_seqs as usize,
        max_batched_tokens: options
            .max_batched_tokens
            .map_or(defaults.max_batched_tokens, |tokens| tokens as usize),
        max_model_len: options.max_model_len.map(|length| length as usize),
        kv_bytes: kv_bytes.transpose()?,
        prefix_cache: options.prefix_cache,
        version: whole("version", options.version)?,
        ..defaults
    })
}

/// The model with the adapter of the options, if they name one.
fn adapted(model: Model, options: &NativeEngineOptions, compute: &Compute) -> Result<Model, NativeError> {
    let Some(dir) = &options.adapter else { return Ok(model) };
    let adapter = Adapter::open(Path::new(dir), model.config(), compute)?;
    Ok(model.with_adapter(Some(Arc::new(adapter))))
}

impl Inner {
    fn current(&self) -> Result<Arc<Model>, NativeError> {
        self.model.lock().map(|model| Arc::clone(&model)).map_err(|_| closed())
    }
}

/// Writes a checkpoint folder with random weights for the config.json in `config_dir`.
#[napi(catch_unwind)]
pub fn random_checkpoint(
    env: &Env,
    config_dir: String,
    out_dir: String,
    seed: f64,
) -> napi::Result<PromiseRaw<'_, ()>> {
    let seed = whole("seed", seed)?;
    blocking(env, move || {
        prl_engine::random_checkpoint(Path::new(&config_dir), Path::new(&out_dir), seed)?;
        Ok(())
    })
}
