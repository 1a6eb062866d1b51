//! The sandbox daemon: runs untrusted programs, each in a separate sandbox that is never used again.
//!
//! There are three kinds of process and one executable: the daemon (tokio, gRPC; runs no guest and forks nothing
//! itself), the spawner (one thread; clones), and in every sandbox an init (pid 1; a clone of the spawner). Each dies
//! when the one before it does, and the last takes the guest with it, so a killed daemon leaves no process.
//!
//! Where a container starts the daemon as its first process, a fourth kind stands before it (`first`).
//!
//! A sandbox is made of, in order: control groups (`cgroup`), namespaces and a root that shows only the system's
//! directories, a writable layer in memory, a separate proc, pts and loopback, a user without capabilities, limits and
//! a system call filter. The crate `prl_sandbox_guest` makes all but the first. It has the code of every process except
//! the daemon.
//!
//! The daemon does not know what programs mean, who its callers are, or other daemons.

mod accept;
mod boxes;
mod cases;
mod cgroup;
mod counts;
mod egress;
mod error;
mod first;
#[cfg(test)]
mod fuzz;
mod images;
mod isolation;
mod log;
mod metrics;
mod options;
mod plan;
mod pool;
mod rpc;
mod runs;
mod sandbox;
mod secrets;
mod server;
mod state;
mod tenants;
mod warm;

use std::io::{self, Write};
use std::process::ExitCode;

pub use error::SandboxError;
use options::Options;
use prl_sandbox_guest::{defence, spawner, sys};

/// Runs the process in the role that its arguments name. The first argument is the program's name.
#[must_use]
pub fn run(arguments: Vec<String>) -> ExitCode {
    let arguments = arguments.get(1..).unwrap_or_default();
    let filter = tracing_subscriber::EnvFilter::try_from_env("PRL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| log::Line)
        .init();
    let arguments = match defence::take(arguments) {
        Ok(arguments) => arguments,
        Err(message) => {
            // Standard error may be closed.
            let _closed = writeln!(io::stderr(), "prl-sandboxd: {message}");
            return ExitCode::from(2);
        }
    };
    if arguments.first().is_some_and(|first| first == spawner::ROLE) {
        return ExitCode::from(spawner::run());
    }
    if arguments.iter().any(|argument| argument == "--help") {
        return match writeln!(io::stdout(), "{}", options::HELP) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    match first::stand_before() {
        Ok(None) => {}
        Ok(Some(status)) => return ExitCode::from(status),
        Err(error) => {
            tracing::warn!(%error, "orphans of this pid namespace stay, since the daemon is its first process")
        }
    }
    let served = Options::parse(&arguments).and_then(|options| {
        // A starter that started the daemon for itself ends it in order. The daemon then needs a separate session.
        if options.stop_with_stdin
            && let Err(error) = sys::own_session()
        {
            tracing::warn!(%error, "the daemon has no separate session");
        }
        sys::return_large_blocks();
        if let Err(error) = sys::open_all_files_allowed() {
            tracing::warn!(%error, "the limit of open files stays as low as it was");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|source| SandboxError::Serve {
                action: "start the runtime".to_owned(),
                source,
            })?;
        let served = runtime.block_on(server::serve(options));
        // A blocking read of standard input must not delay the end.
        runtime.shutdown_background();
        served
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let usage = matches!(error, SandboxError::Usage(_));
            // Standard error may be closed.
            let _closed = writeln!(io::stderr(), "prl-sandboxd: [{}] {}", error.code(), error.chain());
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}
