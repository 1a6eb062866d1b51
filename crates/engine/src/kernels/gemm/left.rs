//! The left-hand operand of a product, and its tiles in the order in which the kernels read them.

use std::ops::Range;

use crate::isa::Tier;
#[cfg(target_arch = "x86_64")]
use crate::kernels::pairs::{Pair, Piece, pair_pieces, pair_rows};
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

/// Rows of A and a stretch of k.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub(super) first_row: usize,
    pub(super) rows: usize,
    pub(super) first_k: usize,
    pub(super) length: usize,
}

/// Writes rows of A as tiles of `full` rows and smaller ones: `tile[k][row]`, all k of the cut.
pub(super) fn pack_tiles(tier: Tier, a: Left<'_>, cut: Cut, full: usize, tiles: &mut [f32]) {
    let Cut {
        first_row,
        rows,
        first_k,
        length,
    } = cut;
    match a {
        Left::Rows { data, stride } => {
            for tile in Tiles::of(rows, full) {
                let row = |i: usize| &data[(first_row + tile.start + i) * stride + first_k..][..length];
                let to = &mut tiles[tile.start * length..tile.end * length];
                transpose(tier, tile.len(), row, to, tile.len());
            }
        }
        Left::Columns { data, stride } => {
            let source = &data[first_k * stride + first_row..];
            for first in (0..length).step_by(STEPS_AT_ONCE) {
                let count = STEPS_AT_ONCE.min(length - first);
                let source = &source[first * stride..];
                for tile in Tiles::of(rows, full) {
                    let to = &mut tiles[tile.start * length + first * tile.len()..][..count * tile.len()];
                    copy_tile(&source[tile.start..], stride, tile.len(), to);
                }
            }
        }
    }
}

/// Steps of k of a transposed A that are copied for all tiles before the next ones, because the tiles share their cache lines.
const STEPS_AT_ONCE: usize = 16;

fn copy_tile(source: &[f32], stride: usize, height: usize, tile: &mut [f32]) {
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

/// Rounds rows of A to bfloat16, as tiles of `full` rows and smaller ones: `tile[k / 2][row]`. A last k without a partner stands beside 0.
#[cfg(target_arch = "x86_64")]
pub(super) fn pack_pair_tiles(_: Tier, a: Left<'_>, cut: Cut, full: usize, tiles: &mut [Pair]) {
    let Cut {
        first_row,
        rows,
        first_k,
        length,
    } = cut;
    let steps = length.div_ceil(2);
    match a {
        Left::Rows { data, stride } => {
            for tile in Tiles::of(rows, full) {
                let source = &data[(first_row + tile.start) * stride + first_k..];
                let to = &mut tiles[tile.start * steps..tile.end * steps];
                // SAFETY: only the tier that multiplies bfloat16 numbers packs pairs, and a `Compute` hands it out on machines that have its features.
                unsafe { pair_rows(source, (stride, length), tile.len(), to) };
            }
        }
        Left::Columns { data, stride } => {
            let pieces = Vec::from_iter(Tiles::of(rows, full).map(|tile| Piece {
                first: tile.start * steps,
                width: tile.len(),
                columns: tile,
            }));
            // SAFETY: as above.
            unsafe { pair_pieces(&data[first_k * stride + first_row..], (stride, length), &pieces, tiles) };
        }
    }
}

/// The rows of the tiles of a block: each the tier's full height, or what is left in steps of 4, 2 and 1.
#[derive(Clone)]
pub(super) struct Tiles {
    row: usize,
    rows: usize,
    full: usize,
}

impl Tiles {
    pub(super) fn of(rows: usize, full: usize) -> Self {
        Self { row: 0, rows, full }
    }
}

impl Iterator for Tiles {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        let height = match self.rows - self.row {
            0 => return None,
            left if left >= self.full => self.full,
            1 => 1,
            2 | 3 => 2,
            _ => 4,
        };
        self.row += height;
        Some(self.row - height..self.row)
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
