//! Right-hand operands in pairs of bfloat16 numbers, made of f32 without a copy in between.

use std::ops::Range;

use super::int8::Shape;
use super::pair_steps;
use crate::compute::Compute;
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::pairs::{Pair, VECTOR, pair_columns, pair_turned};

/// Takes the transpose of the row-major `weight [n, k]`.
pub(super) fn fill_transposed(data: &mut Buffer<Pair>, compute: &Compute, weight: &[f32], shape: Shape) {
    let Shape { k, n, .. } = shape;
    fill(data, compute, shape, |columns, to| {
        // SAFETY: only the tiers that multiply bfloat16 numbers keep pairs, and a `Compute` hands them out on machines that have their features.
        unsafe { pair_turned(&weight[columns.start * k..columns.end.min(n) * k], k, to) };
    });
}

/// Takes columns, from `first` on, of the row-major `matrix`, whose rows have `stride` elements.
pub(super) fn fill_columns(
    data: &mut Buffer<Pair>,
    compute: &Compute,
    (matrix, stride): (&[f32], usize),
    first: usize,
    shape: Shape,
) {
    let Shape { k, n, .. } = shape;
    fill(data, compute, shape, |columns, to| {
        let count = columns.end.min(n) - columns.start;
        // SAFETY: as above.
        unsafe { pair_columns(&matrix[first + columns.start..], (stride, k), count, to) };
    });
}

/// Lets `write(columns, to)` fill the pairs of at most [`VECTOR`] columns, `to[step * width + column]`, in zeros.
fn fill(
    data: &mut Buffer<Pair>,
    compute: &Compute,
    Shape { k, n, width }: Shape,
    write: impl Fn(Range<usize>, (&mut [Pair], usize)) + Sync,
) {
    let size = pair_steps(compute.tier(), k) * width;
    let shared = Shared::new(data);
    compute.run(n.div_ceil(width), |panel| {
        // SAFETY: each task takes its own panel.
        let to = unsafe { shared.slice(panel * size, size) };
        let first = panel * width;
        let whole = k.div_ceil(2) * width;
        to[if n - first < width { 0 } else { whole }..].fill(Pair::default());
        for at in (0..width.min(n - first)).step_by(VECTOR) {
            write(first + at..first + at + VECTOR, (&mut to[at..], width));
        }
    });
}
