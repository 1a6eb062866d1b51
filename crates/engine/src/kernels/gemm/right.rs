//! The panels of the right-hand operand as the kernels read them: where they are stored, or made of int8 for each use.

use std::cell::RefCell;

use super::{Block, run_f32};
#[cfg(target_arch = "x86_64")]
use super::{Pair, run_pairs};
#[cfg(target_arch = "x86_64")]
use crate::config::WeightDtype;
use crate::isa::Tier;
use crate::kernels::buffer::Buffer;
use crate::kernels::pack::{Int8, Packed, PanelRows};

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
        return PAIRED.with_borrow_mut(|out| {
            let k = block.b.k();
            let mut source = Paired { weights, k, width, out };
            // SAFETY: by this function's contract.
            unsafe { run_pairs(block, &mut source) };
        });
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
