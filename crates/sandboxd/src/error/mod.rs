//! What can go wrong outside the program that runs in a sandbox, each with its `PRL_SANDBOX_...` code.
//!
//! How a program ended is never an error: that is a result with a cause.

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
    /// The caller's request cannot be carried out by anyone.
    #[error("invalid request: {0}")]
    Invalid(String),
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// More runs are waiting than the queue holds, or the wait was longer than the request allows.
    #[error("overloaded: {message}; try again after {retry_after_ms} ms")]
    Overloaded {
        /// What is full.
        message: String,
        /// When a slot may be free.
        retry_after_ms: u64,
    },
    /// This machine cannot isolate as strongly as the request demands.
    #[error("isolation {wanted} is not available here, this daemon gives {available}: {missing}")]
    Isolation {
        /// What `min_isolation` names.
        wanted: &'static str,
        /// What there is.
        available: &'static str,
        /// What the machine lacks.
        missing: String,
    },
    /// The daemon has no such warm runtime, or it cannot run the command.
    #[error("runtime {wanted:?} cannot be had: {reason}")]
    Runtime {
        /// As asked.
        wanted: String,
        /// Why not.
        reason: String,
    },
    /// A sandbox could not be made.
    #[error("sandbox set-up failed at {step}")]
    Setup {
        /// The step that failed.
        step: String,
        /// What the kernel said.
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
    /// Tests whose results nobody took.
    #[error("nobody read the results of the tests for {0} s; no further case is run")]
    Unread(u64),
    /// Tests that somebody called off by their key.
    #[error("the tests were cancelled")]
    Cancelled,
    /// No box has this id for the caller. Another tenant's and one that never was are the same.
    #[error("no box {0}")]
    NoBox(String),
    /// The box was there and is not any more.
    #[error("box {id} has ended: {reason}")]
    BoxEnded {
        /// Of the box.
        id: String,
        /// Closed, its lease, its lifetime, out of memory, ...
        reason: String,
    },
    /// The id is that of another box, process or snapshot.
    #[error("{0} exists and is another one")]
    Exists(String),
    /// The box has no process with this id, or no snapshot has it.
    #[error("no {0}")]
    NotFound(String),
    /// The path names nothing.
    #[error("no file {0}")]
    NoFile(String),
    /// What the file system of the box said.
    #[error("{path}: {reason}")]
    File {
        /// As asked.
        path: String,
        /// Is a directory, not permitted, no space left, ...
        reason: String,
    },
    /// Files of the request that cannot be written.
    #[error("{}", .0.reason)]
    Unwritten(Unwritten),
    /// Nothing listens on this port of the box's loopback.
    #[error("port {port} of the box cannot be reached: {reason}")]
    Unreachable {
        /// As asked.
        port: u32,
        /// Refused, timed out, ...
        reason: String,
    },
    /// More than the caller wanted or this daemon keeps.
    #[error("too large: {0}")]
    TooLarge(String),
    /// An image that the daemon was started with cannot be used.
    #[error("image {name}: {reason}")]
    Image {
        /// As on the command line.
        name: String,
        /// What was wrong with it.
        reason: String,
    },
    /// Asked for something that this daemon does not do.
    #[error("{0} is not implemented")]
    Unsupported(&'static str),
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Draining,
    /// The daemon could not start listening.
    #[error("cannot {action}")]
    Serve {
        /// What it was about to do.
        action: String,
        /// What the system said.
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

    /// The message with every source behind it.
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
