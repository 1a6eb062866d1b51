//! The parameters that the optimizer changes, with their gradients: all weights of a model, or the matrices of an adapter of frozen weights.

use std::path::Path;
use std::sync::Arc;

use super::backward::gradients::ParameterGradients;
use super::backward::layer::BackwardPacks;
use super::backward::lora::{AdapterGradients, AdapterPacks};
use super::options::LoraOptions;
use crate::compute::Compute;
use crate::config::ModelConfig;
use crate::counter::fill_uniform;
use crate::error::EngineError;
use crate::kernels::buffer::Buffer;
use crate::model::Model;
use crate::model::layout::{Layout, Part, Slot};
use crate::model::lora::{Adapter, AdapterLayout, LoraConfig, read_adapter};

/// The parameters in training, f32.
pub(crate) struct Parameters {
    pub(crate) values: Vec<f32>,
    /// On cache lines, as the products write them.
    pub(crate) grads: Buffer,
    pub(crate) kind: Kind,
}

/// Whose parameters they are.
pub(crate) enum Kind {
    Weights(Layout),
    Adapter(Box<TrainedAdapter>),
}

/// An adapter in training.
pub(crate) struct TrainedAdapter {
    pub(crate) config: LoraConfig,
    /// The model's name or folder, which is written beside the adapter.
    pub(crate) base: String,
    pub(crate) layout: AdapterLayout,
    packs: AdapterPacks,
    /// Seed of the dropout.
    pub(crate) seed: u64,
}

impl Parameters {
    pub(crate) fn weights(layout: Layout, values: Vec<f32>) -> Self {
        Self {
            grads: Buffer::zeros(values.len()),
            values,
            kind: Kind::Weights(layout),
        }
    }

    /// A new adapter, or the one in `options.from`, which must have the same options.
    pub(crate) fn adapter(compute: &Compute, model: &ModelConfig, options: &LoraOptions) -> Result<Self, EngineError> {
        options.config.check(model)?;
        let config = options.config.for_model(model);
        let (layout, values) = match &options.from {
            None => {
                let layout = AdapterLayout::new(model, &config);
                let values = begin(&layout, options.seed);
                (layout, values)
            }
            Some(dir) => continued(dir, model, &config)?,
        };
        Ok(Self {
            grads: Buffer::zeros(values.len()),
            kind: Kind::Adapter(Box::new(TrainedAdapter {
                config,
                base: options.base.clone(),
                packs: AdapterPacks::new(compute, &layout, &values),
                layout,
                seed: options.seed,
            })),
            values,
        })
    }

    /// The parameters' names, shapes and places.
    pub(crate) fn slots(&self) -> &[Slot] {
        match &self.kind {
            Kind::Weights(layout) => &layout.slots,
            Kind::Adapter(adapter) => &adapter.layout.slots,
        }
    }

    /// The parameter called `name`; a tied head is found under the head's name too.
    pub(crate) fn slot(&self, name: &str) -> Result<&Slot, EngineError> {
        let found = match &self.kind {
            Kind::Weights(layout) => layout.slot(name),
            Kind::Adapter(adapter) => adapter.layout.slots.iter().find(|slot| slot.name == name),
        };
        found.ok_or_else(|| EngineError::Input(format!("the trainer has no parameter {name:?}")))
    }

    /// Gives `model` the current parameters.
    ///
    /// # Panics
    /// When all weights are trained and another model shares them.
    pub(crate) fn update(&mut self, compute: &Compute, model: &mut Model) {
        match &mut self.kind {
            Kind::Weights(layout) => {
                let weights = Arc::get_mut(&mut model.weights).expect("weights in training are not shared");
                weights.pack(compute, &model.config, layout, Part::whole(&self.values));
            }
            Kind::Adapter(adapter) => {
                adapter.packs = AdapterPacks::new(compute, &adapter.layout, &self.values);
                *model = model.with_adapter(Some(Arc::new(Adapter::from_flat(
                    adapter.config.clone(),
                    &adapter.layout,
                    &self.values,
                    compute,
                ))));
            }
        }
    }

    /// Lays out trained weights for the backward pass. Frozen ones were laid out when they were loaded.
    pub(crate) fn pack(&self, compute: &Compute, config: &ModelConfig, packs: &mut Arc<BackwardPacks>) {
        if let Kind::Weights(layout) = &self.kind {
            let packs = Arc::get_mut(packs).expect("weights in training are not shared");
            packs.pack(compute, config, layout, Part::whole(&self.values));
        }
    }
}

impl Kind {
    /// Where the gradients of a pass over `model` go: into `flat`.
    pub(crate) fn gradients<'a>(&'a self, model: &'a Model, flat: &'a mut [f32]) -> ParameterGradients<'a> {
        match (self, &model.adapter) {
            (Self::Adapter(trained), Some(adapter)) => ParameterGradients::Adapter(AdapterGradients {
                adapter,
                layout: &trained.layout,
                packs: &trained.packs,
                flat,
            }),
            _ => ParameterGradients::Weights(flat),
        }
    }

    /// The model's layout, when its weights are trained.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        match self {
            Self::Weights(layout) => Some(layout),
            Self::Adapter(_) => None,
        }
    }
}

/// As `peft` begins: A uniform in ±1 / sqrt(inputs), which is Kaiming's bound for a = sqrt(5), and B zero, so that nothing is changed yet.
fn begin(layout: &AdapterLayout, seed: u64) -> Vec<f32> {
    let mut values = vec![0.0; layout.total];
    for slot in layout.slots.iter().filter(|slot| slot.name.contains(".lora_A.")) {
        let bound = 1.0 / (slot.shape[1] as f32).sqrt();
        fill_uniform(&slot.name, seed, bound, &mut values[slot.range.clone()]);
    }
    values
}

fn continued(dir: &Path, model: &ModelConfig, wanted: &LoraConfig) -> Result<(AdapterLayout, Vec<f32>), EngineError> {
    let (found, layout, values) = read_adapter(dir, model)?;
    let sorted = |config: &LoraConfig| {
        let mut targets = config.targets.clone();
        targets.sort_unstable();
        (config.rank, config.alpha.to_bits(), config.rslora, targets)
    };
    if sorted(&found) != sorted(wanted) {
        return Err(EngineError::Input(format!(
            "{}: the adapter has {}, the options ask for {}",
            dir.display(),
            found.summary(),
            wanted.summary()
        )));
    }
    Ok((layout, values))
}
