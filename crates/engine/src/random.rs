//! Random checkpoints: the initialisation of Hugging Face models.

use std::path::Path;

use crate::companions::Companions;
use crate::config::ModelConfig;
use crate::counter::{key_of, two_normals};
use crate::error::EngineError;
use crate::model::layout::{Layout, Slot};
use crate::train::SavedWeights;

/// Writes a model of `config_dir/config.json` with random weights into `out_dir`, with the tokenizer files of `config_dir`.
///
/// Matrices and embeddings are normal with standard deviation `initializer_range`, norms 1, biases 0. They are written in bfloat16 when the
/// config.json names that, else in f32, so that a random model has the format of the checkpoint in whose place it stands.
///
/// # Errors
/// As [`ModelConfig::from_dir`] and [`crate::Trainer::save`].
pub fn random_checkpoint(config_dir: &Path, out_dir: &Path, seed: u64) -> Result<SavedWeights, EngineError> {
    let config = ModelConfig::from_dir(config_dir)?;
    let stated = config.stated_dtype();
    let config = config.kept_as(stated);
    let layout = Layout::new(&config);
    let mut flat = vec![0f32; layout.total];
    for slot in &layout.slots {
        fill(
            slot,
            seed,
            config.initializer_range as f32,
            &mut flat[slot.range.clone()],
        );
    }
    let companions = Companions::read(config_dir)?;
    crate::train::save_flat(out_dir, &config, &companions, &layout, &flat)
}

fn fill(slot: &Slot, seed: u64, deviation: f32, out: &mut [f32]) {
    if slot.shape.len() == 1 {
        out.fill(if slot.name.ends_with("bias") { 0.0 } else { 1.0 });
        return;
    }
    let key = key_of(&slot.name, seed);
    for (pair, out) in out.chunks_mut(2).enumerate() {
        let normals = two_normals(key, pair as u64);
        for (out, normal) in out.iter_mut().zip(normals) {
            *out = deviation * normal;
        }
    }
}
