//! SwiGLU rows: `silu(gate) * up` and its gradient. A row holds the gate's values, then up's.

use super::math::sigmoid;
use super::{Lanes, tiered};

tiered! {
    /// `out[i] = silu(gate_up[i]) * gate_up[width + i]` for each row of `2 * width` in, `width` out.
    pub(crate) fn swiglu(gate_up: &[f32], out: &mut [f32], width: usize) = swiglu_body
}

tiered! {
    /// Overwrites `gate_up` by the gradients of gate and up, given the gradient of the output; makes the output again.
    pub(crate) fn swiglu_backward(gate_up: &mut [f32], grad_out: &[f32], out: &mut [f32], width: usize) = swiglu_backward_body
}

#[inline(always)]
fn swiglu_body<L: Lanes>(gate_up: &[f32], out: &mut [f32], width: usize) {
    for (row, out) in gate_up.chunks_exact(2 * width).zip(out.chunks_exact_mut(width)) {
        let (gate, up) = row.split_at(width);
        for i in 0..width {
            out[i] = gate[i] * sigmoid::<L>(gate[i]) * up[i];
        }
    }
}

#[inline(always)]
fn swiglu_backward_body<L: Lanes>(gate_up: &mut [f32], grad_out: &[f32], out: &mut [f32], width: usize) {
    for ((row, grad), out) in gate_up
        .chunks_exact_mut(2 * width)
        .zip(grad_out.chunks_exact(width))
        .zip(out.chunks_exact_mut(width))
    {
        let (gate, up) = row.split_at_mut(width);
        for i in 0..width {
            let s = sigmoid::<L>(gate[i]);
            let silu = gate[i] * s;
            let slope = s * (1.0 + gate[i] * (1.0 - s));
            out[i] = silu * up[i];
            gate[i] = grad[i] * up[i] * slope;
            up[i] = grad[i] * silu;
        }
    }
}
