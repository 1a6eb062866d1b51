//! The optimizer over the flat parameters: moments, the global norm, one step of AdamW, SGD or Muon.
//!
//! Muon takes the matrices inside the layers; the embedding, the head, norms and biases step as AdamW.

mod moments;
mod muon;

use super::options::{OptimConfig, OptimMethod};
use crate::compute::Compute;
use crate::error::EngineError;
use crate::kernels::adamw::{AdamWMoment, AdamWStep, sum_of_squares};
use crate::kernels::buffer::Shared;
use crate::model::layout::Slot;
use moments::Noise;
pub(super) use moments::{Moments, Pair};

/// Elements whose squares are summed before they join the norm, and that one task updates.
const CHUNK: usize = 1 << 14;
/// As in torch, this is added to the norm before the division.
const NORM_EPS: f64 = 1e-6;

/// Moments and the number of steps done.
pub(crate) struct Optimizer {
    config: OptimConfig,
    moments: Moments,
    steps: i32,
    work: Work,
}

/// Buffers of a step, reused.
#[derive(Default)]
struct Work {
    muon: muon::Workspace,
    update: Vec<f32>,
}

/// The flat parameters and their gradients.
pub(crate) struct Flat<'a> {
    pub(crate) slots: &'a [Slot],
    pub(crate) values: &'a mut [f32],
    pub(crate) gradients: &'a [f32],
}

/// One step over the flat parameters, whose moments are kept as `M`.
struct Step<'a, M> {
    compute: &'a Compute,
    config: OptimConfig,
    parameters: &'a mut [f32],
    gradients: &'a [f32],
    moments: &'a mut Pair<M>,
    /// The step's number, from 1 on.
    number: i32,
    lr: f64,
    /// The factor that clips the gradients.
    scale: f32,
}

impl Optimizer {
    pub(crate) fn new(config: OptimConfig, parameters: usize) -> Self {
        let second = match config.method {
            OptimMethod::Sgd { .. } => 0,
            OptimMethod::AdamW | OptimMethod::Muon { .. } => parameters,
        };
        Self {
            moments: Moments::zeros(config.state_dtype, parameters, second),
            config,
            steps: 0,
            work: Work::default(),
        }
    }

    pub(super) fn method(&self) -> OptimMethod {
        self.config.method
    }

    /// Steps done.
    pub(super) fn steps(&self) -> i32 {
        self.steps
    }

    /// First and second moments of the flat parameters.
    pub(super) fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Continues from saved moments of the same lengths and format.
    pub(super) fn restore(&mut self, moments: Moments, steps: i32) {
        (self.moments, self.steps) = (moments, steps);
    }

    /// One step with learning rate `lr`; returns the gradients' norm before clipping.
    ///
    /// # Errors
    /// [`EngineError::NonFinite`] when the norm is not finite; nothing is changed then.
    pub(crate) fn step(&mut self, compute: &Compute, parameters: Flat<'_>, lr: f64) -> Result<f32, EngineError> {
        let Flat {
            slots,
            values,
            gradients,
        } = parameters;
        let norm = norm(compute, gradients);
        if !norm.is_finite() {
            return Err(EngineError::NonFinite(format!(
                "the gradient norm of step {} is {norm}: the parameters were left as they were",
                self.steps + 1
            )));
        }
        self.steps += 1;
        let scale = self
            .config
            .max_norm
            .map_or(1.0, |most| (most / (norm + NORM_EPS)).min(1.0)) as f32;
        let (compute, config, number) = (compute, self.config, self.steps);
        match &mut self.moments {
            Moments::F32(moments) => Step {
                compute,
                config,
                parameters: values,
                gradients,
                moments,
                number,
                lr,
                scale,
            }
            .run(slots, &mut self.work),
            Moments::Bf16(moments) => Step {
                compute,
                config,
                parameters: values,
                gradients,
                moments,
                number,
                lr,
                scale,
            }
            .run(slots, &mut self.work),
        }
        Ok(norm as f32)
    }
}

impl<M: AdamWMoment> Step<'_, M> {
    fn run(mut self, slots: &[Slot], work: &mut Work) {
        match self.config.method {
            OptimMethod::AdamW => self.adamw(slots.iter()),
            OptimMethod::Sgd { momentum, nesterov } => self.sgd(slots, momentum as f32, nesterov),
            OptimMethod::Muon { momentum } => {
                let inside = |slot: &&Slot| slot.shape.len() == 2 && slot.is_in_a_layer();
                let (matrices, others): (Vec<&Slot>, Vec<&Slot>) = slots.iter().partition(inside);
                self.adamw(others.into_iter());
                for slot in matrices {
                    self.muon(slot, momentum as f32, work);
                }
            }
        }
    }

    fn decays(&self, slot: &Slot) -> bool {
        slot.shape.len() > 1 || self.config.decay_1d
    }

    fn adamw<'s>(&mut self, slots: impl Iterator<Item = &'s Slot>) {
        let OptimConfig {
            betas: (beta1, beta2),
            eps,
            weight_decay,
            ..
        } = self.config;
        let step = AdamWStep {
            gradient_scale: self.scale,
            keep: 1.0,
            beta2: beta2 as f32,
            rest1: (1.0 - beta1) as f32,
            rest2: (1.0 - beta2) as f32,
            step_size: (self.lr / (1.0 - beta1.powi(self.number))) as f32,
            root_correction: (1.0 - beta2.powi(self.number)).sqrt() as f32,
            eps: eps as f32,
            key: 0,
        };
        let decayed = (1.0 - self.lr * weight_decay) as f32;
        let mut chunks = Vec::new();
        for slot in slots {
            let keep = if self.decays(slot) { decayed } else { 1.0 };
            let noise = Noise::new(slot, self.number);
            for (chunk, start) in slot.range.clone().step_by(CHUNK).enumerate() {
                let key = noise.key(chunk);
                chunks.push((
                    start,
                    CHUNK.min(slot.range.end - start),
                    AdamWStep { keep, key, ..step },
                ));
            }
        }
        let (compute, gradients) = (self.compute, self.gradients);
        let parameters = Shared::new(&mut *self.parameters);
        let (first, second) = (
            Shared::new(&mut self.moments.first),
            Shared::new(&mut self.moments.second),
        );
        compute.run(chunks.len(), |index| {
            let (start, len, step) = chunks[index];
            // SAFETY: chunks are disjoint.
            let (parameters, first, second) = unsafe {
                (
                    parameters.slice(start, len),
                    first.slice(start, len),
                    second.slice(start, len),
                )
            };
            let gradients = &gradients[start..start + len];
            M::adamw(compute.tier(), step, parameters, gradients, first, second);
        });
    }

    /// torch.optim.SGD: weight decay is added to the gradient, the buffer begins as the first gradient.
    fn sgd(&mut self, slots: &[Slot], momentum: f32, nesterov: bool) {
        let (lr, scale) = (self.lr as f32, self.scale);
        let begins = self.number == 1;
        for slot in slots {
            let decay = if self.decays(slot) {
                self.config.weight_decay as f32
            } else {
                0.0
            };
            let noise = Noise::new(slot, self.number);
            for i in slot.range.clone() {
                let gradient = self.gradients[i] * scale + decay * self.parameters[i];
                let buffer = if begins {
                    gradient
                } else {
                    momentum * self.moments.first[i].widen() + gradient
                };
                self.moments.first[i] = M::kept(buffer, noise.at(i - slot.range.start));
                let update = if momentum == 0.0 {
                    gradient
                } else if nesterov {
                    gradient + momentum * buffer
                } else {
                    buffer
                };
                self.parameters[i] -= lr * update;
            }
        }
    }

    fn muon(&mut self, slot: &Slot, momentum: f32, Work { muon, update }: &mut Work) {
        let (lr, scale) = (self.lr, self.scale);
        let [rows, columns] = slot.shape[..] else { return };
        let noise = Noise::new(slot, self.number);
        update.clear();
        let moments = &mut self.moments.first[slot.range.clone()];
        for (index, (moment, &gradient)) in moments.iter_mut().zip(&self.gradients[slot.range.clone()]).enumerate() {
            let gradient = gradient * scale;
            // torch: buf.lerp_(grad, 1 - momentum), then Nesterov's grad.lerp(buf, momentum).
            let buffer = moment.widen();
            let buffer = buffer + (1.0 - momentum) * (gradient - buffer);
            *moment = M::kept(buffer, noise.at(index));
            update.push(gradient + momentum * (buffer - gradient));
        }
        muon::orthogonalize(self.compute, update, (rows, columns), muon);
        let keep = (1.0 - lr * self.config.weight_decay) as f32;
        let rate = (lr * muon::scale(rows, columns)) as f32;
        for (parameter, update) in self.parameters[slot.range.clone()].iter_mut().zip(update.iter()) {
            *parameter = keep * *parameter - rate * update;
        }
    }
}

/// The Euclidean norm in f64.
fn norm(compute: &Compute, gradients: &[f32]) -> f64 {
    let mut sums = vec![0f64; gradients.len().div_ceil(CHUNK)];
    let shared = Shared::new(&mut sums);
    compute.run(gradients.len().div_ceil(CHUNK), |index| {
        let chunk = &gradients[index * CHUNK..gradients.len().min((index + 1) * CHUNK)];
        // SAFETY: no two chunks have the same sum.
        unsafe { shared.slice(index, 1)[0] = sum_of_squares(compute.tier(), chunk) };
    });
    sums.iter().sum::<f64>().sqrt()
}
