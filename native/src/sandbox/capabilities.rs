//! Converts the capabilities and the health of daemons for JavaScript.

use napi_derive::napi;
use prl_sandbox_proto::{CapabilitiesReply, Cause, HealthReply, Limits};

use super::request::NativeRunLimits;
use super::result::isolation_name;

/// A kernel facility.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxFacility {
    /// For example cgroup.memory.
    pub name: String,
    pub available: bool,
    /// What was found, or what is missing and how to get it.
    pub detail: String,
}

/// A warm interpreter.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxRuntime {
    /// python | node.
    pub name: String,
    /// Version of the interpreter.
    pub version: String,
    /// Modules loaded in advance.
    pub preloads: Vec<String>,
    /// Sandboxes that were made in advance.
    pub parked: u32,
}

/// What a daemon can do.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxCapabilities {
    /// Address of the daemon.
    pub address: String,
    /// none | process | rootless | full.
    pub isolation: String,
    /// v2 | v1 | hybrid | none.
    pub cgroups: String,
    /// Those that were found and those that are missing.
    pub facilities: Vec<NativeSandboxFacility>,
    /// Causes that the daemon cannot observe on its machine.
    pub unobservable: Vec<String>,
    /// Limits that a run gets where it names none.
    pub default_limits: NativeRunLimits,
    /// Most runs at the same time.
    pub max_running: u32,
    /// Most runs that wait at the same time.
    pub max_queued: u32,
    /// Version of the daemon's program.
    pub version: String,
    pub runtimes: Vec<NativeSandboxRuntime>,
    /// Names of the images that the daemon was started with.
    pub images: Vec<String>,
}

/// How busy a daemon is.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxHealth {
    /// Address of the daemon.
    pub address: String,
    /// The daemon accepts work.
    pub serving: bool,
    pub running: u32,
    pub queued: u32,
    /// Sandboxes that were made in advance.
    pub parked: u32,
    /// Held sandboxes.
    pub held: u32,
    /// Runs since the daemon's start.
    pub completed: f64,
    /// Another id means that the daemon was started again.
    pub instance_id: String,
}

impl From<(String, CapabilitiesReply)> for NativeSandboxCapabilities {
    fn from((address, reply): (String, CapabilitiesReply)) -> Self {
        Self {
            address,
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
            runtimes: reply
                .runtimes
                .into_iter()
                .map(|runtime| NativeSandboxRuntime {
                    name: runtime.name,
                    version: runtime.version,
                    preloads: runtime.preloads,
                    parked: runtime.parked,
                })
                .collect(),
            images: reply.images,
        }
    }
}

impl From<(String, HealthReply)> for NativeSandboxHealth {
    fn from((address, health): (String, HealthReply)) -> Self {
        Self {
            address,
            serving: health.serving,
            running: health.running,
            queued: health.queued,
            parked: health.parked,
            held: health.held,
            completed: health.completed as f64,
            instance_id: health.instance_id,
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
