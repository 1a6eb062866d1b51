//! What to run, on its way to a daemon.

use std::collections::HashMap;

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use prl_sandbox_proto::network::Mode;
use prl_sandbox_proto::{
    CreateRequest, ExecRequest, Forward, InputFile, Isolation, Limits, Network, Pty, RunOnceRequest, RunTestsRequest,
    StartRequest, TestCase,
};

use crate::error::NativeError;

/// Limits of a run; null takes the daemon's default.
#[napi(object, use_nullable = true)]
pub struct NativeRunLimits {
    /// Wall clock.
    pub wall_ms: Option<f64>,
    /// Of all processes.
    pub cpu_ms: Option<f64>,
    /// Of the whole tree.
    pub memory_bytes: Option<f64>,
    /// Threads count.
    pub processes: Option<f64>,
    /// Per process.
    pub open_files: Option<f64>,
    /// Kept per stream.
    pub output_bytes: Option<f64>,
    /// Over both streams.
    pub output_kill_bytes: Option<f64>,
    /// Of all writable places.
    pub disk_bytes: Option<f64>,
    /// Files.
    pub inodes: Option<f64>,
    /// Of all collected files.
    pub collect_bytes: Option<f64>,
}

/// A file to write before the start.
#[napi(object, use_nullable = true)]
pub struct NativeInputFile {
    /// Relative.
    pub path: String,
    /// Copied before the call returns.
    pub content: Uint8Array,
    /// Permission bits.
    pub mode: u32,
}

/// One service that a port of the sandbox's loopback reaches.
#[napi(object, use_nullable = true)]
pub struct NativeForward {
    /// Port.
    pub listen: u32,
    /// host:port or unix:/path.
    pub to: String,
}

/// What a sandbox reaches besides its own loopback.
#[napi(object, use_nullable = true)]
pub struct NativeNetwork {
    /// Null: no proxy at all.
    pub allow: Option<Vec<String>>,
    /// Ports of its loopback.
    pub forward: Vec<NativeForward>,
}

/// One run.
#[napi(object, use_nullable = true)]
pub struct NativeRunRequest {
    /// At most one execution per key.
    pub key: String,
    /// argv.
    pub command: Vec<String>,
    /// Copied before the call returns.
    pub stdin: Uint8Array,
    /// Written before the start.
    pub files: Vec<NativeInputFile>,
    /// Globs.
    pub collect: Vec<String>,
    /// Added to the sandbox's own.
    pub env: HashMap<String, String>,
    /// Empty: the work directory.
    pub cwd: String,
    /// Of the run.
    pub limits: NativeRunLimits,
    /// What it reaches.
    pub network: NativeNetwork,
    /// Longest wait for a slot.
    pub queue_ms: Option<f64>,
    /// any | process | rootless | full.
    pub min_isolation: String,
    /// Of the run.
    pub labels: HashMap<String, String>,
    /// Empty: chosen by the command.
    pub runtime: String,
    /// Empty: the machine's own directories.
    pub image: String,
}

/// One test of a program.
#[napi(object, use_nullable = true)]
pub struct NativeTestCase {
    /// Copied before the call returns.
    pub stdin: Uint8Array,
    /// Appended to the command.
    pub args: Vec<String>,
}

/// Many tests of one program.
#[napi(object, use_nullable = true)]
pub struct NativeTestsRequest {
    /// By which `cancel` finds it.
    pub cancel: String,
    /// The program; its limits are of each case. Without a key cases may be begun again.
    pub run: NativeRunRequest,
    /// In order.
    pub cases: Vec<NativeTestCase>,
    /// After a case that did not exit with 0 none is begun.
    pub stop_on_failure: bool,
    /// argv, empty: none.
    pub build: Vec<String>,
    /// Of the build.
    pub build_limits: NativeRunLimits,
}

/// A held sandbox to make.
#[napi(object, use_nullable = true)]
pub struct NativeCreateRequest {
    /// Never used before.
    pub id: String,
    /// How long it outlives the last call.
    pub lease_ms: Option<f64>,
    /// From now.
    pub lifetime_ms: Option<f64>,
    /// To find it by.
    pub labels: HashMap<String, String>,
    /// Of the box and, by default, of its execs.
    pub limits: NativeRunLimits,
    /// What it reaches.
    pub network: NativeNetwork,
    /// exec | python | node, empty: none.
    pub runtime: String,
    /// Empty: the machine's own directories.
    pub image: String,
    /// Empty: none.
    pub from_snapshot: String,
    /// Of all its execs.
    pub env: HashMap<String, String>,
    /// Written first.
    pub files: Vec<NativeInputFile>,
    /// any | process | rootless | full.
    pub min_isolation: String,
    /// Longest wait for a slot.
    pub queue_ms: Option<f64>,
}

/// A command in a held sandbox.
#[napi(object, use_nullable = true)]
pub struct NativeExecRequest {
    /// At most one execution per key.
    pub key: String,
    /// argv.
    pub command: Vec<String>,
    /// Copied before the call returns.
    pub stdin: Uint8Array,
    /// Added to the box's.
    pub env: HashMap<String, String>,
    /// Empty: the work directory.
    pub cwd: String,
    /// Wall, CPU and output.
    pub limits: NativeRunLimits,
    /// sandbox | nobody.
    pub user: String,
    /// Empty: chosen by the command.
    pub runtime: String,
}

/// A size in characters.
#[napi(object, use_nullable = true)]
pub struct NativePtySize {
    /// Lines.
    pub rows: u32,
    /// Characters in each.
    pub columns: u32,
}

/// A process to start in a held sandbox.
#[napi(object, use_nullable = true)]
pub struct NativeStartRequest {
    /// What to run.
    pub exec: NativeExecRequest,
    /// Id of the process.
    pub process: String,
    /// Null: pipes.
    pub pty: Option<NativePtySize>,
    /// Input comes later.
    pub keep_stdin: bool,
    /// It waits for readers of its output.
    pub lossless: bool,
    /// python | node: an interpreter; empty: the command.
    pub repl: String,
}

impl NativeRunRequest {
    pub(crate) fn into_proto(self) -> Result<RunOnceRequest, NativeError> {
        Ok(RunOnceRequest {
            min_isolation: isolation(&self.min_isolation)?.into(),
            command: self.command,
            stdin: self.stdin.to_vec().into(),
            files: files(self.files),
            collect: self.collect,
            env: self.env,
            cwd: self.cwd,
            limits: Some(self.limits.into()),
            network: Some(self.network.into()),
            idempotency_key: self.key,
            queue_ms: self.queue_ms.map(|ms| ms as u64),
            labels: self.labels,
            instance_id: String::new(),
            runtime: self.runtime,
            image: self.image,
        })
    }
}

impl NativeTestsRequest {
    pub(crate) fn into_proto(self) -> Result<RunTestsRequest, NativeError> {
        let case = |case: NativeTestCase| TestCase {
            stdin: case.stdin.to_vec().into(),
            args: case.args,
        };
        Ok(RunTestsRequest {
            request: Some(self.run.into_proto()?),
            cases: self.cases.into_iter().map(case).collect(),
            stop_on_failure: self.stop_on_failure,
            build: self.build,
            build_limits: Some(self.build_limits.into()),
        })
    }
}

impl NativeCreateRequest {
    pub(crate) fn into_proto(self) -> Result<CreateRequest, NativeError> {
        Ok(CreateRequest {
            min_isolation: isolation(&self.min_isolation)?.into(),
            id: self.id,
            lease_ms: self.lease_ms.map(|ms| ms as u64),
            lifetime_ms: self.lifetime_ms.map(|ms| ms as u64),
            labels: self.labels,
            limits: Some(self.limits.into()),
            network: Some(self.network.into()),
            runtime: self.runtime,
            image: self.image,
            from_snapshot: self.from_snapshot,
            env: self.env,
            files: files(self.files),
            queue_ms: self.queue_ms.map(|ms| ms as u64),
        })
    }
}

impl From<NativeExecRequest> for ExecRequest {
    fn from(request: NativeExecRequest) -> Self {
        Self {
            r#box: String::new(),
            command: request.command,
            stdin: request.stdin.to_vec().into(),
            env: request.env,
            cwd: request.cwd,
            limits: Some(request.limits.into()),
            user: request.user,
            idempotency_key: request.key,
            runtime: request.runtime,
        }
    }
}

impl From<NativeStartRequest> for StartRequest {
    fn from(request: NativeStartRequest) -> Self {
        Self {
            exec: Some(request.exec.into()),
            process: request.process,
            pty: request.pty.map(|size| Pty {
                rows: size.rows,
                columns: size.columns,
            }),
            keep_stdin: request.keep_stdin,
            lossless: request.lossless,
            repl: request.repl,
        }
    }
}

impl From<NativeNetwork> for Network {
    fn from(network: NativeNetwork) -> Self {
        let mode = if network.allow.is_some() {
            Mode::Allow
        } else {
            Mode::None
        };
        let forward = network.forward.into_iter().map(|forward| Forward {
            listen: forward.listen,
            to: forward.to,
        });
        Self {
            mode: mode.into(),
            allow: network.allow.unwrap_or_default(),
            forward: forward.collect(),
        }
    }
}

impl From<NativeRunLimits> for Limits {
    fn from(limits: NativeRunLimits) -> Self {
        let integer = |value: Option<f64>| value.map(|value| value as u64);
        Self {
            wall_ms: integer(limits.wall_ms),
            cpu_ms: integer(limits.cpu_ms),
            memory_bytes: integer(limits.memory_bytes),
            processes: integer(limits.processes),
            open_files: integer(limits.open_files),
            output_bytes: integer(limits.output_bytes),
            output_kill_bytes: integer(limits.output_kill_bytes),
            disk_bytes: integer(limits.disk_bytes),
            inodes: integer(limits.inodes),
            collect_bytes: integer(limits.collect_bytes),
        }
    }
}

fn files(files: Vec<NativeInputFile>) -> Vec<InputFile> {
    let file = |file: NativeInputFile| InputFile {
        path: file.path,
        content: file.content.to_vec().into(),
        mode: file.mode,
    };
    files.into_iter().map(file).collect()
}

fn isolation(name: &str) -> Result<Isolation, NativeError> {
    match name {
        "any" => Ok(Isolation::Any),
        "process" => Ok(Isolation::Process),
        "rootless" => Ok(Isolation::Rootless),
        "full" => Ok(Isolation::Full),
        other => {
            let message = format!("isolation {other:?}: use any, process, rootless or full");
            Err(NativeError::new("PRL_SANDBOX_REQUEST", message))
        }
    }
}
