//! One AdamW step over a run of parameters, and sums of squares of gradients.

use super::{Lanes, tiered};

/// The numbers of one step, the same for all parameters of a run.
#[derive(Clone, Copy)]
pub(crate) struct AdamWStep {
    /// Gradients are multiplied by this first (clipping).
    pub(crate) gradient_scale: f32,
    /// 1 - lr * weight_decay.
    pub(crate) keep: f32,
    pub(crate) beta2: f32,
    /// 1 - beta1, rounded once.
    pub(crate) rest1: f32,
    /// 1 - beta2, rounded once.
    pub(crate) rest2: f32,
    /// lr / (1 - beta1^t).
    pub(crate) step_size: f32,
    /// sqrt(1 - beta2^t).
    pub(crate) root_correction: f32,
    pub(crate) eps: f32,
}

tiered! {
    /// Decoupled AdamW (Loshchilov & Hutter 2019) in the order of `torch.optim.AdamW`; updates parameters and both moments.
    #[expect(clippy::too_many_arguments, reason = "the operands of an optimizer step, and the tier")]
    pub(crate) fn adamw(step: AdamWStep, parameters: &mut [f32], gradients: &[f32], first: &mut [f32], second: &mut [f32]) = adamw_body
}

tiered! {
    /// Sum of squares in f64, in eight accumulators and a fixed tree.
    pub(crate) fn sum_of_squares(values: &[f32]) -> f64 = sum_of_squares_body
}

#[inline(always)]
fn adamw_body<L: Lanes>(
    step: AdamWStep,
    parameters: &mut [f32],
    gradients: &[f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    let n = parameters.len();
    let (gradients, first, second) = (&gradients[..n], &mut first[..n], &mut second[..n]);
    for i in 0..n {
        let gradient = gradients[i] * step.gradient_scale;
        let kept = parameters[i] * step.keep;
        // torch: exp_avg.lerp_(grad, 1 - beta1), exp_avg_sq.mul_(beta2).addcmul_(grad, grad, 1 - beta2)
        first[i] = L::mul_add(gradient - first[i], step.rest1, first[i]);
        second[i] = L::mul_add(gradient * step.rest2, gradient, second[i] * step.beta2);
        let denominator = second[i].sqrt() / step.root_correction + step.eps;
        parameters[i] = kept - step.step_size * (first[i] / denominator);
    }
}

#[inline(always)]
fn sum_of_squares_body<L: Lanes>(values: &[f32]) -> f64 {
    let mut lanes = [0f64; 8];
    let (lines, tail) = values.as_chunks::<8>();
    for line in lines {
        for lane in 0..8 {
            let value = f64::from(line[lane]);
            lanes[lane] += value * value;
        }
    }
    for (lane, &value) in tail.iter().enumerate() {
        lanes[lane] += f64::from(value) * f64::from(value);
    }
    ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
}
