//! Adapters in a forward pass: which rows have which, and the products that they add.

use std::ops::Range;

use super::adapter::Adapter;
use super::dropout::Dropout;
use super::layout::Site;
use crate::compute::Compute;
use crate::kernels::buffer::Buffer;

/// Consecutive rows of a pass that one adapter changes.
#[derive(Debug, Clone)]
pub(crate) struct Segment<'a> {
    pub(crate) rows: Range<usize>,
    pub(crate) adapter: &'a Adapter,
}

/// The adapted rows of a pass, ascending, in one of its layers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Adapted<'a> {
    pub(crate) segments: &'a [Segment<'a>],
    pub(crate) layer: usize,
    /// None but in training. All rows have one adapter then.
    pub(crate) dropout: Option<Dropout>,
}

/// Working memory of adapted products.
#[derive(Default)]
pub(crate) struct LoraWorkspace {
    /// `[N, rows of A]`: products with A.
    pub(crate) low: Buffer,
    /// `[N, inputs]`: inputs after dropout.
    pub(crate) dropped: Buffer,
}

/// The input of an adapted product, and the product.
pub(crate) struct Product<'a> {
    /// `[N, inputs]`.
    pub(crate) x: &'a [f32],
    /// `[N, width]`.
    pub(crate) out: &'a mut [f32],
    /// The rows of the pass that N counts, ascending; None when they are all of them.
    pub(crate) outputs: Option<&'a [usize]>,
}

/// Joins the next rows to a list of segments.
pub(crate) fn push<'a>(segments: &mut Vec<Segment<'a>>, rows: Range<usize>, adapter: &'a Adapter) {
    match segments.last_mut() {
        Some(last) if last.rows.end == rows.start && std::ptr::eq(last.adapter, adapter) => last.rows.end = rows.end,
        _ => segments.push(Segment { rows, adapter }),
    }
}

impl Adapted<'_> {
    /// Adds what the adapters change in the product of a site.
    pub(crate) fn add(self, compute: &Compute, site: Site, product: Product<'_>, work: &mut LoraWorkspace) {
        let Product { x, out, outputs } = product;
        let at = (self.layer, site);
        for Segment { rows, adapter } in self.segments {
            let Some((inputs, width)) = adapter.widths(at) else {
                continue;
            };
            let rows = match outputs {
                None => rows.clone(),
                Some(outputs) => {
                    let before = |end: usize| outputs.partition_point(|row| *row < end);
                    before(rows.start)..before(rows.end)
                }
            };
            if rows.is_empty() {
                continue;
            }
            let x = &x[rows.start * inputs..rows.end * inputs];
            let x = self.dropped(compute, site, (x, inputs), &mut work.dropped);
            adapter.low(compute, at, x, &mut work.low);
            adapter.add_high(compute, at, &work.low, &mut out[rows.start * width..rows.end * width]);
        }
    }

    /// The input of A: the rows `x` of `width` elements after dropout.
    pub(crate) fn dropped<'x>(
        self,
        compute: &Compute,
        site: Site,
        (x, width): (&'x [f32], usize),
        dropped: &'x mut Buffer,
    ) -> &'x [f32] {
        let Some(dropout) = self.dropout else { return x };
        dropped.resize(x.len());
        dropped.copy_from_slice(x);
        dropout.apply(compute, (self.layer, site), dropped, width);
        dropped
    }
}
