//! A handle of the trainer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use napi::bindgen_prelude::{Env, Float32Array, PromiseRaw, Uint32Array};
use napi_derive::napi;
use prl_engine::{
    ActivationPolicy, Compute, LoraConfig, LoraOptions, LoraTarget, LossConfig, OptimConfig, OptimMethod,
    RouterOptions, SavedWeights, Trainer, TrainerOptions, WeightDtype, WeightFormat,
};

use crate::batch::{NativeBatch, NativeRoutedExperts};
use crate::custom_loss::{CustomLossFunction, ask};
use crate::engine::{NativeEngine, NativeEngineOptions, tier, weight_format};
use crate::error::NativeError;
use crate::losses::metrics_json;
use crate::numbers::whole;
use crate::runtime::blocking;

#[napi(object, use_nullable = true)]
pub struct NativeOptim {
    /// adamw | sgd | muon.
    pub method: String,
    /// For SGD and Muon.
    pub momentum: f64,
    /// For SGD.
    pub nesterov: bool,
    /// Learning rate of steps that are given none.
    pub lr: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Relative to the learning rate: a step shrinks weights by lr * weight_decay.
    pub weight_decay: f64,
    /// Largest global gradient norm; null clips nothing.
    pub max_norm: Option<f64>,
    /// Whether norms and biases decay too.
    pub decay_1d: bool,
    /// float32 | bfloat16: the format of the moments between steps.
    pub state_dtype: String,
}

/// A low-rank adapter to train in place of the weights.
#[napi(object, use_nullable = true)]
pub struct NativeLora {
    pub rank: u32,
    /// The adapter's product is scaled by alpha / rank.
    pub alpha: f64,
    /// Scale by alpha / sqrt(rank).
    pub rslora: bool,
    /// Share of the adapter's inputs that is zeroed in training.
    pub dropout: f64,
    /// Names of projections: q_proj, ...; empty for the model's usual ones.
    pub targets: Vec<String>,
    /// 0 to 2^53 - 1.
    pub seed: f64,
    /// The folder of an adapter to continue with; null begins a new one.
    pub from: Option<String>,
    /// Name or folder of the model, which is saved with the adapter.
    pub base: String,
}

/// How to open a checkpoint for training.
#[napi(object, use_nullable = true)]
pub struct NativeTrainerOptions {
    /// 0 takes every core.
    pub threads: u32,
    /// Instruction-set tier; null picks the best.
    pub isa: Option<String>,
    pub loss: String,
    /// Parameters of the loss, a JSON object.
    pub loss_params: String,
    pub optim: NativeOptim,
    /// auto | keep | recompute.
    pub activations: String,
    /// Factor of the loss that balances the experts of a mixture; 0: none.
    pub router_aux_loss_coef: f64,
    /// The routers of mixtures of experts stay as they are.
    pub freeze_moe_router: bool,
    /// float32 | bfloat16: the format of the weights that are computed with and published.
    pub dtype: String,
    /// int8: the format of the frozen projections under `lora`; null: `dtype`.
    pub base_dtype: Option<String>,
    /// The folder whose tokenizer files are copied into every saved folder; null takes the opened folder.
    pub companions: Option<String>,
    /// Null trains all weights.
    pub lora: Option<NativeLora>,
}

fn lora_options(lora: &NativeLora) -> Result<LoraOptions, NativeError> {
    let targets = lora.targets.iter().map(|name| LoraTarget::from_name(name));
    Ok(LoraOptions {
        config: LoraConfig {
            rank: lora.rank as usize,
            alpha: lora.alpha,
            rslora: lora.rslora,
            dropout: lora.dropout,
            targets: targets.collect::<Result<_, _>>()?,
        },
        seed: whole("lora.seed", lora.seed)?,
        from: lora.from.as_ref().map(PathBuf::from),
        base: lora.base.clone(),
    })
}

fn trainer_options(options: &NativeTrainerOptions) -> Result<TrainerOptions, NativeError> {
    let params = serde_json::from_str(&options.loss_params)
        .map_err(|error| NativeError::new("PRL_LOSS_INPUT", format!("the loss's parameters are not JSON: {error}")))?;
    let activations = match options.activations.as_str() {
        "auto" => ActivationPolicy::Auto,
        "keep" => ActivationPolicy::Keep,
        "recompute" => ActivationPolicy::Recompute,
        other => {
            let message = format!("activations \"{other}\": use auto, keep or recompute");
            return Err(NativeError::new("PRL_ENGINE_INPUT", message));
        }
    };
    let NativeOptim {
        ref method,
        momentum,
        nesterov,
        lr,
        beta1,
        beta2,
        eps,
        weight_decay,
        max_norm,
        decay_1d,
        ref state_dtype,
    } = options.optim;
    let method = match method.as_str() {
        "adamw" => OptimMethod::AdamW,
        "sgd" => OptimMethod::Sgd { momentum, nesterov },
        "muon" => OptimMethod::Muon { momentum },
        other => {
            let message = format!("the optimizer \"{other}\" is unknown: use adamw, sgd or muon");
            return Err(NativeError::new("PRL_OPTIM_UNKNOWN", message));
        }
    };
    let WeightFormat { dtype, base } = weight_format(&options.dtype, options.base_dtype.as_deref())?;
    Ok(TrainerOptions {
        loss: LossConfig {
            name: options.loss.clone(),
            params,
        },
        optim: OptimConfig {
            method,
            lr,
            betas: (beta1, beta2),
            eps,
            weight_decay,
            max_norm,
            decay_1d,
            state_dtype: WeightDtype::from_name(state_dtype)?,
        },
        router: RouterOptions {
            aux_loss_coef: options.router_aux_loss_coef,
            frozen: options.freeze_moe_router,
        },
        activations,
        dtype,
        base_dtype: base,
        companions: options.companions.as_ref().map(PathBuf::from),
        lora: options.lora.as_ref().map(lora_options).transpose()?,
    })
}

#[napi(object, use_nullable = true)]
pub struct NativeTrainerInfo {
    /// Instruction-set tier in use.
    pub isa: String,
    pub threads: u32,
    pub vocab_size: u32,
    /// Hugging Face names.
    pub parameter_names: Vec<String>,
}

#[napi(object, use_nullable = true)]
pub struct NativeStepMetrics {
    pub loss: f64,
    /// JSON object of numbers.
    pub metrics: String,
}

/// A weights file that was written.
#[napi(object, use_nullable = true)]
pub struct NativeShard {
    pub file: String,
    pub bytes: f64,
    /// XXH3-64 of the file's bytes.
    pub digest: String,
}

/// What the manifest of the saved weights needs.
#[napi(object, use_nullable = true)]
pub struct NativeSavedWeights {
    /// Version digest.
    pub digest: String,
    pub shards: Vec<NativeShard>,
}

/// An open trainer. Its methods fail with PRL_ENGINE_CLOSED after `close`, except `info`.
#[napi]
pub struct NativeTrainer {
    trainer: Arc<Mutex<Option<Trainer>>>,
    compute: Arc<Compute>,
    vocab_size: u32,
    parameter_names: Vec<String>,
}

#[napi]
impl NativeTrainer {
    /// Opens a checkpoint folder.
    #[napi(catch_unwind)]
    pub fn open(env: &Env, dir: String, options: NativeTrainerOptions) -> napi::Result<PromiseRaw<'_, NativeTrainer>> {
        blocking(env, move || {
            let compute = Compute::new(options.threads as usize, tier(options.isa.as_deref())?)?;
            let trainer = Trainer::open(Path::new(&dir), &compute, trainer_options(&options)?)?;
            let parameter_names = trainer.parameter_names();
            let vocab_size = u32::try_from(trainer.config().vocab_size).unwrap_or(u32::MAX);
            Ok(Self {
                trainer: Arc::new(Mutex::new(Some(trainer))),
                compute,
                vocab_size,
                parameter_names,
            })
        })
    }

    #[napi(catch_unwind)]
    pub fn info(&self) -> NativeTrainerInfo {
        NativeTrainerInfo {
            isa: self.compute.tier().name().to_owned(),
            threads: u32::try_from(self.compute.threads()).unwrap_or(u32::MAX),
            vocab_size: self.vocab_size,
            parameter_names: self.parameter_names.clone(),
        }
    }

    /// Adds a batch's gradients to the accumulated ones. Tokens of `on_policy_version` feed the on-policy mismatch metrics. `loss` is
    /// called for each bin in place of the loss that the trainer was opened with.
    #[napi(catch_unwind)]
    pub fn forward_backward<'env>(
        &self,
        env: &'env Env,
        batch: NativeBatch,
        on_policy_version: Option<u32>,
        #[napi(ts_arg_type = "((call: NativeLossCall) => NativeLossAnswer | null) | null")] loss: Option<
            CustomLossFunction,
        >,
    ) -> napi::Result<PromiseRaw<'env, NativeStepMetrics>> {
        self.run(env, move |trainer| {
            // JavaScript runs on meanwhile and must not change the columns between their checks and their uses.
            let batch = batch.copied();
            let expert_ids = batch.routed_experts.as_ref().map(NativeRoutedExperts::widened);
            let expert_ids = expert_ids.transpose()?.unwrap_or_default();
            let batch = batch.to_train(&expert_ids, on_policy_version);
            let stats = match loss {
                None => trainer.forward_backward(&batch),
                Some(loss) => trainer.forward_backward_with(&batch, &mut |inputs, counts| ask(&loss, inputs, counts)),
            }?;
            Ok(NativeStepMetrics {
                loss: stats.loss,
                metrics: metrics_json(&stats.metrics),
            })
        })
    }

    /// The accumulated gradient of a parameter.
    #[napi(catch_unwind)]
    pub fn gradient<'env>(&self, env: &'env Env, name: String) -> napi::Result<PromiseRaw<'env, Float32Array>> {
        self.run(env, move |trainer| Ok(Float32Array::new(trainer.gradient(&name)?)))
    }

    /// Makes one optimizer step and returns the gradient norm before clipping.
    #[napi(catch_unwind)]
    pub fn step<'env>(&self, env: &'env Env, lr: Option<f64>) -> napi::Result<PromiseRaw<'env, f64>> {
        self.run(env, move |trainer| Ok(f64::from(trainer.step(lr.map(|lr| lr as f32))?)))
    }

    /// The values of a parameter.
    #[napi(catch_unwind)]
    pub fn parameter<'env>(&self, env: &'env Env, name: String) -> napi::Result<PromiseRaw<'env, Float32Array>> {
        self.run(env, move |trainer| Ok(Float32Array::new(trainer.parameter(&name)?)))
    }

    /// Log-probabilities of packed sequences under the current weights.
    #[napi(catch_unwind)]
    pub fn logprobs<'env>(
        &self,
        env: &'env Env,
        ids: Uint32Array,
        cu_seqlens: Uint32Array,
        temperatures: Float32Array,
    ) -> napi::Result<PromiseRaw<'env, Float32Array>> {
        self.run(env, move |trainer| {
            let (ids, cu_seqlens, temperatures) = (ids.to_vec(), cu_seqlens.to_vec(), temperatures.to_vec());
            Ok(Float32Array::new(trainer.logprobs(&ids, &cu_seqlens, &temperatures)?))
        })
    }

    /// Writes a Hugging Face folder with the weights as they are published.
    #[napi(catch_unwind)]
    pub fn save<'env>(&self, env: &'env Env, dir: String) -> napi::Result<PromiseRaw<'env, NativeSavedWeights>> {
        self.run(env, move |trainer| Ok(saved(trainer.save(&PathBuf::from(dir))?)))
    }

    /// Writes a Hugging Face folder with the weights that the optimizer changes, in F32.
    #[napi(catch_unwind)]
    pub fn save_masters<'env>(
        &self,
        env: &'env Env,
        dir: String,
    ) -> napi::Result<PromiseRaw<'env, NativeSavedWeights>> {
        self.run(env, move |trainer| {
            Ok(saved(trainer.save_masters(&PathBuf::from(dir))?))
        })
    }

    /// Writes the optimizer's state and returns its digest.
    #[napi(catch_unwind)]
    pub fn save_optimizer<'env>(&self, env: &'env Env, path: String) -> napi::Result<PromiseRaw<'env, String>> {
        self.run(env, move |trainer| Ok(trainer.save_optimizer(&PathBuf::from(path))?))
    }

    /// Continues from a saved optimizer state.
    #[napi(catch_unwind)]
    pub fn load_optimizer<'env>(&self, env: &'env Env, path: String) -> napi::Result<PromiseRaw<'env, ()>> {
        self.run(env, move |trainer| Ok(trainer.load_optimizer(&PathBuf::from(path))?))
    }

    /// An engine on the frozen weights of a trainer of an adapter, which both then hold.
    #[napi(catch_unwind)]
    pub fn engine<'env>(
        &self,
        env: &'env Env,
        options: NativeEngineOptions,
    ) -> napi::Result<PromiseRaw<'env, NativeEngine>> {
        self.run(env, move |trainer| {
            let frozen = trainer.frozen_model().ok_or_else(|| {
                let message = "weightsOf: this trainer changes all weights, so no model can share them: open it with lora, or load the model without weightsOf";
                NativeError::new("PRL_ENGINE_INPUT", message)
            })?;
            NativeEngine::beside(frozen, &options)
        })
    }

    /// Frees the trainer.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let trainer = Arc::clone(&self.trainer);
        blocking(env, move || {
            drop(trainer.lock().map_err(|_| poisoned())?.take());
            Ok(())
        })
    }

    fn run<'env, T, F>(&self, env: &'env Env, work: F) -> napi::Result<PromiseRaw<'env, T>>
    where
        T: napi::bindgen_prelude::ToNapiValue + Send + 'static,
        F: FnOnce(&mut Trainer) -> Result<T, NativeError> + Send + 'static,
    {
        let trainer = Arc::clone(&self.trainer);
        blocking(env, move || {
            let mut trainer = trainer.lock().map_err(|_| poisoned())?;
            work(
                trainer
                    .as_mut()
                    .ok_or_else(|| NativeError::new("PRL_ENGINE_CLOSED", "the trainer is closed"))?,
            )
        })
    }
}

pub(crate) fn saved(saved: SavedWeights) -> NativeSavedWeights {
    let shard = |shard: prl_weights::Shard| NativeShard {
        file: shard.file,
        bytes: shard.bytes as f64,
        digest: shard.digest,
    };
    NativeSavedWeights {
        digest: saved.digest,
        shards: saved.shards.into_iter().map(shard).collect(),
    }
}

fn poisoned() -> NativeError {
    NativeError::new(
        "PRL_NATIVE_PANIC",
        "an earlier call on this trainer panicked: its state is lost, open it again",
    )
}
