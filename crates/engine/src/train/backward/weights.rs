//! Gradients of weights: products over all rows in ascending order, or sums of partial sums over [`REDUCE_ROWS`] rows in ascending order.
//! They depend on the rows, never on the threads.

use crate::compute::Compute;
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::gemm::{Left, gemm};
use crate::kernels::norm::{add, rms_norm_backward};
use crate::kernels::pack::Packed;

/// Rows whose contributions to a vector's gradient are summed before they join the total.
const REDUCE_ROWS: usize = 64;

/// Adds the sums of the columns of `grad_out [N, grad_bias.len()]` to the gradient of a bias, if there is one that trains.
pub(in crate::train) fn bias_gradient(
    compute: &Compute,
    grad_out: &[f32],
    grad_bias: Option<&mut [f32]>,
    partial: &mut Buffer,
) {
    let Some(grad_bias) = grad_bias.filter(|bias| !bias.is_empty()) else {
        return;
    };
    let width = grad_bias.len();
    reduce_rows(
        compute,
        grad_out.len() / width,
        width,
        partial,
        |first, count, partial| {
            for row in grad_out[first * width..][..count * width].chunks_exact(width) {
                add(compute.tier(), partial, row);
            }
        },
    )
    .enumerate_into(|at, value| grad_bias[at] += value);
}

/// Rows of `width` values without gaps.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    values: &'a [f32],
    width: usize,
}

impl<'a> Matrix<'a> {
    pub(crate) fn new(values: &'a [f32], width: usize) -> Self {
        Self { values, width }
    }
}

/// Adds `grad_out^T . x` to a weight's gradient: `grad_out [N, outputs]`, `x [N, inputs]`, `out [outputs, inputs]`, None when it is frozen.
pub(crate) fn weight_gradient(
    compute: &Compute,
    grad_out: Matrix<'_>,
    x: Matrix<'_>,
    out: Option<&mut [f32]>,
    packed: &mut Packed,
) {
    let Some(out) = out else { return };
    packed.pack(compute, x.values, x.values.len() / x.width, x.width);
    let left = Left::columns(grad_out.values, grad_out.width);
    gemm(compute, grad_out.width, left, packed, out, true);
}

/// Adds the gradient of an RMSNorm's input to `grad_x [N, width]` and that of its weight to `grad_weight`, None when it is frozen.
#[expect(clippy::too_many_arguments, reason = "the operands of a norm and its gradients")]
pub(crate) fn norm_backward(
    compute: &Compute,
    x: &[f32],
    weight: &[f32],
    eps: f32,
    grad_out: &[f32],
    grad_x: &mut [f32],
    grad_weight: Option<&mut [f32]>,
    partial: &mut Buffer,
) {
    let width = weight.len();
    let grad_x = Shared::new(grad_x);
    let sums = reduce_rows(compute, x.len() / width, width, partial, |first, count, partial| {
        let range = first * width..(first + count) * width;
        // SAFETY: stretches of rows are disjoint.
        let grad_x = unsafe { grad_x.slice(range.start, range.len()) };
        rms_norm_backward(
            compute.tier(),
            &x[range.clone()],
            weight,
            eps,
            &grad_out[range],
            grad_x,
            partial,
        );
    });
    if let Some(grad_weight) = grad_weight {
        sums.enumerate_into(|at, value| grad_weight[at] += value);
    }
}

/// Partial sums of stretches of rows, one row of `width` per stretch.
pub(in crate::train) struct Partials<'a> {
    sums: &'a [f32],
    width: usize,
}

impl Partials<'_> {
    /// Gives each element's total over the stretches, ascending.
    pub(in crate::train) fn enumerate_into(self, mut take: impl FnMut(usize, f32)) {
        for at in 0..self.width {
            take(at, self.sums.iter().skip(at).step_by(self.width).sum());
        }
    }
}

/// Calls `task(first, count, partial)` in parallel for stretches of [`REDUCE_ROWS`] rows. `partial` is zeroed and belongs to the stretch.
pub(in crate::train) fn reduce_rows<'p>(
    compute: &Compute,
    rows: usize,
    width: usize,
    partial: &'p mut Buffer,
    task: impl Fn(usize, usize, &mut [f32]) + Sync,
) -> Partials<'p> {
    let stretches = rows.div_ceil(REDUCE_ROWS);
    partial.resize(stretches * width);
    partial.fill(0.0);
    let shared = Shared::new(partial);
    compute.run(stretches, |index| {
        let first = index * REDUCE_ROWS;
        // SAFETY: no two stretches have the same sums.
        let sums = unsafe { shared.slice(index * width, width) };
        task(first, REDUCE_ROWS.min(rows - first), sums);
    });
    Partials { sums: partial, width }
}
