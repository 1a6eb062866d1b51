//! The optimizer's half of a checkpoint: one safetensors file with the moments of every parameter and, as metadata, method and step count.
//!
//! This file and the weights that `save` writes are the whole state of a trainer: resumed from both, the next step gives the same bits.

use std::borrow::Cow;
use std::path::Path;

use prl_weights::{Dtype, SafetensorsFile, TensorToWrite, WriteOptions, write_safetensors};

use super::optimizer::{Moments, Optimizer, Pair};
use super::options::OptimMethod;
use super::save::little_endian_bytes;
use crate::error::EngineError;
use crate::kernels::element::{Bf16, Moment};
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

/// A format of moments in files: that in memory.
trait Stored: Moment {
    const DTYPE: Dtype;

    fn bytes(values: &[Self]) -> Cow<'_, [u8]>;

    /// Fills `values` from as many little-endian numbers.
    fn read(values: &mut [Self], bytes: &[u8]);
}

impl Stored for f32 {
    const DTYPE: Dtype = Dtype::F32;

    fn bytes(values: &[Self]) -> Cow<'_, [u8]> {
        little_endian_bytes(values)
    }

    fn read(values: &mut [Self], bytes: &[u8]) {
        for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *value = Self::from_le_bytes(*bytes);
        }
    }
}

impl Stored for Bf16 {
    const DTYPE: Dtype = Dtype::BF16;

    fn bytes(values: &[Self]) -> Cow<'_, [u8]> {
        let numbers = values.iter().map(|value| value.to_bits());
        numbers.flat_map(u16::to_le_bytes).collect()
    }

    fn read(values: &mut [Self], bytes: &[u8]) {
        for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *value = Self::from_bits(u16::from_le_bytes(*bytes));
        }
    }
}

/// Writes the file durably; returns its digest.
pub(super) fn save(path: &Path, slots: &[Slot], optimizer: &Optimizer) -> Result<String, EngineError> {
    match optimizer.moments() {
        Moments::F32(moments) => save_as(path, slots, optimizer, moments),
        Moments::Bf16(moments) => save_as(path, slots, optimizer, moments),
    }
}

fn save_as<M: Stored>(
    path: &Path,
    slots: &[Slot],
    optimizer: &Optimizer,
    moments: &Pair<M>,
) -> Result<String, EngineError> {
    let (first, second) = (M::bytes(&moments.first), M::bytes(&moments.second));
    let names: Vec<(String, String)> = slots
        .iter()
        .map(|slot| (format!("{FIRST}{}", slot.name), format!("{SECOND}{}", slot.name)))
        .collect();
    let mut tensors = Vec::with_capacity(2 * names.len());
    for (slot, (first_name, second_name)) in slots.iter().zip(&names) {
        let bytes = slot.range.start * size_of::<M>()..slot.range.end * size_of::<M>();
        for (name, data) in [(first_name, &first[..]), (second_name, &second[..])] {
            if !data.is_empty() {
                tensors.push(TensorToWrite {
                    name,
                    dtype: M::DTYPE,
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
    let moments = match optimizer.moments() {
        Moments::F32(moments) => Moments::F32(read(&file, path, slots, moments)?),
        Moments::Bf16(moments) => Moments::Bf16(read(&file, path, slots, moments)?),
    };
    optimizer.restore(moments, steps);
    Ok(())
}

/// The file's moments, of the lengths that `like` has.
fn read<M: Stored>(
    file: &SafetensorsFile,
    path: &Path,
    slots: &[Slot],
    like: &Pair<M>,
) -> Result<Pair<M>, EngineError> {
    let mut moments = Pair::<M>::zeros(like.first.len(), like.second.len());
    for slot in slots {
        for (prefix, values) in [(FIRST, &mut moments.first), (SECOND, &mut moments.second)] {
            if values.is_empty() {
                continue;
            }
            let name = format!("{prefix}{}", slot.name);
            let tensor = file.tensor(&name)?;
            if tensor.dtype != M::DTYPE || tensor.shape != slot.shape {
                return Err(EngineError::Input(format!(
                    "{}: {name} is {:?} {:?}, the trainer has {:?} {:?}",
                    path.display(),
                    tensor.dtype,
                    tensor.shape,
                    M::DTYPE,
                    slot.shape
                )));
            }
            M::read(&mut values[slot.range.clone()], tensor.data);
        }
    }
    Ok(moments)
}
