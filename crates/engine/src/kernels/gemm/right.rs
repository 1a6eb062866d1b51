//! The panels of the right-hand operand as the kernels read them: where they are stored, or made of int8 for each use.

use std::cell::RefCell;
use std::ops::Range;

use super::left::{Cut, Tiles, pack_tiles};
use super::{BLOCK_OF_A, Block, run_f32};
#[cfg(target_arch = "x86_64")]
use super::{PAIRS_OF_A, Pair, pack_pair_tiles, run_pairs};
#[cfg(target_arch = "x86_64")]
use crate::config::WeightDtype;
use crate::isa::Tier;
use crate::kernels::buffer::Buffer;
use crate::kernels::pack::{Int8, Packed, PanelRows, RowSums};

thread_local! {
    /// A stretch of a panel that was made of int8.
    static WIDENED: RefCell<Buffer> = RefCell::default();
}

#[cfg(target_arch = "x86_64")]
thread_local! {
    /// The same in pairs.
    static PAIRED: RefCell<Buffer<Pair>> = RefCell::default();
}

/// Panels of values of one format.
pub(super) trait Source<E> {
    /// Most steps of k, or of its pairs, that the kernels take between two stores of the accumulators.
    const STRETCH: usize;

    /// The values of the steps `first..first + length` of a panel: `[length, columns of a panel]`.
    fn steps(&mut self, panel: usize, first: usize, length: usize) -> &[E];
}

/// Panels in the format that the kernels read.
pub(super) struct Stored<'a, E> {
    values: &'a [E],
    /// Steps of a panel.
    steps: usize,
    width: usize,
}

impl<'a, E> Stored<'a, E> {
    /// The panels of `b`, of so many steps each.
    pub(super) fn new(b: &Packed, values: &'a [E], steps: usize) -> Self {
        Self {
            values,
            steps,
            width: b.width(),
        }
    }
}

impl<E> Source<E> for Stored<'_, E> {
    /// A stretch of a tile of A stays in the first-level cache; the panel comes from the second.
    const STRETCH: usize = 384;

    #[inline(always)]
    fn steps(&mut self, panel: usize, first: usize, length: usize) -> &[E] {
        &self.values[(panel * self.steps + first) * self.width..][..length * self.width]
    }
}

/// So many steps of a panel stay in the first-level cache until the kernels read them.
const WIDENED_STRETCH: usize = 128;

/// Panels in int8, widened to f32.
struct Widened<'a> {
    weights: &'a Int8,
    tier: Tier,
    width: usize,
    out: &'a mut Buffer,
}

impl Source<f32> for Widened<'_> {
    const STRETCH: usize = WIDENED_STRETCH;

    fn steps(&mut self, panel: usize, first: usize, length: usize) -> &[f32] {
        self.out.resize(length * self.width);
        let rows = PanelRows {
            panel,
            first,
            count: length,
        };
        self.weights.widen(self.tier, rows, self.out);
        self.out
    }
}

/// Panels in int8, as pairs of bfloat16 numbers.
#[cfg(target_arch = "x86_64")]
struct Paired<'a> {
    weights: &'a Int8,
    k: usize,
    width: usize,
    out: &'a mut Buffer<Pair>,
}

#[cfg(target_arch = "x86_64")]
impl Source<Pair> for Paired<'_> {
    const STRETCH: usize = WIDENED_STRETCH;

    fn steps(&mut self, panel: usize, first: usize, length: usize) -> &[Pair] {
        let Self { width, k, .. } = *self;
        self.out.resize(length * width);
        let rows = PanelRows {
            panel,
            first: 2 * first,
            count: k.min(2 * (first + length)) - 2 * first,
        };
        // SAFETY: a tier that multiplies pairs runs on machines with their features only.
        unsafe { self.weights.pair(rows, self.out) };
        self.out
    }
}

/// Runs a block whose B is in int8.
///
/// # Safety
/// As for [`super::gemm_block_at`].
pub(super) unsafe fn run_int8(block: &Block<'_>, weights: &Int8) {
    let (tier, width) = (block.tier, block.b.width());
    #[cfg(target_arch = "x86_64")]
    if tier.multiplies_bf16() && weights.dtype() == WeightDtype::Bf16 {
        if tier == Tier::Avx512Bf16 && block.rows <= FEW_ROWS_OF_PAIRS {
            // SAFETY: by this function's contract.
            return unsafe { run_few_rows_of_pairs(block, weights) };
        }
        return PAIRED.with_borrow_mut(|out| {
            let k = block.b.k();
            let mut source = Paired { weights, k, width, out };
            // SAFETY: by this function's contract.
            unsafe { run_pairs(block, &mut source) };
        });
    }
    if block.rows <= FEW_ROWS {
        // SAFETY: by this function's contract.
        return unsafe { run_few_rows(block, weights) };
    }
    WIDENED.with_borrow_mut(|out| {
        let mut source = Widened {
            weights,
            tier,
            width,
            out,
        };
        // SAFETY: by this function's contract.
        unsafe { run_f32(block, &mut source) };
    });
}

/// Most rows of a block for which a panel's numbers are made anew for each tile instead of being written for all.
const FEW_ROWS: usize = 4;
/// The same for pairs, whose tiles are higher.
#[cfg(target_arch = "x86_64")]
const FEW_ROWS_OF_PAIRS: usize = 24;

/// Runs a block of few rows, in f32.
///
/// # Safety
/// As for [`super::gemm_block_at`].
unsafe fn run_few_rows(block: &Block<'_>, weights: &Int8) {
    BLOCK_OF_A.with_borrow_mut(|tiles| {
        let full = 4;
        tiles.resize(block.rows * block.b.k());
        pack_tiles(block.tier, block.a, all_of(block), full, tiles);
        for rows in Tiles::of(block.rows, full) {
            let tile = &tiles[rows.start * block.b.k()..rows.end * block.b.k()];
            let add = |panel, sums: &mut RowSums| weights.add_rows(block.tier, tile, panel, sums);
            // SAFETY: by this function's contract.
            unsafe { each_panel(block, rows, add) };
        }
    });
}

/// [`run_few_rows`] in pairs of bfloat16 numbers.
///
/// # Safety
/// As for [`super::gemm_block_at`]; the tier is [`Tier::Avx512Bf16`].
#[cfg(target_arch = "x86_64")]
unsafe fn run_few_rows_of_pairs(block: &Block<'_>, weights: &Int8) {
    PAIRS_OF_A.with_borrow_mut(|tiles| {
        let (full, steps) = (12, block.b.k().div_ceil(2));
        tiles.resize(block.rows * steps);
        pack_pair_tiles(block.tier, block.a, all_of(block), full, tiles);
        for rows in Tiles::of(block.rows, full) {
            let tile = &tiles[rows.start * steps..rows.end * steps];
            // SAFETY: by this function's contract; the tier has the features of its kernels.
            unsafe { each_panel(block, rows, |panel, sums| weights.add_rows_of_pairs(tile, panel, sums)) };
        }
    });
}

/// All rows of a block, with all k.
fn all_of(block: &Block<'_>) -> Cut {
    Cut {
        first_row: block.first_row,
        rows: block.rows,
        first_k: 0,
        length: block.b.k(),
    }
}

/// Lets `add` add the products of some rows with each panel of a block to their sums.
///
/// # Safety
/// As for [`super::gemm_block_at`]; the rows are the block's.
unsafe fn each_panel(block: &Block<'_>, rows: Range<usize>, add: impl Fn(usize, &mut RowSums)) {
    let mut sums = [[0f32; 32]; 12];
    let sums = &mut sums[..rows.len()];
    for panel in block.first_panel..block.last_panel {
        let first = panel * block.b.width();
        let columns = block.b.width().min(block.b.n() - first);
        let row_of_c = |row: usize| {
            let c = block.c.wrapping_add((rows.start + row) * block.stride + first);
            // SAFETY: the rows and the columns of its panels are the block's own.
            unsafe { std::slice::from_raw_parts_mut(c, columns) }
        };
        for (row, sums) in sums.iter_mut().enumerate() {
            if block.accumulate {
                sums[..columns].copy_from_slice(row_of_c(row));
            } else {
                sums.fill(0.0);
            }
        }
        add(panel, sums);
        for (row, sums) in sums.iter().enumerate() {
            row_of_c(row).copy_from_slice(&sums[..columns]);
        }
    }
}
