//! Handles of processes in held sandboxes.

use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, Env, PromiseRaw, Uint8Array};
use napi::tokio::sync::Mutex;
use napi_derive::napi;
use prl_sandbox_client::{CancellationToken, Evaluation, Process, ProcessEvent, ProcessOutput};
use prl_sandbox_proto::Process as ProcessInfo;

use super::cancels::Cancels;
use super::request::NativeRunLimits;
use super::result::NativeRunResult;
use crate::error::NativeError;
use crate::runtime::promise;

/// A process as its daemon describes it.
#[napi(object, use_nullable = true)]
pub struct NativeProcessInfo {
    pub id: String,
    /// Process id inside the box.
    pub pid: u32,
    /// Program and arguments.
    pub command: Vec<String>,
    pub running: bool,
}

/// An event of a process whose output is read.
#[napi(object, use_nullable = true)]
pub struct NativeProcessEvent {
    /// stdout | stderr | ended.
    pub kind: String,
    /// Position of the first byte in the stream.
    pub offset: f64,
    /// Output bytes; empty when the process ended.
    pub data: Buffer,
    /// Null until the process ended.
    pub result: Option<NativeRunResult>,
}

/// The outcome of code that ran in an interpreter.
#[napi(object, use_nullable = true)]
pub struct NativeEvaluation {
    /// EXITED with code 0, or 1 when the code raised an exception.
    pub result: NativeRunResult,
    /// The repr of the last expression, or empty.
    pub value: String,
    /// The last line of the exception, or empty.
    pub error: String,
    /// The interpreter takes more code.
    pub alive: bool,
}

/// A process in a held sandbox.
#[napi]
pub struct NativeSandboxProcess {
    process: Process,
    cancels: Cancels,
}

#[napi]
impl NativeSandboxProcess {
    pub(crate) fn new(process: Process, cancels: Cancels) -> Self {
        Self { process, cancels }
    }

    /// The description from when the process was started. A handle that was made from an id alone has only the id.
    #[napi(catch_unwind)]
    pub fn info(&self) -> NativeProcessInfo {
        self.process.info().clone().into()
    }

    /// The output from these positions on, in bytes.
    #[napi(catch_unwind)]
    pub fn output(&self, stdout_from: f64, stderr_from: f64) -> NativeProcessOutput {
        let output = self.process.output(stdout_from as u64, stderr_from as u64);
        NativeProcessOutput {
            output: Arc::new(Mutex::new(output)),
            closed: CancellationToken::new(),
        }
    }

    /// Appends to the input and returns how many bytes were accepted so far. The bytes are copied before the call returns.
    #[napi(catch_unwind)]
    pub fn input<'env>(
        &self,
        env: &'env Env,
        offset: f64,
        data: Uint8Array,
        end: bool,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let process = self.process.clone();
        let data = data.to_vec().into();
        promise(env, async move {
            let accepted = process.input(offset as u64, data, end).await;
            Ok(accepted.map_err(NativeError::from)? as f64)
        })
    }

    /// Sends a signal; SIGKILL also ends everything that the process started.
    #[napi(catch_unwind)]
    pub fn signal<'env>(&self, env: &'env Env, signal: u32) -> napi::Result<PromiseRaw<'env, ()>> {
        let process = self.process.clone();
        promise(env, async move {
            Ok(process.signal(signal).await.map_err(NativeError::from)?)
        })
    }

    /// Changes the size of the process's terminal, in characters.
    #[napi(catch_unwind)]
    pub fn resize<'env>(&self, env: &'env Env, rows: u32, columns: u32) -> napi::Result<PromiseRaw<'env, ()>> {
        let process = self.process.clone();
        promise(env, async move {
            Ok(process.resize(rows, columns).await.map_err(NativeError::from)?)
        })
    }

    /// Runs code in a process that is an interpreter.
    #[napi(catch_unwind)]
    pub fn evaluate<'env>(
        &self,
        env: &'env Env,
        key: String,
        code: String,
        limits: NativeRunLimits,
    ) -> napi::Result<PromiseRaw<'env, NativeEvaluation>> {
        let process = self.process.clone();
        let flight = self.cancels.enter(&key);
        promise(env, async move {
            let evaluated = process.evaluate(&code, limits.into(), flight.token()).await;
            Ok(NativeEvaluation::from(evaluated.map_err(NativeError::from)?))
        })
    }
}

/// The output of a process, until the process ends.
#[napi]
pub struct NativeProcessOutput {
    output: Arc<Mutex<ProcessOutput>>,
    closed: CancellationToken,
}

#[napi]
impl NativeProcessOutput {
    /// The next event; null after the end.
    #[napi(catch_unwind)]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<NativeProcessEvent>>> {
        let (output, closed) = (Arc::clone(&self.output), self.closed.clone());
        promise(env, async move {
            let mut output = output.lock().await;
            let next = closed.run_until_cancelled(output.next()).await;
            let event = next.transpose().map_err(NativeError::from)?.flatten();
            Ok(event.map(NativeProcessEvent::from))
        })
    }

    /// Stops reading; the process runs on. A call of `next` that waits returns null.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.closed.cancel();
    }
}

impl From<ProcessEvent> for NativeProcessEvent {
    fn from(event: ProcessEvent) -> Self {
        let output = |kind: &str, offset: u64, data: Vec<u8>| Self {
            kind: kind.to_owned(),
            offset: offset as f64,
            data: data.into(),
            result: None,
        };
        match event {
            ProcessEvent::Stdout { offset, data } => output("stdout", offset, data.into()),
            ProcessEvent::Stderr { offset, data } => output("stderr", offset, data.into()),
            ProcessEvent::Ended(outcome) => Self {
                result: Some((*outcome).into()),
                ..output("ended", 0, Vec::new())
            },
        }
    }
}

impl From<ProcessInfo> for NativeProcessInfo {
    fn from(info: ProcessInfo) -> Self {
        Self {
            id: info.process,
            pid: info.pid,
            command: info.command,
            running: info.running,
        }
    }
}

impl From<Evaluation> for NativeEvaluation {
    fn from(evaluation: Evaluation) -> Self {
        Self {
            result: evaluation.outcome.into(),
            value: evaluation.value,
            error: evaluation.error,
            alive: evaluation.alive,
        }
    }
}
