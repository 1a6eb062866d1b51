//! Matrix products `C = A . B` and `C += A . B` in f32, where B may be kept in a narrower format.
//!
//! Each element of C is one chain of multiply-adds over ascending k, begun at 0 (or at C's old value). Blocking over k stores and reloads
//! the accumulators, which changes no bit; so an element's bits depend on its row of A and its column of B alone, whatever the number of
//! rows, columns or threads. Edge rows run through smaller instances of the same body.

mod tile;

use std::cell::RefCell;

use super::buffer::{Buffer, Shared};
use super::element::Element;
use super::pack::{Packed, Panels};
use super::{Lanes, tiered};
use crate::compute::Compute;
use crate::isa::Tier;
use tile::{TileKernel, kernels_portable};
#[cfg(target_arch = "x86_64")]
use tile::{kernels_avx2, kernels_avx512};

/// Rows of A that one task packs at a time, fewer only when A has fewer: a multiple of every tier's tile height. Tasks divide rows before
/// columns, because tasks with the same rows would each pack them.
const BLOCK_ROWS: usize = 96;
const LEAST_BLOCK_ROWS: usize = 48;
/// A multiple of every tier's tile height.
const TILE_ROWS: usize = 12;
/// Longest stretch of k between two stores of the accumulators: a panel's stretch and a tile of A stay in the first-level cache.
const BLOCK_K: usize = 256;
/// Tasks per thread that a product is split into, for balance.
const TASKS_PER_THREAD: usize = 4;

thread_local! {
    /// The packed block of A.
    static BLOCK_OF_A: RefCell<Buffer> = RefCell::default();
}

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
    let Columns { values, stride, first } = c;
    assert!(first + b.n() <= stride, "the columns lie in C's rows");
    if values.is_empty() {
        return;
    }
    let m = values.len() / stride;
    assert_eq!(values.len(), m * stride, "C has whole rows");
    let c = Shared::new(values);
    let panels = b.panels();
    let wanted = if compute.threads() == 1 {
        1
    } else {
        compute.threads() * TASKS_PER_THREAD
    };
    let block_rows = m
        .div_ceil(wanted)
        .next_multiple_of(TILE_ROWS)
        .clamp(LEAST_BLOCK_ROWS, BLOCK_ROWS);
    let row_blocks = m.div_ceil(block_rows);
    let column_blocks = wanted.div_ceil(row_blocks.max(1)).clamp(1, panels.max(1));
    compute.run(row_blocks * column_blocks, |task| {
        let (row_block, column_block) = (task / column_blocks, task % column_blocks);
        let first_row = row_block * block_rows;
        let rows = block_rows.min(m - first_row);
        let first_panel = panels * column_block / column_blocks;
        let last_panel = panels * (column_block + 1) / column_blocks;
        // SAFETY: tasks are disjoint in rows or in panels of C.
        unsafe {
            gemm_block(
                compute.tier(),
                a,
                first_row,
                rows,
                b,
                first_panel..last_panel,
                c,
                (stride, first),
                accumulate,
            )
        };
    });
}

/// The rows `first_row..first_row + rows` of a product on the calling thread, into `c [rows, b.n()]`.
#[expect(clippy::too_many_arguments, reason = "the operands of a product and its rows")]
pub(crate) fn gemm_rows(tier: Tier, a: Left<'_>, first_row: usize, rows: usize, b: &Packed, c: &mut [f32]) {
    assert_eq!(c.len(), rows * b.n(), "C has rows * n elements");
    let mut done = 0;
    for block in c.chunks_mut(BLOCK_ROWS * b.n()) {
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
/// No other thread may touch these rows and panels of C.
#[expect(clippy::too_many_arguments, reason = "a block of a product has this many bounds")]
unsafe fn gemm_block(
    tier: Tier,
    a: Left<'_>,
    first_row: usize,
    rows: usize,
    b: &Packed,
    panels: std::ops::Range<usize>,
    c: Shared<'_, f32>,
    (stride, first_column): (usize, usize),
    accumulate: bool,
) {
    assert!(
        (first_row + rows) * stride <= c.len() && first_column + b.n() <= stride,
        "rows and columns lie in C"
    );
    // SAFETY: the row and its columns lie in C by the assertion; exclusivity is the caller's promise.
    unsafe {
        let c = c.as_mut_ptr().add(first_row * stride + first_column);
        gemm_block_at(tier, a, first_row, rows, b, panels, c, stride, accumulate);
    }
}

/// # Safety
/// `c` points at `rows` rows of `stride` elements, of which no other thread touches the columns of `panels`.
#[expect(clippy::too_many_arguments, reason = "a block of a product has this many bounds")]
unsafe fn gemm_block_at(
    tier: Tier,
    a: Left<'_>,
    first_row: usize,
    rows: usize,
    b: &Packed,
    panels: std::ops::Range<usize>,
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
            Panels::F32(values) => run_tier(&block, values),
            Panels::Bf16(values) => run_tier(&block, values),
        }
    }
}

/// Runs a block, whose B has these `values`, with the kernels of its tier.
///
/// # Safety
/// As for [`gemm_block_at`].
unsafe fn run_tier<E: Element>(block: &Block<'_>, values: &[E]) {
    BLOCK_OF_A.with_borrow_mut(|scratch| {
        scratch.resize(BLOCK_ROWS * block.b.k().clamp(1, BLOCK_K));
        // SAFETY: by this function's contract; a `Compute` hands out only tiers that the machine has.
        unsafe {
            match block.tier {
                #[cfg(target_arch = "x86_64")]
                Tier::Avx512 => run_block::<E, 12, 32>(block, values, scratch, kernels_avx512),
                #[cfg(target_arch = "x86_64")]
                Tier::Avx2 => run_block::<E, 6, 16>(block, values, scratch, kernels_avx2),
                _ => run_block::<E, 4, 8>(block, values, scratch, kernels_portable),
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

/// Runs all tiles of a block: for each stretch of k, packs A's rows into tiles and multiplies them with each panel.
///
/// # Safety
/// As for [`gemm_block_at`]; `kernels` are those of a tier that the machine has, with MR rows at most and NR columns.
unsafe fn run_block<E: Element, const MR: usize, const NR: usize>(
    block: &Block<'_>,
    values: &[E],
    scratch: &mut [f32],
    kernels: fn(usize) -> TileKernel<E>,
) {
    let k = block.b.k();
    let stretches = k.div_ceil(BLOCK_K).max(1);
    let mut tail = [0f32; 12 * 32];
    for stretch in 0..stretches {
        let first_k = k * stretch / stretches;
        let length = k * (stretch + 1) / stretches - first_k;
        let load = block.accumulate || stretch > 0;
        let mut row = 0;
        while row < block.rows {
            let height = tile_height(block.rows - row, MR);
            let tile = &mut scratch[row * length..(row + height) * length];
            pack_tile(
                block.tier,
                block.a,
                block.first_row + row,
                height,
                first_k,
                length,
                tile,
            );
            row += height;
        }
        for index in block.first_panel..block.last_panel {
            let panel = &values[(index * k + first_k) * NR..][..length * NR];
            let first_column = index * NR;
            let columns = NR.min(block.b.n() - first_column);
            let mut row = 0;
            while row < block.rows {
                let height = tile_height(block.rows - row, MR);
                let tile = &scratch[row * length..(row + height) * length];
                let kernel = kernels(height);
                // SAFETY: the tile's rows and columns lie in C by the caller's promise.
                let c = unsafe { block.c.add(row * block.stride + first_column) };
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
                row += height;
            }
        }
    }
}

/// Rows of the next tile: the tier's full height, or what is left in steps of 4, 2 and 1.
fn tile_height(left: usize, full: usize) -> usize {
    match left {
        _ if left >= full => full,
        1 => 1,
        2 | 3 => 2,
        _ => 4,
    }
}

/// Copies rows of A into `tile[k][row]`.
#[expect(clippy::too_many_arguments, reason = "a tile of an operand has this many bounds")]
fn pack_tile(
    tier: Tier,
    a: Left<'_>,
    first_row: usize,
    height: usize,
    first_k: usize,
    length: usize,
    tile: &mut [f32],
) {
    let tile = &mut tile[..height * length];
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

/// `out[at * stride + i] = row(i)[at]` for `count` rows of one length.
pub(crate) fn transpose<'a>(
    tier: Tier,
    count: usize,
    row: impl Fn(usize) -> &'a [f32],
    out: &mut [f32],
    stride: usize,
) {
    let fours = count - count % 4;
    for i in (0..fours).step_by(4) {
        interleave(
            tier,
            [row(i), row(i + 1), row(i + 2), row(i + 3)],
            &mut out[i..],
            stride,
        );
    }
    for i in fours..count {
        for (at, &value) in row(i).iter().enumerate() {
            out[at * stride + i] = value;
        }
    }
}

tiered! {
    /// `out[at * stride + i] = rows[i][at]`, four by four.
    fn interleave(rows: [&[f32]; 4], out: &mut [f32], stride: usize) = interleave_body
}

#[inline(always)]
fn interleave_body<L: Lanes>(rows: [&[f32]; 4], out: &mut [f32], stride: usize) {
    let length = rows[0].len();
    let [a, b, c, d] = rows.map(|row| row[..length].as_chunks::<4>().0);
    let (b, c, d) = (&b[..a.len()], &c[..a.len()], &d[..a.len()]);
    for at in 0..a.len() {
        let (a, b, c, d) = (a[at], b[at], c[at], d[at]);
        let out = &mut out[at * 4 * stride..][..3 * stride + 4];
        for (k, column) in columns_of([a, b, c, d]).iter().enumerate() {
            out[k * stride..k * stride + 4].copy_from_slice(column);
        }
    }
    for at in length - length % 4..length {
        for (i, row) in rows.iter().enumerate() {
            out[at * stride + i] = row[at];
        }
    }
}

/// The columns of four rows of four. Without this the compiler moves sixteen single values.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn columns_of(rows: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    use std::arch::x86_64::{__m128, _mm_movehl_ps, _mm_movelh_ps, _mm_unpackhi_ps, _mm_unpacklo_ps};
    // SAFETY: a vector is four f32, any bits of which are a value; SSE is part of x86_64.
    unsafe {
        let [a, b, c, d] = std::mem::transmute::<[[f32; 4]; 4], [__m128; 4]>(rows);
        let (ab_low, ab_high) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let (cd_low, cd_high) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        std::mem::transmute::<[__m128; 4], [[f32; 4]; 4]>([
            _mm_movelh_ps(ab_low, cd_low),
            _mm_movehl_ps(cd_low, ab_low),
            _mm_movelh_ps(ab_high, cd_high),
            _mm_movehl_ps(cd_high, ab_high),
        ])
    }
}

/// The columns of four rows of four.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn columns_of(rows: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    std::array::from_fn(|k| rows.map(|row| row[k]))
}

fn copy_columns<const H: usize>(source: &[f32], stride: usize, tile: &mut [f32]) {
    let (tile, _) = tile.as_chunks_mut::<H>();
    for (at, out) in tile.iter_mut().enumerate() {
        if let Some(values) = source[at * stride..].first_chunk::<H>() {
            *out = *values;
        }
    }
}
