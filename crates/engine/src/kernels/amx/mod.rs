//! Products of tiles of bfloat16 numbers: the instruction TDPBF16PS.
//!
//! It adds to an element of C the products of 32 numbers of a row with 32 of a column. From 0, those of even k make one chain of fused
//! multiply-adds and those of odd k another; their sum is added to the element. Each step is rounded to the nearest, ties to even, and numbers
//! below the smallest normal one count as 0. So an element follows from its row and its column, whatever else the tiles hold.
//!
//! A tile has 16 rows of 64 bytes: a left one 16 rows of 32 numbers, a right one 16 pairs of k of 16 columns, one of C 16 rows of 16 sums.

pub(crate) mod attend;
pub(crate) mod attend_backward;
mod left;
#[cfg(test)]
pub(crate) mod reference;
#[cfg(test)]
mod tests;

use std::arch::asm;
use std::marker::PhantomData;

use super::pairs::Pair;
pub(crate) use left::{place, tile_columns, tile_rows};

/// Rows of a tile, steps (pairs of k) of a left or right one, columns of a right one or of C.
pub(crate) const SIDE: usize = 16;
/// Pairs of a tile.
pub(crate) const TILE: usize = SIDE * SIDE;
/// Bytes of a row of a tile.
const ROW: u8 = 64;

/// The operand of LDTILECFG: palette 1, and bytes of a row and rows of each of the eight tiles.
#[repr(C, align(64))]
struct Config {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

static CONFIG: Config = Config {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    row_bytes: [
        ROW as u16, ROW as u16, ROW as u16, ROW as u16, ROW as u16, ROW as u16, ROW as u16, ROW as u16, 0, 0, 0, 0, 0,
        0, 0, 0,
    ],
    rows: [
        SIDE as u8, SIDE as u8, SIDE as u8, SIDE as u8, SIDE as u8, SIDE as u8, SIDE as u8, SIDE as u8, 0, 0, 0, 0, 0,
        0, 0, 0,
    ],
};

/// The calling thread's tiles, configured. Dropping it gives them back, so that a switch to another thread has nothing of them to save.
pub(crate) struct Tiles {
    /// The configuration is the thread's.
    thread: PhantomData<*const ()>,
}

impl Tiles {
    /// # Safety
    /// The process may use the tiles ([`crate::isa::Tier::Amx`]).
    pub(crate) unsafe fn configure() -> Self {
        // SAFETY: the caller's promise; the operand is a valid configuration, which is all that the instruction reads.
        unsafe {
            asm!("ldtilecfg [{config}]", config = in(reg) &raw const CONFIG, options(nostack, readonly, preserves_flags));
        }
        Self { thread: PhantomData }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: the tiles were configured, so the instruction exists; no value lives in them between two blocks of assembly.
        unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
    }
}

/// The operands of [`Tiles::multiply`].
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    /// `[length][height / 16]` left tiles.
    pub(crate) left: *const Pair,
    /// `[length * 16][32]` pairs: two right tiles side by side.
    pub(crate) right: *const Pair,
    /// How many tiles follow one another along k.
    pub(crate) length: usize,
    /// Rows of 32 sums.
    pub(crate) out: *mut f32,
    /// Elements from one row of sums to the next.
    pub(crate) stride: usize,
    /// Whether the sums begin at what `out` holds, else at 0.
    pub(crate) load: bool,
    /// Where the sums of the next product begin: two rows of their lines are fetched with each tile of k. It may point anywhere.
    pub(crate) next: *const f32,
}

/// The instructions between the tiles of C and memory, and those of one step.
macro_rules! multiply {
    ($operands:ident, $clear:literal, $load:literal, $store:literal, $step:literal) => {{
        let Operands { left, right, length, out, stride, load, next } = $operands;
        asm!(
            "test {load}, {load}",
            "jnz 2f",
            $clear,
            "jmp 3f",
            "2:",
            $load,
            "3:",
            "test {count}, {count}",
            "jz 5f",
            "4:",
            $step,
            "prefetcht1 [{next}]",
            "prefetcht1 [{next} + 64]",
            "prefetcht1 [{next} + {stride}]",
            "prefetcht1 [{next} + {stride} + 64]",
            "lea {next}, [{next} + 2 * {stride}]",
            "add {right}, 2048",
            "dec {count}",
            "jnz 4b",
            "5:",
            $store,
            load = in(reg) usize::from(load),
            count = inout(reg) length => _,
            left = inout(reg) left => _,
            right = inout(reg) right => _,
            next = inout(reg) next => _,
            out = in(reg) out,
            lower = in(reg) out.wrapping_add(SIDE * stride),
            stride = in(reg) stride * size_of::<f32>(),
            left_row = in(reg) 64usize,
            right_row = in(reg) 128usize,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    }};
}

impl Tiles {
    /// `out [32, 32] = left . right`, or `+=` with `load`.
    ///
    /// # Safety
    /// The operands hold what their documentation says, for a height of 32; no one else touches the sums.
    #[inline]
    pub(crate) unsafe fn multiply_32(&self, operands: Operands) {
        // SAFETY: the tiles are configured while `self` lives; the addresses are inside the operands by the contract.
        unsafe {
            multiply!(
                operands,
                "tilezero tmm0
                 tilezero tmm1
                 tilezero tmm2
                 tilezero tmm3",
                "tileloadd tmm0, [{out} + {stride}]
                 tileloadd tmm1, [{out} + {stride} + 64]
                 tileloadd tmm2, [{lower} + {stride}]
                 tileloadd tmm3, [{lower} + {stride} + 64]",
                "tilestored [{out} + {stride}], tmm0
                 tilestored [{out} + {stride} + 64], tmm1
                 tilestored [{lower} + {stride}], tmm2
                 tilestored [{lower} + {stride} + 64], tmm3",
                "tileloadd tmm4, [{left} + {left_row}]
                 tileloadd tmm6, [{right} + {right_row}]
                 tileloadd tmm7, [{right} + {right_row} + 64]
                 tileloadd tmm5, [{left} + {left_row} + 1024]
                 tdpbf16ps tmm0, tmm4, tmm6
                 tdpbf16ps tmm1, tmm4, tmm7
                 tdpbf16ps tmm2, tmm5, tmm6
                 tdpbf16ps tmm3, tmm5, tmm7
                 add {left}, 2048"
            );
        }
    }

    /// `out [16, 32] = left . right`, or `+=` with `load`.
    ///
    /// # Safety
    /// The operands hold what their documentation says, for a height of 16; no one else touches the sums.
    #[inline]
    pub(crate) unsafe fn multiply_16(&self, operands: Operands) {
        // SAFETY: the tiles are configured while `self` lives; the addresses are inside the operands by the contract.
        unsafe {
            multiply!(
                operands,
                "tilezero tmm0
                 tilezero tmm1",
                "tileloadd tmm0, [{out} + {stride}]
                 tileloadd tmm1, [{out} + {stride} + 64]",
                "tilestored [{out} + {stride}], tmm0
                 tilestored [{out} + {stride} + 64], tmm1
                 /* {lower} */",
                "tileloadd tmm4, [{left} + {left_row}]
                 tileloadd tmm6, [{right} + {right_row}]
                 tileloadd tmm7, [{right} + {right_row} + 64]
                 tdpbf16ps tmm0, tmm4, tmm6
                 tdpbf16ps tmm1, tmm4, tmm7
                 add {left}, 1024"
            );
        }
    }

    /// The sums of the products of some rows and all panels of 32 columns. The left tiles, `length` along k, lie as [`place`] says, the right
    /// ones panel by panel.
    ///
    /// # Safety
    /// The tiles are configured.
    ///
    /// # Panics
    /// When an operand is too short.
    pub(crate) unsafe fn multiply_panels(
        &self,
        rows: usize,
        (left, length): (&[Pair], usize),
        right: &[Pair],
        sums: Sums<'_>,
    ) {
        let Sums { out, stride, load } = sums;
        let (panel, tall) = (length * TILE * 2, rows.next_multiple_of(SIDE));
        let columns = right.len() / panel * 2 * SIDE;
        assert!(left.len() >= tall * SIDE * length, "the left tiles of all rows");
        assert!(
            out.len() >= (tall - 1) * stride + columns && columns <= stride,
            "room for all sums"
        );
        for (at, right) in right.chunks_exact(panel).enumerate() {
            for row in (0..rows).step_by(2 * SIDE) {
                let out = &mut out[row * stride + at * 2 * SIDE..];
                let operands = Operands {
                    left: left[row * SIDE * length..].as_ptr(),
                    right: right.as_ptr(),
                    length,
                    out: out.as_mut_ptr(),
                    stride,
                    load,
                    next: out.as_ptr(),
                };
                // SAFETY: by the assertions all tiles lie in the operands.
                unsafe {
                    if rows - row > SIDE {
                        self.multiply_32(operands);
                    } else {
                        self.multiply_16(operands);
                    }
                }
            }
        }
    }
}

/// Where [`Tiles::multiply_panels`] puts its sums: whole tiles of rows.
pub(crate) struct Sums<'a> {
    pub(crate) out: &'a mut [f32],
    /// Elements from one row to the next.
    pub(crate) stride: usize,
    /// Whether the sums begin at what `out` holds, else at 0.
    pub(crate) load: bool,
}
