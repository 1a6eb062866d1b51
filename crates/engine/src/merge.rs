//! Adding an adapter to the weights of its model: the same function with other roundings.

use std::path::Path;

use crate::companions::Companions;
use crate::compute::Compute;
use crate::config::ModelConfig;
use crate::error::EngineError;
use crate::kernels::gemm::{Left, gemm};
use crate::kernels::pack::Packed;
use crate::model::layout::Layout;
use crate::model::lora::read_adapter;
use crate::model::stored::Stored;
use crate::train::{SavedWeights, save_flat};

/// Writes the model `base` with the weights `W + s B A` of `adapter` into `out`, in bfloat16 when the model's config.json names that, else in
/// f32.
///
/// # Errors
/// As [`crate::Model::load`], [`crate::Adapter::open`] and [`crate::Trainer::save`].
pub fn merge(base: &Path, adapter: &Path, out: &Path, compute: &Compute) -> Result<SavedWeights, EngineError> {
    let config = ModelConfig::from_dir(base)?;
    let stated = config.stated_dtype();
    let config = config.kept_as(stated);
    let layout = Layout::new(&config);
    let (lora, places, matrices) = read_adapter(adapter, &config)?;
    let mut flat = Stored::open(base, &layout)?.flat()?;
    let factor = lora.scale();
    let (mut packed, mut delta) = (Packed::default(), Vec::new());
    for slot in &places.slots {
        // Each B is found with its A, which has the same name otherwise.
        let Some(stem) = slot.name.strip_suffix(".lora_B.weight") else {
            continue;
        };
        let a = format!("{stem}.lora_A.weight");
        let Some(a) = places.slots.iter().find(|slot| slot.name == a) else {
            continue;
        };
        let weight = format!("{}.weight", stem.trim_start_matches("base_model.model."));
        let Some(weight) = layout.slot(&weight) else { continue };
        let (rank, inputs, outputs) = (a.shape[0], a.shape[1], slot.shape[0]);
        packed.pack(compute, &matrices[a.range.clone()], rank, inputs);
        delta.resize(outputs * inputs, 0.0);
        let b = Left::rows(&matrices[slot.range.clone()], rank);
        gemm(compute, outputs, b, &packed, &mut delta, false);
        for (weight, change) in flat[weight.range.clone()].iter_mut().zip(&delta) {
            *weight += factor * change;
        }
    }
    save_flat(out, &config, &Companions::read(base)?, &layout, &flat)
}
