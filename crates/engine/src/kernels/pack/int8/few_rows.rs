//! A few rows times a panel in int8. The panel's numbers stay in registers: for so few rows it would not pay to write them.
//!
//! The bits are those of the kernels in `gemm` with the panel's numbers: each element is one chain over ascending k.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m512bh, __m512i, _mm512_dpbf16_ps, _mm512_loadu_ps, _mm512_set1_epi32, _mm512_storeu_ps};

use super::{Along, GROUP, Int8};
#[cfg(target_arch = "x86_64")]
use super::{COLUMNS, Pair, VECTOR, each_pair};
use crate::config::WeightDtype;
use crate::isa::Tier;
use crate::kernels::element::{Bf16, Number};
use crate::kernels::{Lanes, for_each_row, multiply_add, tiered};

/// Columns of the widest panel.
const WIDEST: usize = 32;

/// The sums of some rows for the columns of a panel; columns behind the tier's panels are not used.
pub(crate) type RowSums = [[f32; WIDEST]];

/// Rows of a panel that share their scales or have one each, and what they are multiplied with.
#[derive(Clone, Copy)]
struct Group<'a> {
    /// The left-hand rows: `[k][row]`.
    tile: &'a [f32],
    /// `[k][column]`.
    values: &'a [i8],
    /// Along K one for each column, along N one for each k.
    scales: &'a [Bf16],
    along: Along,
    /// Columns of the panel.
    width: usize,
    /// Whether the numbers are rounded to bfloat16.
    is_rounded: bool,
}

impl Int8 {
    /// Adds the products of 1, 2 or 4 rows with a panel to `sums`; `tile[k][row]` has all k.
    ///
    /// # Panics
    /// When `tile` has another length, or there is another number of rows.
    pub(crate) fn add_rows(&self, tier: Tier, tile: &[f32], panel: usize, sums: &mut RowSums) {
        let rows = sums.len();
        assert_eq!(tile.len(), rows * self.k, "a tile has k numbers of each row");
        for (index, tile) in tile.chunks(GROUP * rows).enumerate() {
            let (values, scales) = self.group(panel, index, tile.len() / rows);
            let group = Group {
                tile,
                values,
                scales,
                along: self.along,
                width: self.width,
                is_rounded: self.dtype == WeightDtype::Bf16,
            };
            add_group(tier, group, sums);
        }
    }

    /// Values and scales of the `count` rows of a panel in group `index` of k.
    fn group(&self, panel: usize, index: usize, count: usize) -> (&[i8], &[Bf16]) {
        let (k, width) = (self.k, self.width);
        let first = index * GROUP;
        let scales = match self.along {
            Along::K => &self.scales[(panel * k.div_ceil(GROUP) + index) * width..][..width],
            Along::N => &self.scales[panel * width / GROUP * k + first..][..count],
        };
        (&self.values[(panel * k + first) * width..][..count * width], scales)
    }
}

tiered! {
    /// Adds the products with a group's rows.
    fn add_group(group: Group<'_>, sums: &mut RowSums) = add_group_body
}

#[inline(always)]
fn add_group_body<L: Lanes>(group: Group<'_>, sums: &mut RowSums) {
    match sums.len() {
        1 => add_to_rows::<L, 1>(group, sums),
        2 => add_to_rows::<L, 2>(group, sums),
        4 => add_to_rows::<L, 4>(group, sums),
        rows => unreachable!("1, 2 or 4 rows are added to, not {rows}"),
    }
}

#[inline(always)]
fn add_to_rows<L: Lanes, const R: usize>(group: Group<'_>, sums: &mut RowSums) {
    match group.width {
        8 => add_to_columns::<L, R, 8>(group, sums),
        16 => add_to_columns::<L, R, 16>(group, sums),
        _ => add_to_columns::<L, R, 32>(group, sums),
    }
}

#[inline(always)]
fn add_to_columns<L: Lanes, const R: usize, const W: usize>(group: Group<'_>, sums: &mut RowSums) {
    match group.along {
        Along::K => {
            let mut factors = [0f32; W];
            for (factor, scale) in factors.iter_mut().zip(group.scales) {
                *factor = scale.widen();
            }
            add_rounded::<L, R, W>(group, |_| factors, sums);
        }
        Along::N => add_rounded::<L, R, W>(group, |at| [group.scales[at].widen(); W], sums),
    }
}

#[inline(always)]
fn add_rounded<L: Lanes, const R: usize, const W: usize>(
    group: Group<'_>,
    factors: impl Fn(usize) -> [f32; W],
    sums: &mut RowSums,
) {
    if group.is_rounded {
        add_numbers::<L, R, W>(group, factors, |number| Bf16::nearest(number).widen(), sums);
    } else {
        add_numbers::<L, R, W>(group, factors, |number| number, sums);
    }
}

#[inline(always)]
fn add_numbers<L: Lanes, const R: usize, const W: usize>(
    group: Group<'_>,
    factors: impl Fn(usize) -> [f32; W],
    round: impl Fn(f32) -> f32,
    sums: &mut RowSums,
) {
    let mut chains = [[0f32; W]; R];
    for (chains, sums) in chains.iter_mut().zip(&*sums) {
        chains.copy_from_slice(&sums[..W]);
    }
    let (tile, _) = group.tile.as_chunks::<R>();
    let (values, _) = group.values.as_chunks::<W>();
    for (at, (left, values)) in tile.iter().zip(values).enumerate() {
        let factors = factors(at);
        let mut numbers = [0f32; W];
        for i in 0..W {
            numbers[i] = round(f32::from(values[i]) * factors[i]);
        }
        for_each_row!(R, |row| { multiply_add::<L, W>(&mut chains[row], left[row], &numbers) });
    }
    for (chains, sums) in chains.iter().zip(sums) {
        sums[..W].copy_from_slice(chains);
    }
}

#[cfg(target_arch = "x86_64")]
impl Int8 {
    /// Adds the products of 1, 2, 4 or 12 rows with a panel of 32 columns, whose numbers are rounded to bfloat16, to `sums`; `tile[k / 2][row]` has the
    /// pairs of all k.
    ///
    /// # Panics
    /// As of [`Int8::add_rows`].
    #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
    pub(crate) fn add_rows_of_pairs(&self, tile: &[Pair], panel: usize, sums: &mut RowSums) {
        match sums.len() {
            1 => self.add_pairs::<1>(tile, panel, sums),
            2 => self.add_pairs::<2>(tile, panel, sums),
            4 => self.add_pairs::<4>(tile, panel, sums),
            12 => self.add_pairs::<12>(tile, panel, sums),
            rows => unreachable!("1, 2, 4 or 12 rows are added to, not {rows}"),
        }
    }

    #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
    fn add_pairs<const R: usize>(&self, tile: &[Pair], panel: usize, sums: &mut RowSums) {
        assert_eq!(
            tile.len(),
            R * self.k.div_ceil(2),
            "a tile has the pairs of k numbers of each row"
        );
        let sums = sums.first_chunk_mut::<R>().expect("so many rows");
        // SAFETY: both halves of the sums of a row are sixteen numbers.
        let mut chains = sums.map(|sums| unsafe { [0, VECTOR].map(|half| _mm512_loadu_ps(sums[half..].as_ptr())) });
        for (index, tile) in tile.chunks(R * GROUP / 2).enumerate() {
            let count = GROUP.min(self.k - index * GROUP);
            let (values, scales) = self.group(panel, index, count);
            let (values, _) = values.as_chunks::<COLUMNS>();
            let (tile, _) = tile.as_chunks::<R>();
            each_pair(values, (self.along, scales), |step, numbers| {
                let left = &tile[step];
                // SAFETY: all are 512 bits, of which any are pairs.
                unsafe {
                    let numbers = numbers.map(|numbers| std::mem::transmute::<__m512i, __m512bh>(numbers));
                    for_each_row!(R, |row| {
                        let left = std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(left[row].bits()));
                        chains[row][0] = _mm512_dpbf16_ps(chains[row][0], left, numbers[0]);
                        chains[row][1] = _mm512_dpbf16_ps(chains[row][1], left, numbers[1]);
                    });
                }
            });
        }
        for (sums, chains) in sums.iter_mut().zip(chains) {
            for (half, chain) in [0, VECTOR].into_iter().zip(chains) {
                // SAFETY: as above.
                unsafe { _mm512_storeu_ps(sums[half..].as_mut_ptr(), chain) };
            }
        }
    }
}
