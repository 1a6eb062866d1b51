//! Everything that can go wrong with weights on disk. Each error names the file at fault.

use std::io;
use std::path::{Path, PathBuf};

/// Why weights could not be read or written. [`WeightsError::code`] gives the name that crosses into TypeScript.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action, as an infinitive.
        action: &'static str,
        /// The file or directory at fault.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The bytes are no valid safetensors file or index.
    #[error("{file} is no valid {kind}: {reason}")]
    Format {
        /// The file at fault, or `<memory>` for a buffer.
        file: String,
        /// The expected kind of file.
        kind: &'static str,
        /// Which rule they break.
        reason: String,
        /// The JSON error behind it, if there is one.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// The bytes are not those that were published.
    #[error("{} has digest {found}, expected {expected}: changed or damaged since", path.display())]
    Digest {
        /// The file or directory at fault.
        path: PathBuf,
        /// The digest that was promised.
        expected: String,
        /// The digest of the bytes that were found.
        found: String,
    },
    /// A tensor is not the one that was published.
    #[error("tensor {name:?} of {} has digest {found}, expected {expected}: its base has other weights", path.display())]
    TensorDigest {
        /// The tensor at fault.
        name: String,
        /// The sparse shard that promised the digest.
        path: PathBuf,
        /// The digest that was promised.
        expected: String,
        /// The digest of the tensor that was made.
        found: String,
    },
    /// The version that a sparse one applies to is not there, or damaged.
    #[error("{} applies to version {version} with digest {digest}, but {reason}", path.display())]
    Base {
        /// Directory of the sparse version.
        path: PathBuf,
        /// The version that it needs.
        version: u64,
        /// The digest of that version.
        digest: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// Two layouts of weights do not fit together.
    #[error("{name:?} cannot be resharded: {reason}")]
    Plan {
        /// The tensor, layout or file at fault.
        name: String,
        /// The fault that was found in it.
        reason: String,
    },
    /// A version manifest is missing, malformed, or disagrees with its directory.
    #[error("manifest {}: {reason}", path.display())]
    Manifest {
        /// The manifest at fault.
        path: PathBuf,
        /// The fault that was found in it.
        reason: String,
        /// The JSON error behind it, if there is one.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// A PEFT adapter is not whole, or is in the place of a model's weights.
    #[error("PEFT adapter {}: {reason}", path.display())]
    Adapter {
        /// The file or directory at fault.
        path: PathBuf,
        /// The fault that was found in it.
        reason: String,
        /// The JSON error behind it, if there is one.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// A tensor is missing or its description contradicts itself.
    #[error("tensor {name:?} in {file}: {reason}")]
    Tensor {
        /// The tensor at fault.
        name: String,
        /// The file that should hold it.
        file: String,
        /// The fault that was found in it.
        reason: String,
    },
}

impl WeightsError {
    /// Every code that [`WeightsError::code`] can give.
    pub const CODES: [&'static str; 8] = [
        "PRL_WEIGHTS_IO",
        "PRL_WEIGHTS_FORMAT",
        "PRL_WEIGHTS_DIGEST",
        "PRL_WEIGHTS_BASE",
        "PRL_WEIGHTS_MANIFEST",
        "PRL_WEIGHTS_TENSOR",
        "PRL_WEIGHTS_PLAN",
        "PRL_WEIGHTS_ADAPTER",
    ];

    /// The stable name of this kind of error in the registry of the TypeScript side.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "PRL_WEIGHTS_IO",
            Self::Format { .. } => "PRL_WEIGHTS_FORMAT",
            Self::Digest { .. } | Self::TensorDigest { .. } => "PRL_WEIGHTS_DIGEST",
            Self::Base { .. } => "PRL_WEIGHTS_BASE",
            Self::Manifest { .. } => "PRL_WEIGHTS_MANIFEST",
            Self::Tensor { .. } => "PRL_WEIGHTS_TENSOR",
            Self::Plan { .. } => "PRL_WEIGHTS_PLAN",
            Self::Adapter { .. } => "PRL_WEIGHTS_ADAPTER",
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn safetensors(reason: impl Into<String>) -> Self {
        Self::Format {
            file: "<memory>".to_owned(),
            kind: "safetensors file",
            reason: reason.into(),
            source: None,
        }
    }

    /// The same error about a buffer, naming the file at `path` that the buffer was read from.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Format {
                kind, reason, source, ..
            } => Self::Format {
                file: path.display().to_string(),
                kind,
                reason,
                source,
            },
            Self::Tensor { name, reason, .. } => Self::Tensor {
                name,
                file: path.display().to_string(),
                reason,
            },
            other => other,
        }
    }
}
