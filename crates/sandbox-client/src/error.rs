//! Mistakes of the caller, and daemons that cannot be had. Everything else is a result.

/// Why a call was refused or a daemon is not there. [`ClientError::code`] gives the name that crosses into TypeScript.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The request contradicts itself or a documented bound.
    #[error("the sandbox request is refused: {0}")]
    Request(String),
    /// The daemon cannot give the isolation asked for.
    #[error("the sandbox daemon cannot give the isolation asked for: {0}")]
    Isolation(String),
    /// No token or a wrong one.
    #[error("the sandbox daemon refuses the token: {0}")]
    Auth(String),
    /// The handle is closed.
    #[error("the sandbox pool is closed")]
    Closed,
    /// The address cannot be read.
    #[error("sandbox address {address:?}: {reason}")]
    Address {
        /// As given.
        address: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The address is of a kind that is not implemented.
    #[error("sandbox address {0:?}: TLS is not implemented, use http:// within a trusted network or a Unix socket")]
    TlsUnsupported(String),
    /// No daemon answers.
    #[error("no sandbox daemon answers at {address}: {reason}")]
    Unreachable {
        /// Where it should be.
        address: String,
        /// What happened.
        reason: String,
    },
    /// The embedded daemon could not be started.
    #[error("the sandbox daemon {binary} did not start: {reason}; the end of its log:\n{log}")]
    StartFailed {
        /// The program.
        binary: String,
        /// What happened.
        reason: String,
        /// The last lines that it wrote.
        log: String,
    },
    /// The embedded daemon was not ready in time.
    #[error("the sandbox daemon {binary} was not ready within {waited_ms} ms; the end of its log:\n{log}")]
    StartTimeout {
        /// The program.
        binary: String,
        /// How long it was given.
        waited_ms: u128,
        /// The last lines that it wrote.
        log: String,
    },
}

impl ClientError {
    /// Every code that [`ClientError::code`] can give.
    pub const CODES: [&'static str; 9] = [
        "PRL_SANDBOX_REQUEST",
        "PRL_SANDBOX_ISOLATION",
        "PRL_SANDBOX_AUTH",
        "PRL_SANDBOX_CLOSED",
        "PRL_SANDBOX_ADDRESS",
        "PRL_SANDBOX_TLS_UNSUPPORTED",
        "PRL_SANDBOX_UNREACHABLE",
        "PRL_SANDBOX_START_FAILED",
        "PRL_SANDBOX_START_TIMEOUT",
    ];

    /// The stable name of this kind of error in the registry of the TypeScript side.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Request(_) => "PRL_SANDBOX_REQUEST",
            Self::Isolation(_) => "PRL_SANDBOX_ISOLATION",
            Self::Auth(_) => "PRL_SANDBOX_AUTH",
            Self::Closed => "PRL_SANDBOX_CLOSED",
            Self::Address { .. } => "PRL_SANDBOX_ADDRESS",
            Self::TlsUnsupported(_) => "PRL_SANDBOX_TLS_UNSUPPORTED",
            Self::Unreachable { .. } => "PRL_SANDBOX_UNREACHABLE",
            Self::StartFailed { .. } => "PRL_SANDBOX_START_FAILED",
            Self::StartTimeout { .. } => "PRL_SANDBOX_START_TIMEOUT",
        }
    }
}
