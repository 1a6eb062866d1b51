//! Asynchronous client of sandbox daemons.
//!
//! [`Client`] talks to one daemon or to many and chooses where new work goes; [`EmbeddedDaemon`] is a daemon that lives as long as its
//! handle. However a run ends, [`Client::run_once`] resolves to a result; a lost connection, an overloaded or a dead daemon is a result
//! with cause INFRA, and never anything else. Only a mistake of the caller is an error. [`SandboxBox`] is a sandbox that keeps its state
//! between execs, on the one daemon that made it.
//!
//! Every run carries an idempotency key. A reply that was lost is asked for again with the same key and from the same daemon process,
//! which runs a key at most once; a daemon that was restarted in between is never asked to run it again.
//!
//! This crate does not depend on Node and does not know how a sandbox is made.

mod address;
mod boxes;
mod call;
mod case_run;
mod client;
mod connection;
mod credentials;
mod daemon;
mod ending;
mod error;
mod fleet;
mod log_tail;
mod node;
mod outcome;
mod run;
mod status;

pub use address::Address;
pub use boxes::{
    BoxWatch, Evaluation, FileReader, PortForward, Process, ProcessEvent, ProcessOutput, SandboxBox, Unpacked,
};
pub use case_run::{TestEvent, TestRun};
pub use client::{Client, ConnectOptions};
pub use credentials::TlsOptions;
pub use daemon::{DaemonOptions, EmbeddedDaemon};
pub use error::ClientError;
pub use outcome::{Infra, RunOutcome};
pub use tokio_util::sync::CancellationToken;
