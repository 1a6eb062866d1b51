//! Reading the parameters of a checkpoint: all into one flat array, or a part at a time.

use std::path::Path;

use prl_weights::{Checkpoint, Dtype, TensorView};

use super::layout::{HEAD, Layout, Part, Slot};
use crate::error::EngineError;
use crate::kernels::buffer::Buffer;
use crate::kernels::element::{Bf16, Number};

/// A checkpoint that has the tensors of a layout, in its shapes, and no others.
///
/// That is checked before memory is taken, so that a config which asks for more than the files hold allocates nothing.
pub(crate) struct Stored<'a> {
    dir: &'a Path,
    layout: &'a Layout,
    checkpoint: Checkpoint,
}

impl<'a> Stored<'a> {
    /// Opens the checkpoint in `dir`.
    pub(crate) fn open(dir: &'a Path, layout: &'a Layout) -> Result<Self, EngineError> {
        let checkpoint = Checkpoint::open(dir)?;
        check_names(dir, &checkpoint, layout)?;
        let stored = Self {
            dir,
            layout,
            checkpoint,
        };
        for slot in &layout.slots {
            check_shape(dir, slot, &stored.tensor(slot)?)?;
        }
        Ok(stored)
    }

    /// All parameters, widened to f32.
    pub(crate) fn flat(&self) -> Result<Vec<f32>, EngineError> {
        let mut flat = vec![0f32; self.layout.total];
        for slot in &self.layout.slots {
            self.read(slot, &mut flat[slot.range.clone()])?;
        }
        Ok(flat)
    }

    /// Gives `take` each part of the layout, widened to f32. Only one of them is in memory at a time.
    pub(crate) fn each_part(&self, mut take: impl FnMut(Part<'_>)) -> Result<(), EngineError> {
        let mut values = Buffer::default();
        for range in self.layout.parts() {
            // The embedding is many times a layer, and its memory is not needed for layers.
            if range.len() < values.len() / 2 {
                values = Buffer::default();
            }
            values.resize(range.len());
            for slot in self.layout.slots_in(&range) {
                let at = slot.range.start - range.start;
                self.read(slot, &mut values[at..][..slot.range.len()])?;
            }
            take(Part::new(range.start, &values));
        }
        Ok(())
    }

    fn read(&self, slot: &Slot, values: &mut [f32]) -> Result<(), EngineError> {
        read_tensor(self.dir, slot, &self.tensor(slot)?, values)
    }

    fn tensor(&self, slot: &Slot) -> Result<TensorView<'_>, EngineError> {
        let contains = |name: &str| self.checkpoint.contains(name);
        // A checkpoint may hold the head of a tied pair alone.
        let tied = slot.range == self.layout.head && !contains(&slot.name) && contains(HEAD);
        Ok(self.checkpoint.tensor(if tied { HEAD } else { &slot.name })?)
    }
}

fn check_shape(dir: &Path, slot: &Slot, tensor: &TensorView<'_>) -> Result<(), EngineError> {
    if tensor.shape == slot.shape {
        return Ok(());
    }
    Err(EngineError::Weights(format!(
        "{}: tensor {} has shape {:?}, the config asks for {:?}",
        dir.display(),
        slot.name,
        tensor.shape,
        slot.shape
    )))
}

/// Reads one tensor, widened to f32. Its shape, its dtype and its values are checked.
pub(crate) fn read_tensor(
    dir: &Path,
    slot: &Slot,
    tensor: &TensorView<'_>,
    values: &mut [f32],
) -> Result<(), EngineError> {
    check_shape(dir, slot, tensor)?;
    let is_finite = widen(tensor.dtype, tensor.data, values).ok_or_else(|| {
        EngineError::DtypeUnsupported(format!(
            "{}: tensor {} has dtype {:?}: the engine reads F32, BF16 and F16",
            dir.display(),
            slot.name,
            tensor.dtype
        ))
    })?;
    if is_finite {
        Ok(())
    } else {
        Err(not_finite(dir, &slot.name, values))
    }
}

fn not_finite(dir: &Path, name: &str, values: &[f32]) -> EngineError {
    let first = values.iter().position(|value| !value.is_finite()).unwrap_or(0);
    EngineError::Weights(format!(
        "{}: tensor {name} holds {} at its element {first}: weights are finite numbers, this checkpoint is damaged",
        dir.display(),
        values[first]
    ))
}

/// Refuses tensors that the model would not use: leaving one out computes another model than the checkpoint's.
fn check_names(dir: &Path, checkpoint: &Checkpoint, layout: &Layout) -> Result<(), EngineError> {
    for name in checkpoint.names() {
        let refuse = |why: &str| Err(EngineError::Weights(format!("{}: tensor {name} {why}", dir.display())));
        if name.ends_with(".rotary_emb.inv_freq") {
            // Old versions of transformers stored this buffer; the config has the same information.
            continue;
        }
        match layout.slot(name) {
            None => return refuse("has no place in a model of this config.json"),
            Some(slot) if slot.name != name && checkpoint.contains(&slot.name) => {
                let [head, embedding] = [checkpoint.tensor(name)?, checkpoint.tensor(&slot.name)?];
                if (head.dtype, head.data) != (embedding.dtype, embedding.data) {
                    return refuse("differs from the embedding that tie_word_embeddings says it is: set it to false");
                }
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Converts little-endian bytes to f32, exactly, and says whether all of them are finite; None when the dtype is none of F32, BF16, F16 or
/// the lengths disagree.
fn widen(dtype: Dtype, bytes: &[u8], out: &mut [f32]) -> Option<bool> {
    let mut is_finite = true;
    match dtype {
        Dtype::F32 => {
            let (values, rest) = bytes.as_chunks::<4>();
            (values.len() == out.len() && rest.is_empty()).then_some(())?;
            for (out, value) in out.iter_mut().zip(values) {
                *out = f32::from_le_bytes(*value);
                is_finite &= out.is_finite();
            }
        }
        Dtype::BF16 | Dtype::F16 => {
            let (values, rest) = bytes.as_chunks::<2>();
            (values.len() == out.len() && rest.is_empty()).then_some(())?;
            let convert = |bits| match dtype {
                Dtype::BF16 => Bf16::from_bits(bits).widen(),
                _ => f16_to_f32(bits),
            };
            for (out, value) in out.iter_mut().zip(values) {
                *out = convert(u16::from_le_bytes(*value));
                is_finite &= out.is_finite();
            }
        }
        _ => return None,
    }
    Some(is_finite)
}

fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10 & 0x1f);
    let fraction = u32::from(bits & 0x3ff);
    let magnitude = match exponent {
        // Subnormal: fraction * 2^-24, exact in f32.
        0 => (fraction as f32 / 16_777_216.0).to_bits(),
        31 => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_widens_exactly() {
        let cases = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x7c00, f32::INFINITY),
        ];
        for (bits, want) in cases {
            assert_eq!(f16_to_f32(bits).to_bits(), f32::to_bits(want), "{bits:#06x}");
        }
        assert!(f16_to_f32(0x7e00).is_nan());
        assert_eq!(Bf16::from_bits(0x3f80).widen(), 1.0);
        assert_eq!(Bf16::from_bits(0xc040).widen(), -3.0);
    }
}
