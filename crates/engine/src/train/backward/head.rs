//! Backward pass of the head: recomputes logits a chunk of targets at a time, so that `[T, vocab]` is never held.
//!
//! The chunk's size is a function of the vocabulary alone; chunks run in ascending order, each a product over its targets.

use crate::compute::Compute;
use crate::head::{Target, gather};
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::gemm::{Left, gemm};
use crate::kernels::norm::add;
use crate::kernels::pack::Packed;
use crate::kernels::softmax::{row_gradient, row_statistics};
use crate::model::layer::for_rows;

use super::weights::{Matrix, weight_gradient};

/// Logits of a chunk: 8 MiB, or more for [`LEAST_TARGETS`] rows.
const CHUNK_LOGITS: usize = 1 << 21;
const LEAST_TARGETS: usize = 48;

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
    /// Packed for `dy . W`.
    pub(crate) backward: &'a Packed,
}

/// Given the gradient of each target's log-probability, writes the gradient of the hidden states `grad_hidden [M, H]` (summed over a row's
/// targets) and adds the head's gradient to `grad_head [vocab, H]`, which is None for a frozen head.
#[expect(clippy::too_many_arguments, reason = "the operands of the head and their gradients")]
pub(crate) fn head_backward(
    compute: &Compute,
    head: Head<'_>,
    hidden: &[f32],
    width: usize,
    targets: &[Target],
    grad_logprobs: &[f32],
    grad_hidden: &mut [f32],
    mut grad_head: Option<&mut [f32]>,
    work: &mut HeadWorkspace,
    packed: &mut Packed,
) {
    let vocab = head.forward.n();
    let chunk = (CHUNK_LOGITS / vocab).max(LEAST_TARGETS);
    grad_hidden.fill(0.0);
    for (items, grads) in targets.chunks(chunk).zip(grad_logprobs.chunks(chunk)) {
        let count = items.len();
        work.rows.resize(count * width);
        gather(hidden, width, items, &mut work.rows);
        work.logits.resize(count * vocab);
        gemm(
            compute,
            count,
            Left::rows(&work.rows, width),
            head.forward,
            &mut work.logits,
            false,
        );
        let logits = Shared::new(&mut work.logits);
        for_rows(compute, count, |first, stretch| {
            for at in first..first + stretch {
                // SAFETY: stretches are disjoint.
                let row = unsafe { logits.slice(at * vocab, vocab) };
                let Target { token, temperature, .. } = items[at];
                let statistics = row_statistics(compute.tier(), row, temperature);
                row_gradient(
                    compute.tier(),
                    row,
                    temperature,
                    token as usize,
                    grads[at] / temperature,
                    statistics,
                );
            }
        });
        work.grad_rows.resize(count * width);
        gemm(
            compute,
            count,
            Left::rows(&work.logits, vocab),
            head.backward,
            &mut work.grad_rows,
            false,
        );
        for (item, row) in items.iter().zip(work.grad_rows.chunks_exact(width)) {
            add(compute.tier(), &mut grad_hidden[item.row * width..][..width], row);
        }
        weight_gradient(
            compute,
            Matrix::new(&work.logits, vocab),
            Matrix::new(&work.rows, width),
            grad_head.as_deref_mut(),
            packed,
        );
    }
}
