//! The crate's one error type. Every variant maps to one code of the project's registry.

use std::path::PathBuf;

/// An error of the engine. The message says what went wrong, where, and what to do; [`EngineError::code`] is stable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// config.json is malformed, or its values fit no model.
    #[error("{0}")]
    Config(String),
    /// config.json names something that the engine does not compute.
    #[error("{0}")]
    ConfigUnsupported(String),
    /// The architecture is none of Llama, Mistral, Qwen2/2.5, Qwen3, Qwen3-MoE.
    #[error("{0}")]
    ArchitectureUnsupported(String),
    /// The tensors of a checkpoint do not fit its config.
    #[error("{0}")]
    Weights(String),
    /// The tensors of a checkpoint have a dtype that the engine does not read.
    #[error("{0}")]
    DtypeUnsupported(String),
    /// Arguments of a call do not fit the model.
    #[error("{0}")]
    Input(String),
    /// The requested instruction-set tier does not exist on this machine.
    #[error("{0}")]
    Isa(String),
    /// There is no room: the memory is not given, or as many requests are held as may be.
    #[error("{0}")]
    Capacity(String),
    /// The engine could not compute a request, which is not at fault.
    #[error("{0}")]
    Computation(String),
    /// No loss has this name.
    #[error("{0}")]
    LossUnknown(String),
    /// The arrays or parameters given to a loss do not fit together.
    #[error("{0}")]
    LossInput(String),
    /// A loss or a gradient norm is infinite or not a number.
    #[error("{0}")]
    NonFinite(String),
    /// The handle was closed.
    #[error("the engine handle is closed")]
    Closed,
    /// The engine's own code panicked: a bug.
    #[error("{0}")]
    Failed(String),
    /// A file beside the weights (config.json, tokenizer) could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// "read", "write", "create" or "copy".
        action: &'static str,
        /// The file at fault.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// A weights file could not be read or written.
    #[error(transparent)]
    WeightsFile(#[from] prl_weights::WeightsError),
}

impl EngineError {
    /// The codes that this crate raises by itself; those of `prl-weights` pass through unchanged.
    pub const CODES: &[&str] = &[
        "PRL_ENGINE_CONFIG",
        "PRL_ENGINE_CONFIG_UNSUPPORTED",
        "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED",
        "PRL_ENGINE_WEIGHTS",
        "PRL_ENGINE_DTYPE_UNSUPPORTED",
        "PRL_ENGINE_INPUT",
        "PRL_ENGINE_ISA",
        "PRL_ENGINE_CAPACITY",
        "PRL_ENGINE_FAILED",
        "PRL_LOSS_UNKNOWN",
        "PRL_LOSS_INPUT",
        "PRL_TRAIN_NON_FINITE",
        "PRL_ENGINE_CLOSED",
        "PRL_NATIVE_PANIC",
        "PRL_WEIGHTS_IO",
    ];

    /// The stable code of the error, a key of `ts/errors.ts`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Config(_) => "PRL_ENGINE_CONFIG",
            Self::ConfigUnsupported(_) => "PRL_ENGINE_CONFIG_UNSUPPORTED",
            Self::ArchitectureUnsupported(_) => "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED",
            Self::Weights(_) => "PRL_ENGINE_WEIGHTS",
            Self::DtypeUnsupported(_) => "PRL_ENGINE_DTYPE_UNSUPPORTED",
            Self::Input(_) => "PRL_ENGINE_INPUT",
            Self::Isa(_) => "PRL_ENGINE_ISA",
            Self::Capacity(_) => "PRL_ENGINE_CAPACITY",
            Self::Computation(_) => "PRL_ENGINE_FAILED",
            Self::LossUnknown(_) => "PRL_LOSS_UNKNOWN",
            Self::LossInput(_) => "PRL_LOSS_INPUT",
            Self::NonFinite(_) => "PRL_TRAIN_NON_FINITE",
            Self::Closed => "PRL_ENGINE_CLOSED",
            Self::Failed(_) => "PRL_NATIVE_PANIC",
            Self::Io { .. } => "PRL_WEIGHTS_IO",
            Self::WeightsFile(error) => error.code(),
        }
    }
}
