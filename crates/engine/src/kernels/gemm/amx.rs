//! A block of a product in tiles of bfloat16 numbers.

use super::left::Left;
use super::right::Source;
use super::{Block, PAIRS_OF_A};
use crate::kernels::amx::{Operands, SIDE, TILE, Tiles, place, tile_columns, tile_rows};
use crate::kernels::pairs::Pair;

/// Columns of a panel: two right tiles.
const COLUMNS: usize = 2 * SIDE;
/// Rows of two left tiles.
const ROWS: usize = 2 * SIDE;
/// Tiles along k whose left tiles stay in the second-level cache together.
const PACKED: usize = 64;
/// Tiles along k between two stores of the sums: the right tiles of a stretch stay in the first-level cache while all rows meet them.
const STRETCH: usize = 16;

/// Runs a block, whose B has the values of `source`: packs A's rows into tiles and multiplies them with one panel after the other, stretch by
/// stretch, so that the sums of a panel stay in the cache until they are whole.
///
/// # Safety
/// As for [`super::gemm_block_at`]; the tier is [`crate::isa::Tier::Amx`].
pub(super) unsafe fn run_tiles(block: &Block<'_>, source: &mut impl Source<Pair>) {
    let all = block.b.k().div_ceil(2 * SIDE);
    let pairs = block.rows.next_multiple_of(SIDE) * SIDE;
    // SAFETY: by the contract the process may use the tiles.
    let tiles = unsafe { Tiles::configure() };
    PAIRS_OF_A.with_borrow_mut(|left| {
        left.resize(pairs * all.min(PACKED));
        for (first, length) in parts(all, PACKED) {
            for row in (0..block.rows).step_by(SIDE) {
                pack(block, row, (first, length), left);
            }
            for panel in block.first_panel..block.last_panel {
                let right = source.steps(panel, first * SIDE, length * SIDE);
                assert_eq!(right.len(), length * SIDE * COLUMNS, "a panel has whole tiles");
                for (begin, length_of_part) in parts(length, STRETCH) {
                    for row in (0..block.rows).step_by(ROWS) {
                        let (at, step) = place(row, block.rows, length);
                        let (below, beside) = ((row + ROWS) * block.stride + panel * COLUMNS, (panel + 1) * COLUMNS);
                        let operands = Operands {
                            left: left[at + begin * step..].as_ptr(),
                            right: right[begin * SIDE * COLUMNS..].as_ptr(),
                            length: length_of_part,
                            out: std::ptr::null_mut(),
                            stride: 0,
                            load: block.accumulate || first + begin > 0,
                            next: block
                                .c
                                .wrapping_add(if row + ROWS < block.rows { below } else { beside }),
                        };
                        // SAFETY: by the contract the rows and the columns of the panel lie in C.
                        unsafe { multiply(block, &tiles, (row, panel), operands) };
                    }
                }
            }
        }
    });
}

/// Cuts `total` into parts of about one length, at most `most`: where each begins, and its length. Nothing is one empty part.
fn parts(total: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = total.div_ceil(most).max(1);
    (0..count).map(move |at| {
        let (begin, end) = (total * at / count, total * (at + 1) / count);
        (begin, end - begin)
    })
}

/// Packs the left tiles of a stretch of 16 rows, or of those that are left.
fn pack(block: &Block<'_>, row: usize, (first, length): (usize, usize), out: &mut [Pair]) {
    let first_k = first * 2 * SIDE;
    let count = (length * 2 * SIDE).min(block.b.k() - first_k);
    let (height, from) = (SIDE.min(block.rows - row), block.first_row + row);
    let (at, step) = place(row, block.rows, length);
    let out = (&mut out[at..], step);
    // SAFETY: the tier has the features.
    unsafe {
        match block.a {
            Left::Rows { data, stride } => tile_rows(&data[from * stride + first_k..], (stride, count), height, out),
            Left::Columns { data, stride } => {
                tile_columns(&data[first_k * stride + from..], (stride, count), height, out)
            }
        }
    }
}

/// Multiplies the left tiles of the rows from `row` on with a panel, into C where it has all of the sums, or else through a copy.
///
/// # Safety
/// The operands hold the tiles; the rows and columns lie in C and are the caller's alone.
unsafe fn multiply(block: &Block<'_>, tiles: &Tiles, (row, panel): (usize, usize), operands: Operands) {
    let (rows, columns) = (ROWS.min(block.rows - row), COLUMNS.min(block.b.n() - panel * COLUMNS));
    let c = block.c.wrapping_add(row * block.stride + panel * COLUMNS);
    let run = |out: *mut f32, stride: usize| {
        let operands = Operands {
            out,
            stride,
            ..operands
        };
        // SAFETY: `out` has room for the tiles of these rows.
        unsafe {
            if rows > SIDE {
                tiles.multiply_32(operands);
            } else {
                tiles.multiply_16(operands);
            }
        }
    };
    if columns == COLUMNS && rows % SIDE == 0 {
        return run(c, block.stride);
    }
    let mut copy = [0f32; TILE * 4];
    // SAFETY: only the rows and columns that C has are read and written.
    unsafe {
        if operands.load {
            for row in 0..rows {
                copy[row * COLUMNS..][..columns]
                    .copy_from_slice(std::slice::from_raw_parts(c.add(row * block.stride), columns));
            }
        }
        run(copy.as_mut_ptr(), COLUMNS);
        for row in 0..rows {
            std::slice::from_raw_parts_mut(c.add(row * block.stride), columns)
                .copy_from_slice(&copy[row * COLUMNS..][..columns]);
        }
    }
}
