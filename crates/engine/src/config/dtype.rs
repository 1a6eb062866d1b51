//! The number format of a model's weights.

use crate::error::EngineError;

/// How weights are kept in memory and published. Sums, activations, gradients, moments and the trainer's own copy of the weights are f32 in
/// any case, products too but in the tier AVX-512-BF16, which multiplies numbers in bfloat16.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WeightDtype {
    /// Four bytes a weight.
    #[default]
    F32,
    /// Two bytes a weight. The model computes with the weights rounded to bfloat16, to the nearest, ties to even.
    Bf16,
}

impl WeightDtype {
    /// The name in config.json and in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::Bf16 => "bfloat16",
        }
    }

    /// The format of this name.
    ///
    /// # Errors
    /// [`EngineError::DtypeUnsupported`] for any other name.
    pub fn from_name(name: &str) -> Result<Self, EngineError> {
        match name {
            "float32" => Ok(Self::F32),
            "bfloat16" => Ok(Self::Bf16),
            _ => Err(EngineError::DtypeUnsupported(format!(
                "dtype {name:?} is not implemented: use \"float32\" or \"bfloat16\""
            ))),
        }
    }
}
