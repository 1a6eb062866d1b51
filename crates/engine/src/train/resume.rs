//! The optimizer's half of a checkpoint: one safetensors file with the moments of every parameter and, as metadata, method and step count.
//!
//! This file and the weights that `save` writes are the whole state of a trainer: resumed from both, the next step gives the same bits.

use std::path::Path;

use prl_weights::{Dtype, SafetensorsFile, TensorToWrite, WriteOptions, write_safetensors};

use super::optimizer::Optimizer;
use super::options::OptimMethod;
use super::save::little_endian_bytes;
use crate::error::EngineError;
use crate::model::layout::Slot;

const FORMAT: &str = "prl.optimizer.1";
const FIRST: &str = "first.";
const SECOND: &str = "second.";

fn method_name(method: OptimMethod) -> &'static str {
    match method {
        OptimMethod::AdamW => "adamw",
        OptimMethod::Sgd { .. } => "sgd",
        OptimMethod::Muon { .. } => "muon",
    }
}

/// Writes the file durably; returns its digest.
pub(super) fn save(path: &Path, slots: &[Slot], optimizer: &Optimizer) -> Result<String, EngineError> {
    let (first, second) = optimizer.moments();
    let (first, second) = (little_endian_bytes(first), little_endian_bytes(second));
    let names: Vec<(String, String)> = slots
        .iter()
        .map(|slot| (format!("{FIRST}{}", slot.name), format!("{SECOND}{}", slot.name)))
        .collect();
    let mut tensors = Vec::with_capacity(2 * names.len());
    for (slot, (first_name, second_name)) in slots.iter().zip(&names) {
        let bytes = slot.range.start * 4..slot.range.end * 4;
        for (name, data) in [(first_name, &first[..]), (second_name, &second[..])] {
            if !data.is_empty() {
                tensors.push(TensorToWrite {
                    name,
                    dtype: Dtype::F32,
                    shape: &slot.shape,
                    data: &data[bytes.clone()],
                });
            }
        }
    }
    let metadata = [
        ("format".to_owned(), FORMAT.to_owned()),
        ("method".to_owned(), method_name(optimizer.method()).to_owned()),
        ("steps".to_owned(), optimizer.steps().to_string()),
    ];
    Ok(write_safetensors(path, &tensors, &metadata, WriteOptions::default())?.digest)
}

/// Reads the file into `optimizer`, which stays as it was when anything does not fit.
pub(super) fn load(path: &Path, slots: &[Slot], optimizer: &mut Optimizer) -> Result<(), EngineError> {
    let file = SafetensorsFile::open(path)?;
    let wrong = |what: String| EngineError::Input(format!("{}: {what}", path.display()));
    let field = |key: &str| file.metadata().get(key).map_or("", String::as_str);
    if field("format") != FORMAT {
        return Err(wrong(format!("its format is {:?}, not {FORMAT:?}", field("format"))));
    }
    let method = method_name(optimizer.method());
    if field("method") != method {
        return Err(wrong(format!(
            "it holds the state of {:?}, the trainer has {method:?}",
            field("method")
        )));
    }
    let steps: i32 = field("steps")
        .parse()
        .map_err(|_| wrong(format!("its step count is {:?}", field("steps"))))?;
    let (mut first, mut second) = {
        let (first, second) = optimizer.moments();
        (vec![0f32; first.len()], vec![0f32; second.len()])
    };
    for slot in slots {
        for (prefix, values) in [(FIRST, &mut first), (SECOND, &mut second)] {
            if values.is_empty() {
                continue;
            }
            let name = format!("{prefix}{}", slot.name);
            let tensor = file.tensor(&name)?;
            if tensor.dtype != Dtype::F32 || tensor.shape != slot.shape {
                let found = format!("{:?} {:?}", tensor.dtype, tensor.shape);
                return Err(wrong(format!(
                    "{name} is {found}, the trainer has F32 {:?}",
                    slot.shape
                )));
            }
            let (elements, _) = tensor.data.as_chunks::<4>();
            for (value, bytes) in values[slot.range.clone()].iter_mut().zip(elements) {
                *value = f32::from_le_bytes(*bytes);
            }
        }
    }
    optimizer.restore(first, second, steps);
    Ok(())
}
