//! The left-hand operand of a product, and its tiles in the order in which the kernels read them.

use crate::isa::Tier;
#[cfg(target_arch = "x86_64")]
use crate::kernels::pairs::{Pair, pair_columns, pair_rows};
use crate::kernels::transpose::transpose;

/// The left-hand operand.
#[derive(Clone, Copy)]
pub(crate) enum Left<'a> {
    /// Row-major `[M, stride]`, of which the first K columns count.
    Rows {
        /// The elements.
        data: &'a [f32],
        /// Elements from one row to the next.
        stride: usize,
    },
    /// The transpose of row-major `[K, stride]`, of which the first M columns count.
    Columns {
        /// The elements.
        data: &'a [f32],
        /// Elements from one row (one k) to the next.
        stride: usize,
    },
}

impl<'a> Left<'a> {
    /// Rows of `width` elements without gaps.
    pub(crate) fn rows(data: &'a [f32], width: usize) -> Self {
        Self::Rows { data, stride: width }
    }

    /// The transpose of rows of `width` elements without gaps.
    pub(crate) fn columns(data: &'a [f32], width: usize) -> Self {
        Self::Columns { data, stride: width }
    }
}

/// The rows and the stretch of k of a tile.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub(super) first_row: usize,
    pub(super) height: usize,
    pub(super) first_k: usize,
    pub(super) length: usize,
}

/// Copies a part of A into `tile[k][row]`.
pub(super) fn pack_tile(tier: Tier, a: Left<'_>, cut: Cut, tile: &mut [f32]) {
    let Cut {
        first_row,
        height,
        first_k,
        length,
    } = cut;
    match a {
        Left::Rows { data, stride } => {
            let row = |i: usize| &data[(first_row + i) * stride + first_k..][..length];
            transpose(tier, height, row, tile, height);
        }
        Left::Columns { data, stride } => {
            let source = &data[first_k * stride + first_row..];
            match height {
                12 => copy_columns::<12>(source, stride, tile),
                6 => copy_columns::<6>(source, stride, tile),
                4 => copy_columns::<4>(source, stride, tile),
                2 => copy_columns::<2>(source, stride, tile),
                _ => {
                    for (at, out) in tile.chunks_exact_mut(height).enumerate() {
                        out.copy_from_slice(&source[at * stride..][..height]);
                    }
                }
            }
        }
    }
}

/// Rounds a part of A to bfloat16, into `tile[k / 2][row]`. A last k without a partner stands beside 0.
#[cfg(target_arch = "x86_64")]
pub(super) fn pack_pairs(_: Tier, a: Left<'_>, cut: Cut, tile: &mut [Pair]) {
    let Cut {
        first_row,
        height,
        first_k,
        length,
    } = cut;
    // SAFETY: only the tier that multiplies bfloat16 numbers packs pairs, and a `Compute` hands it out on machines that have its features.
    unsafe {
        match a {
            Left::Rows { data, stride } => {
                pair_rows(&data[first_row * stride + first_k..], (stride, length), height, tile);
            }
            Left::Columns { data, stride } => {
                pair_columns(
                    &data[first_k * stride + first_row..],
                    (stride, length),
                    height,
                    (tile, height),
                );
            }
        }
    }
}

fn copy_columns<const H: usize>(source: &[f32], stride: usize, tile: &mut [f32]) {
    let (tile, _) = tile.as_chunks_mut::<H>();
    for (at, out) in tile.iter_mut().enumerate() {
        if let Some(values) = source[at * stride..].first_chunk::<H>() {
            *out = *values;
        }
    }
}
