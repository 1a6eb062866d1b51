//! The forward and the backward pass of one bin.
//!
//! Layers whose activations were not kept run forward again in the backward pass. With an adapter the model's weights are frozen: they get
//! no gradients, and the embedding, which stands before every adapted layer, gets none either.

use super::Trainer;
use super::backward::gradients::Gradients;
use super::backward::head::{Head, HeadWorkspace, Scored, head_backward};
use super::backward::layer::{Layer, Workspace, backward};
use super::backward::weights::norm_backward;
use super::balance::Balance;
use super::batch::Bin;
use super::options::RouterOptions;
use super::parameters::{Kind, Parameters};
use crate::compute::Compute;
use crate::config::WeightDtype;
use crate::counter::mix;
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::norm::add;
use crate::kernels::softmax::RowStatistics;
use crate::model::cache::LayerStore;
use crate::model::layer::{self, Activations, Pass, norm_rows};
use crate::model::lora::{Adapted, Dropout};
use crate::model::rows::Rows;

/// Working memory of a forward and backward pass, kept from one to the next.
#[derive(Default)]
pub(super) struct Buffers {
    /// One per kept layer and one for the layer that is recomputed.
    pub(super) layers: Vec<Activations>,
    /// Inputs of the layers that are recomputed.
    inputs: Vec<Buffer>,
    /// The last layer's output, then its norm.
    last: Buffer,
    pub(super) hidden: Buffer,
    grad_hidden: Buffer,
    grad: Buffer,
    work: Workspace,
    head: HeadWorkspace,
    partial: Buffer,
    /// The routers' choices in the forward pass, when they are balanced.
    pub(super) balance: Balance,
}

impl Buffers {
    /// Empty buffers for a model whose weights are kept as `dtype`.
    pub(super) fn new(dtype: WeightDtype) -> Self {
        Self {
            work: Workspace::new(dtype),
            ..Self::default()
        }
    }
}

impl Trainer {
    /// Fills `buffers.hidden`; returns how many layers, the last ones, kept their activations.
    pub(super) fn forward(&mut self, bin: &Bin) -> usize {
        let rows = &bin.rows;
        self.bins += 1;
        let dropout = self.dropout();
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
        let segments = model.segments(rows.len());
        let pass = |layer: usize| Pass {
            adapted: Adapted {
                segments: &segments,
                layer,
                dropout,
            },
            outputs: (layer + 1 == config.num_layers).then_some(&*bin.outputs),
            compute,
            config,
            rope: &rope,
            rows,
            window: config.window(layer),
            moe: config.moe(layer),
            replay: bin.replay(config, layer),
            balance: None,
        };
        let store = store.get_or_insert_with(|| LayerStore::new(config, compute.tier(), 0));
        store.reserve(rows.num_blocks());
        model.embed(compute, rows, &mut buffers.last);
        let balanced = config.moe.as_ref().filter(|_| options.router.aux_loss_coef > 0.0);
        if let Some(moe) = balanced {
            buffers.balance.begin(moe);
        }
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
            if balanced.is_some_and(|moe| moe.layers[index]) {
                buffers.balance.add(&acts.routing);
            }
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

    /// `share` is the bin's share of the batch's rows.
    pub(super) fn backward(
        &mut self,
        bin: &Bin,
        (statistics, grad_logprobs): (&[RowStatistics], &[f32]),
        kept: usize,
        share: f64,
    ) {
        if !self.packs_current {
            self.parameters.pack(&self.compute, &self.model.config, &mut self.packs);
            self.packs_current = true;
        }
        self.head_and_norm_backward(bin, statistics, grad_logprobs);
        self.layers_backward(bin, kept, share);
        if let Kind::Weights(layout) = &self.parameters.kind {
            embedding_gradient(
                &self.compute,
                &bin.rows,
                &self.buffers.grad,
                self.model.config.hidden_size,
                &mut self.parameters.grads[layout.embedding.clone()],
            );
        }
    }

    /// Fills `buffers.grad` with the gradient of the last layer's output.
    fn head_and_norm_backward(&mut self, bin: &Bin, statistics: &[RowStatistics], grad_logprobs: &[f32]) {
        let Self {
            compute,
            model,
            buffers,
            parameters,
            packs,
            ..
        } = self;
        let Parameters { grads, kind, .. } = parameters;
        let layout = kind.layout();
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
            Scored {
                targets: &bin.targets,
                statistics,
                grad_logprobs,
            },
            &mut buffers.grad_hidden,
            layout.map(|layout| &mut grads[layout.head.clone()]),
            &mut buffers.head,
            &mut buffers.work.packed,
        );
        buffers.grad.resize(bin.outputs.len() * width);
        buffers.grad.fill(0.0);
        let out = layout.map(|layout| &mut grads[layout.final_norm.clone()]);
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

    /// The dropout of the current bin.
    fn dropout(&self) -> Option<Dropout> {
        match &self.parameters.kind {
            Kind::Adapter(adapter) if adapter.config.dropout > 0.0 => Some(Dropout {
                share: adapter.config.dropout,
                seed: mix(mix(adapter.seed ^ mix(self.optimizer.steps() as u64)) ^ self.bins),
            }),
            _ => None,
        }
    }

    /// Makes `buffers.grad` the gradient of the first layer's input. Layers that kept no activations run forward again.
    fn layers_backward(&mut self, bin: &Bin, kept: usize, share: f64) {
        let dropout = self.dropout();
        let RouterOptions { aux_loss_coef, frozen } = self.options.router;
        let slopes = (aux_loss_coef > 0.0).then(|| self.buffers.balance.slopes(aux_loss_coef * share));
        let Self {
            compute,
            model,
            buffers,
            parameters,
            packs,
            store,
            ..
        } = self;
        let config = &*model.config;
        let rope = model.rope.up_to(bin.rows.longest);
        let segments = model.segments(bin.rows.len());
        let Parameters { grads, kind, .. } = parameters;
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
                replay: bin.replay(config, index),
                balance: slopes.as_deref(),
                adapted: Adapted {
                    segments: &segments,
                    layer: index,
                    dropout,
                },
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
                ranges: kind.layout().map(|layout| &layout.layers[index]),
                is_router_frozen: frozen,
            };
            let mut grads = Gradients {
                passing: grad,
                parameters: kind.gradients(model, grads),
            };
            backward(pass, layer, acts, &mut grads, work);
        }
    }
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
