//! Weights in int8, with a scale for each [`GROUP`] neighbours along a matrix's rows: the inputs of a projection.
//!
//! A group's scale is max |w| / 127 rounded to bfloat16, and a weight becomes the multiple q of the scale that is nearest to it, ties to
//! even, so that |w - q s| <= s / 2. Seven bits times eight are exact in f32: the number q s is the same in every tier, for `x . W^T` and for
//! `dy . W`. In a model whose weights are in bfloat16 it is rounded to that format, as all its weights are.

mod few_rows;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512, __m512i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm256_loadu_si256, _mm512_castsi512_ps,
    _mm512_cvtepi8_epi32, _mm512_cvtepi32_ps, _mm512_cvtepu16_epi32, _mm512_mul_ps, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_slli_epi32,
};

use crate::compute::Compute;
use crate::config::WeightDtype;
use crate::isa::Tier;
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::element::{Bf16, Number};
#[cfg(target_arch = "x86_64")]
use crate::kernels::pairs::{Pair, VECTOR, sixteen_pairs, store};
use crate::kernels::{Lanes, tiered};

pub(crate) use few_rows::RowSums;

/// Weights that share a scale; fewer at the end of a row. A multiple of every tier's panel width.
pub(crate) const GROUP: usize = 64;
/// Columns of a panel of the tiers that multiply pairs.
#[cfg(target_arch = "x86_64")]
const COLUMNS: usize = 32;
/// The largest magnitude of a quantised weight.
const MOST: f32 = 127.0;

/// A row-major matrix in int8.
struct Quantised {
    values: Buffer<i8>,
    /// `[rows, groups of a row]`.
    scales: Buffer<Bf16>,
    columns: usize,
    groups: usize,
}

impl Quantised {
    /// Quantises the row-major `matrix [rows, columns]`.
    fn of(compute: &Compute, matrix: &[f32], columns: usize) -> Self {
        let groups = columns.div_ceil(GROUP);
        let rows = matrix.len().checked_div(columns).unwrap_or(0);
        let (mut values, mut scales) = (Buffer::zeros(matrix.len()), Buffer::zeros(rows * groups));
        let (to, factors) = (Shared::new(&mut values), Shared::new(&mut scales));
        compute.run(rows, |row| {
            // SAFETY: each task takes its own row.
            let (to, factors) = unsafe { (to.slice(row * columns, columns), factors.slice(row * groups, groups)) };
            quantise_row(compute.tier(), &matrix[row * columns..][..columns], to, factors);
        });
        Self {
            values,
            scales,
            columns,
            groups,
        }
    }
}

tiered! {
    /// Quantises a row: `to[i]` times the scale of its group is near `from[i]`.
    fn quantise_row(from: &[f32], to: &mut [i8], scales: &mut [Bf16]) = quantise_row_body
}

#[inline(always)]
fn quantise_row_body<L: Lanes>(from: &[f32], to: &mut [i8], scales: &mut [Bf16]) {
    for ((from, to), scale) in from.chunks(GROUP).zip(to.chunks_mut(GROUP)).zip(scales) {
        let most = from.iter().fold(0f32, |most, weight| most.max(weight.abs()));
        // A scale below the smallest normal number would lose bits; a group of zeros has the scale 0.
        let factor = if most > 0.0 {
            (most / MOST).max(f32::MIN_POSITIVE)
        } else {
            0.0
        };
        *scale = Bf16::nearest(factor);
        let factor = scale.widen();
        for (to, weight) in to.iter_mut().zip(from) {
            let multiple = if factor > 0.0 { weight / factor } else { 0.0 };
            *to = multiple.round_ties_even().clamp(-MOST, MOST) as i8;
        }
    }
}

/// Which neighbours in an operand share a scale.
#[derive(Clone, Copy, Default)]
enum Along {
    /// Those of a column: the operand is the transpose of a weight.
    #[default]
    K,
    /// Those of a row: the operand is a weight as it is.
    N,
}

/// The dimensions of an operand: rows, columns, columns of a panel.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) k: usize,
    pub(super) n: usize,
    pub(super) width: usize,
}

/// Rows of a panel.
#[derive(Clone, Copy)]
pub(crate) struct PanelRows {
    pub(crate) panel: usize,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

/// A right-hand operand in int8, in panels as [`super::Packed`] has them.
#[derive(Clone)]
pub(crate) struct Int8 {
    /// `panel[k][column]`, without padding of k.
    values: Buffer<i8>,
    /// Along K `[panel][group][column]`, along N `[group][k]`.
    scales: Buffer<Bf16>,
    along: Along,
    k: usize,
    width: usize,
    dtype: WeightDtype,
}

impl Int8 {
    /// An empty operand of a model whose other weights are kept as `dtype`.
    pub(super) fn new(dtype: WeightDtype) -> Self {
        Self {
            values: Buffer::default(),
            scales: Buffer::default(),
            along: Along::default(),
            k: 0,
            width: 0,
            dtype,
        }
    }

    /// The format that its numbers are rounded to.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn dtype(&self) -> WeightDtype {
        self.dtype
    }

    /// Bytes of values and scales.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.values) + size_of_val(&*self.scales)
    }

    fn reset(&mut self, Shape { k, n, width }: Shape, along: Along) {
        (self.k, self.width, self.along) = (k, width, along);
        let panels = n.div_ceil(width);
        self.values.resize(panels * k * width);
        self.scales.resize(match along {
            Along::K => panels * k.div_ceil(GROUP) * width,
            Along::N => n.div_ceil(GROUP) * k,
        });
    }

    /// Takes the transpose of the row-major `weight [n, k]`.
    pub(super) fn fill_transposed(&mut self, compute: &Compute, weight: &[f32], shape: Shape) {
        self.reset(shape, Along::K);
        let Shape { k, n, width } = shape;
        let from = Quantised::of(compute, weight, k);
        let groups = from.groups;
        let (values, scales) = (Shared::new(&mut self.values), Shared::new(&mut self.scales));
        compute.run(n.div_ceil(width), |panel| {
            // SAFETY: each task takes its own panel.
            let (values, scales) = unsafe {
                (
                    values.slice(panel * k * width, k * width),
                    scales.slice(panel * groups * width, groups * width),
                )
            };
            values.fill(0);
            scales.fill(Bf16::default());
            let first = panel * width;
            for column in 0..width.min(n - first) {
                let (row, factors) = ((first + column) * k, (first + column) * groups);
                for at in 0..k {
                    values[at * width + column] = from.values[row + at];
                }
                for at in 0..groups {
                    scales[at * width + column] = from.scales[factors + at];
                }
            }
        });
    }

    /// Takes the row-major `weight [k, n]` as it is.
    pub(super) fn fill(&mut self, compute: &Compute, weight: &[f32], shape: Shape) {
        self.reset(shape, Along::N);
        let Shape { k, n, width } = shape;
        let from = Quantised::of(compute, weight, n);
        for (group, scales) in self.scales.chunks_exact_mut(k.max(1)).enumerate() {
            for (row, scale) in scales.iter_mut().enumerate() {
                *scale = from.scales[row * from.groups + group];
            }
        }
        let values = Shared::new(&mut self.values);
        compute.run(n.div_ceil(width), |panel| {
            // SAFETY: each task takes its own panel.
            let values = unsafe { values.slice(panel * k * width, k * width) };
            let first = panel * width;
            let count = width.min(n - first);
            for (row, to) in values.chunks_exact_mut(width).enumerate() {
                to[..count].copy_from_slice(&from.values[row * from.columns + first..][..count]);
                to[count..].fill(0);
            }
        });
    }

    /// Writes the numbers that stand for some rows of a panel: `out[row][column]`.
    pub(crate) fn widen(&self, tier: Tier, rows: PanelRows, out: &mut [f32]) {
        let PanelRows { panel, first, count } = rows;
        let (k, width) = (self.k, self.width);
        let values = &self.values[(panel * k + first) * width..][..count * width];
        match self.along {
            Along::N => {
                let scales = &self.scales[panel * width / GROUP * k + first..][..count];
                widen_rows(tier, values, scales, out);
            }
            Along::K => {
                let groups = k.div_ceil(GROUP);
                let mut row = first;
                while row < first + count {
                    let group = row / GROUP;
                    let end = (first + count).min((group + 1) * GROUP);
                    let part = (row - first) * width..(end - first) * width;
                    let scales = &self.scales[(panel * groups + group) * width..][..width];
                    widen_columns(tier, &values[part.clone()], scales, &mut out[part]);
                    row = end;
                }
            }
        }
        if self.dtype == WeightDtype::Bf16 {
            round(tier, out);
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Int8 {
    /// Writes the numbers that stand for some rows of a panel of 32 columns, rounded to bfloat16, in pairs: `out[row / 2][column]`, zeros behind them.
    /// No number is below the smallest normal one, since no scale is, so the conversion of the pairs rounds as [`Bf16::nearest`] does.
    ///
    /// # Panics
    /// When the rows begin at an odd one.
    #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
    pub(crate) fn pair(&self, PanelRows { panel, first, count }: PanelRows, out: &mut [Pair]) {
        assert!(
            first.is_multiple_of(2) && self.width == COLUMNS,
            "rows of a panel are paired from an even one on"
        );
        let k = self.k;
        let (mut values, _) = self.values[(panel * k + first) * COLUMNS..][..count * COLUMNS].as_chunks::<COLUMNS>();
        let (out, rest) = out.split_at_mut(count.div_ceil(2) * COLUMNS);
        rest.fill(Pair::default());
        let (mut out, _) = out.as_chunks_mut::<COLUMNS>();
        let mut row = first;
        // The rows up to the next group of k, which begins at an even row.
        while !values.is_empty() {
            let (group, later) = values.split_at(values.len().min(GROUP - row % GROUP));
            let (pairs, later_out) = std::mem::take(&mut out).split_at_mut(group.len().div_ceil(2));
            let scales = match self.along {
                Along::K => &self.scales[(panel * k.div_ceil(GROUP) + row / GROUP) * COLUMNS..][..COLUMNS],
                Along::N => &self.scales[panel * COLUMNS / GROUP * k + row..][..group.len()],
            };
            each_pair(group, (self.along, scales), |step, [low, high]| {
                let to = &mut pairs[step];
                store(low, &mut to[..VECTOR]);
                store(high, &mut to[VECTOR..]);
            });
            row += group.len();
            (values, out) = (later, later_out);
        }
    }
}

/// The scales of 32 columns.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn factors(scales: &[Bf16]) -> [__m512; 2] {
    [0, VECTOR].map(|half| {
        // SAFETY: sixteen scales are 256 bits, of which any are a value.
        let narrow = unsafe { _mm256_loadu_si256(scales[half..][..VECTOR].as_ptr().cast()) };
        _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(narrow)))
    })
}

/// Calls `take` with the numbers of each two rows of a panel, rounded to bfloat16, in pairs: its first and its last sixteen columns. A last row without
/// a partner stands beside zeros. The rows lie in one group of k.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn each_pair(rows: &[[i8; COLUMNS]], (along, scales): (Along, &[Bf16]), take: impl FnMut(usize, [__m512i; 2])) {
    match along {
        Along::K => {
            let factors = factors(scales);
            each_pair_scaled(rows, |_| factors, take);
        }
        Along::N => each_pair_scaled(rows, |row| [_mm512_set1_ps(scales[row].widen()); 2], take),
    }
}

/// [`each_pair`] of rows whose scales are `factors(row)`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn each_pair_scaled(
    rows: &[[i8; COLUMNS]],
    factors: impl Fn(usize) -> [__m512; 2],
    mut take: impl FnMut(usize, [__m512i; 2]),
) {
    /// Rows ahead that are fetched: memory is slower than the conversion.
    const AHEAD: usize = 256;
    let (both, last) = rows.as_chunks::<2>();
    for (step, [even, odd]) in both.iter().enumerate() {
        _mm_prefetch::<_MM_HINT_T0>(even.as_ptr().wrapping_add(AHEAD * COLUMNS));
        let [even_low, even_high] = scaled(even, factors(2 * step));
        let [odd_low, odd_high] = scaled(odd, factors(2 * step + 1));
        take(
            step,
            [sixteen_pairs(even_low, odd_low), sixteen_pairs(even_high, odd_high)],
        );
    }
    if let [even] = last {
        let [low, high] = scaled(even, factors(2 * both.len()));
        let none = _mm512_setzero_ps();
        take(both.len(), [sixteen_pairs(low, none), sixteen_pairs(high, none)]);
    }
}

/// A row of a panel times its scales.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn scaled(values: &[i8; COLUMNS], [low, high]: [__m512; 2]) -> [__m512; 2] {
    // SAFETY: twice sixteen values are 128 bits, of which any are a value.
    let narrow = unsafe { [0, VECTOR].map(|at| _mm_loadu_si128(values.as_ptr().add(at).cast())) };
    let [of_low, of_high] = narrow.map(|narrow| _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(narrow)));
    [_mm512_mul_ps(of_low, low), _mm512_mul_ps(of_high, high)]
}

tiered! {
    /// `out[row][column] = values[row][column] * scales[column]`.
    fn widen_columns(values: &[i8], scales: &[Bf16], out: &mut [f32]) = widen_columns_body
}

#[inline(always)]
fn widen_columns_body<L: Lanes>(values: &[i8], scales: &[Bf16], out: &mut [f32]) {
    match scales.len() {
        8 => columns_of::<8>(values, scales, out),
        16 => columns_of::<16>(values, scales, out),
        _ => columns_of::<32>(values, scales, out),
    }
}

#[inline(always)]
fn columns_of<const W: usize>(values: &[i8], scales: &[Bf16], out: &mut [f32]) {
    let mut factors = [0f32; W];
    for (factor, scale) in factors.iter_mut().zip(scales) {
        *factor = scale.widen();
    }
    let (values, _) = values.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    for (out, values) in out.iter_mut().zip(values) {
        for i in 0..W {
            out[i] = f32::from(values[i]) * factors[i];
        }
    }
}

tiered! {
    /// `out[row][column] = values[row][column] * scales[row]`.
    fn widen_rows(values: &[i8], scales: &[Bf16], out: &mut [f32]) = widen_rows_body
}

#[inline(always)]
fn widen_rows_body<L: Lanes>(values: &[i8], scales: &[Bf16], out: &mut [f32]) {
    match out.len().checked_div(scales.len()) {
        Some(8) => rows_of::<8>(values, scales, out),
        Some(16) => rows_of::<16>(values, scales, out),
        _ => rows_of::<32>(values, scales, out),
    }
}

#[inline(always)]
fn rows_of<const W: usize>(values: &[i8], scales: &[Bf16], out: &mut [f32]) {
    let (values, _) = values.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    for ((out, values), scale) in out.iter_mut().zip(values).zip(scales) {
        let factor = scale.widen();
        for i in 0..W {
            out[i] = f32::from(values[i]) * factor;
        }
    }
}

tiered! {
    /// Rounds to bfloat16.
    fn round(values: &mut [f32]) = round_body
}

#[inline(always)]
fn round_body<L: Lanes>(values: &mut [f32]) {
    for value in values {
        *value = Bf16::nearest(*value).widen();
    }
}
