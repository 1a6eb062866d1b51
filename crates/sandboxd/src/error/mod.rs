//! Errors outside the program that runs in a sandbox, each with its `PRL_SANDBOX_...` code.
//!
//! The end of a program is never an error: it is a result with a cause.

mod unwritten;

use std::io;

use prl_sandbox_proto::{ERROR_CODE_KEY, RETRY_AFTER_KEY};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

use crate::counts::COUNTS;
pub(crate) use unwritten::Unwritten;

/// An error of the sandbox daemon.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// No daemon could carry out the caller's request.
    #[error("invalid request: {0}")]
    Invalid(String),
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// More runs are waiting than the queue holds, or the wait was longer than the request allows.
    #[error("overloaded: {message}; try again after {retry_after_ms} ms")]
    Overloaded {
        /// The resource that is full.
        message: String,
        /// When there may be room again.
        retry_after_ms: u64,
    },
    /// This machine cannot isolate as strongly as the request demands.
    #[error("isolation {wanted} is not available here, this daemon gives {available}: {missing}")]
    Isolation {
        /// The value of `min_isolation`.
        wanted: &'static str,
        /// The isolation of this machine.
        available: &'static str,
        /// The facility that the machine lacks.
        missing: String,
    },
    /// The daemon lacks the requested warm runtime, or it cannot run the command.
    #[error("runtime {wanted:?} cannot be had: {reason}")]
    Runtime {
        /// The runtime as requested.
        wanted: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// A sandbox could not be made.
    #[error("sandbox set-up failed at {step}")]
    Setup {
        /// The step that failed.
        step: String,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The spawner process is gone.
    #[error("the spawner process is gone: {0}")]
    Spawner(String),
    /// The sandbox's init ended without a report and without a reason that we know.
    #[error("the sandbox's init ended without a report")]
    InitDied,
    /// A message between the daemon and its own processes made no sense.
    #[error("protocol error inside the daemon: {0}")]
    Protocol(String),
    /// The key belongs to a run of another daemon process.
    #[error("the run was given to {0}, which is gone; it is not run again")]
    Restarted(String),
    /// The kept result of a key was dropped to bound memory.
    #[error("the result of this key was dropped after {0} s; it is not run again")]
    Expired(u64),
    /// Tests whose results were not taken.
    #[error("the results of the tests were not read for {0} s; no further case is run")]
    Unread(u64),
    /// Tests that were cancelled by their key.
    #[error("the tests were cancelled")]
    Cancelled,
    /// The caller has no box with this id. The answer is the same when another tenant has one and when there never was
    /// one.
    #[error("no box {0}")]
    NoBox(String),
    /// The box existed and has ended.
    #[error("box {id} has ended: {reason}")]
    BoxEnded {
        /// The id of the box.
        id: String,
        /// It was closed, its lease or its lifetime is over, it is out of memory, ...
        reason: String,
    },
    /// Another box, process or snapshot has this id.
    #[error("{0} exists and is another one")]
    Exists(String),
    /// The box has no process with this id, or no snapshot has this id.
    #[error("no {0}")]
    NotFound(String),
    /// No file has this path.
    #[error("no file {0}")]
    NoFile(String),
    /// An error of the box's file system.
    #[error("{path}: {reason}")]
    File {
        /// The path as requested.
        path: String,
        /// It is a directory, is not permitted, has no space left, ...
        reason: String,
    },
    /// Files of the request that cannot be written.
    #[error("{}", .0.reason)]
    Unwritten(Unwritten),
    /// No program listens on this port of the box's loopback.
    #[error("port {port} of the box cannot be reached: {reason}")]
    Unreachable {
        /// The port as requested.
        port: u32,
        /// Refused, timed out, ...
        reason: String,
    },
    /// More than the caller accepts or this daemon keeps.
    #[error("too large: {0}")]
    TooLarge(String),
    /// An image that the daemon was started with cannot be used.
    #[error("image {name}: {reason}")]
    Image {
        /// The name on the command line.
        name: String,
        /// The fault of the image.
        reason: String,
    },
    /// The request asks for something that this daemon does not do.
    #[error("{0} is not implemented")]
    Unsupported(&'static str),
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Draining,
    /// The daemon could not start listening.
    #[error("cannot {action}")]
    Serve {
        /// The action that failed.
        action: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl SandboxError {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "PRL_SANDBOX_INVALID",
            Self::Usage(_) => "PRL_SANDBOX_USAGE",
            Self::Overloaded { .. } => "PRL_SANDBOX_OVERLOADED",
            Self::Isolation { .. } => "PRL_SANDBOX_ISOLATION",
            Self::Runtime { .. } => "PRL_SANDBOX_RUNTIME",
            Self::Setup { .. } => "PRL_SANDBOX_SETUP",
            Self::Spawner(_) => "PRL_SANDBOX_SPAWNER",
            Self::InitDied => "PRL_SANDBOX_INIT_DIED",
            Self::Protocol(_) => "PRL_SANDBOX_PROTOCOL",
            Self::Restarted(_) => "PRL_SANDBOX_DAEMON_RESTARTED",
            Self::Expired(_) => "PRL_SANDBOX_RESULT_EXPIRED",
            Self::Unread(_) => "PRL_SANDBOX_UNREAD",
            Self::Cancelled => "PRL_SANDBOX_CANCELLED",
            Self::NoBox(_) => "PRL_SANDBOX_BOX_UNKNOWN",
            Self::BoxEnded { .. } => "PRL_SANDBOX_BOX_ENDED",
            Self::Exists(_) => "PRL_SANDBOX_EXISTS",
            Self::NotFound(_) => "PRL_SANDBOX_UNKNOWN",
            Self::NoFile(_) => "PRL_SANDBOX_FILE_UNKNOWN",
            Self::File { .. } | Self::Unwritten(_) => "PRL_SANDBOX_FILE",
            Self::Unreachable { .. } => "PRL_SANDBOX_PORT",
            Self::TooLarge(_) => "PRL_SANDBOX_TOO_LARGE",
            Self::Image { .. } => "PRL_SANDBOX_IMAGE",
            Self::Unsupported(_) => "PRL_SANDBOX_UNSUPPORTED",
            Self::Draining => "PRL_SANDBOX_DRAINING",
            Self::Serve { .. } => "PRL_SANDBOX_SERVE",
        }
    }

    /// The message, followed by that of every source.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(inner) = source {
            text.push_str(": ");
            text.push_str(&inner.to_string());
            source = inner.source();
        }
        text
    }
}

impl From<SandboxError> for Status {
    fn from(error: SandboxError) -> Self {
        COUNTS.error(error.code());
        let code = match error {
            SandboxError::Invalid(_) | SandboxError::Usage(_) => Code::InvalidArgument,
            SandboxError::Overloaded { .. } => Code::ResourceExhausted,
            SandboxError::Isolation { .. }
            | SandboxError::Runtime { .. }
            | SandboxError::BoxEnded { .. }
            | SandboxError::File { .. }
            | SandboxError::Unwritten(_)
            | SandboxError::Unreachable { .. } => Code::FailedPrecondition,
            SandboxError::NoBox(_) | SandboxError::NotFound(_) | SandboxError::NoFile(_) => Code::NotFound,
            SandboxError::Exists(_) => Code::AlreadyExists,
            SandboxError::TooLarge(_) => Code::OutOfRange,
            SandboxError::Unsupported(_) => Code::Unimplemented,
            SandboxError::Draining => Code::Unavailable,
            _ => Code::Internal,
        };
        let mut status = Self::new(code, error.chain());
        status
            .metadata_mut()
            .insert(ERROR_CODE_KEY, MetadataValue::from_static(error.code()));
        if let SandboxError::Overloaded { retry_after_ms, .. } = error {
            status
                .metadata_mut()
                .insert(RETRY_AFTER_KEY, MetadataValue::from(retry_after_ms));
        }
        status
    }
}
