//! Query and key heads: optional RMSNorm per head, then rotary embedding (the two halves of a head rotate against each other).

use super::norm::{inverse_rms, rms_norm_row_backward};
use super::{Lanes, tiered};

/// How the heads of one token are turned.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    /// Weight of the norm, `[head_dim]`, or empty for none.
    pub(crate) norm: &'a [f32],
    /// Epsilon of the norm.
    pub(crate) eps: f32,
    /// `head_dim / 2` cosines of the token's position.
    pub(crate) cos: &'a [f32],
    /// `head_dim / 2` sines.
    pub(crate) sin: &'a [f32],
}

tiered! {
    /// Norms the heads of one token and applies rotary embedding, from `x` into `out`.
    pub(crate) fn apply_rope(turn: Turn<'_>, x: &[f32], out: &mut [f32]) = apply_rope_body
}

tiered! {
    /// The backward of [`apply_rope`]: overwrites `grad` (of the outputs) by the gradient of `x`, and adds to the norm's gradient.
    /// `scratch` holds one head.
    #[expect(clippy::too_many_arguments, reason = "the operands of the rotation and their gradients")]
    pub(crate) fn apply_rope_backward(
        turn: Turn<'_>,
        x: &[f32],
        grad: &mut [f32],
        grad_norm: &mut [f32],
        scratch: &mut [f32],
    ) = apply_rope_backward_body
}

#[inline(always)]
fn apply_rope_body<L: Lanes>(turn: Turn<'_>, x: &[f32], out: &mut [f32]) {
    let Turn { norm, eps, cos, sin } = turn;
    let half = cos.len();
    let sin = &sin[..half];
    for (head, out) in x.chunks_exact(2 * half).zip(out.chunks_exact_mut(2 * half)) {
        let (out_low, out_high) = out.split_at_mut(half);
        let (low, high) = head.split_at(half);
        if norm.is_empty() {
            for i in 0..half {
                out_low[i] = low[i] * cos[i] - high[i] * sin[i];
                out_high[i] = high[i] * cos[i] + low[i] * sin[i];
            }
        } else {
            let inverse = inverse_rms::<L>(head, eps);
            let (norm_low, norm_high) = (&norm[..half], &norm[half..2 * half]);
            for i in 0..half {
                let a = low[i] * inverse * norm_low[i];
                let b = high[i] * inverse * norm_high[i];
                out_low[i] = a * cos[i] - b * sin[i];
                out_high[i] = b * cos[i] + a * sin[i];
            }
        }
    }
}

#[inline(always)]
fn apply_rope_backward_body<L: Lanes>(
    turn: Turn<'_>,
    x: &[f32],
    grad: &mut [f32],
    grad_norm: &mut [f32],
    scratch: &mut [f32],
) {
    let Turn { norm, eps, cos, sin } = turn;
    let half = cos.len();
    let sin = &sin[..half];
    for (head, grad) in x.chunks_exact(2 * half).zip(grad.chunks_exact_mut(2 * half)) {
        let (low, high) = grad.split_at_mut(half);
        for i in 0..half {
            let (a, b) = (low[i], high[i]);
            low[i] = a * cos[i] + b * sin[i];
            high[i] = b * cos[i] - a * sin[i];
        }
        if !norm.is_empty() {
            scratch[..2 * half].copy_from_slice(grad);
            grad.fill(0.0);
            rms_norm_row_backward::<L>(head, norm, eps, &scratch[..2 * half], grad, grad_norm);
        }
    }
}
