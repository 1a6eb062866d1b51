//! Muon: momentum whose update is made orthogonal, for the matrices inside the layers.
//!
//! Source: Jordan et al., "Muon" (2024), with the constants of torch.optim.Muon: five Newton-Schulz iterations of the quintic with
//! (3.4445, -4.7750, 2.0315), which bring all singular values into about 0.7 to 1.2. The update is scaled by `0.2 * sqrt(max(rows, columns))`
//! ("Muon is Scalable", arXiv:2502.16982; torch `match_rms_adamw`, prime-rl `rms_norm`), so that learning rates of AdamW carry over.
//! Departure: f32 throughout, where torch iterates in bf16.

use crate::compute::Compute;
use crate::kernels::gemm::{Left, gemm};
use crate::kernels::pack::Packed;

use super::norm;

const QUINTIC: (f32, f32, f32) = (3.4445, -4.7750, 2.0315);
const ITERATIONS: usize = 5;
/// A matrix is divided by its norm, but at least by this.
const NORM_EPS: f64 = 1e-7;
const RMS_OF_ADAMW: f64 = 0.2;

/// Buffers of the iteration, reused from matrix to matrix.
#[derive(Default)]
pub(crate) struct Workspace {
    wide: Vec<f32>,
    next: Vec<f32>,
    gram: Vec<f32>,
    poly: Vec<f32>,
    packed: Packed,
}

/// The factor on the learning rate of a matrix.
pub(crate) fn scale(rows: usize, columns: usize) -> f64 {
    RMS_OF_ADAMW * (rows.max(columns) as f64).sqrt()
}

/// Replaces row-major `matrix [rows, columns]` by the nearly orthogonal matrix that the iteration gives.
pub(crate) fn orthogonalize(
    compute: &Compute,
    matrix: &mut [f32],
    (rows, columns): (usize, usize),
    work: &mut Workspace,
) {
    let Workspace {
        wide,
        next,
        gram,
        poly,
        packed,
    } = work;
    let (m, n) = (rows.min(columns), rows.max(columns));
    let inverse = (1.0 / norm(compute, matrix).max(NORM_EPS)) as f32;
    // The wide form has the smaller Gram matrix.
    wide.resize(m * n, 0.0);
    if rows <= columns {
        wide.copy_from_slice(matrix);
    } else {
        transpose(matrix, wide, rows, columns);
    }
    for value in wide.iter_mut() {
        *value *= inverse;
    }
    next.resize(m * n, 0.0);
    gram.resize(m * m, 0.0);
    poly.resize(m * m, 0.0);
    let (a, b, c) = QUINTIC;
    for _ in 0..ITERATIONS {
        packed.pack_transposed(compute, wide, m, n);
        gemm(compute, m, Left::rows(wide, n), packed, gram, false);
        packed.pack(compute, gram, m, m);
        gemm(compute, m, Left::rows(gram, m), packed, poly, false);
        for (square, &plain) in poly.iter_mut().zip(gram.iter()) {
            *square = b * plain + c * *square;
        }
        packed.pack(compute, wide, m, n);
        gemm(compute, m, Left::rows(poly, m), packed, next, false);
        for (value, &product) in wide.iter_mut().zip(next.iter()) {
            *value = a * *value + product;
        }
    }
    if rows <= columns {
        matrix.copy_from_slice(wide);
    } else {
        transpose(wide, matrix, columns, rows);
    }
}

/// `to [columns, rows]` from `from [rows, columns]`.
fn transpose(from: &[f32], to: &mut [f32], rows: usize, columns: usize) {
    for (r, row) in from.chunks_exact(columns).enumerate().take(rows) {
        for (c, &value) in row.iter().enumerate() {
            to[c * rows + r] = value;
        }
    }
}
