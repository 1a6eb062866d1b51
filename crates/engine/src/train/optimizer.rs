//! The optimizer over the flat parameters: moments, the global norm, one step of AdamW, SGD or Muon.
//!
//! Muon takes the matrices inside the layers; the embedding, the head, norms and biases step as AdamW.

use super::muon;
use super::options::{OptimConfig, OptimMethod};
use crate::compute::Compute;
use crate::error::EngineError;
use crate::kernels::adamw::{AdamWStep, adamw, sum_of_squares};
use crate::kernels::buffer::Shared;
use crate::model::layout::Slot;

/// Elements whose squares are summed before they join the norm, and that one task updates.
const CHUNK: usize = 1 << 14;
/// As in torch, this is added to the norm before the division.
const NORM_EPS: f64 = 1e-6;

/// Moments and the number of steps done.
pub(crate) struct Optimizer {
    config: OptimConfig,
    first: Vec<f32>,
    /// Empty for SGD, which has no second moment.
    second: Vec<f32>,
    steps: i32,
    muon: muon::Workspace,
    update: Vec<f32>,
}

/// The flat parameters and their gradients.
pub(crate) struct Flat<'a> {
    pub(crate) slots: &'a [Slot],
    pub(crate) values: &'a mut [f32],
    pub(crate) gradients: &'a [f32],
}

/// The inputs of one step.
struct Step<'a> {
    compute: &'a Compute,
    parameters: &'a mut [f32],
    gradients: &'a [f32],
    lr: f64,
    /// The factor that clips the gradients.
    scale: f32,
}

impl Optimizer {
    pub(crate) fn new(config: OptimConfig, parameters: usize) -> Self {
        Self {
            second: vec![
                0.0;
                if matches!(config.method, OptimMethod::Sgd { .. }) {
                    0
                } else {
                    parameters
                }
            ],
            config,
            first: vec![0.0; parameters],
            steps: 0,
            muon: muon::Workspace::default(),
            update: Vec::new(),
        }
    }

    pub(super) fn method(&self) -> OptimMethod {
        self.config.method
    }

    /// Steps done.
    pub(super) fn steps(&self) -> i32 {
        self.steps
    }

    /// First and second moments of the flat parameters; the second is empty for SGD.
    pub(super) fn moments(&self) -> (&[f32], &[f32]) {
        (&self.first, &self.second)
    }

    /// Continues from saved moments of the same lengths.
    pub(super) fn restore(&mut self, first: Vec<f32>, second: Vec<f32>, steps: i32) {
        debug_assert!(first.len() == self.first.len() && second.len() == self.second.len());
        (self.first, self.second, self.steps) = (first, second, steps);
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
        let mut step = Step {
            compute,
            parameters: values,
            gradients,
            lr,
            scale,
        };
        match self.config.method {
            OptimMethod::AdamW => self.adamw(&mut step, slots),
            OptimMethod::Sgd { momentum, nesterov } => self.sgd(&mut step, slots, momentum as f32, nesterov),
            OptimMethod::Muon { momentum } => {
                let inside = |slot: &&Slot| slot.shape.len() == 2 && slot.is_in_a_layer();
                let (matrices, others): (Vec<&Slot>, Vec<&Slot>) = slots.iter().partition(inside);
                let others: Vec<Slot> = others.into_iter().cloned().collect();
                self.adamw(&mut step, &others);
                for slot in matrices {
                    self.muon(&mut step, slot, momentum as f32);
                }
            }
        }
        Ok(norm as f32)
    }

    fn decays(&self, slot: &Slot) -> bool {
        slot.shape.len() > 1 || self.config.decay_1d
    }

    fn adamw(&mut self, step: &mut Step<'_>, slots: &[Slot]) {
        let (compute, gradients, lr) = (step.compute, step.gradients, step.lr);
        let OptimConfig {
            betas: (beta1, beta2),
            eps,
            weight_decay,
            ..
        } = self.config;
        let parameters = Shared::new(&mut *step.parameters);
        let step = AdamWStep {
            gradient_scale: step.scale,
            keep: 1.0,
            beta2: beta2 as f32,
            rest1: (1.0 - beta1) as f32,
            rest2: (1.0 - beta2) as f32,
            step_size: (lr / (1.0 - beta1.powi(self.steps))) as f32,
            root_correction: (1.0 - beta2.powi(self.steps)).sqrt() as f32,
            eps: eps as f32,
        };
        let decayed = AdamWStep {
            keep: (1.0 - lr * weight_decay) as f32,
            ..step
        };
        let mut chunks = Vec::new();
        for slot in slots {
            let step = if self.decays(slot) { decayed } else { step };
            for start in slot.range.clone().step_by(CHUNK) {
                chunks.push((start, CHUNK.min(slot.range.end - start), step));
            }
        }
        let (first, second) = (Shared::new(&mut self.first), Shared::new(&mut self.second));
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
            adamw(
                compute.tier(),
                step,
                parameters,
                &gradients[start..start + len],
                first,
                second,
            );
        });
    }

    /// torch.optim.SGD: weight decay is added to the gradient, the buffer begins as the first gradient.
    fn sgd(&mut self, step: &mut Step<'_>, slots: &[Slot], momentum: f32, nesterov: bool) {
        let (parameters, gradients) = (&mut *step.parameters, step.gradients);
        let (lr, scale) = (step.lr as f32, step.scale);
        let begins = self.steps == 1;
        for slot in slots {
            let decay = if self.decays(slot) {
                self.config.weight_decay as f32
            } else {
                0.0
            };
            for i in slot.range.clone() {
                let gradient = gradients[i] * scale + decay * parameters[i];
                let buffer = &mut self.first[i];
                *buffer = if begins {
                    gradient
                } else {
                    momentum * *buffer + gradient
                };
                let update = if momentum == 0.0 {
                    gradient
                } else if nesterov {
                    gradient + momentum * *buffer
                } else {
                    *buffer
                };
                parameters[i] -= lr * update;
            }
        }
    }

    fn muon(&mut self, step: &mut Step<'_>, slot: &Slot, momentum: f32) {
        let Step {
            compute,
            parameters,
            gradients,
            lr,
            scale,
        } = step;
        let (lr, scale) = (*lr, *scale);
        let [rows, columns] = slot.shape[..] else { return };
        let buffer = &mut self.first[slot.range.clone()];
        self.update.clear();
        for (buffer, &gradient) in buffer.iter_mut().zip(&gradients[slot.range.clone()]) {
            let gradient = gradient * scale;
            // torch: buf.lerp_(grad, 1 - momentum), then Nesterov's grad.lerp(buf, momentum).
            *buffer += (1.0 - momentum) * (gradient - *buffer);
            self.update.push(gradient + momentum * (*buffer - gradient));
        }
        muon::orthogonalize(compute, &mut self.update, (rows, columns), &mut self.muon);
        let keep = (1.0 - lr * self.config.weight_decay) as f32;
        let rate = (lr * muon::scale(rows, columns)) as f32;
        for (parameter, update) in parameters[slot.range.clone()].iter_mut().zip(&self.update) {
            *parameter = keep * *parameter - rate * update;
        }
    }
}

/// The Euclidean norm in f64.
pub(super) fn norm(compute: &Compute, gradients: &[f32]) -> f64 {
    let mut sums = vec![0f64; gradients.len().div_ceil(CHUNK)];
    let shared = Shared::new(&mut sums);
    compute.run(gradients.len().div_ceil(CHUNK), |index| {
        let chunk = &gradients[index * CHUNK..gradients.len().min((index + 1) * CHUNK)];
        // SAFETY: no two chunks have the same sum.
        unsafe { shared.slice(index, 1)[0] = sum_of_squares(compute.tier(), chunk) };
    });
    sums.iter().sum::<f64>().sqrt()
}
