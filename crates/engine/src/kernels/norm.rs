//! RMSNorm rows: `y = x / sqrt(mean(x^2) + eps) * weight`, and its gradients.

use super::{LANES, Lanes, sum_lanes, tiered};

tiered! {
    /// Normalises rows of `weight.len()` elements from `x` into `out`.
    pub(crate) fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) = rms_norm_body
}

tiered! {
    /// Gradients of rows: adds the one of `x` to `grad_x` and the one of the weight to `grad_weight`.
    #[expect(clippy::too_many_arguments, reason = "the operands of a norm and its gradients")]
    pub(crate) fn rms_norm_backward(
        x: &[f32],
        weight: &[f32],
        eps: f32,
        grad_out: &[f32],
        grad_x: &mut [f32],
        grad_weight: &mut [f32],
    ) = rms_norm_backward_body
}

tiered! {
    /// `y[i] += x[i]`.
    pub(crate) fn add(y: &mut [f32], x: &[f32]) = add_body
}

#[inline(always)]
pub(crate) fn inverse_rms<L: Lanes>(row: &[f32], eps: f32) -> f32 {
    let (lines, tail) = row.as_chunks::<LANES>();
    let mut lanes = [0f32; LANES];
    for line in lines {
        for lane in 0..LANES {
            lanes[lane] = L::mul_add(line[lane], line[lane], lanes[lane]);
        }
    }
    for (lane, &x) in tail.iter().enumerate() {
        lanes[lane] = L::mul_add(x, x, lanes[lane]);
    }
    1.0 / (sum_lanes(lanes) / row.len() as f32 + eps).sqrt()
}

#[inline(always)]
fn rms_norm_body<L: Lanes>(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let width = weight.len();
    for (row, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        let inverse = inverse_rms::<L>(row, eps);
        for i in 0..width {
            out[i] = row[i] * inverse * weight[i];
        }
    }
}

/// One row's backward: with g = grad * weight and r = 1 / rms, grad_x += r * g - x * r^3 * sum(g * x) / width.
#[expect(clippy::too_many_arguments, reason = "the operands of a norm and its gradients")]
#[inline(always)]
pub(crate) fn rms_norm_row_backward<L: Lanes>(
    row: &[f32],
    weight: &[f32],
    eps: f32,
    grad: &[f32],
    grad_x: &mut [f32],
    grad_weight: &mut [f32],
) {
    let width = weight.len();
    let (row, grad, grad_x, grad_weight) = (
        &row[..width],
        &grad[..width],
        &mut grad_x[..width],
        &mut grad_weight[..width],
    );
    let inverse = inverse_rms::<L>(row, eps);
    let mut lanes = [0f32; LANES];
    let whole = width - width % LANES;
    for base in (0..whole).step_by(LANES) {
        for lane in 0..LANES {
            let i = base + lane;
            lanes[lane] = L::mul_add(grad[i] * weight[i], row[i], lanes[lane]);
        }
    }
    for i in whole..width {
        lanes[i - whole] = L::mul_add(grad[i] * weight[i], row[i], lanes[i - whole]);
    }
    let slope = sum_lanes(lanes) * inverse * inverse * inverse / width as f32;
    for i in 0..width {
        grad_x[i] += grad[i] * weight[i] * inverse - row[i] * slope;
        grad_weight[i] += grad[i] * row[i] * inverse;
    }
}

#[expect(clippy::too_many_arguments, reason = "the operands of a norm and its gradients")]
#[inline(always)]
fn rms_norm_backward_body<L: Lanes>(
    x: &[f32],
    weight: &[f32],
    eps: f32,
    grad_out: &[f32],
    grad_x: &mut [f32],
    grad_weight: &mut [f32],
) {
    let width = weight.len();
    for ((row, grad), grad_x) in x
        .chunks_exact(width)
        .zip(grad_out.chunks_exact(width))
        .zip(grad_x.chunks_exact_mut(width))
    {
        rms_norm_row_backward::<L>(row, weight, eps, grad, grad_x, grad_weight);
    }
}

#[inline(always)]
fn add_body<L: Lanes>(y: &mut [f32], x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += x;
    }
}
