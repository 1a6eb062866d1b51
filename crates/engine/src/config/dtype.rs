//! The number formats of a model's weights.

use super::ModelConfig;
use crate::error::EngineError;

/// How weights are kept in memory and published; also how an optimizer keeps its moments ([`crate::OptimConfig::state_dtype`]). Sums,
/// activations, gradients and the trainer's own copy of the weights are f32 in any case; products, and attention's keys and values, too but in the
/// tiers AVX-512-BF16 and AMX, which round to bfloat16 what they multiply.
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

/// How the projections of frozen weights are kept in memory: those of attention and of the feed-forward networks, experts included. Embedding,
/// head, norms, biases and routers keep the model's own format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseDtype {
    /// One byte a weight, and two for each 64 weights of a row. The model computes with these numbers, which are made when it is loaded.
    Int8,
}

impl BaseDtype {
    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
        }
    }

    /// The format of this name.
    ///
    /// # Errors
    /// [`EngineError::DtypeUnsupported`] for any other name.
    pub fn from_name(name: &str) -> Result<Self, EngineError> {
        match name {
            "int8" => Ok(Self::Int8),
            _ => Err(EngineError::DtypeUnsupported(format!(
                "base dtype {name:?} is not implemented: use \"int8\""
            ))),
        }
    }
}

/// The formats of all weights of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WeightFormat {
    /// The model's own format.
    pub dtype: WeightDtype,
    /// That of the projections, where they are frozen and it is another one.
    pub base: Option<BaseDtype>,
}

impl ModelConfig {
    /// bfloat16 when config.json names it, else float32, which holds the numbers of any other format.
    pub(crate) fn stated_dtype(&self) -> WeightDtype {
        let stated = ["dtype", "torch_dtype"]
            .iter()
            .find_map(|key| self.raw.get(key)?.as_str());
        match stated {
            Some("bfloat16") => WeightDtype::Bf16,
            _ => WeightDtype::F32,
        }
    }
}

impl From<WeightDtype> for WeightFormat {
    fn from(dtype: WeightDtype) -> Self {
        Self { dtype, base: None }
    }
}
