//! Writing a Hugging Face folder.

use std::borrow::Cow;
use std::path::Path;

use prl_weights::{Dtype, Shard, TensorToWrite, replace_file, write_checkpoint};

use crate::companions::Companions;
use crate::config::{ModelConfig, WeightDtype};
use crate::error::EngineError;
use crate::kernels::element::Bf16;
use crate::model::layout::Layout;

/// Weight files are cut at this size, as transformers does.
const MAX_SHARD_BYTES: u64 = 5_000_000_000;

/// The weights that were written.
#[derive(Debug, Clone)]
pub struct SavedWeights {
    /// Digest of the weights; it does not depend on how they are divided into files.
    pub digest: String,
    /// The weight files, for a manifest.
    pub shards: Vec<Shard>,
}

/// Writes `flat` as tensors of the config's dtype into `dir`, which is made when it is missing, with config and companions.
pub(crate) fn save(
    dir: &Path,
    config: &ModelConfig,
    companions: &Companions,
    layout: &Layout,
    flat: &[f32],
) -> Result<SavedWeights, EngineError> {
    save_companions(dir, config, companions)?;
    let (bytes, dtype, size) = match config.dtype {
        WeightDtype::F32 => (little_endian_bytes(flat), Dtype::F32, size_of::<f32>()),
        WeightDtype::Bf16 => (rounded_bytes(flat).into(), Dtype::BF16, size_of::<u16>()),
    };
    let tensors: Vec<TensorToWrite<'_>> = layout
        .slots
        .iter()
        .map(|slot| TensorToWrite {
            name: &slot.name,
            dtype,
            shape: &slot.shape,
            data: &bytes[slot.range.start * size..slot.range.end * size],
        })
        .collect();
    let written = write_checkpoint(dir, &tensors, MAX_SHARD_BYTES)?;
    Ok(SavedWeights {
        digest: written.digest,
        shards: written.shards,
    })
}

/// Writes what a model folder has beside its weights into `dir`, which is made when it is missing.
pub(crate) fn save_companions(dir: &Path, config: &ModelConfig, companions: &Companions) -> Result<(), EngineError> {
    std::fs::create_dir_all(dir).map_err(|error| EngineError::Io {
        action: "create",
        path: dir.to_path_buf(),
        source: error,
    })?;
    companions.write(dir)?;
    let json = config.to_json();
    replace_file(&dir.join("config.json"), |file| file.write_all(json.as_bytes()))?;
    Ok(())
}

/// The values as little-endian bfloat16, rounded as the forward pass rounds them.
fn rounded_bytes(values: &[f32]) -> Vec<u8> {
    let rounded = values.iter().map(|value| Bf16::nearest(*value).to_bits());
    rounded.flat_map(u16::to_le_bytes).collect()
}

#[cfg(target_endian = "little")]
pub(crate) fn little_endian_bytes(values: &[f32]) -> Cow<'_, [u8]> {
    // SAFETY: any f32 is four bytes without padding, and u8 has no alignment or invalid values.
    Cow::Borrowed(unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) })
}

#[cfg(target_endian = "big")]
pub(crate) fn little_endian_bytes(values: &[f32]) -> Cow<'_, [u8]> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
