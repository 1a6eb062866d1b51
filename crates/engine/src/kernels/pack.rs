//! The right-hand operand of a matrix product, laid out for the product's inner loop.
//!
//! A packed `[K, N]` operand is a sequence of panels of `panel_width(tier)` columns; a panel holds its columns' values row by row:
//! `panel[k][column]`, with zeros in columns past N.

use super::buffer::{Buffer, Shared};
use super::gemm::transpose;
use crate::compute::Compute;
use crate::isa::Tier;

/// Columns of a panel: two vectors of the tier.
pub(crate) fn panel_width(tier: Tier) -> usize {
    match tier {
        Tier::Portable => 8,
        Tier::Avx2 => 16,
        Tier::Avx512 => 32,
    }
}

/// A packed right-hand operand of `k` rows and `n` columns.
#[derive(Clone, Default)]
pub(crate) struct Packed {
    data: Buffer,
    k: usize,
    n: usize,
    width: usize,
}

impl Packed {
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

    /// Panel `index`: `k` rows of `width` values.
    pub(crate) fn panel(&self, index: usize) -> &[f32] {
        &self.data[index * self.k * self.width..][..self.k * self.width]
    }

    fn reset(&mut self, tier: Tier, k: usize, n: usize) {
        self.width = panel_width(tier);
        (self.k, self.n) = (k, n);
        self.data.resize(n.div_ceil(self.width) * self.width * k);
    }

    /// Packs the transpose of row-major `weight [n, k]`: for `x . weight^T`.
    pub(crate) fn pack_transposed(&mut self, compute: &Compute, weight: &[f32], n: usize, k: usize) {
        assert_eq!(weight.len(), n * k, "a weight has n * k elements");
        self.reset(compute.tier(), k, n);
        let (width, panels) = (self.width, self.panels());
        let shared = Shared::new(&mut self.data);
        compute.run(panels, |index| {
            // SAFETY: each task takes its own panel.
            let panel = unsafe { shared.slice(index * k * width, k * width) };
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
        self.reset(compute.tier(), k, n);
        let (width, panels) = (self.width, self.panels());
        let shared = Shared::new(&mut self.data);
        compute.run(panels, |index| {
            // SAFETY: each task takes its own panel.
            let panel = unsafe { shared.slice(index * k * width, k * width) };
            let first = index * width;
            let columns = width.min(n - first);
            match width {
                8 if columns == 8 => copy_panel::<8>(matrix, n, first, panel),
                16 if columns == 16 => copy_panel::<16>(matrix, n, first, panel),
                32 if columns == 32 => copy_panel::<32>(matrix, n, first, panel),
                _ => {
                    for (out, row) in panel.chunks_exact_mut(width).zip(matrix.chunks_exact(n)) {
                        out[..columns].copy_from_slice(&row[first..first + columns]);
                        out[columns..].fill(0.0);
                    }
                }
            }
        });
    }
}

/// Copies the columns `first..first + W` of rows of `n` elements.
fn copy_panel<const W: usize>(matrix: &[f32], n: usize, first: usize, panel: &mut [f32]) {
    let (panel, _) = panel.as_chunks_mut::<W>();
    for (out, row) in panel.iter_mut().zip(matrix.chunks_exact(n)) {
        if let Some(values) = row[first..].first_chunk::<W>() {
            *out = *values;
        }
    }
}
