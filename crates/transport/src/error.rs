//! Everything that can go wrong between two machines. On the wire an error is a status with the code in its metadata.

use std::io;
use std::path::{Path, PathBuf};

use prl_weights::WeightsError;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// Metadata key of a refusal: the error's `PRL_TRANSPORT_...` code.
const CODE_KEY: &str = "prl-error-code";

/// Why something was not transported. [`TransportError::code`] gives the name that crosses into TypeScript.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// An address cannot be read, resolved or listened on.
    #[error("address {address:?}: {reason}")]
    Address {
        /// The address as it was given.
        address: String,
        /// The fault that was found in it.
        reason: String,
    },
    /// Certificates that cannot be used, or are missing.
    #[error("TLS: {0}")]
    Tls(String),
    /// No token or a wrong one.
    #[error("the token is refused: {0}")]
    Auth(String),
    /// There was no useful answer for as long as was allowed.
    #[error("{what}: no progress for {waited_s} s with {from}; last: {reason}")]
    Unreachable {
        /// A name of the bytes that should be transported.
        what: String,
        /// The addresses tried.
        from: String,
        /// How long it was tried, in seconds.
        waited_s: u64,
        /// The last failure.
        reason: String,
    },
    /// A batch belongs to another run, or its file has another key than the transport.
    #[error("batch refused: {0}")]
    Key(String),
    /// There is another batch with the same key.
    #[error("batch refused: {0}")]
    Conflict(String),
    /// A newer attempt has replaced it.
    #[error("batch refused: {0}")]
    Superseded(String),
    /// Bytes do not have the promised digest, and sending them again does not help.
    #[error("{what} is damaged: digest {found}, expected {expected}")]
    Corrupt {
        /// The file.
        what: String,
        /// The digest, or other property, that was promised.
        expected: String,
        /// The value that was found.
        found: String,
    },
    /// A weight version is not there, or its description contradicts itself.
    #[error("{0}")]
    Version(String),
    /// A version is wanted in full, but will never be made full.
    #[error("{0}")]
    PassedOver(String),
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
    /// The handle is closed.
    #[error("the transport is closed")]
    Closed,
    /// A file or manifest is malformed.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

impl TransportError {
    /// Every code of this crate; errors can also have those of [`WeightsError`].
    pub const CODES: [&'static str; 12] = [
        "PRL_TRANSPORT_ADDRESS",
        "PRL_TRANSPORT_TLS",
        "PRL_TRANSPORT_AUTH",
        "PRL_TRANSPORT_UNREACHABLE",
        "PRL_TRANSPORT_KEY",
        "PRL_TRANSPORT_CONFLICT",
        "PRL_TRANSPORT_SUPERSEDED",
        "PRL_TRANSPORT_CORRUPT",
        "PRL_TRANSPORT_VERSION",
        "PRL_WEIGHTS_SUPERSEDED",
        "PRL_TRANSPORT_IO",
        "PRL_TRANSPORT_CLOSED",
    ];

    /// The stable name of this kind of error in the registry of the TypeScript side.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "PRL_TRANSPORT_ADDRESS",
            Self::Tls(_) => "PRL_TRANSPORT_TLS",
            Self::Auth(_) => "PRL_TRANSPORT_AUTH",
            Self::Unreachable { .. } => "PRL_TRANSPORT_UNREACHABLE",
            Self::Key(_) => "PRL_TRANSPORT_KEY",
            Self::Conflict(_) => "PRL_TRANSPORT_CONFLICT",
            Self::Superseded(_) => "PRL_TRANSPORT_SUPERSEDED",
            Self::Corrupt { .. } => "PRL_TRANSPORT_CORRUPT",
            Self::Version(_) => "PRL_TRANSPORT_VERSION",
            Self::PassedOver(_) => "PRL_WEIGHTS_SUPERSEDED",
            Self::Io { .. } => "PRL_TRANSPORT_IO",
            Self::Closed => "PRL_TRANSPORT_CLOSED",
            Self::Weights(error) => error.code(),
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// The status that the other side gets.
    pub(crate) fn to_status(&self) -> Status {
        let grpc = match self {
            Self::Auth(_) => Code::Unauthenticated,
            Self::Key(_) | Self::Conflict(_) | Self::Superseded(_) | Self::PassedOver(_) => Code::FailedPrecondition,
            Self::Version(_) => Code::NotFound,
            Self::Corrupt { .. } => Code::DataLoss,
            _ => Code::Unavailable,
        };
        let mut status = Status::new(grpc, self.to_string());
        status
            .metadata_mut()
            .insert(CODE_KEY, MetadataValue::from_static(self.code()));
        status
    }
}

/// How an exchange failed: finally, or so that another try can help.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Trying again cannot help.
    Final(TransportError),
    /// The network or the other side failed; with a description.
    Passing(String),
    /// The other side works but does not have what was asked for.
    Absent(String),
}

impl From<TransportError> for Fault {
    /// Errors of this side are final: none goes away by itself.
    fn from(error: TransportError) -> Self {
        Self::Final(error)
    }
}

impl From<Status> for Fault {
    fn from(status: Status) -> Self {
        let code = status.metadata().get(CODE_KEY).and_then(|value| value.to_str().ok());
        let message = status.message();
        // The other side's text begins like the error here, so this beginning is removed.
        let inner = || message.split_once(": ").map_or(message, |(_, rest)| rest).to_owned();
        match code {
            Some("PRL_TRANSPORT_AUTH") => Self::Final(TransportError::Auth(inner())),
            Some("PRL_TRANSPORT_KEY") => Self::Final(TransportError::Key(inner())),
            Some("PRL_TRANSPORT_CONFLICT") => Self::Final(TransportError::Conflict(inner())),
            Some("PRL_TRANSPORT_SUPERSEDED") => Self::Final(TransportError::Superseded(inner())),
            Some("PRL_WEIGHTS_SUPERSEDED") => Self::Final(TransportError::PassedOver(message.to_owned())),
            Some("PRL_TRANSPORT_VERSION") => Self::Absent(message.to_owned()),
            // The next try or the next source may have a better disk or digest.
            _ => Self::Passing(describe(&status)),
        }
    }
}

/// The message of a status with those of its causes.
fn describe(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(inner) = source {
        let message = inner.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = inner.source();
    }
    if text.is_empty() {
        status.code().to_string()
    } else {
        text
    }
}
