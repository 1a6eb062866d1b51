//! Parameters laid out for the forward pass, and reading them from a checkpoint.

use std::path::Path;

use prl_weights::{Checkpoint, Dtype, TensorView};

use super::embedding::Embedding;
use super::layout::{HEAD, Layout, Slot};
use crate::compute::Compute;
use crate::config::{ModelConfig, WeightDtype, WeightFormat};
use crate::error::EngineError;
use crate::kernels::element::{Bf16, Number};
use crate::kernels::pack::Packed;

/// One layer, matrices packed for `x . W^T`. Vectors have the values of the weights' format, as f32.
#[derive(Clone, Default)]
pub(crate) struct LayerWeights {
    pub(crate) input_norm: Vec<f32>,
    pub(crate) qkv: Packed,
    pub(crate) qkv_bias: Vec<f32>,
    pub(crate) q_norm: Vec<f32>,
    pub(crate) k_norm: Vec<f32>,
    pub(crate) o: Packed,
    pub(crate) o_bias: Vec<f32>,
    pub(crate) post_norm: Vec<f32>,
    /// Empty in a layer with one network. Its products are in f32 in every tier, because a small difference changes a choice.
    pub(crate) router: Packed,
    pub(crate) networks: Vec<Network>,
}

/// A feed-forward network's matrices.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) gate_up: Packed,
    pub(crate) gate_up_bias: Vec<f32>,
    pub(crate) down: Packed,
    pub(crate) down_bias: Vec<f32>,
}

/// A model's parameters for the forward pass.
#[derive(Clone, Default)]
pub(crate) struct Weights {
    pub(crate) embedding: Embedding,
    pub(crate) layers: Vec<LayerWeights>,
    pub(crate) final_norm: Vec<f32>,
    pub(crate) head: Packed,
}

impl LayerWeights {
    fn kept_as(format: WeightFormat) -> Self {
        Self {
            qkv: Packed::projection(format),
            o: Packed::projection(format),
            router: Packed::widened(format.dtype),
            ..Self::default()
        }
    }
}

impl Network {
    /// Empty matrices whose values will be kept in this format.
    pub(crate) fn kept_as(format: WeightFormat) -> Self {
        Self {
            gate_up: Packed::projection(format),
            gate_up_bias: Vec::new(),
            down: Packed::projection(format),
            down_bias: Vec::new(),
        }
    }
}

impl Weights {
    /// Room for weights that are kept as `dtype`.
    pub(crate) fn kept_as(dtype: WeightDtype) -> Self {
        Self {
            embedding: Embedding::kept_as(dtype),
            head: Packed::kept_as(dtype),
            ..Self::default()
        }
    }

    /// Lays out the parameters `flat` again, in the same memory.
    pub(crate) fn pack(&mut self, compute: &Compute, config: &ModelConfig, layout: &Layout, flat: &[f32]) {
        let copy = |to: &mut Vec<f32>, range: &std::ops::Range<usize>| {
            let values = flat[range.clone()].iter();
            to.clear();
            match config.dtype {
                WeightDtype::F32 => to.extend(values),
                WeightDtype::Bf16 => to.extend(values.map(|value| Bf16::nearest(*value).widen())),
            }
        };
        let hidden = config.hidden_size;
        self.embedding.fill(compute, &flat[layout.embedding.clone()], hidden);
        self.layers
            .resize_with(layout.layers.len(), || LayerWeights::kept_as(config.format()));
        for (to, at) in self.layers.iter_mut().zip(&layout.layers) {
            copy(&mut to.input_norm, &at.input_norm);
            copy(&mut to.qkv_bias, &at.qkv_bias);
            copy(&mut to.o_bias, &at.o_bias);
            copy(&mut to.q_norm, &at.q_norm);
            copy(&mut to.k_norm, &at.k_norm);
            copy(&mut to.post_norm, &at.post_norm);
            to.qkv
                .pack_transposed(compute, &flat[at.qkv.clone()], config.qkv_width(), hidden);
            to.o.pack_transposed(compute, &flat[at.o.clone()], hidden, config.q_width());
            let experts = at.router.len() / hidden;
            to.router
                .pack_transposed(compute, &flat[at.router.clone()], experts, hidden);
            to.networks
                .resize_with(at.networks.len(), || Network::kept_as(config.format()));
            for (to, at) in to.networks.iter_mut().zip(&at.networks) {
                copy(&mut to.gate_up_bias, &at.gate_up_bias);
                copy(&mut to.down_bias, &at.down_bias);
                to.gate_up
                    .pack_transposed(compute, &flat[at.gate_up.clone()], 2 * at.width, hidden);
                to.down
                    .pack_transposed(compute, &flat[at.down.clone()], hidden, at.width);
            }
        }
        copy(&mut self.final_norm, &layout.final_norm);
        self.head
            .pack_transposed(compute, &flat[layout.head.clone()], config.vocab_size, hidden);
    }
}

/// Reads the checkpoint in `dir` into one flat array, widened to f32.
///
/// Everything is checked before memory is taken, so that a config which asks for more than the files hold allocates nothing.
pub(crate) fn read_flat(dir: &Path, layout: &Layout) -> Result<Vec<f32>, EngineError> {
    let checkpoint = Checkpoint::open(dir)?;
    check_names(dir, &checkpoint, layout)?;
    let tensor_of = |slot: &Slot| {
        // Of a tied pair a checkpoint may hold the head alone.
        let tied = slot.range == layout.head && !checkpoint.contains(&slot.name) && checkpoint.contains(HEAD);
        checkpoint.tensor(if tied { HEAD } else { &slot.name })
    };
    for slot in &layout.slots {
        check_shape(dir, slot, &tensor_of(slot)?)?;
    }
    let mut flat = vec![0f32; layout.total];
    for slot in &layout.slots {
        read_tensor(dir, slot, &tensor_of(slot)?, &mut flat[slot.range.clone()])?;
    }
    Ok(flat)
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
