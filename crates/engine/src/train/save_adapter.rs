//! Writing the folder of an adapter, as Python's `peft` reads it.

use std::path::Path;

use prl_weights::{
    ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE, Adapter as Folder, Dtype, TensorToWrite, WriteOptions, replace_file,
    write_safetensors,
};

use super::save::{SavedWeights, little_endian_bytes};
use crate::error::EngineError;
use crate::model::lora::{AdapterLayout, LoraConfig, to_json};

/// Writes an adapter into `dir`, which is there, so that `peft` loads it onto the model called `base`.
pub(super) fn save_adapter(
    dir: &Path,
    base: &str,
    config: &LoraConfig,
    layout: &AdapterLayout,
    flat: &[f32],
) -> Result<SavedWeights, EngineError> {
    let bytes = little_endian_bytes(flat);
    let tensors: Vec<TensorToWrite<'_>> = layout
        .slots
        .iter()
        .map(|slot| TensorToWrite {
            name: &slot.name,
            dtype: Dtype::F32,
            shape: &slot.shape,
            data: &bytes[slot.range.start * size_of::<f32>()..slot.range.end * size_of::<f32>()],
        })
        .collect();
    let metadata = [("format".to_owned(), "pt".to_owned())];
    write_safetensors(
        &dir.join(ADAPTER_WEIGHTS_FILE),
        &tensors,
        &metadata,
        WriteOptions::default(),
    )?;
    let text = format!("{:#}\n", to_json(base, config));
    replace_file(&dir.join(ADAPTER_CONFIG_FILE), |file| file.write_all(text.as_bytes()))?;
    let written = Folder::open(dir)?;
    Ok(SavedWeights {
        digest: written.version_digest()?,
        shards: written.shards(),
    })
}
