//! AdamW over the flat parameters: moments, the global norm, one step.

use super::options::OptimConfig;
use crate::compute::Compute;
use crate::error::EngineError;
use crate::kernels::adamw::{AdamWStep, adamw, sum_of_squares};
use crate::kernels::buffer::Shared;
use crate::model::layout::Layout;

/// Elements whose squares are summed before they join the norm, and that one task updates.
const CHUNK: usize = 1 << 14;
/// What torch adds to the norm before it divides by it.
const NORM_EPS: f64 = 1e-6;

/// Moments and the number of steps done.
pub(crate) struct Optimizer {
    config: OptimConfig,
    first: Vec<f32>,
    second: Vec<f32>,
    steps: i32,
}

impl Optimizer {
    pub(crate) fn new(config: OptimConfig, parameters: usize) -> Self {
        Self {
            config,
            first: vec![0.0; parameters],
            second: vec![0.0; parameters],
            steps: 0,
        }
    }

    /// One step with learning rate `lr`; returns the gradients' norm before clipping.
    ///
    /// # Errors
    /// [`EngineError::NonFinite`] when the norm is not finite; nothing has changed then.
    pub(crate) fn step(
        &mut self,
        compute: &Compute,
        layout: &Layout,
        parameters: &mut [f32],
        gradients: &[f32],
        lr: f64,
    ) -> Result<f32, EngineError> {
        let norm = global_norm(compute, gradients);
        if !norm.is_finite() {
            return Err(EngineError::NonFinite(format!(
                "the gradient norm of step {} is {norm}: the parameters were left as they were",
                self.steps + 1
            )));
        }
        let OptimConfig {
            betas: (beta1, beta2),
            eps,
            weight_decay,
            max_norm,
            decay_1d,
            ..
        } = self.config;
        self.steps += 1;
        let scale = max_norm.map_or(1.0, |most| (most / (norm + NORM_EPS)).min(1.0));
        let step = AdamWStep {
            gradient_scale: scale as f32,
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
        for slot in &layout.slots {
            let step = if slot.shape.len() > 1 || decay_1d {
                decayed
            } else {
                step
            };
            for start in slot.range.clone().step_by(CHUNK) {
                chunks.push((start, CHUNK.min(slot.range.end - start), step));
            }
        }
        let parameters = Shared::new(parameters);
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
        Ok(norm as f32)
    }
}

/// The Euclidean norm, in f64, of all gradients.
fn global_norm(compute: &Compute, gradients: &[f32]) -> f64 {
    let mut sums = vec![0f64; gradients.len().div_ceil(CHUNK)];
    let shared = Shared::new(&mut sums);
    compute.run(gradients.len().div_ceil(CHUNK), |index| {
        let chunk = &gradients[index * CHUNK..gradients.len().min((index + 1) * CHUNK)];
        // SAFETY: each chunk has a sum of its own.
        unsafe { shared.slice(index, 1)[0] = sum_of_squares(compute.tier(), chunk) };
    });
    sums.iter().sum::<f64>().sqrt()
}
