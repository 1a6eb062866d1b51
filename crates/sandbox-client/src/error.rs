//! Errors: mistakes of the caller, daemons that cannot be reached, and failures of calls that have no result to report them in.

use std::time::Duration;

/// Why a call was refused or a daemon is not there. [`ClientError::code`] gives the name that crosses into TypeScript.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The request contradicts itself or a documented bound.
    #[error("the sandbox request is refused: {0}")]
    Request(String),
    /// The daemon cannot give the requested isolation.
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
        /// The address as it was given.
        address: String,
        /// The fault that was found in it.
        reason: &'static str,
    },
    /// No daemon answers.
    #[error("no sandbox daemon answers at {address}: {reason}")]
    Unreachable {
        /// The daemon's address.
        address: String,
        /// The event behind the error.
        reason: String,
    },
    /// The call failed and has no result.
    #[error("{message}")]
    Refused {
        /// One of [`ClientError::CODES`].
        code: &'static str,
        /// The message of the daemon, or of the client about the connection.
        message: String,
        /// When to try again, if the daemon said so.
        retry_after: Option<Duration>,
    },
    /// A file or directory of this machine could not be read or written.
    #[error("{path}")]
    Local {
        /// Its path.
        path: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The embedded daemon could not be started.
    #[error("the sandbox daemon {binary} did not start: {reason}; the end of its log:\n{log}")]
    StartFailed {
        /// The program.
        binary: String,
        /// The event behind the error.
        reason: String,
        /// The last lines that it wrote.
        log: String,
    },
    /// The embedded daemon was not ready in time.
    #[error("the sandbox daemon {binary} was not ready within {waited_ms} ms; the end of its log:\n{log}")]
    StartTimeout {
        /// The program.
        binary: String,
        /// How long was waited, in milliseconds.
        waited_ms: u128,
        /// The last lines that it wrote.
        log: String,
    },
}

/// The daemon's code for tests that were cancelled by their key: a cancellation is no failure for their caller.
pub(crate) const CANCELLED: &str = "PRL_SANDBOX_CANCELLED";

impl ClientError {
    /// Every code that [`ClientError::code`] can give.
    pub const CODES: &'static [&'static str] = &[
        "PRL_SANDBOX_REQUEST",
        "PRL_SANDBOX_ISOLATION",
        "PRL_SANDBOX_AUTH",
        "PRL_SANDBOX_CLOSED",
        "PRL_SANDBOX_ADDRESS",
        "PRL_SANDBOX_UNREACHABLE",
        "PRL_SANDBOX_START_FAILED",
        "PRL_SANDBOX_START_TIMEOUT",
        "PRL_SANDBOX_LOCAL_FILE",
        // Refusals of a daemon.
        "PRL_SANDBOX_BOX_UNKNOWN",
        "PRL_SANDBOX_BOX_ENDED",
        "PRL_SANDBOX_UNKNOWN",
        "PRL_SANDBOX_EXISTS",
        "PRL_SANDBOX_FILE_UNKNOWN",
        "PRL_SANDBOX_FILE",
        "PRL_SANDBOX_TOO_LARGE",
        "PRL_SANDBOX_PORT",
        "PRL_SANDBOX_UNSUPPORTED",
        "PRL_SANDBOX_RUNTIME",
        "PRL_SANDBOX_IMAGE",
        "PRL_SANDBOX_OVERLOADED",
        "PRL_SANDBOX_DRAINING",
        "PRL_SANDBOX_SETUP",
        "PRL_SANDBOX_SPAWNER",
        "PRL_SANDBOX_INIT_DIED",
        // Failures of connections.
        "PRL_SANDBOX_CONNECTION_LOST",
        "PRL_SANDBOX_DAEMON_EXITED",
        "PRL_SANDBOX_DAEMON_RESTARTED",
        "PRL_SANDBOX_DEADLINE",
        "PRL_SANDBOX_PROTOCOL",
        "PRL_SANDBOX_RESULT_EXPIRED",
        "PRL_SANDBOX_UNREAD",
        CANCELLED,
    ];

    /// The refusal for a daemon's code. A code that this client does not know breaks the protocol; the message keeps it.
    pub(crate) fn refused(code: &str, message: String, retry_after: Option<Duration>) -> Self {
        match Self::CODES.iter().find(|known| **known == code) {
            Some(&code) => Self::Refused {
                code,
                message,
                retry_after,
            },
            None => Self::Refused {
                code: "PRL_SANDBOX_PROTOCOL",
                message: format!("{code}: {message}"),
                retry_after,
            },
        }
    }

    /// The stable name of this kind of error in the registry of the TypeScript side.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Request(_) => "PRL_SANDBOX_REQUEST",
            Self::Isolation(_) => "PRL_SANDBOX_ISOLATION",
            Self::Auth(_) => "PRL_SANDBOX_AUTH",
            Self::Closed => "PRL_SANDBOX_CLOSED",
            Self::Address { .. } => "PRL_SANDBOX_ADDRESS",
            Self::Unreachable { .. } => "PRL_SANDBOX_UNREACHABLE",
            Self::Refused { code, .. } => code,
            Self::Local { .. } => "PRL_SANDBOX_LOCAL_FILE",
            Self::StartFailed { .. } => "PRL_SANDBOX_START_FAILED",
            Self::StartTimeout { .. } => "PRL_SANDBOX_START_TIMEOUT",
        }
    }
}
