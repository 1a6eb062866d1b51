//! Backward pass of the head: recomputes the logits of some targets and some tokens of the vocabulary at a time, so that `[T, vocab]` is never
//! held.
//!
//! The sizes of these parts are constants. Parts run in ascending order, each a product that goes on with the sums of the one before, so they change
//! no bit.

use std::ops::Range;

use crate::compute::Compute;
use crate::head::{Target, gather};
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::gemm::{Columns, Left, gemm, gemm_panels};
use crate::kernels::norm::add;
use crate::kernels::pack::Packed;
use crate::kernels::softmax::{RowStatistics, row_gradient};
use crate::model::layer::for_rows;

/// Tokens of the vocabulary in a part.
pub(crate) const HEAD_TOKENS: usize = 2048;
/// Targets of a part: its logits take 8 MiB. The head's gradient is read and written once for so many.
const TARGETS: usize = 1024;

/// Buffers of the head's backward pass.
#[derive(Default)]
pub(crate) struct HeadWorkspace {
    rows: Buffer,
    logits: Buffer,
    grad_rows: Buffer,
}

/// The head's matrices.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    /// Packed for `x . W^T`.
    pub(crate) forward: &'a Packed,
    /// Packed for `dy . W`, [`HEAD_TOKENS`] tokens in each.
    pub(crate) backward: &'a [Packed],
}

/// The tokens that the forward pass scored.
#[derive(Clone, Copy)]
pub(crate) struct Scored<'a> {
    pub(crate) targets: &'a [Target],
    /// What normalises the logits of each.
    pub(crate) statistics: &'a [RowStatistics],
    /// The gradient of the log-probability of each.
    pub(crate) grad_logprobs: &'a [f32],
}

/// Given the gradient of each target's log-probability, writes the gradient of the hidden states `grad_hidden [M, H]` (summed over a row's
/// targets) and adds the head's gradient to `grad_head [vocab, H]`, which is None for a frozen head.
#[expect(clippy::too_many_arguments, reason = "the operands of the head and their gradients")]
pub(crate) fn head_backward(
    compute: &Compute,
    head: Head<'_>,
    hidden: &[f32],
    width: usize,
    scored: Scored<'_>,
    grad_hidden: &mut [f32],
    mut grad_head: Option<&mut [f32]>,
    work: &mut HeadWorkspace,
    packed: &mut Packed,
) {
    grad_hidden.fill(0.0);
    for first in (0..scored.targets.len()).step_by(TARGETS) {
        let part = scored.part(first..scored.targets.len().min(first + TARGETS));
        let count = part.targets.len();
        work.rows.resize(count * width);
        gather(hidden, width, part.targets, &mut work.rows);
        work.grad_rows.resize(count * width);
        if grad_head.is_some() {
            packed.pack(compute, &work.rows, count, width);
        }
        for (index, backward) in head.backward.iter().enumerate() {
            let tokens = backward.k();
            grad_logits(
                compute,
                head.forward,
                index * HEAD_TOKENS..index * HEAD_TOKENS + tokens,
                part,
                work,
            );
            let grads = Left::rows(&work.logits, tokens);
            gemm(compute, count, grads, backward, &mut work.grad_rows, index > 0);
            if let Some(grad_head) = grad_head.as_deref_mut() {
                let out = &mut grad_head[index * HEAD_TOKENS * width..][..tokens * width];
                gemm(compute, tokens, Left::columns(&work.logits, tokens), packed, out, true);
            }
        }
        for (item, row) in part.targets.iter().zip(work.grad_rows.chunks_exact(width)) {
            add(compute.tier(), &mut grad_hidden[item.row * width..][..width], row);
        }
    }
}

impl Scored<'_> {
    fn part(&self, range: Range<usize>) -> Self {
        Self {
            targets: &self.targets[range.clone()],
            statistics: &self.statistics[range.clone()],
            grad_logprobs: &self.grad_logprobs[range],
        }
    }
}

/// Makes `work.logits` the gradients of the logits of some tokens of the vocabulary, for the hidden states `work.rows`.
fn grad_logits(compute: &Compute, head: &Packed, tokens: Range<usize>, scored: Scored<'_>, work: &mut HeadWorkspace) {
    let (count, width) = (scored.targets.len(), head.width());
    work.logits.resize(count * tokens.len());
    let panels = tokens.start / width..tokens.end.div_ceil(width);
    let columns = Columns {
        values: &mut work.logits,
        stride: tokens.len(),
        first: 0,
    };
    gemm_panels(
        compute,
        Left::rows(&work.rows, head.k()),
        (head, panels),
        columns,
        false,
    );
    let logits = Shared::new(&mut work.logits);
    for_rows(compute, count, |first, stretch| {
        for at in first..first + stretch {
            // SAFETY: stretches are disjoint.
            let row = unsafe { logits.slice(at * tokens.len(), tokens.len()) };
            let Target { token, temperature, .. } = scored.targets[at];
            let token = (token as usize)
                .checked_sub(tokens.start)
                .filter(|token| *token < tokens.len());
            let scale = scored.grad_logprobs[at] / temperature;
            row_gradient(compute.tier(), row, temperature, token, scale, scored.statistics[at]);
        }
    });
}
