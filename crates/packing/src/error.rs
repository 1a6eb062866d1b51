//! Everything that can go wrong when samples are packed or a batch is read.

use prl_weights::WeightsError;

/// Why a batch could not be made, written or read. [`PackError::code`] gives the name that crosses into TypeScript.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The arguments contradict each other or a documented bound.
    #[error("cannot pack: {0}")]
    Input(String),
    /// One sample is malformed.
    #[error("cannot pack sample {sample}: {reason}")]
    Sample {
        /// Its index among the samples given.
        sample: usize,
        /// The fault that was found in it.
        reason: String,
    },
    /// The columns of a rollout are malformed.
    #[error("cannot take the samples of a rollout: {0}")]
    Rollout(String),
    /// A model's config does not say what its cost is made of.
    #[error("cannot take costs from the model's config: {0}")]
    Config(String),
    /// This crate cannot do it.
    #[error("not implemented: {0}; give a cost per sample")]
    Unsupported(String),
    /// A batch breaks an invariant of its columns.
    #[error("invalid batch: {0}")]
    Batch(String),
    /// A file holds no valid batch.
    #[error("{file} holds no valid batch: {reason}")]
    File {
        /// The file at fault, or `<memory>` for a buffer.
        file: String,
        /// The fault that was found in it.
        reason: String,
    },
    /// The file could not be written or is no safetensors file.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

impl PackError {
    /// Every code that [`PackError::code`] can give besides those of [`WeightsError::code`].
    pub const CODES: [&'static str; 4] = [
        "PRL_PACKING_INPUT",
        "PRL_PACKING_CONFIG",
        "PRL_PACKING_UNSUPPORTED",
        "PRL_BATCH_INVALID",
    ];

    /// The stable name of this kind of error in the registry of the TypeScript side.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Input(_) | Self::Sample { .. } | Self::Rollout(_) => "PRL_PACKING_INPUT",
            Self::Config(_) => "PRL_PACKING_CONFIG",
            Self::Unsupported(_) => "PRL_PACKING_UNSUPPORTED",
            Self::Batch(_) | Self::File { .. } => "PRL_BATCH_INVALID",
            Self::Weights(error) => error.code(),
        }
    }
}
