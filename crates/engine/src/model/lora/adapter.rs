//! An adapter laid out for the forward pass.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::config::LoraConfig;
use super::layout::{AdapterLayout, Site, SiteRanges};
use super::peft::read_adapter;
use crate::compute::Compute;
use crate::config::ModelConfig;
use crate::error::EngineError;
use crate::kernels::buffer::Buffer;
use crate::kernels::buffer::Shared;
use crate::kernels::gemm::{Columns, Left, gemm, gemm_columns};
use crate::kernels::pack::Packed;
use crate::kernels::route::scale;
use crate::model::layer::for_rows;

/// Numbers the adapters of a process.
static SERIALS: AtomicU64 = AtomicU64::new(0);

/// A low-rank adapter of a model, for the tier of the [`Compute`] that loaded it.
pub struct Adapter {
    config: LoraConfig,
    layers: Vec<[Option<Packs>; 4]>,
    serial: u64,
    name: Option<Arc<str>>,
    tier: crate::isa::Tier,
}

/// The matrices of a site, packed for `x . A^T` and `low . B^T`.
struct Packs {
    inputs: usize,
    width: usize,
    a: Packed,
    parts: Vec<Part>,
}

struct Part {
    first_column: usize,
    first_row: usize,
    b: Packed,
}

impl std::fmt::Debug for Adapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adapter")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Adapter {
    /// Reads the folder that `peft` wrote for a model of this config.
    ///
    /// # Errors
    /// `PRL_WEIGHTS_*` when it is no adapter; [`EngineError::ConfigUnsupported`] naming the key that asks for something that the engine does
    /// not compute; [`EngineError::Weights`] when a tensor is missing, has no place in this model, or another shape.
    pub fn open(dir: &Path, model: &ModelConfig, compute: &Compute) -> Result<Self, EngineError> {
        let (config, layout, flat) = read_adapter(dir, model)?;
        Ok(Self::from_flat(config, &layout, &flat, compute))
    }

    pub(crate) fn from_flat(config: LoraConfig, layout: &AdapterLayout, flat: &[f32], compute: &Compute) -> Self {
        let site = |ranges: &SiteRanges| Packs::new(compute, ranges, flat);
        let layers = layout.layers().iter();
        Self {
            layers: layers
                .map(|sites| sites.each_ref().map(|ranges| ranges.as_ref().map(site)))
                .collect(),
            config,
            serial: SERIALS.fetch_add(1, Ordering::Relaxed),
            name: None,
            tier: compute.tier(),
        }
    }

    /// The adapter with a name, under which a generator counts its requests.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

    pub(crate) fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// Rank, scale and targets.
    pub fn config(&self) -> &LoraConfig {
        &self.config
    }

    /// Different for every adapter of this process: keys and values that one computed are not another's.
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// Writes `s x A^T` into `low [N, rows of A]`, when the site is adapted.
    pub(crate) fn low(&self, compute: &Compute, at: (usize, Site), x: &[f32], low: &mut Buffer) {
        if let Some(packs) = self.packs(at) {
            packs.low(compute, self.config.scale(), x, low);
        }
    }

    /// Adds `low B^T` to the columns of the adapted projections of `out [N, width]`.
    pub(crate) fn add_high(&self, compute: &Compute, at: (usize, Site), low: &[f32], out: &mut [f32]) {
        if let Some(packs) = self.packs(at) {
            packs.add_high(compute, low, out);
        }
    }

    fn packs(&self, (layer, site): (usize, Site)) -> Option<&Packs> {
        self.layers[layer][site as usize].as_ref()
    }

    /// Widths of a site's input and product, when it is adapted.
    pub(crate) fn widths(&self, at: (usize, Site)) -> Option<(usize, usize)> {
        self.packs(at).map(|packs| (packs.inputs, packs.width))
    }

    pub(crate) fn tier(&self) -> crate::isa::Tier {
        self.tier
    }
}

impl Packs {
    fn new(compute: &Compute, ranges: &SiteRanges, flat: &[f32]) -> Self {
        let mut a = Packed::default();
        a.pack_transposed(compute, &flat[ranges.a.clone()], ranges.rows, ranges.inputs);
        let parts = ranges.parts.iter().map(|part| {
            let mut b = Packed::default();
            b.pack_transposed(compute, &flat[part.b.clone()], part.columns.len(), part.rows.len());
            Part {
                first_column: part.columns.start,
                first_row: part.rows.start,
                b,
            }
        });
        Self {
            inputs: ranges.inputs,
            width: ranges.width,
            parts: parts.collect(),
            a,
        }
    }

    fn low(&self, compute: &Compute, factor: f32, x: &[f32], low: &mut Buffer) {
        let rows = self.a.n();
        let n = x.len() / self.inputs;
        low.resize(n * rows);
        gemm(compute, n, Left::rows(x, self.inputs), &self.a, low, false);
        scale_rows(compute, low, rows, factor);
    }

    fn add_high(&self, compute: &Compute, low: &[f32], out: &mut [f32]) {
        for part in &self.parts {
            let left = Left::Rows {
                data: low.get(part.first_row..).unwrap_or_default(),
                stride: self.a.n(),
            };
            let columns = Columns {
                values: &mut *out,
                stride: self.width,
                first: part.first_column,
            };
            gemm_columns(compute, left, &part.b, columns, true);
        }
    }
}

/// Multiplies rows of `width` elements by a factor, in parallel.
pub(crate) fn scale_rows(compute: &Compute, rows: &mut [f32], width: usize, factor: f32) {
    let count = rows.len() / width;
    let rows = Shared::new(rows);
    for_rows(compute, count, |first, count| {
        // SAFETY: stretches are disjoint.
        scale(
            compute.tier(),
            unsafe { rows.slice(first * width, count * width) },
            factor,
        );
    });
}
