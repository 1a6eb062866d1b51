//! The panels of the right-hand operand as the kernels read them: where they are stored, or made of int8 for each use.

use std::cell::RefCell;

use super::{Block, run_f32};
#[cfg(target_arch = "x86_64")]
use super::{Pair, run_pairs};
#[cfg(target_arch = "x86_64")]
use crate::config::WeightDtype;
use crate::isa::Tier;
use crate::kernels::buffer::Buffer;
#[cfg(target_arch = "x86_64")]
use crate::kernels::pack::GROUP;
use crate::kernels::pack::{Int8, Packed, PanelRows};
#[cfg(target_arch = "x86_64")]
use crate::kernels::pairs::pair_panel;

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
    #[inline(always)]
    fn steps(&mut self, panel: usize, first: usize, length: usize) -> &[E] {
        &self.values[(panel * self.steps + first) * self.width..][..length * self.width]
    }
}

/// Panels in int8, widened to f32.
struct Widened<'a> {
    weights: &'a Int8,
    tier: Tier,
    width: usize,
    out: &'a mut Buffer,
}

impl Source<f32> for Widened<'_> {
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
    tier: Tier,
    k: usize,
    width: usize,
    wide: &'a mut Buffer,
    out: &'a mut Buffer<Pair>,
}

#[cfg(target_arch = "x86_64")]
impl Source<Pair> for Paired<'_> {
    fn steps(&mut self, panel: usize, first: usize, length: usize) -> &[Pair] {
        let Self { width, k, .. } = *self;
        self.out.resize(length * width);
        let end = k.min(2 * (first + length));
        self.out[end.div_ceil(2).saturating_sub(first) * width..].fill(Pair::default());
        for start in (2 * first..end).step_by(GROUP) {
            let count = GROUP.min(end - start);
            self.wide.resize(count * width);
            let rows = PanelRows {
                panel,
                first: start,
                count,
            };
            self.weights.widen(self.tier, rows, self.wide);
            let out = &mut self.out[(start / 2 - first) * width..][..count.div_ceil(2) * width];
            // SAFETY: a tier that multiplies pairs runs on machines with their features only.
            unsafe { pair_panel(self.wide, width, out) };
        }
        self.out
    }
}

/// Runs a block whose B is in int8.
///
/// # Safety
/// As for [`super::gemm_block_at`].
pub(super) unsafe fn run_int8(block: &Block<'_>, weights: &Int8) {
    let (tier, width) = (block.tier, block.b.width());
    WIDENED.with_borrow_mut(|wide| {
        #[cfg(target_arch = "x86_64")]
        if tier.multiplies_bf16() && weights.dtype() == WeightDtype::Bf16 {
            return PAIRED.with_borrow_mut(|out| {
                let k = block.b.k();
                let mut source = Paired {
                    weights,
                    tier,
                    k,
                    width,
                    wide,
                    out,
                };
                // SAFETY: by this function's contract.
                unsafe { run_pairs(block, &mut source) };
            });
        }
        let mut source = Widened {
            weights,
            tier,
            width,
            out: wide,
        };
        // SAFETY: by this function's contract.
        unsafe { run_f32(block, &mut source) };
    });
}
