//! Matrix products `C = A . B` and `C += A . B` with sums in f32, where B may be kept in a narrower format.
//!
//! Each element of C is one chain of multiply-adds over ascending k (over ascending pairs of k, where pairs of bfloat16 numbers are
//! multiplied), begun at 0 (or at C's old value). Blocking over k stores and reloads the accumulators, which changes no bit; so an element's
//! bits depend on its row of A and its column of B alone, whatever the number of rows, columns or threads. Edge rows run through smaller
//! instances of the same body.

#[cfg(target_arch = "x86_64")]
mod amx;
mod left;
mod right;
#[cfg(test)]
pub(crate) mod test_operands;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests_bf16;
#[cfg(test)]
mod tests_int8;
mod tile;
#[cfg(target_arch = "x86_64")]
mod tile_bf16;

use std::cell::RefCell;
use std::ops::Range;

use super::buffer::{Buffer, Shared};
use super::element::{Element, Number};
use super::pack::{Packed, Panels};
#[cfg(target_arch = "x86_64")]
use super::pairs::Pair;
use crate::compute::Compute;
use crate::isa::Tier;
pub(crate) use left::Left;
use left::{Cut, Tiles, pack_tiles};
use right::{Source, Stored, run_int8};
use tile::{TileKernel, kernels_portable};
#[cfg(target_arch = "x86_64")]
use {
    super::pack::pair_steps,
    amx::run_tiles,
    left::pack_pair_tiles,
    tile::{kernels_avx2, kernels_avx512},
    tile_bf16::kernels_avx512_bf16,
};

/// Rows of A that one task packs at a time. Tasks divide rows before columns, because tasks with the same rows would each pack them.
struct BlockRows {
    /// Blocks have fewer rows only when A has fewer.
    least: usize,
    most: usize,
    /// A multiple of the tier's tile height.
    step: usize,
}

impl BlockRows {
    fn of(tier: Tier) -> Self {
        let [least, most, step] = if tier == Tier::Amx { [64, 256, 32] } else { [48, 96, 12] };
        Self { least, most, step }
    }

    /// Rows of a block when about so many tasks divide `m` rows.
    fn divided(&self, m: usize, tasks: usize) -> usize {
        m.div_ceil(tasks)
            .next_multiple_of(self.step)
            .clamp(self.least, self.most)
    }
}

/// Tasks per thread that a product is split into, for balance.
const TASKS_PER_THREAD: usize = 4;

thread_local! {
    /// The packed block of A.
    static BLOCK_OF_A: RefCell<Buffer> = RefCell::default();
}

#[cfg(target_arch = "x86_64")]
thread_local! {
    /// The packed block of A in bfloat16.
    static PAIRS_OF_A: RefCell<Buffer<Pair>> = RefCell::default();
}

/// `C[m, n] = A . B`, or `C += A . B` when `accumulate`; C is row-major `[m, b.n()]` without gaps.
///
/// # Panics
/// When an operand is too short.
#[expect(
    clippy::too_many_arguments,
    reason = "the operands of a product and how it is stored"
)]
pub(crate) fn gemm(compute: &Compute, m: usize, a: Left<'_>, b: &Packed, c: &mut [f32], accumulate: bool) {
    assert_eq!(c.len(), m * b.n(), "C has m * n elements");
    let stride = b.n();
    gemm_columns(
        compute,
        a,
        b,
        Columns {
            values: c,
            stride,
            first: 0,
        },
        accumulate,
    );
}

/// Some columns of row-major rows.
pub(crate) struct Columns<'a> {
    /// The elements of the rows.
    pub(crate) values: &'a mut [f32],
    /// Elements from one row to the next.
    pub(crate) stride: usize,
    /// The first of the columns.
    pub(crate) first: usize,
}

/// [`gemm`] into the columns `first..first + b.n()` of all rows of C; the other columns are not touched.
///
/// # Panics
/// When an operand is too short, or C is not whole rows that have these columns.
pub(crate) fn gemm_columns(compute: &Compute, a: Left<'_>, b: &Packed, c: Columns<'_>, accumulate: bool) {
    gemm_panels(compute, a, (b, 0..b.panels()), c, accumulate);
}

/// [`gemm_columns`] with some panels of B: as many columns as these have.
///
/// # Panics
/// As of [`gemm_columns`].
pub(crate) fn gemm_panels(
    compute: &Compute,
    a: Left<'_>,
    (b, panels): (&Packed, Range<usize>),
    c: Columns<'_>,
    accumulate: bool,
) {
    let Columns { values, stride, first } = c;
    assert!(
        panels.start <= panels.end && panels.end <= b.panels(),
        "the panels are B's"
    );
    let columns = (panels.end * b.width()).min(b.n()) - panels.start * b.width();
    assert!(first + columns <= stride, "the columns lie in C's rows");
    if values.is_empty() {
        return;
    }
    let m = values.len() / stride;
    assert_eq!(values.len(), m * stride, "C has whole rows");
    let c = Shared::new(values);
    let wanted = if compute.threads() == 1 {
        1
    } else {
        compute.threads() * TASKS_PER_THREAD
    };
    let block_rows = BlockRows::of(compute.tier()).divided(m, wanted);
    let row_blocks = m.div_ceil(block_rows);
    let column_blocks = wanted.div_ceil(row_blocks.max(1)).clamp(1, panels.len().max(1));
    compute.run(row_blocks * column_blocks, |task| {
        let (row_block, column_block) = (task / column_blocks, task % column_blocks);
        let first_row = row_block * block_rows;
        let rows = block_rows.min(m - first_row);
        let of_task = |at: usize| panels.start + panels.len() * at / column_blocks;
        // The column of B's first panel, which may lie before C.
        let first_of_b = first.wrapping_sub(panels.start * b.width());
        // SAFETY: tasks are disjoint in rows or in panels of C; their rows and the columns of the panels lie in C, as asserted above.
        unsafe {
            gemm_block_at(
                compute.tier(),
                a,
                first_row,
                rows,
                b,
                of_task(column_block)..of_task(column_block + 1),
                c.as_mut_ptr()
                    .wrapping_add((first_row * stride).wrapping_add(first_of_b)),
                stride,
                accumulate,
            );
        }
    });
}

/// The rows `first_row..first_row + rows` of a product on the calling thread, into `c [rows, b.n()]`.
#[expect(clippy::too_many_arguments, reason = "the operands of a product and its rows")]
pub(crate) fn gemm_rows(tier: Tier, a: Left<'_>, first_row: usize, rows: usize, b: &Packed, c: &mut [f32]) {
    assert_eq!(c.len(), rows * b.n(), "C has rows * n elements");
    let mut done = 0;
    for block in c.chunks_mut(BlockRows::of(tier).most * b.n()) {
        let height = block.len() / b.n();
        let block = Shared::new(block);
        // SAFETY: `block` is exclusively ours and holds `height` rows.
        unsafe {
            gemm_block_at(
                tier,
                a,
                first_row + done,
                height,
                b,
                0..b.panels(),
                block.as_mut_ptr(),
                b.n(),
                false,
            )
        };
        done += height;
    }
}

/// # Safety
/// `c` points at `rows` rows of `stride` elements, the first for the first column of B. The columns of `panels` are elements that no other thread touches.
#[expect(clippy::too_many_arguments, reason = "a block of a product has this many bounds")]
unsafe fn gemm_block_at(
    tier: Tier,
    a: Left<'_>,
    first_row: usize,
    rows: usize,
    b: &Packed,
    panels: Range<usize>,
    c: *mut f32,
    stride: usize,
    accumulate: bool,
) {
    debug_assert_eq!(
        b.width(),
        super::pack::panel_width(tier),
        "an operand is packed for one tier"
    );
    let block = Block {
        tier,
        a,
        first_row,
        rows,
        b,
        first_panel: panels.start,
        last_panel: panels.end,
        c,
        stride,
        accumulate,
    };
    // SAFETY: by this function's contract.
    unsafe {
        match b.values() {
            Panels::F32(values) => run_f32(&block, &mut Stored::new(b, values, b.k())),
            Panels::Bf16(values) => run_f32(&block, &mut Stored::new(b, values, b.k())),
            Panels::Int8(weights) => run_int8(&block, weights),
            #[cfg(target_arch = "x86_64")]
            Panels::Pairs(values) => run_pairs(&block, &mut Stored::new(b, values, pair_steps(tier, b.k()))),
        }
    }
}

/// Runs a block, whose B has the values of `source`, with the kernels for pairs of bfloat16 numbers.
///
/// # Safety
/// As for [`gemm_block_at`]; the tier multiplies these numbers.
#[cfg(target_arch = "x86_64")]
unsafe fn run_pairs<S: Source<Pair>>(block: &Block<'_>, source: &mut S) {
    if block.tier == Tier::Amx {
        // SAFETY: by this function's contract; a `Compute` hands the tier out where the process may use the tiles.
        return unsafe { run_tiles(block, source) };
    }
    let kernels = Kernels {
        of_height: kernels_avx512_bf16,
        pack: pack_pair_tiles,
        depth: 2,
    };
    // SAFETY: by this function's contract.
    PAIRS_OF_A.with_borrow_mut(|scratch| unsafe { run_block::<_, _, S, 12, 32>(block, source, scratch, &kernels) });
}

/// Runs a block, whose B has the values of `source`, with the kernels in f32 of its tier.
///
/// # Safety
/// As for [`gemm_block_at`].
unsafe fn run_f32<E: Number, S: Source<E>>(block: &Block<'_>, source: &mut S) {
    let kernels = |of_height| Kernels {
        of_height,
        pack: pack_tiles,
        depth: 1,
    };
    BLOCK_OF_A.with_borrow_mut(|scratch| {
        // SAFETY: by this function's contract; a `Compute` hands out only tiers that the machine has.
        unsafe {
            match block.tier {
                #[cfg(target_arch = "x86_64")]
                Tier::Avx512 | Tier::Avx512Bf16 | Tier::Amx => {
                    run_block::<_, E, S, 12, 32>(block, source, scratch, &kernels(kernels_avx512));
                }
                #[cfg(target_arch = "x86_64")]
                Tier::Avx2 => run_block::<_, E, S, 6, 16>(block, source, scratch, &kernels(kernels_avx2)),
                _ => run_block::<_, E, S, 4, 8>(block, source, scratch, &kernels(kernels_portable)),
            }
        }
    });
}

struct Block<'a> {
    tier: Tier,
    a: Left<'a>,
    first_row: usize,
    rows: usize,
    b: &'a Packed,
    first_panel: usize,
    last_panel: usize,
    c: *mut f32,
    stride: usize,
    accumulate: bool,
}

/// How the tiles of a block are made and multiplied.
struct Kernels<T, E> {
    /// The kernel for tiles of a height.
    of_height: fn(usize) -> TileKernel<T, E>,
    /// Writes rows of A as tiles of at most so many rows, each step by step.
    pack: fn(Tier, Left<'_>, Cut, usize, &mut [T]),
    /// Consecutive k of an element of a tile or a panel: the k of a step.
    depth: usize,
}

/// Runs all tiles of a block: for each stretch of k, packs A's rows into tiles and multiplies them with each panel.
///
/// # Safety
/// As for [`gemm_block_at`]; `kernels` are those of a tier that the machine has, with MR rows at most and NR columns.
unsafe fn run_block<T: Element, E: Element, S: Source<E>, const MR: usize, const NR: usize>(
    block: &Block<'_>,
    source: &mut S,
    scratch: &mut Buffer<T>,
    kernels: &Kernels<T, E>,
) {
    let k = block.b.k();
    let steps = k.div_ceil(kernels.depth);
    let stretches = steps.div_ceil(S::STRETCH).max(1);
    scratch.resize(block.rows * steps.clamp(1, S::STRETCH));
    let mut tail = [0f32; 12 * 32];
    for stretch in 0..stretches {
        let first_step = steps * stretch / stretches;
        let length = steps * (stretch + 1) / stretches - first_step;
        let load = block.accumulate || stretch > 0;
        let first_k = first_step * kernels.depth;
        let cut = Cut {
            first_row: block.first_row,
            rows: block.rows,
            first_k,
            length: (length * kernels.depth).min(k - first_k),
        };
        (kernels.pack)(block.tier, block.a, cut, MR, &mut scratch[..block.rows * length]);
        for index in block.first_panel..block.last_panel {
            let panel = source.steps(index, first_step, length);
            debug_assert_eq!(panel.len(), length * NR, "a panel has NR columns");
            let first_column = index * NR;
            let columns = NR.min(block.b.n() - first_column);
            for Range { start: row, end } in Tiles::of(block.rows, MR) {
                let height = end - row;
                let tile = &scratch[row * length..end * length];
                let kernel = (kernels.of_height)(height);
                let c = block.c.wrapping_add(row * block.stride + first_column);
                if columns == NR {
                    // SAFETY: `tile` holds length * height values, `panel` length * NR, and C the whole tile.
                    unsafe { kernel(length, tile.as_ptr(), panel.as_ptr(), c, block.stride, load) };
                } else {
                    // SAFETY: only the valid columns of C are touched; the tile's results go through `tail`.
                    unsafe {
                        for i in 0..height {
                            for j in 0..columns {
                                tail[i * NR + j] = *c.add(i * block.stride + j);
                            }
                        }
                        kernel(length, tile.as_ptr(), panel.as_ptr(), tail.as_mut_ptr(), NR, load);
                        for i in 0..height {
                            for j in 0..columns {
                                *c.add(i * block.stride + j) = tail[i * NR + j];
                            }
                        }
                    }
                }
            }
        }
    }
}
