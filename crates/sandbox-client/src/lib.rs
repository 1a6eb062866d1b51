//! Asynchronous client of the sandbox daemon.
//!
//! [`Client`] talks to one daemon over one connection, [`EmbeddedDaemon`] starts one that lives as long as its handle. However a run
//! ends, [`Client::run_once`] resolves to a result; a lost connection, an overloaded or a dead daemon is a result with cause INFRA, and
//! never anything else. Only a mistake of the caller is an error.
//!
//! Every run carries an idempotency key. A reply that was lost is asked for again with the same key and from the same daemon process,
//! which runs a key at most once; a daemon that was restarted in between is never asked to run it again.
//!
//! This crate knows nothing of Node, and nothing of how a sandbox is made.

mod address;
mod client;
mod connection;
mod daemon;
mod error;
mod log_tail;
mod outcome;

pub use address::Address;
pub use client::{Client, ConnectOptions};
pub use daemon::{DaemonOptions, EmbeddedDaemon};
pub use error::ClientError;
pub use outcome::{Infra, RunOutcome};
pub use tokio_util::sync::CancellationToken;
