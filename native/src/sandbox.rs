//! The sandbox pool: one client of one daemon behind a handle.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use napi::bindgen_prelude::{Buffer, Env, PromiseRaw, Uint8Array};
use napi_derive::napi;
use prl_sandbox_client::{
    Address, CancellationToken, Client, ConnectOptions, DaemonOptions, EmbeddedDaemon, RunOutcome,
};
use prl_sandbox_proto::{CapabilitiesReply, Cause, InputFile, Isolation, Limit, Limits, Output, RunOnceRequest};

use crate::error::NativeError;

/// How to start a daemon.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxStart {
    /// The program.
    pub binary: String,
    /// Its further arguments.
    pub args: Vec<String>,
    /// Null lets the client choose.
    pub start_timeout_ms: Option<u32>,
}

/// How to reach a daemon.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxConnect {
    /// unix:/path or host:port.
    pub address: String,
    /// Bearer token.
    pub token: Option<String>,
    /// Null lets the client choose.
    pub connect_timeout_ms: Option<u32>,
}

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
    /// Longest wait for a slot.
    pub queue_ms: Option<f64>,
    /// any | process | rootless | full.
    pub min_isolation: String,
    /// Of the run.
    pub labels: HashMap<String, String>,
}

/// One stream of a run.
#[napi(object, use_nullable = true)]
pub struct NativeRunOutput {
    /// Head and tail, joined.
    pub data: Buffer,
    /// Where in `data` the tail begins.
    pub head_bytes: f64,
    /// Dropped between them.
    pub gap: f64,
}

/// A collected file.
#[napi(object, use_nullable = true)]
pub struct NativeOutputFile {
    /// Relative.
    pub path: String,
    /// Its bytes.
    pub content: Buffer,
}

/// What matched and did not come.
#[napi(object, use_nullable = true)]
pub struct NativeUncollected {
    /// Relative.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// How a run ended.
#[napi(object, use_nullable = true)]
pub struct NativeRunResult {
    /// EXITED ... INFRA.
    pub cause: String,
    /// For people.
    pub reason: String,
    /// PRL_SANDBOX_* with INFRA, else empty.
    pub error_code: String,
    /// wall, cpu, memory, processes, output, disk, inodes, collect.
    pub limits_hit: Vec<String>,
    /// Null when it did not exit.
    pub exit_code: Option<i32>,
    /// Null when no signal ended it.
    pub signal: Option<i32>,
    /// What it wrote.
    pub stdout: NativeRunOutput,
    /// What it wrote.
    pub stderr: NativeRunOutput,
    /// Collected.
    pub files: Vec<NativeOutputFile>,
    /// Matched, but not collected.
    pub uncollected: Vec<NativeUncollected>,
    /// Null when not observed.
    pub cpu_ms: Option<f64>,
    /// Null when not observed.
    pub peak_memory_bytes: Option<f64>,
    /// Null when not observed.
    pub processes: Option<f64>,
    /// Waiting.
    pub queue_ms: f64,
    /// Setting up.
    pub setup_ms: f64,
    /// Running.
    pub run_ms: f64,
    /// Until the last byte was in.
    pub drain_ms: f64,
    /// none | process | rootless | full.
    pub isolation: String,
    /// Kept result of an earlier call.
    pub replayed: bool,
    /// When overloaded.
    pub retry_after_ms: Option<f64>,
}

/// A kernel facility.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxFacility {
    /// For example cgroup.memory.
    pub name: String,
    /// It is there.
    pub available: bool,
    /// What was found, or how to get it.
    pub detail: String,
}

/// What a daemon can do.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxCapabilities {
    /// none | process | rootless | full.
    pub isolation: String,
    /// v2 | v1 | hybrid | none.
    pub cgroups: String,
    /// Found and missing.
    pub facilities: Vec<NativeSandboxFacility>,
    /// Causes.
    pub unobservable: Vec<String>,
    /// What runs get that ask for nothing.
    pub default_limits: NativeRunLimits,
    /// At the same time.
    pub max_running: u32,
    /// Waiting at the same time.
    pub max_queued: u32,
    /// Of the daemon.
    pub version: String,
}

/// How busy a daemon is.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxHealth {
    /// Takes work.
    pub serving: bool,
    /// Now.
    pub running: u32,
    /// Now.
    pub queued: u32,
    /// Made in advance.
    pub parked: u32,
    /// Since its start.
    pub completed: f64,
    /// Of the process.
    pub instance_id: String,
}

/// A client of one daemon.
#[napi]
pub struct NativeSandboxPool {
    client: Arc<Client>,
    /// Of the runs in flight, by key.
    cancels: Arc<Mutex<HashMap<String, CancellationToken>>>,
}

fn milliseconds(value: Option<u32>) -> Option<Duration> {
    value.map(|ms| Duration::from_millis(ms.into()))
}

#[napi]
impl NativeSandboxPool {
    fn new(client: Client) -> Self {
        Self {
            client: Arc::new(client),
            cancels: Arc::default(),
        }
    }

    /// Starts a daemon that ends with the handle.
    #[napi]
    pub fn start(env: &Env, options: NativeSandboxStart) -> napi::Result<PromiseRaw<'_, NativeSandboxPool>> {
        env.spawn_future(async move {
            let options = DaemonOptions {
                binary: PathBuf::from(options.binary),
                args: options.args,
                start_timeout: milliseconds(options.start_timeout_ms),
            };
            let daemon = EmbeddedDaemon::start(options).await.map_err(NativeError::from)?;
            let client = Client::embedded(daemon).await.map_err(NativeError::from)?;
            Ok(Self::new(client))
        })
    }

    /// Connects to a daemon.
    #[napi]
    pub fn connect(env: &Env, options: NativeSandboxConnect) -> napi::Result<PromiseRaw<'_, NativeSandboxPool>> {
        env.spawn_future(async move {
            let address: Address = options.address.parse().map_err(NativeError::from)?;
            let connect = ConnectOptions {
                token: options.token,
                connect_timeout: milliseconds(options.connect_timeout_ms),
            };
            let client = Client::connect(address, connect).await.map_err(NativeError::from)?;
            Ok(Self::new(client))
        })
    }

    /// Of the embedded daemon.
    #[napi]
    pub fn daemon_pid(&self) -> Option<u32> {
        self.client.daemon_pid()
    }

    /// Runs one command.
    #[napi]
    pub fn run_once<'env>(
        &self,
        env: &'env Env,
        request: NativeRunRequest,
    ) -> napi::Result<PromiseRaw<'env, NativeRunResult>> {
        let request = run_once_request(request)?;
        let key = request.idempotency_key.clone();
        let (client, cancels) = (Arc::clone(&self.client), Arc::clone(&self.cancels));
        // Calls with one key are one execution: they end, and are cancelled, together.
        let cancel = lock(&cancels).entry(key.clone()).or_default().clone();
        env.spawn_future(async move {
            let ended = client.run_once(request, &cancel).await;
            lock(&cancels).remove(&key);
            Ok(NativeRunResult::from(ended.map_err(NativeError::from)?))
        })
    }

    /// Kills the run with this key; its promise then resolves.
    #[napi]
    pub fn cancel(&self, key: String) {
        if let Some(cancel) = lock(&self.cancels).get(&key) {
            cancel.cancel();
        }
    }

    /// What the daemon can do.
    #[napi]
    pub fn capabilities<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, NativeSandboxCapabilities>> {
        let client = Arc::clone(&self.client);
        env.spawn_future(async move { Ok(client.capabilities().await.map_err(NativeError::from)?.into()) })
    }

    /// How busy it is.
    #[napi]
    pub fn health<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, NativeSandboxHealth>> {
        let client = Arc::clone(&self.client);
        env.spawn_future(async move {
            let health = client.health().await.map_err(NativeError::from)?;
            Ok(NativeSandboxHealth {
                serving: health.serving,
                running: health.running,
                queued: health.queued,
                parked: health.parked,
                completed: health.completed as f64,
                instance_id: health.instance_id,
            })
        })
    }

    /// Cancels what runs and stops an embedded daemon.
    #[napi]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let client = Arc::clone(&self.client);
        env.spawn_future(async move {
            client.close().await;
            Ok(())
        })
    }
}

fn lock(
    cancels: &Mutex<HashMap<String, CancellationToken>>,
) -> std::sync::MutexGuard<'_, HashMap<String, CancellationToken>> {
    cancels.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run_once_request(request: NativeRunRequest) -> Result<RunOnceRequest, NativeError> {
    let min_isolation = match request.min_isolation.as_str() {
        "any" => Isolation::Any,
        "process" => Isolation::Process,
        "rootless" => Isolation::Rootless,
        "full" => Isolation::Full,
        other => {
            let message = format!("isolation {other:?}: use any, process, rootless or full");
            return Err(NativeError::new("PRL_SANDBOX_REQUEST", message));
        }
    };
    let files = request.files.into_iter().map(|file| InputFile {
        path: file.path,
        content: file.content.to_vec().into(),
        mode: file.mode,
    });
    Ok(RunOnceRequest {
        command: request.command,
        stdin: request.stdin.to_vec().into(),
        files: files.collect(),
        collect: request.collect,
        env: request.env,
        cwd: request.cwd,
        limits: Some(request.limits.into()),
        network: None,
        idempotency_key: request.key,
        queue_ms: request.queue_ms.map(|ms| ms as u64),
        min_isolation: min_isolation.into(),
        labels: request.labels,
        instance_id: String::new(),
        runtime: String::new(),
        image: String::new(),
    })
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

impl From<Limits> for NativeRunLimits {
    fn from(limits: Limits) -> Self {
        let number = |value: Option<u64>| value.map(|value| value as f64);
        Self {
            wall_ms: number(limits.wall_ms),
            cpu_ms: number(limits.cpu_ms),
            memory_bytes: number(limits.memory_bytes),
            processes: number(limits.processes),
            open_files: number(limits.open_files),
            output_bytes: number(limits.output_bytes),
            output_kill_bytes: number(limits.output_kill_bytes),
            disk_bytes: number(limits.disk_bytes),
            inodes: number(limits.inodes),
            collect_bytes: number(limits.collect_bytes),
        }
    }
}

/// Runs off the JavaScript thread, so joining and copying the streams stalls nobody.
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

impl From<CapabilitiesReply> for NativeSandboxCapabilities {
    fn from(reply: CapabilitiesReply) -> Self {
        Self {
            isolation: isolation_name(reply.isolation()).to_owned(),
            unobservable: reply
                .unobservable()
                .map(|cause: Cause| cause.as_str_name().to_owned())
                .collect(),
            cgroups: reply.cgroups,
            facilities: reply
                .facilities
                .into_iter()
                .map(|facility| NativeSandboxFacility {
                    name: facility.name,
                    available: facility.available,
                    detail: facility.detail,
                })
                .collect(),
            default_limits: reply.default_limits.unwrap_or_default().into(),
            max_running: reply.max_running,
            max_queued: reply.max_queued,
            version: reply.version,
        }
    }
}

fn isolation_name(isolation: Isolation) -> &'static str {
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
