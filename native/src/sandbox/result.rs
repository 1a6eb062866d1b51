//! Converts the results of runs for JavaScript.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use prl_sandbox_client::RunOutcome;
use prl_sandbox_proto::{Isolation, Limit, Output};

/// One stream of a run.
#[napi(object, use_nullable = true)]
pub struct NativeRunOutput {
    /// The first and the last bytes of the stream, joined.
    pub data: Buffer,
    /// Where the last bytes begin in `data`.
    pub head_bytes: f64,
    /// Number of bytes that were dropped between the two.
    pub gap: f64,
}

/// A collected file.
#[napi(object, use_nullable = true)]
pub struct NativeOutputFile {
    /// Relative to the work directory.
    pub path: String,
    pub content: Buffer,
}

/// A file that matched and was not collected.
#[napi(object, use_nullable = true)]
pub struct NativeUncollected {
    /// Relative to the work directory.
    pub path: String,
    pub reason: String,
}

/// How a run ended.
#[napi(object, use_nullable = true)]
pub struct NativeRunResult {
    /// EXITED, SIGNALED, WALL_TIMEOUT, ..., INFRA.
    pub cause: String,
    /// A sentence for people.
    pub reason: String,
    /// PRL_SANDBOX_* for INFRA, else empty.
    pub error_code: String,
    /// wall | cpu | memory | processes | output | disk | inodes | collect.
    pub limits_hit: Vec<String>,
    /// Null when the command did not exit.
    pub exit_code: Option<i32>,
    /// Null when no signal ended the command.
    pub signal: Option<i32>,
    pub stdout: NativeRunOutput,
    pub stderr: NativeRunOutput,
    pub files: Vec<NativeOutputFile>,
    /// Files that matched and were not collected.
    pub uncollected: Vec<NativeUncollected>,
    /// Null when it could not be observed.
    pub cpu_ms: Option<f64>,
    /// Null when it could not be observed.
    pub peak_memory_bytes: Option<f64>,
    /// Most processes and threads at one time; null when it could not be observed.
    pub processes: Option<f64>,
    /// Waiting for a slot.
    pub queue_ms: f64,
    pub setup_ms: f64,
    /// From the start of the command to its end.
    pub run_ms: f64,
    /// From the end of the command until the last output and file were in.
    pub drain_ms: f64,
    /// none | process | rootless | full.
    pub isolation: String,
    /// This is the kept result of an earlier call with the same key.
    pub replayed: bool,
    /// When to try again, if the daemon is overloaded.
    pub retry_after_ms: Option<f64>,
    /// exec | python | node; empty when nothing ran.
    pub runtime: String,
}

/// Runs off the JavaScript thread, so that joining and copying the streams does not block it.
impl From<RunOutcome> for NativeRunResult {
    fn from(outcome: RunOutcome) -> Self {
        let RunOutcome { result, retry_after } = outcome;
        let cause = result.cause();
        let limits_hit = result.limits_hit().filter_map(limit_name).map(str::to_owned).collect();
        let isolation = isolation_name(result.isolation()).to_owned();
        let usage = result.usage.unwrap_or_default();
        let timings = result.timings.unwrap_or_default();
        Self {
            cause: cause.as_str_name().to_owned(),
            reason: result.reason,
            error_code: result.error_code,
            limits_hit,
            exit_code: result.exit_code,
            signal: result.signal,
            stdout: result.stdout.unwrap_or_default().into(),
            stderr: result.stderr.unwrap_or_default().into(),
            files: result
                .files
                .into_iter()
                .map(|file| NativeOutputFile {
                    path: file.path,
                    content: Vec::from(file.content).into(),
                })
                .collect(),
            uncollected: result
                .uncollected
                .into_iter()
                .map(|file| NativeUncollected {
                    path: file.path,
                    reason: file.reason,
                })
                .collect(),
            cpu_ms: usage.cpu_ms,
            peak_memory_bytes: usage.peak_memory_bytes.map(|bytes| bytes as f64),
            processes: usage.processes.map(|processes| processes as f64),
            queue_ms: timings.queue_ms,
            setup_ms: timings.setup_ms,
            run_ms: timings.run_ms,
            drain_ms: timings.drain_ms,
            isolation,
            replayed: result.replayed,
            runtime: result.runtime,
            retry_after_ms: retry_after.map(|after| after.as_secs_f64() * 1000.0),
        }
    }
}

impl From<Output> for NativeRunOutput {
    fn from(output: Output) -> Self {
        let head_bytes = output.head.len() as f64;
        let mut data = Vec::from(output.head);
        data.extend_from_slice(&output.tail);
        Self {
            data: data.into(),
            head_bytes,
            gap: output.gap as f64,
        }
    }
}

pub(crate) fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Any => "none",
        Isolation::Process => "process",
        Isolation::Rootless => "rootless",
        Isolation::Full => "full",
    }
}

fn limit_name(limit: Limit) -> Option<&'static str> {
    match limit {
        Limit::Unspecified => None,
        Limit::Wall => Some("wall"),
        Limit::Cpu => Some("cpu"),
        Limit::Memory => Some("memory"),
        Limit::Processes => Some("processes"),
        Limit::Output => Some("output"),
        Limit::Disk => Some("disk"),
        Limit::Inodes => Some("inodes"),
        Limit::Collect => Some("collect"),
    }
}
