//! Training: forward, loss and backward over packed batches, the optimizers, and writing the weights.
//!
//! The forward pass is the model's own, on the weights that [`Trainer::save`] writes, so its log-probabilities equal those of a
//! [`Model`] loaded from there bit for bit.

mod backward;
mod balance;
mod batch;
#[doc(hidden)]
pub mod measured;
mod micro_batch;
mod optimizer;
mod options;
mod parameters;
mod passes;
mod resume;
mod routes;
mod save;
mod save_adapter;
mod statistics;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use batch::TrainBatch;
pub use options::{
    ACTIVATION_BUDGET_BYTES, ActivationPolicy, LoraOptions, LossConfig, OptimConfig, OptimMethod, RouterOptions,
    TrainerOptions,
};
pub use save::SavedWeights;
pub(crate) use save::save as save_flat;
pub use statistics::StepStats;

use crate::companions::Companions;
use crate::compute::Compute;
use crate::config::{ModelConfig, WeightDtype, WeightFormat};
use crate::error::EngineError;
use crate::kernels::buffer::Shared;
use crate::loss::{LossFunction, check_loss, policy_loss};
use crate::model::Model;
use crate::model::cache::LayerStore;
use crate::model::layout::{Layout, Part, Slot};
use crate::model::stored::Stored;
use crate::model::weights::Weights;
use backward::layer::BackwardPacks;
use optimizer::{Flat, Optimizer};
use parameters::{Kind, Parameters};
use passes::Buffers;
use save_adapter::save_adapter;

/// A model in training: f32 parameters, gradients and moments, and the weights as the model keeps them.
pub struct Trainer {
    compute: Arc<Compute>,
    companions: Companions,
    options: TrainerOptions,
    model: Model,
    parameters: Parameters,
    optimizer: Optimizer,
    packs: Arc<BackwardPacks>,
    /// Whether `packs` holds the current weights.
    packs_current: bool,
    buffers: Buffers,
    /// Keys and values of one layer, overwritten by the next.
    store: Option<LayerStore>,
    /// Bins since the last step, or since gradients were dropped: the seeds of their dropout differ.
    bins: u64,
}

/// A model with frozen weights, on which several trainers can train adapters. Clones share the weights.
#[derive(Clone)]
pub struct FrozenModel {
    dir: PathBuf,
    model: Arc<Model>,
    packs: Arc<BackwardPacks>,
}

impl FrozenModel {
    /// Reads a Hugging Face folder; the weights are kept in this format.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn open(dir: &Path, format: impl Into<WeightFormat>, compute: &Compute) -> Result<Self, EngineError> {
        let config = ModelConfig::from_dir(dir)?.kept_as(format);
        let layout = Layout::new(&config);
        let (mut weights, mut packs) = (Weights::kept_as(config.dtype), BackwardPacks::kept_as(config.dtype));
        Stored::open(dir, &layout)?.each_part(|part| {
            weights.pack(compute, &config, &layout, part);
            packs.pack(compute, &config, &layout, part);
        })?;
        Ok(Self {
            dir: dir.to_path_buf(),
            model: Arc::new(Model::new(config, weights, compute)),
            packs: Arc::new(packs),
        })
    }
}

impl Trainer {
    /// Opens the Hugging Face folder `dir` for training, all weights or, with [`TrainerOptions::lora`], an adapter of them.
    ///
    /// # Errors
    /// As [`Model::load`]; [`EngineError::Input`] when an option's number is out of range; `LossUnknown` and
    /// `LossInput` for a loss that no batch could be trained with; [`EngineError::Io`] when `options.companions` has no tokenizer.
    pub fn open(dir: &Path, compute: &Arc<Compute>, options: TrainerOptions) -> Result<Self, EngineError> {
        options.optim.check()?;
        check_loss(&options.loss.name, &options.loss.params)?;
        if options.lora.is_some() {
            let format = WeightFormat {
                dtype: options.dtype,
                base: options.base_dtype,
            };
            let frozen = FrozenModel::open(dir, format, compute)?;
            return Self::adapt(&frozen, compute, options);
        }
        if let Some(base) = options.base_dtype {
            return Err(EngineError::Input(format!(
                "options.base_dtype is {}, and all weights are trained: it is for the frozen weights under options.lora",
                base.name()
            )));
        }
        let config = ModelConfig::from_dir(dir)?.kept_as(options.dtype);
        let layout = Layout::new(&config);
        let flat = Stored::open(dir, &layout)?.flat()?;
        let mut weights = Weights::kept_as(config.dtype);
        weights.pack(compute, &config, &layout, Part::whole(&flat));
        let model = Model::new(config, weights, compute);
        let packs = Arc::new(BackwardPacks::kept_as(options.dtype));
        Self::new((model, packs), Parameters::weights(layout, flat), dir, compute, options)
    }

    /// Trains an adapter of a model that other trainers may share. The model's format is in the place of [`TrainerOptions::dtype`].
    ///
    /// # Errors
    /// As [`Trainer::open`]; [`EngineError::Input`] when the options have no adapter, or the one to continue with has others;
    /// [`EngineError::ConfigUnsupported`] for targets that the engine does not adapt.
    pub fn adapt(
        frozen: &FrozenModel,
        compute: &Arc<Compute>,
        mut options: TrainerOptions,
    ) -> Result<Self, EngineError> {
        options.optim.check()?;
        check_loss(&options.loss.name, &options.loss.params)?;
        WeightFormat {
            dtype: options.dtype,
            base: options.base_dtype,
        } = frozen.model.config.format();
        let Some(lora) = &options.lora else {
            return Err(EngineError::Input(
                "options.lora is missing: frozen weights are trained by an adapter".to_owned(),
            ));
        };
        let mut parameters = Parameters::adapter(compute, &frozen.model.config, lora)?;
        let mut model = frozen.model.with_adapter(None);
        parameters.update(compute, &mut model);
        let mut trainer = Self::new(
            (model, Arc::clone(&frozen.packs)),
            parameters,
            &frozen.dir,
            compute,
            options,
        )?;
        trainer.packs_current = true;
        Ok(trainer)
    }

    fn new(
        (model, packs): (Model, Arc<BackwardPacks>),
        parameters: Parameters,
        dir: &Path,
        compute: &Arc<Compute>,
        options: TrainerOptions,
    ) -> Result<Self, EngineError> {
        options.router.check(&model.config)?;
        Ok(Self {
            compute: Arc::clone(compute),
            companions: match &options.companions {
                None => Companions::read(dir)?,
                Some(base) => Companions::of_model(base)?,
            },
            optimizer: Optimizer::new(options.optim, parameters.values.len()),
            buffers: Buffers::new(options.dtype),
            options,
            model,
            parameters,
            packs,
            packs_current: false,
            store: None,
            bins: 0,
        })
    }

    /// The model's architecture.
    pub fn config(&self) -> &ModelConfig {
        self.model.config()
    }

    /// The model under the adapter, which shares the frozen weights with the trainer; None when all weights are trained.
    pub fn frozen_model(&self) -> Option<Model> {
        matches!(self.parameters.kind, Kind::Adapter(_)).then(|| self.model.with_adapter(None))
    }

    /// Hugging Face names of all parameters in training; `peft`'s for those of an adapter. A tied head is not listed; it is the embedding. Nor
    /// are frozen routers.
    pub fn parameter_names(&self) -> Vec<String> {
        let trained = self.parameters.slots().iter().filter(|slot| self.trains(slot));
        trained.map(|slot| slot.name.clone()).collect()
    }

    /// Whether the optimizer changes a parameter.
    fn trains(&self, slot: &Slot) -> bool {
        !(self.options.router.frozen && slot.is_router())
    }

    /// The shape of a parameter.
    ///
    /// # Errors
    /// [`EngineError::Input`] when there is none of this name.
    pub fn parameter_shape(&self, name: &str) -> Result<&[usize], EngineError> {
        Ok(&self.parameters.slot(name)?.shape)
    }

    /// A parameter's values, row-major.
    ///
    /// # Errors
    /// [`EngineError::Input`] when there is none of this name.
    pub fn parameter(&self, name: &str) -> Result<Vec<f32>, EngineError> {
        Ok(self.parameters.values[self.parameters.slot(name)?.range.clone()].to_vec())
    }

    /// A parameter's gradient as accumulated since the last step, before clipping.
    ///
    /// # Errors
    /// [`EngineError::Input`] when there is none of this name.
    pub fn gradient(&self, name: &str) -> Result<Vec<f32>, EngineError> {
        Ok(self.parameters.grads[self.parameters.slot(name)?.range.clone()].to_vec())
    }

    /// Log-probabilities under the current weights; see [`Model::logprobs`].
    ///
    /// # Errors
    /// As [`Model::logprobs`].
    pub fn logprobs(
        &self,
        input_ids: &[u32],
        cu_seqlens: &[u32],
        temperatures: &[f32],
    ) -> Result<Vec<f32>, EngineError> {
        self.model.logprobs(&self.compute, input_ids, cu_seqlens, temperatures)
    }

    /// Runs a batch forward and backward, bin after bin; gradients add to those of earlier calls until [`Trainer::step`].
    ///
    /// Sequences without a token that trains are not computed, nor are the rows behind the last token of a sequence that trains. Beginnings
    /// that sequences of a bin have in common are computed once.
    ///
    /// # Errors
    /// [`EngineError::Input`] when columns do not fit together or the model; the loss's own errors; [`EngineError::NonFinite`] when the
    /// loss is not finite. Gradients accumulated so far are dropped, parameters unchanged.
    pub fn forward_backward(&mut self, batch: &TrainBatch<'_>) -> Result<StepStats, EngineError> {
        let LossConfig { name, params } = self.options.loss.clone();
        self.forward_backward_with(batch, &mut |inputs, counts| {
            policy_loss(&name, inputs, &params, Some(counts))
        })
    }

    /// [`Trainer::forward_backward`] with the function `loss` in place of the configured loss. It is called once for each bin, between the
    /// bin's forward and its backward pass, and returns the bin's share of the loss: the gradients of the bins are added.
    ///
    /// # Errors
    /// Also those of `loss`, and `LossInput` when its gradient is not one number per token or is not 0 where no token trains.
    pub fn forward_backward_with(
        &mut self,
        batch: &TrainBatch<'_>,
        loss: &mut LossFunction<'_>,
    ) -> Result<StepStats, EngineError> {
        let outcome = self.run_bins(batch, loss);
        if outcome.is_err() {
            self.parameters.grads.fill(0.0);
            self.bins = 0;
        }
        outcome
    }

    /// One optimizer step over the accumulated gradients, which are then cleared. `lr` overrides the configured rate. Returns the global
    /// gradient norm before clipping.
    ///
    /// # Errors
    /// [`EngineError::NonFinite`] when the norm is not finite: gradients are dropped, parameters unchanged. [`EngineError::Input`] when
    /// `lr` is negative or not finite.
    pub fn step(&mut self, lr: Option<f32>) -> Result<f32, EngineError> {
        let lr = lr.map_or(self.options.optim.lr, f64::from);
        if !(lr >= 0.0 && lr.is_finite()) {
            return Err(EngineError::Input(format!("the learning rate is {lr}")));
        }
        let trained = self.parameters.slots().iter().filter(|slot| self.trains(slot));
        let slots: Vec<Slot> = trained.cloned().collect();
        let parameters = &mut self.parameters;
        let flat = Flat {
            slots: &slots,
            values: &mut parameters.values,
            gradients: &parameters.grads,
        };
        let norm = self.optimizer.step(&self.compute, flat, lr);
        clear(&self.compute, &mut parameters.grads);
        self.bins = 0;
        if norm.is_ok() {
            parameters.update(&self.compute, &mut self.model);
            self.packs_current = matches!(parameters.kind, Kind::Adapter(_));
        }
        norm
    }

    /// Writes the optimizer's state to the file `path`, durably, and returns the file's digest. This file and the folder that
    /// [`Trainer::save_masters`] writes are the whole state of a trainer.
    ///
    /// # Errors
    /// [`EngineError::WeightsFile`] when it cannot be written; a file that was there stays whole.
    pub fn save_optimizer(&self, path: &Path) -> Result<String, EngineError> {
        resume::save(path, self.parameters.slots(), &self.optimizer)
    }

    /// Continues from the state in the file `path`; the trainer must have been opened with the weights that belong to it.
    ///
    /// # Errors
    /// [`EngineError::WeightsFile`] when it cannot be read, [`EngineError::Input`] when it is of another optimizer or model. The trainer stays
    /// unchanged then.
    pub fn load_optimizer(&mut self, path: &Path) -> Result<(), EngineError> {
        resume::load(path, self.parameters.slots(), &mut self.optimizer)
    }

    /// Writes the current weights in the format of [`TrainerOptions::dtype`] as a Hugging Face folder that transformers loads, with config
    /// and the companions that existed when the trainer was opened ([`TrainerOptions::companions`]). An adapter is written in F32, as
    /// the folder that `peft` loads; the config is that of its model. Writes no manifest.
    ///
    /// # Errors
    /// [`EngineError::WeightsFile`] or [`EngineError::Io`] when a file cannot be written; files replaced before stay replaced.
    pub fn save(&self, dir: &Path) -> Result<SavedWeights, EngineError> {
        self.save_as(dir, self.options.dtype)
    }

    /// [`Trainer::save`] in F32, whatever the format of the published weights: the weights that a trainer continues from.
    ///
    /// # Errors
    /// As [`Trainer::save`].
    pub fn save_masters(&self, dir: &Path) -> Result<SavedWeights, EngineError> {
        self.save_as(dir, WeightDtype::F32)
    }

    fn save_as(&self, dir: &Path, dtype: WeightDtype) -> Result<SavedWeights, EngineError> {
        let values = &self.parameters.values;
        match &self.parameters.kind {
            Kind::Weights(layout) => {
                let config = self.config().clone().kept_as(dtype);
                save::save(dir, &config, &self.companions, layout, values)
            }
            Kind::Adapter(adapter) => {
                save::save_companions(dir, self.config(), &self.companions)?;
                save_adapter(dir, &adapter.base, &adapter.config, &adapter.layout, values)
            }
        }
    }
}

fn clear(compute: &Compute, values: &mut [f32]) {
    const CHUNK: usize = 1 << 16;
    let len = values.len();
    let values = Shared::new(values);
    compute.run(len.div_ceil(CHUNK), |index| {
        // SAFETY: chunks are disjoint.
        unsafe { values.slice(index * CHUNK, CHUNK.min(len - index * CHUNK)) }.fill(0.0);
    });
}
