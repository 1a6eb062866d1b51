//! The right-hand operand of a matrix product, laid out for the product's inner loop.
//!
//! A packed `[K, N]` operand is a sequence of panels of `panel_width(tier)` columns; a panel holds its columns' values row by row:
//! `panel[k][column]`, with zeros in columns past N. Panels for products of bfloat16 numbers hold pairs, `panel[k / 2][column]`, with zeros
//! past K, where tiles are multiplied up to a whole tile.

mod int8;
#[cfg(target_arch = "x86_64")]
mod paired;

use std::cell::RefCell;
use std::ops::Range;

use super::buffer::{Buffer, Shared};
use super::element::{Bf16, narrow};
use super::transpose::transpose;
#[cfg(target_arch = "x86_64")]
use super::{amx::SIDE, pairs::Pair};
use crate::compute::Compute;
use crate::config::{BaseDtype, WeightDtype, WeightFormat};
use crate::isa::Tier;
#[cfg(test)]
pub(crate) use int8::GROUP;
use int8::Shape;
pub(crate) use int8::{Int8, PanelRows, RowSums};

thread_local! {
    /// A panel in f32 that is then rounded.
    static PANEL: RefCell<Buffer> = RefCell::default();
}

/// Columns of a panel: two vectors of the tier.
pub(crate) fn panel_width(tier: Tier) -> usize {
    match tier {
        Tier::Portable => 8,
        Tier::Avx2 => 16,
        Tier::Avx512 | Tier::Avx512Bf16 | Tier::Amx => 32,
    }
}

/// Rows of pairs of a panel with `k` numbers in a column.
#[cfg(target_arch = "x86_64")]
pub(crate) fn pair_steps(tier: Tier, k: usize) -> usize {
    let pairs = k.div_ceil(2);
    if tier == Tier::Amx {
        pairs.next_multiple_of(SIDE)
    } else {
        pairs
    }
}

/// A packed right-hand operand of `k` rows and `n` columns.
#[derive(Clone, Default)]
pub(crate) struct Packed {
    role: Role,
    data: Data,
    k: usize,
    n: usize,
    width: usize,
}

/// The kind of an operand, which decides in which format it is kept and multiplied.
#[derive(Clone, Copy)]
enum Role {
    /// Weights of a format. A tier that multiplies numbers of this format does so.
    Weights(WeightDtype),
    /// Weights of a format that are multiplied in f32 in every tier.
    Widened(WeightDtype),
    /// Weights in int8 of a model whose other weights have a format.
    Int8(WeightDtype),
    /// An operand beside activations or gradients of a model whose weights have a format: kept in f32, unless the tier multiplies that format.
    Activations(WeightDtype),
}

impl Default for Role {
    fn default() -> Self {
        Self::Weights(WeightDtype::F32)
    }
}

impl Role {
    /// No values, in the format of the role.
    fn empty(self, tier: Tier) -> Data {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Weights(WeightDtype::Bf16) | Self::Activations(WeightDtype::Bf16) if tier.multiplies_bf16() => {
                Data::Pairs(Buffer::default())
            }
            Self::Int8(dtype) => Data::Int8(Int8::new(dtype)),
            Self::Weights(WeightDtype::Bf16) | Self::Widened(WeightDtype::Bf16) => Data::Bf16(Buffer::default()),
            _ => Data::default(),
        }
    }
}

#[derive(Clone)]
enum Data {
    F32(Buffer),
    Bf16(Buffer<Bf16>),
    Int8(Int8),
    #[cfg(target_arch = "x86_64")]
    Pairs(Buffer<Pair>),
}

impl Default for Data {
    fn default() -> Self {
        Self::F32(Buffer::default())
    }
}

/// All panels, one after the other, each of `k * width` values or [`pair_steps`] times `width` pairs.
#[derive(Clone, Copy)]
pub(crate) enum Panels<'a> {
    F32(&'a [f32]),
    Bf16(&'a [Bf16]),
    Int8(&'a Int8),
    #[cfg(target_arch = "x86_64")]
    Pairs(&'a [Pair]),
}

impl Packed {
    /// An empty operand for weights that are kept as `dtype`.
    pub(crate) fn kept_as(dtype: WeightDtype) -> Self {
        Self::of(Role::Weights(dtype))
    }

    /// [`Self::kept_as`], whose products are in f32 in every tier.
    pub(crate) fn widened(dtype: WeightDtype) -> Self {
        Self::of(Role::Widened(dtype))
    }

    /// An empty operand for the weights of a projection.
    pub(crate) fn projection(format: WeightFormat) -> Self {
        Self::of(match format.base {
            None => Role::Weights(format.dtype),
            Some(BaseDtype::Int8) => Role::Int8(format.dtype),
        })
    }

    /// An empty operand for activations of a model whose weights are kept as `dtype`.
    pub(crate) fn activations(dtype: WeightDtype) -> Self {
        Self::of(Role::Activations(dtype))
    }

    fn of(role: Role) -> Self {
        Self {
            role,
            ..Self::default()
        }
    }

    /// The number of rows: the length of the product's sums.
    pub(crate) fn k(&self) -> usize {
        self.k
    }

    /// The number of columns.
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    /// Columns of a panel.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The number of panels.
    pub(crate) fn panels(&self) -> usize {
        self.n.div_ceil(self.width.max(1))
    }

    /// The values of all panels.
    pub(crate) fn values(&self) -> Panels<'_> {
        match &self.data {
            Data::F32(data) => Panels::F32(data),
            Data::Bf16(data) => Panels::Bf16(data),
            Data::Int8(data) => Panels::Int8(data),
            #[cfg(target_arch = "x86_64")]
            Data::Pairs(data) => Panels::Pairs(data),
        }
    }

    fn reset(&mut self, tier: Tier, k: usize, n: usize) {
        let empty = self.role.empty(tier);
        if std::mem::discriminant(&empty) != std::mem::discriminant(&self.data) {
            self.data = empty;
        }
        self.width = panel_width(tier);
        (self.k, self.n) = (k, n);
        let columns = n.div_ceil(self.width) * self.width;
        match &mut self.data {
            Data::F32(data) => data.resize(columns * k),
            Data::Bf16(data) => data.resize(columns * k),
            // It takes room when it is filled.
            Data::Int8(_) => {}
            #[cfg(target_arch = "x86_64")]
            Data::Pairs(data) => data.resize(columns * pair_steps(tier, k)),
        }
    }

    /// Lets `write(index, panel)` fill every panel with f32, and keeps them.
    fn fill(&mut self, compute: &Compute, write: impl Fn(usize, &mut [f32]) + Sync) {
        let (panels, size) = (self.panels(), self.k * self.width);
        match &mut self.data {
            Data::F32(data) => {
                let shared = Shared::new(data);
                compute.run(panels, |index| {
                    // SAFETY: each task takes its own panel.
                    write(index, unsafe { shared.slice(index * size, size) });
                });
            }
            Data::Bf16(data) => {
                let shared = Shared::new(data);
                compute.run(panels, |index| {
                    PANEL.with_borrow_mut(|wide| {
                        wide.resize(size);
                        write(index, wide);
                        // SAFETY: each task takes its own panel.
                        narrow(compute.tier(), wide, unsafe { shared.slice(index * size, size) });
                    });
                });
            }
            Data::Int8(_) => unreachable!("whole matrices alone become int8"),
            #[cfg(target_arch = "x86_64")]
            Data::Pairs(_) => unreachable!("pairs are made without a copy in f32"),
        }
    }

    /// Packs the transpose of row-major `weight [n, k]`: for `x . weight^T`.
    pub(crate) fn pack_transposed(&mut self, compute: &Compute, weight: &[f32], n: usize, k: usize) {
        assert_eq!(weight.len(), n * k, "a weight has n * k elements");
        self.reset(compute.tier(), k, n);
        let width = self.width;
        match &mut self.data {
            Data::Int8(data) => return data.fill_transposed(compute, weight, Shape { k, n, width }),
            #[cfg(target_arch = "x86_64")]
            Data::Pairs(data) => return paired::fill_transposed(data, compute, weight, Shape { k, n, width }),
            _ => {}
        }
        self.fill(compute, |index, panel| {
            let first = index * width;
            let columns = width.min(n - first);
            if columns < width {
                panel.fill(0.0);
            }
            let row = |column: usize| &weight[(first + column) * k..][..k];
            transpose(compute.tier(), columns, row, panel, width);
        });
    }

    /// Packs row-major `matrix [k, n]` as it is: for `x . matrix`.
    pub(crate) fn pack(&mut self, compute: &Compute, matrix: &[f32], k: usize, n: usize) {
        assert_eq!(matrix.len(), k * n, "a matrix has k * n elements");
        if matches!(self.role, Role::Int8(_)) {
            self.reset(compute.tier(), k, n);
        }
        let width = self.width;
        if let Data::Int8(data) = &mut self.data {
            return data.fill(compute, matrix, Shape { k, n, width });
        }
        self.pack_columns(compute, matrix, n, 0..n);
    }

    /// Packs some columns of the row-major `matrix`, whose rows have `stride` elements.
    ///
    /// # Panics
    /// For an operand in int8: columns without their neighbours have no scales.
    pub(crate) fn pack_columns(&mut self, compute: &Compute, matrix: &[f32], stride: usize, columns: Range<usize>) {
        let n = columns.len();
        let k = matrix.len().checked_div(stride).unwrap_or(0);
        self.reset(compute.tier(), k, n);
        let width = self.width;
        #[cfg(target_arch = "x86_64")]
        if let Data::Pairs(data) = &mut self.data {
            let shape = Shape { k, n, width };
            return paired::fill_columns(data, compute, (matrix, stride), columns.start, shape);
        }
        self.fill(compute, |index, panel| {
            let first = columns.start + index * width;
            let count = width.min(columns.end - first);
            match width {
                8 if count == 8 => copy_panel::<8>(matrix, stride, first, panel),
                16 if count == 16 => copy_panel::<16>(matrix, stride, first, panel),
                32 if count == 32 => copy_panel::<32>(matrix, stride, first, panel),
                _ => {
                    for (out, row) in panel.chunks_exact_mut(width).zip(matrix.chunks_exact(stride)) {
                        out[..count].copy_from_slice(&row[first..first + count]);
                        out[count..].fill(0.0);
                    }
                }
            }
        });
    }
}

/// Copies the columns `first..first + W` of rows of `stride` elements.
fn copy_panel<const W: usize>(matrix: &[f32], stride: usize, first: usize, panel: &mut [f32]) {
    let (panel, _) = panel.as_chunks_mut::<W>();
    for (out, row) in panel.iter_mut().zip(matrix.chunks_exact(stride)) {
        if let Some(values) = row[first..].first_chunk::<W>() {
            *out = *values;
        }
    }
}
