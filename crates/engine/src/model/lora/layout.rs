//! Where each matrix of an adapter lies in one flat array.
//!
//! Projections of one input (q, k, v; gate, up) are one site: their A matrices are neighbours, so that one product computes all of them.

use std::ops::Range;

use super::config::{LoraConfig, LoraTarget};
use crate::config::ModelConfig;
use crate::model::layout::Slot;

/// A product of a layer that an adapter may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    /// q, k and v.
    Qkv,
    O,
    GateUp,
    Down,
}

impl Site {
    const ALL: [Self; 4] = [Self::Qkv, Self::O, Self::GateUp, Self::Down];

    /// Its projections in the order of the product's columns, with their widths, and the width of its input.
    fn projections(self, config: &ModelConfig) -> (usize, Vec<(LoraTarget, usize)>) {
        let (hidden, ffn) = (config.hidden_size, config.intermediate_size);
        let (q, kv) = (config.q_width(), config.kv_width());
        match self {
            Self::Qkv => (
                hidden,
                vec![(LoraTarget::Q, q), (LoraTarget::K, kv), (LoraTarget::V, kv)],
            ),
            Self::O => (q, vec![(LoraTarget::O, hidden)]),
            Self::GateUp => (hidden, vec![(LoraTarget::Gate, ffn), (LoraTarget::Up, ffn)]),
            Self::Down => (ffn, vec![(LoraTarget::Down, hidden)]),
        }
    }
}

/// The matrices of an adapted site.
#[derive(Debug, Clone)]
pub(crate) struct SiteRanges {
    /// Width of the input.
    pub(crate) inputs: usize,
    /// Width of the product: all projections, adapted or not.
    pub(crate) width: usize,
    /// Rows of all A matrices.
    pub(crate) rows: usize,
    /// All A matrices: `[rows, inputs]`.
    pub(crate) a: Range<usize>,
    pub(crate) parts: Vec<PartRanges>,
}

/// An adapted projection.
#[derive(Debug, Clone)]
pub(crate) struct PartRanges {
    pub(crate) target: LoraTarget,
    /// Its columns of the product.
    pub(crate) columns: Range<usize>,
    /// Its rows of the A matrices.
    pub(crate) rows: Range<usize>,
    /// `[columns, rows]`.
    pub(crate) b: Range<usize>,
}

/// All matrices of an adapter.
#[derive(Debug, Clone)]
pub(crate) struct AdapterLayout {
    /// In the order of the flat array, under the names that `peft` saves.
    pub(crate) slots: Vec<Slot>,
    layers: Vec<[Option<SiteRanges>; 4]>,
    /// Elements of the flat array.
    pub(crate) total: usize,
}

impl AdapterLayout {
    /// The layout of an adapter of a model.
    pub(crate) fn new(model: &ModelConfig, lora: &LoraConfig) -> Self {
        let mut layout = Self {
            slots: Vec::new(),
            layers: Vec::new(),
            total: 0,
        };
        for layer in 0..model.num_layers {
            let sites = Site::ALL.map(|site| layout.site(model, lora, layer, site));
            layout.layers.push(sites);
        }
        layout
    }

    /// The matrices of a site; None when no projection of it is adapted.
    pub(crate) fn at(&self, layer: usize, site: Site) -> Option<&SiteRanges> {
        self.layers[layer][site as usize].as_ref()
    }

    /// The sites of all layers, in the order of [`Site::ALL`].
    pub(crate) fn layers(&self) -> &[[Option<SiteRanges>; 4]] {
        &self.layers
    }

    fn site(&mut self, model: &ModelConfig, lora: &LoraConfig, layer: usize, site: Site) -> Option<SiteRanges> {
        let (inputs, projections) = site.projections(model);
        let width = projections.iter().map(|(_, width)| width).sum();
        let first = self.total;
        let (mut column, mut parts) = (0, Vec::new());
        for (target, outputs) in projections {
            if lora.targets.contains(&target) {
                let rows = parts.len() * lora.rank..(parts.len() + 1) * lora.rank;
                self.add(name(layer, target, "lora_A"), [lora.rank, inputs]);
                parts.push(PartRanges {
                    target,
                    columns: column..column + outputs,
                    rows,
                    b: 0..0,
                });
            }
            column += outputs;
        }
        let a = first..self.total;
        for part in &mut parts {
            part.b = self.add(name(layer, part.target, "lora_B"), [part.columns.len(), lora.rank]);
        }
        (!parts.is_empty()).then(|| SiteRanges {
            inputs,
            width,
            rows: parts.len() * lora.rank,
            a,
            parts,
        })
    }

    fn add(&mut self, name: String, shape: [usize; 2]) -> Range<usize> {
        let range = self.total..self.total + shape[0] * shape[1];
        self.total = range.end;
        self.slots.push(Slot {
            name,
            shape: shape.to_vec(),
            range: range.clone(),
        });
        range
    }
}

fn name(layer: usize, target: LoraTarget, matrix: &str) -> String {
    let half = if target.is_feed_forward() { "mlp" } else { "self_attn" };
    format!(
        "base_model.model.model.layers.{layer}.{half}.{}.{matrix}.weight",
        target.name()
    )
}
