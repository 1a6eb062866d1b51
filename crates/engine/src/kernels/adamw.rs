//! One AdamW step over a run of parameters, and sums of squares of gradients.

use super::element::{Bf16, Moment};
use super::noise::bits_at;
use super::{Lanes, tiered};
use crate::isa::Tier;

/// The numbers of one step, the same for all parameters of a run but for the key.
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
    /// The seed of the noise that rounds moments in bfloat16; element i has number i.
    pub(crate) key: u64,
}

tiered! {
    /// Decoupled AdamW (Loshchilov & Hutter 2019) in the order of `torch.optim.AdamW`; updates parameters and both moments.
    #[expect(clippy::too_many_arguments, reason = "the operands of an optimizer step, and the tier")]
    pub(crate) fn adamw(step: AdamWStep, parameters: &mut [f32], gradients: &[f32], first: &mut [f32], second: &mut [f32]) = adamw_f32_body
}

tiered! {
    /// [`adamw`] with moments in bfloat16. The step is made with the moments before they are rounded.
    #[expect(clippy::too_many_arguments, reason = "the operands of an optimizer step, and the tier")]
    pub(crate) fn adamw_bf16(step: AdamWStep, parameters: &mut [f32], gradients: &[f32], first: &mut [Bf16], second: &mut [Bf16]) = adamw_bf16_body
}

tiered! {
    /// Sum of squares in f64, in eight accumulators and a fixed tree.
    pub(crate) fn sum_of_squares(values: &[f32]) -> f64 = sum_of_squares_body
}

/// A format of moments that there is an AdamW step for.
pub(crate) trait AdamWMoment: Moment {
    /// [`adamw`] or [`adamw_bf16`].
    #[expect(
        clippy::too_many_arguments,
        reason = "the operands of an optimizer step, and the tier"
    )]
    fn adamw(
        tier: Tier,
        step: AdamWStep,
        parameters: &mut [f32],
        gradients: &[f32],
        first: &mut [Self],
        second: &mut [Self],
    );
}

impl AdamWMoment for f32 {
    fn adamw(
        tier: Tier,
        step: AdamWStep,
        parameters: &mut [f32],
        gradients: &[f32],
        first: &mut [f32],
        second: &mut [f32],
    ) {
        adamw(tier, step, parameters, gradients, first, second);
    }
}

impl AdamWMoment for Bf16 {
    fn adamw(
        tier: Tier,
        step: AdamWStep,
        parameters: &mut [f32],
        gradients: &[f32],
        first: &mut [Bf16],
        second: &mut [Bf16],
    ) {
        adamw_bf16(tier, step, parameters, gradients, first, second);
    }
}

#[inline(always)]
fn adamw_f32_body<L: Lanes>(
    step: AdamWStep,
    parameters: &mut [f32],
    gradients: &[f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    adamw_body::<L, f32>(step, parameters, gradients, first, second);
}

#[inline(always)]
fn adamw_bf16_body<L: Lanes>(
    step: AdamWStep,
    parameters: &mut [f32],
    gradients: &[f32],
    first: &mut [Bf16],
    second: &mut [Bf16],
) {
    adamw_body::<L, Bf16>(step, parameters, gradients, first, second);
}

#[inline(always)]
fn adamw_body<L: Lanes, M: Moment>(
    step: AdamWStep,
    parameters: &mut [f32],
    gradients: &[f32],
    first: &mut [M],
    second: &mut [M],
) {
    let n = parameters.len();
    let (gradients, first, second) = (&gradients[..n], &mut first[..n], &mut second[..n]);
    for i in 0..n {
        let gradient = gradients[i] * step.gradient_scale;
        let kept = parameters[i] * step.keep;
        // torch: exp_avg.lerp_(grad, 1 - beta1), exp_avg_sq.mul_(beta2).addcmul_(grad, grad, 1 - beta2)
        let mean = first[i].widen();
        let mean = L::mul_add(gradient - mean, step.rest1, mean);
        let square = L::mul_add(gradient * step.rest2, gradient, second[i].widen() * step.beta2);
        let denominator = square.sqrt() / step.root_correction + step.eps;
        parameters[i] = kept - step.step_size * (mean / denominator);
        let noise = bits_at(step.key, i as u32);
        first[i] = M::kept(mean, noise & 0xffff);
        second[i] = M::kept(square, noise >> 16);
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

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: AdamWStep = AdamWStep {
        gradient_scale: 0.7,
        keep: 0.99,
        beta2: 0.999,
        rest1: 0.1,
        rest2: 0.001,
        step_size: 0.02,
        root_correction: 0.5,
        eps: 1e-8,
        key: 0x1234_5678_9abc_def1,
    };

    /// Parameters and moments after three steps of a run whose length fills no vector.
    fn after_steps<M: AdamWMoment>(tier: Tier) -> (Vec<u32>, Vec<f32>, Vec<f32>) {
        let at = |i: usize, factor: f32| ((i * 37 % 101) as f32 - 50.0) * factor;
        let mut parameters: Vec<f32> = (0..1003).map(|i| at(i, 0.01)).collect();
        let (mut first, mut second) = (vec![M::default(); 1003], vec![M::default(); 1003]);
        for round in 0..3u16 {
            let gradients: Vec<f32> = (0..1003).map(|i| at(i + usize::from(round), 0.003)).collect();
            let step = AdamWStep {
                key: STEP.key + u64::from(round),
                ..STEP
            };
            M::adamw(tier, step, &mut parameters, &gradients, &mut first, &mut second);
        }
        let wide = |moments: Vec<M>| moments.into_iter().map(M::widen).collect();
        (
            parameters.iter().map(|value| value.to_bits()).collect(),
            wide(first),
            wide(second),
        )
    }

    #[test]
    fn moments_in_bfloat16_have_the_same_bits_in_all_tiers_that_fuse() {
        let fused: Vec<Tier> = Tier::ALL.into_iter().filter(|tier| tier.is_available()).collect();
        let fused: Vec<Tier> = fused.into_iter().filter(|tier| *tier != Tier::Portable).collect();
        for tiers in fused.windows(2) {
            assert_eq!(
                after_steps::<Bf16>(tiers[0]),
                after_steps::<Bf16>(tiers[1]),
                "{tiers:?}"
            );
            assert_eq!(after_steps::<f32>(tiers[0]), after_steps::<f32>(tiers[1]), "{tiers:?}");
        }
    }

    /// A number of bfloat16 has 8 bits: three roundings are at most 3 * 2^-7 apart from none.
    #[test]
    fn moments_in_bfloat16_are_near_those_in_f32() {
        for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
            let (_, first, second) = after_steps::<Bf16>(tier);
            let (_, exact_first, exact_second) = after_steps::<f32>(tier);
            // Between steps a first moment may cross zero, where its error is that of the larger moment before.
            let largest = exact_first.iter().fold(0f32, |most, value| most.max(value.abs()));
            for (found, exact) in first.iter().zip(&exact_first) {
                assert!(
                    (found - exact).abs() <= largest * 3.0 / 128.0,
                    "{tier:?}: {found}, {exact}"
                );
            }
            for (found, exact) in second.iter().zip(&exact_second) {
                assert!(
                    (found - exact).abs() <= exact * 3.0 / 128.0,
                    "{tier:?}: {found}, {exact}"
                );
            }
        }
    }
}
