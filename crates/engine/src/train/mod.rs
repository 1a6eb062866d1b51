//! Training: forward, loss and backward over packed batches, the optimizers, and writing the weights.
//!
//! The forward pass is the model's own, on the weights that [`Trainer::save`] writes, so its log-probabilities equal those of a
//! [`Model`] loaded from there bit for bit.

mod attention;
mod batch;
mod experts_backward;
mod head_backward;
mod layer_backward;
mod micro_batch;
mod muon;
mod optimizer;
mod options;
mod resume;
mod save;
mod statistics;

use std::path::Path;
use std::sync::Arc;

pub use batch::TrainBatch;
pub use options::{ACTIVATION_BUDGET_BYTES, ActivationPolicy, LossConfig, OptimConfig, OptimMethod, TrainerOptions};
pub use save::SavedWeights;
pub(crate) use save::save as save_flat;
pub use statistics::StepStats;

use crate::companions::Companions;
use crate::compute::Compute;
use crate::config::{ModelConfig, WeightDtype};
use crate::error::EngineError;
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::norm::add;
use crate::loss::{LossFunction, check_loss, policy_loss};
use crate::model::cache::LayerStore;
use crate::model::layer::{self, Activations, Pass, norm_rows};
use crate::model::layout::{Layout, Slot};
use crate::model::rows::Rows;
use crate::model::{Model, weights};
use batch::Bin;
use head_backward::{Head, HeadWorkspace, head_backward};
use layer_backward::{BackwardPacks, Gradients, Layer, Workspace, backward, norm_backward};
use optimizer::{Optimizer, Parameters};

/// A model in training: f32 parameters, gradients and moments, and the weights as the model keeps them.
pub struct Trainer {
    compute: Arc<Compute>,
    companions: Companions,
    options: TrainerOptions,
    layout: Layout,
    model: Model,
    flat: Vec<f32>,
    grads: Vec<f32>,
    optimizer: Optimizer,
    packs: BackwardPacks,
    /// Whether `packs` holds the current parameters.
    packs_current: bool,
    buffers: Buffers,
    /// Keys and values of one layer, overwritten by the next.
    store: Option<LayerStore>,
}

/// Working memory of a forward and backward pass, kept from one to the next.
#[derive(Default)]
struct Buffers {
    /// One per kept layer and one for the layer that is recomputed.
    layers: Vec<Activations>,
    /// Inputs of the layers that are recomputed.
    inputs: Vec<Buffer>,
    /// The last layer's output, then its norm.
    last: Buffer,
    hidden: Buffer,
    grad_hidden: Buffer,
    grad: Buffer,
    work: Workspace,
    head: HeadWorkspace,
    partial: Buffer,
}

impl Trainer {
    /// Opens the Hugging Face folder `dir` for training.
    ///
    /// # Errors
    /// As [`Model::load`]; [`EngineError::Input`] when an optimizer's number is out of range; `LossUnknown` and
    /// `LossInput` for a loss that no batch could be trained with; [`EngineError::Io`] when `options.companions` has no tokenizer.
    pub fn open(dir: &Path, compute: &Arc<Compute>, options: TrainerOptions) -> Result<Self, EngineError> {
        options.optim.check()?;
        check_loss(&options.loss.name, &options.loss.params)?;
        let config = Arc::new(ModelConfig::from_dir(dir)?.kept_as(options.dtype));
        let layout = Layout::new(&config);
        let flat = weights::read_flat(dir, &layout)?;
        let model = Model::from_flat(config, &layout, &flat, compute);
        Ok(Self {
            compute: Arc::clone(compute),
            companions: match &options.companions {
                None => Companions::read(dir)?,
                Some(base) => Companions::of_model(base)?,
            },
            optimizer: Optimizer::new(options.optim, flat.len()),
            packs: BackwardPacks::kept_as(options.dtype),
            options,
            grads: vec![0.0; flat.len()],
            flat,
            layout,
            model,
            packs_current: false,
            buffers: Buffers::default(),
            store: None,
        })
    }

    /// The model's architecture.
    pub fn config(&self) -> &ModelConfig {
        self.model.config()
    }

    /// Hugging Face names of all parameters. A tied head is not listed; it is the embedding.
    pub fn parameter_names(&self) -> Vec<String> {
        self.layout.slots.iter().map(|slot| slot.name.clone()).collect()
    }

    /// The shape of a parameter.
    ///
    /// # Errors
    /// [`EngineError::Input`] when there is none of this name.
    pub fn parameter_shape(&self, name: &str) -> Result<&[usize], EngineError> {
        Ok(&self.slot(name)?.shape)
    }

    /// A parameter's values, row-major.
    ///
    /// # Errors
    /// [`EngineError::Input`] when there is none of this name.
    pub fn parameter(&self, name: &str) -> Result<Vec<f32>, EngineError> {
        Ok(self.flat[self.slot(name)?.range.clone()].to_vec())
    }

    /// A parameter's gradient as accumulated since the last step, before clipping.
    ///
    /// # Errors
    /// [`EngineError::Input`] when there is none of this name.
    pub fn gradient(&self, name: &str) -> Result<Vec<f32>, EngineError> {
        Ok(self.grads[self.slot(name)?.range.clone()].to_vec())
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
            self.grads.fill(0.0);
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
        let parameters = Parameters {
            layout: &self.layout,
            values: &mut self.flat,
            gradients: &self.grads,
        };
        let norm = self.optimizer.step(&self.compute, parameters, lr);
        clear(&self.compute, &mut self.grads);
        if norm.is_ok() {
            self.model
                .weights
                .pack(&self.compute, &self.model.config, &self.layout, &self.flat);
            self.packs_current = false;
        }
        norm
    }

    /// Writes the optimizer's state to the file `path`, durably, and returns the file's digest. This file and the folder that
    /// [`Trainer::save_masters`] writes are the whole state of a trainer.
    ///
    /// # Errors
    /// [`EngineError::WeightsFile`] when it cannot be written; a file that was there stays whole.
    pub fn save_optimizer(&self, path: &Path) -> Result<String, EngineError> {
        resume::save(path, &self.layout, &self.optimizer)
    }

    /// Continues from the state in the file `path`; the trainer must have been opened with the weights that belong to it.
    ///
    /// # Errors
    /// [`EngineError::WeightsFile`] when it cannot be read, [`EngineError::Input`] when it is of another optimizer or model. The trainer stays
    /// unchanged then.
    pub fn load_optimizer(&mut self, path: &Path) -> Result<(), EngineError> {
        resume::load(path, &self.layout, &mut self.optimizer)
    }

    /// Writes the current weights in the format of [`TrainerOptions::dtype`] as a Hugging Face folder that transformers loads, with config
    /// and the companions that existed when the trainer was opened ([`TrainerOptions::companions`]). Writes no manifest.
    ///
    /// # Errors
    /// [`EngineError::WeightsFile`] or [`EngineError::Io`] when a file cannot be written; files replaced before stay replaced.
    pub fn save(&self, dir: &Path) -> Result<SavedWeights, EngineError> {
        save::save(dir, self.config(), &self.companions, &self.layout, &self.flat)
    }

    /// [`Trainer::save`] in F32, whatever the format of the published weights: the weights that a trainer continues from.
    ///
    /// # Errors
    /// As [`Trainer::save`].
    pub fn save_masters(&self, dir: &Path) -> Result<SavedWeights, EngineError> {
        let config = self.config().clone().kept_as(WeightDtype::F32);
        save::save(dir, &config, &self.companions, &self.layout, &self.flat)
    }

    fn slot(&self, name: &str) -> Result<&Slot, EngineError> {
        self.layout
            .slot(name)
            .ok_or_else(|| EngineError::Input(format!("the model has no parameter {name:?}")))
    }

    /// Fills `buffers.hidden`; returns how many layers, the last ones, kept their activations.
    fn forward(&mut self, bin: &Bin) -> usize {
        let rows = &bin.rows;
        let Self {
            compute,
            model,
            buffers,
            options,
            store,
            ..
        } = self;
        let config = &*model.config;
        let (layers, width) = (config.num_layers, config.hidden_size);
        let bytes = rows.len() * (Activations::width(config) + width) * size_of::<f32>();
        let kept = options.activations.kept_layers(layers, bytes);
        let recomputed = layers - kept;
        buffers
            .layers
            .resize_with(kept + usize::from(recomputed > 0), Activations::default);
        buffers.inputs.resize_with(recomputed, Buffer::default);

        let rope = model.rope.up_to(rows.longest);
        let pass = |layer: usize| Pass {
            outputs: (layer + 1 == config.num_layers).then_some(&*bin.outputs),
            compute,
            config,
            rope: &rope,
            rows,
            window: config.window(layer),
            moe: config.moe(layer),
        };
        let store = store.get_or_insert_with(|| LayerStore::new(config, 0));
        store.reserve(rows.num_blocks());
        model.embed(compute, rows, &mut buffers.last);
        for (index, weights) in model.weights.layers.iter().enumerate() {
            let acts = &mut buffers.layers[slot_of(index, recomputed)];
            std::mem::swap(&mut acts.x, &mut buffers.last);
            layer::forward(
                pass(index),
                weights,
                store,
                acts,
                &mut buffers.work.passing,
                &mut buffers.last,
            );
            if index < recomputed {
                std::mem::swap(&mut buffers.inputs[index], &mut acts.x);
            }
        }
        buffers.hidden.resize(bin.outputs.len() * width);
        norm_rows(
            compute,
            &buffers.last,
            &model.weights.final_norm,
            config.rms_norm_eps,
            &mut buffers.hidden,
        );
        kept
    }

    fn backward(&mut self, bin: &Bin, grad_logprobs: &[f32], kept: usize) {
        if !self.packs_current {
            self.packs
                .pack(&self.compute, &self.model.config, &self.layout, &self.flat);
            self.packs_current = true;
        }
        self.head_and_norm_backward(bin, grad_logprobs);
        self.layers_backward(bin, kept);
        embedding_gradient(
            &self.compute,
            &bin.rows,
            &self.buffers.grad,
            self.model.config.hidden_size,
            &mut self.grads[self.layout.embedding.clone()],
        );
    }

    /// Fills `buffers.grad` with the gradient of the last layer's output.
    fn head_and_norm_backward(&mut self, bin: &Bin, grad_logprobs: &[f32]) {
        let Self {
            compute,
            model,
            buffers,
            layout,
            grads,
            packs,
            ..
        } = self;
        let (width, eps) = (model.config.hidden_size, model.config.rms_norm_eps);
        buffers.grad_hidden.resize(bin.outputs.len() * width);
        head_backward(
            compute,
            Head {
                forward: &model.weights.head,
                backward: &packs.head,
            },
            &buffers.hidden,
            width,
            &bin.targets,
            grad_logprobs,
            &mut buffers.grad_hidden,
            &mut grads[layout.head.clone()],
            &mut buffers.head,
            &mut buffers.work.packed,
        );
        buffers.grad.resize(bin.outputs.len() * width);
        buffers.grad.fill(0.0);
        let out = &mut grads[layout.final_norm.clone()];
        let norm = &model.weights.final_norm;
        let Buffers {
            last,
            grad_hidden,
            grad,
            partial,
            ..
        } = buffers;
        norm_backward(compute, last, norm, eps, grad_hidden, grad, out, partial);
    }

    /// Makes `buffers.grad` the gradient of the first layer's input. Layers that kept no activations run forward again.
    fn layers_backward(&mut self, bin: &Bin, kept: usize) {
        let Self {
            compute,
            model,
            buffers,
            layout,
            grads,
            packs,
            store,
            ..
        } = self;
        let config = &*model.config;
        let rope = model.rope.up_to(bin.rows.longest);
        let recomputed = config.num_layers - kept;
        for index in (0..config.num_layers).rev() {
            let pass = Pass {
                outputs: (index + 1 == config.num_layers).then_some(&*bin.outputs),
                compute,
                config,
                rope: &rope,
                rows: &bin.rows,
                window: config.window(index),
                moe: config.moe(index),
            };
            let Buffers {
                layers,
                inputs,
                last,
                grad,
                work,
                ..
            } = buffers;
            let acts = &mut layers[slot_of(index, recomputed)];
            let weights = &model.weights.layers[index];
            if let Some(store) = store.as_mut().filter(|_| index < recomputed) {
                std::mem::swap(&mut acts.x, &mut inputs[index]);
                layer::forward(pass, weights, store, acts, &mut work.passing, last);
            }
            let layer = Layer {
                weights,
                packs: &packs.layers[index],
                ranges: &layout.layers[index],
            };
            let mut grads = Gradients {
                passing: grad,
                parameters: grads,
            };
            backward(pass, layer, acts, &mut grads, work);
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

/// Which of the activation buffers a layer uses: recomputed layers share the first.
fn slot_of(layer: usize, recomputed: usize) -> usize {
    if layer < recomputed {
        0
    } else {
        layer - recomputed + usize::from(recomputed > 0)
    }
}

/// Adds each row's gradient to its token's embedding, rows in ascending order; each task has some of the columns.
fn embedding_gradient(compute: &Compute, rows: &Rows, grad: &[f32], width: usize, out: &mut [f32]) {
    let out = Shared::new(out);
    let stretches = compute.threads().min(width.div_ceil(16));
    compute.run(stretches, |index| {
        let columns = width * index / stretches..width * (index + 1) / stretches;
        for (row, &token) in rows.token_ids.iter().enumerate() {
            // SAFETY: no two tasks have the same columns.
            let out = unsafe { out.slice(token as usize * width + columns.start, columns.len()) };
            add(compute.tier(), out, &grad[row * width..][columns.clone()]);
        }
    });
}
