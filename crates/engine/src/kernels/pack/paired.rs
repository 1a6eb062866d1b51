//! Right-hand operands in pairs of bfloat16 numbers, made of f32 without a copy in between.

use super::int8::Shape;
use super::pair_steps;
use crate::compute::Compute;
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::pairs::{Pair, Piece, VECTOR, pair_pieces, pair_turned};

/// Panels that one task fills at a time: they share the pages of the matrix.
const PANELS_AT_ONCE: usize = 4;

/// Takes the transpose of the row-major `weight [n, k]`.
pub(super) fn fill_transposed(
    data: &mut Buffer<Pair>,
    compute: &Compute,
    weight: &[f32],
    Shape { k, n, width }: Shape,
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
            let columns = first + at..n.min(first + at + VECTOR);
            // SAFETY: only the tiers that multiply bfloat16 numbers keep pairs, and a `Compute` hands them out on machines that have their features.
            unsafe { pair_turned(&weight[columns.start * k..columns.end * k], k, (&mut to[at..], width)) };
        }
    });
}

/// Takes columns, from `first` on, of the row-major `matrix`, whose rows have `stride` elements.
pub(super) fn fill_columns(
    data: &mut Buffer<Pair>,
    compute: &Compute,
    (matrix, stride): (&[f32], usize),
    first: usize,
    Shape { k, n, width }: Shape,
) {
    let size = pair_steps(compute.tier(), k) * width;
    let whole = k.div_ceil(2) * width;
    let panels = n.div_ceil(width);
    let at_once = panels.div_ceil(2 * compute.threads()).clamp(1, PANELS_AT_ONCE);
    let shared = Shared::new(data);
    compute.run(panels.div_ceil(at_once), |task| {
        let first_panel = task * at_once;
        let count = at_once.min(panels - first_panel);
        // SAFETY: each task takes its own panels.
        let to = unsafe { shared.slice(first_panel * size, count * size) };
        for (index, panel) in to.chunks_exact_mut(size.max(1)).enumerate() {
            let is_full = (first_panel + index + 1) * width <= n;
            panel[if is_full { whole } else { 0 }..].fill(Pair::default());
        }
        let columns = (count * width).min(n - first_panel * width);
        let pieces = Vec::from_iter((0..columns).step_by(VECTOR).map(|at| Piece {
            columns: at..columns.min(at + VECTOR),
            first: at / width * size + at % width,
            width,
        }));
        // SAFETY: as above.
        unsafe { pair_pieces(&matrix[first + first_panel * width..], (stride, k), &pieces, to) };
    });
}
