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
    /// The normaliser of the logits of each.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WeightDtype;
    use crate::head::score;
    use crate::isa::Tier;
    use crate::kernels::gemm::test_operands::numbers;

    const WIDTH: usize = 33;
    /// Two whole parts of the vocabulary and four tokens.
    const VOCAB: usize = 2 * HEAD_TOKENS + 4;
    const ROWS: usize = 40;

    fn targets() -> Vec<Target> {
        let target = |at: usize| Target {
            row: at % ROWS,
            token_at: at,
            token: (at * 7919 % VOCAB) as u32,
            temperature: 0.7,
        };
        (0..=TARGETS).map(target).collect()
    }

    fn parts(compute: &Compute, weights: &[f32], dtype: WeightDtype) -> Vec<Packed> {
        let part = |rows: &[f32]| {
            let mut part = Packed::kept_as(dtype);
            part.pack(compute, rows, rows.len() / WIDTH, WIDTH);
            part
        };
        weights.chunks(HEAD_TOKENS * WIDTH).map(part).collect()
    }

    /// Parts end in the middle of both matrices, and one token more than a whole part trains: the gradients have the bits of whole products.
    #[test]
    fn parts_change_no_bit() {
        for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
            for dtype in [WeightDtype::F32, WeightDtype::Bf16] {
                let compute = Compute::new(2, Some(tier)).expect("the tier is there");
                let (hidden, weights) = (numbers(ROWS * WIDTH, 1), numbers(VOCAB * WIDTH, 2));
                let [mut forward, mut whole] = [(); 2].map(|()| Packed::kept_as(dtype));
                forward.pack_transposed(&compute, &weights, VOCAB, WIDTH);
                whole.pack(&compute, &weights, VOCAB, WIDTH);
                let parts = parts(&compute, &weights, dtype);
                let targets = targets();
                let grads = numbers(targets.len(), 3);
                let statistics = score(&compute, &forward, &hidden, &targets, true).statistics;
                let scored = Scored {
                    targets: &targets,
                    statistics: &statistics,
                    grad_logprobs: &grads,
                };

                let (mut grad_hidden, mut grad_head) = (vec![1f32; ROWS * WIDTH], vec![0.5; VOCAB * WIDTH]);
                let head = Head {
                    forward: &forward,
                    backward: &parts,
                };
                head_backward(
                    &compute,
                    head,
                    &hidden,
                    WIDTH,
                    scored,
                    &mut grad_hidden,
                    Some(&mut grad_head),
                    &mut HeadWorkspace::default(),
                    &mut Packed::activations(dtype),
                );

                let mut rows = vec![0f32; targets.len() * WIDTH];
                gather(&hidden, WIDTH, &targets, &mut rows);
                let mut logits = vec![0f32; targets.len() * VOCAB];
                let count = targets.len();
                gemm(&compute, count, Left::rows(&rows, WIDTH), &forward, &mut logits, false);
                for (at, row) in logits.chunks_exact_mut(VOCAB).enumerate() {
                    let Target { token, temperature, .. } = targets[at];
                    let scale = grads[at] / temperature;
                    row_gradient(tier, row, temperature, Some(token as usize), scale, statistics[at]);
                }
                let mut grad_rows = vec![0f32; count * WIDTH];
                gemm(
                    &compute,
                    count,
                    Left::rows(&logits, VOCAB),
                    &whole,
                    &mut grad_rows,
                    false,
                );
                let mut expected_hidden = vec![0f32; ROWS * WIDTH];
                for (item, row) in targets.iter().zip(grad_rows.chunks_exact(WIDTH)) {
                    add(tier, &mut expected_hidden[item.row * WIDTH..][..WIDTH], row);
                }
                let mut expected_head = vec![0.5; VOCAB * WIDTH];
                let mut packed = Packed::activations(dtype);
                packed.pack(&compute, &rows, count, WIDTH);
                gemm(
                    &compute,
                    VOCAB,
                    Left::columns(&logits, VOCAB),
                    &packed,
                    &mut expected_head,
                    true,
                );
                let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                assert!(
                    bits(&grad_hidden) == bits(&expected_hidden),
                    "{tier:?} {dtype:?}: hidden states"
                );
                assert!(bits(&grad_head) == bits(&expected_head), "{tier:?} {dtype:?}: the head");
            }
        }
    }
}
