//! Backward pass of an adapter's products.
//!
//! With `y += s (d A^T) B^T`, where d is x after dropout: the gradient of low = d A^T is `s dy B`; x gets `dropout(dlow A)`, A gets
//! `dlow^T d`, and B gets `dy^T (s low)`.

use super::weights::{Matrix, weight_gradient};
use crate::compute::Compute;
use crate::kernels::buffer::Buffer;
use crate::kernels::gemm::{Columns, Left, gemm, gemm_columns};
use crate::kernels::norm::add;
use crate::kernels::pack::Packed;
use crate::model::layer::Pass;
use crate::model::lora::{Adapter, AdapterLayout, LoraWorkspace, Site, scale_rows};

/// A site's matrices packed for `dy . B` and `dlow . A`.
struct SitePacks {
    a: Packed,
    b: Vec<Packed>,
}

/// All matrices of an adapter packed for the backward pass.
#[derive(Default)]
pub(crate) struct AdapterPacks {
    layers: Vec<[Option<SitePacks>; 4]>,
}

impl AdapterPacks {
    /// Lays out the flat parameters.
    pub(crate) fn new(compute: &Compute, layout: &AdapterLayout, flat: &[f32]) -> Self {
        let packed = |range: &std::ops::Range<usize>, rows: usize, columns: usize| {
            let mut packed = Packed::default();
            packed.pack(compute, &flat[range.clone()], rows, columns);
            packed
        };
        let layers = layout.layers().iter().map(|sites| {
            sites.each_ref().map(|ranges| {
                ranges.as_ref().map(|ranges| SitePacks {
                    a: packed(&ranges.a, ranges.rows, ranges.inputs),
                    b: ranges
                        .parts
                        .iter()
                        .map(|part| packed(&part.b, part.columns.len(), part.rows.len()))
                        .collect(),
                })
            })
        });
        Self {
            layers: layers.collect(),
        }
    }
}

/// Buffers that all sites use in turn.
#[derive(Default)]
pub(crate) struct LoraGradientWorkspace {
    forward: LoraWorkspace,
    /// `[N, rows of A]`: gradient of the product with A.
    grad_low: Buffer,
    /// `[N, inputs]`: gradient of the dropped input.
    grad_dropped: Buffer,
    packed: Packed,
}

/// An adapter and where the gradients of its matrices go.
pub(crate) struct AdapterGradients<'a> {
    pub(crate) adapter: &'a Adapter,
    pub(crate) layout: &'a AdapterLayout,
    pub(crate) packs: &'a AdapterPacks,
    /// Those of the flat parameters, to which each site adds.
    pub(crate) flat: &'a mut [f32],
}

impl AdapterGradients<'_> {
    /// Adds to the gradient `grad_x [N, inputs]` of a site's input what passes through the adapter. [`Self::matrices`] comes next.
    pub(crate) fn input(
        &self,
        pass: Pass<'_>,
        site: Site,
        (grad_out, grad_x): (&[f32], &mut [f32]),
        work: &mut LoraGradientWorkspace,
    ) {
        let (compute, layer) = (pass.compute, pass.adapted.layer);
        let (Some(ranges), Some(packs)) = (
            self.layout.at(layer, site),
            self.packs.layers[layer][site as usize].as_ref(),
        ) else {
            return;
        };
        let n = grad_out.len() / ranges.width;
        work.grad_low.resize(n * ranges.rows);
        if n == 0 {
            return;
        }
        for (part, b) in ranges.parts.iter().zip(&packs.b) {
            let left = Left::Rows {
                data: &grad_out[part.columns.start..],
                stride: ranges.width,
            };
            let columns = Columns {
                values: &mut work.grad_low,
                stride: ranges.rows,
                first: part.rows.start,
            };
            gemm_columns(compute, left, b, columns, false);
        }
        scale_rows(compute, &mut work.grad_low, ranges.rows, self.adapter.config().scale());
        let left = Left::rows(&work.grad_low, ranges.rows);
        let Some(dropout) = pass.adapted.dropout else {
            return gemm(compute, n, left, &packs.a, grad_x, true);
        };
        work.grad_dropped.resize(n * ranges.inputs);
        gemm(compute, n, left, &packs.a, &mut work.grad_dropped, false);
        dropout.apply(compute, (layer, site), &mut work.grad_dropped, ranges.inputs);
        add(compute.tier(), grad_x, &work.grad_dropped);
    }

    /// Adds the gradients of a site's matrices, behind [`Self::input`] of the same site: `x [N, inputs]` is the site's input.
    pub(crate) fn matrices(
        &mut self,
        pass: Pass<'_>,
        site: Site,
        (x, grad_out): (&[f32], &[f32]),
        work: &mut LoraGradientWorkspace,
    ) {
        let (compute, layer) = (pass.compute, pass.adapted.layer);
        let Some(ranges) = self.layout.at(layer, site).filter(|_| !x.is_empty()) else {
            return;
        };
        let LoraWorkspace { low, dropped } = &mut work.forward;
        let x = pass.adapted.dropped(compute, site, (x, ranges.inputs), dropped);
        self.adapter.low(compute, (layer, site), x, low);
        for part in &ranges.parts {
            work.packed.pack_columns(compute, low, ranges.rows, part.rows.clone());
            let left = Left::Columns {
                data: &grad_out[part.columns.start..],
                stride: ranges.width,
            };
            let out = &mut self.flat[part.b.clone()];
            gemm(compute, part.columns.len(), left, &work.packed, out, true);
        }
        weight_gradient(
            compute,
            Matrix::new(&work.grad_low, ranges.rows),
            Matrix::new(x, ranges.inputs),
            Some(&mut self.flat[ranges.a.clone()]),
            &mut work.packed,
        );
    }
}
