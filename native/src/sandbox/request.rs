//! Converts requests from JavaScript for a daemon.

use std::collections::HashMap;

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use prl_sandbox_proto::forward::By;
use prl_sandbox_proto::network::Mode;
use prl_sandbox_proto::{
    CreateRequest, ExecRequest, Forward, InputFile, Isolation, Limits, Network, Pty, RunOnceRequest, RunTestsRequest,
    StartRequest, TestCase,
};

use crate::error::NativeError;

/// Limits of a run; null takes the daemon's default.
#[napi(object, use_nullable = true)]
pub struct NativeRunLimits {
    pub wall_ms: Option<f64>,
    /// CPU time of all processes together.
    pub cpu_ms: Option<f64>,
    /// Memory of all processes together, with their files in memory.
    pub memory_bytes: Option<f64>,
    /// Processes and threads.
    pub processes: Option<f64>,
    /// For each process.
    pub open_files: Option<f64>,
    /// Bytes that are kept of each stream.
    pub output_bytes: Option<f64>,
    /// Bytes over both streams; a run that writes more is killed.
    pub output_kill_bytes: Option<f64>,
    /// Bytes in all writable places together.
    pub disk_bytes: Option<f64>,
    /// Number of files.
    pub inodes: Option<f64>,
    /// Bytes of all collected files together.
    pub collect_bytes: Option<f64>,
}

/// A file to write before the program starts.
#[napi(object, use_nullable = true)]
pub struct NativeInputFile {
    /// Relative to the work directory.
    pub path: String,
    /// Copied before the call returns.
    pub content: Uint8Array,
    /// Permission bits.
    pub mode: u32,
}

/// A port on the sandbox's loopback that leads to one service.
#[napi(object, use_nullable = true)]
pub struct NativeForward {
    pub listen: u32,
    /// host:port or unix:/path.
    pub to: String,
    /// This process connects to `to`, not the daemon. Only for held sandboxes.
    pub by_caller: bool,
}

/// What a sandbox can reach besides its own loopback.
#[napi(object, use_nullable = true)]
pub struct NativeNetwork {
    /// Names that the proxy lets through; null starts no proxy.
    pub allow: Option<Vec<String>>,
    pub forward: Vec<NativeForward>,
}

#[napi(object, use_nullable = true)]
pub struct NativeRunRequest {
    /// A key is executed at most once.
    pub key: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Copied before the call returns.
    pub stdin: Uint8Array,
    /// Written before the start.
    pub files: Vec<NativeInputFile>,
    /// Globs of files to return.
    pub collect: Vec<String>,
    /// Added to the sandbox's own variables.
    pub env: HashMap<String, String>,
    /// Empty means the work directory.
    pub cwd: String,
    pub limits: NativeRunLimits,
    pub network: NativeNetwork,
    /// Longest wait for a slot; null takes the daemon's default.
    pub queue_ms: Option<f64>,
    /// any | process | rootless | full.
    pub min_isolation: String,
    pub labels: HashMap<String, String>,
    /// exec | python | node; empty lets the command decide.
    pub runtime: String,
    /// Empty means the machine's own directories.
    pub image: String,
}

/// One test: what the program gets.
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
    /// The key for `cancel`.
    pub cancel: String,
    /// The program, with the limits of each case. Without a key, cases may be started again after a loss.
    pub run: NativeRunRequest,
    pub cases: Vec<NativeTestCase>,
    /// No case starts after one that did not exit with 0.
    pub stop_on_failure: bool,
    /// Program and arguments, run once before the cases; empty for none.
    pub build: Vec<String>,
    pub build_limits: NativeRunLimits,
}

/// A held sandbox to make.
#[napi(object, use_nullable = true)]
pub struct NativeCreateRequest {
    /// Must never have been used before.
    pub id: String,
    /// How long the box stays after the last call that named it; null takes the daemon's default.
    pub lease_ms: Option<f64>,
    /// How long the box stays at most, from now on; null sets no limit.
    pub lifetime_ms: Option<f64>,
    pub labels: HashMap<String, String>,
    /// Limits of the box, and the defaults of its execs.
    pub limits: NativeRunLimits,
    pub network: NativeNetwork,
    /// exec | python | node; empty for none.
    pub runtime: String,
    /// Empty means the machine's own directories.
    pub image: String,
    /// Id of a snapshot to begin with; empty for none.
    pub from_snapshot: String,
    /// Variables of all its execs.
    pub env: HashMap<String, String>,
    /// Written before the first exec.
    pub files: Vec<NativeInputFile>,
    /// any | process | rootless | full.
    pub min_isolation: String,
    /// Longest wait for a slot; null takes the daemon's default.
    pub queue_ms: Option<f64>,
}

/// A command in a held sandbox.
#[napi(object, use_nullable = true)]
pub struct NativeExecRequest {
    /// A key is executed at most once.
    pub key: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Copied before the call returns.
    pub stdin: Uint8Array,
    /// Added to the box's variables.
    pub env: HashMap<String, String>,
    /// Empty means the work directory.
    pub cwd: String,
    /// Only wall, CPU and output apply.
    pub limits: NativeRunLimits,
    /// sandbox | nobody.
    pub user: String,
    /// exec | python | node; empty lets the command decide.
    pub runtime: String,
}

/// The size of a terminal in characters.
#[napi(object, use_nullable = true)]
pub struct NativePtySize {
    pub rows: u32,
    pub columns: u32,
}

/// A process to start in a held sandbox.
#[napi(object, use_nullable = true)]
pub struct NativeStartRequest {
    pub exec: NativeExecRequest,
    /// Id of the process, unique in its box.
    pub process: String,
    /// Null connects pipes in place of a terminal.
    pub pty: Option<NativePtySize>,
    /// The input stays open for `input`.
    pub keep_stdin: bool,
    /// The process waits for readers of its output; otherwise the oldest output is dropped.
    pub lossless: bool,
    /// python | node starts an interpreter; empty starts the command.
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
            by: if forward.by_caller { By::Caller } else { By::Daemon }.into(),
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
