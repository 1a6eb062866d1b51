//! The limits of programs: their defaults, the values that a request may ask for, and the value of each.

use std::time::Duration;

use prl_sandbox_guest::defence::Defence;
use prl_sandbox_guest::wire::{PerProcess, Sizes};
use prl_sandbox_proto::Limits;

use crate::cgroup::GroupLimits;
use crate::error::SandboxError;
use crate::isolation::Alone;

/// The limit of each process, unless a request says otherwise.
pub(crate) const OPEN_FILES: u64 = 256;
/// With less memory hardly any program starts.
const MIN_MEMORY_BYTES: u64 = 4 << 20;
const MIN_DISK_BYTES: u64 = 64 << 10;
/// The inodes of the layer's directories.
const MIN_INODES: u64 = 16;
/// The limit of both streams together, so that a result always fits into a message.
const MAX_OUTPUT_BYTES: u64 = 32 << 20;
const MAX_COLLECT_BYTES: u64 = 64 << 20;
const MAX_WALL_MS: u64 = 24 * 3600 * 1000;
/// The highest value of limits that have no other bound.
const ANY: u64 = u64::MAX >> 2;
/// Limits that a test can switch off.
const OF_LIMITS: [(&str, Defence); 10] = [
    ("wall_ms", Defence::Wall),
    ("cpu_ms", Defence::Cpu),
    ("memory_bytes", Defence::Memory),
    ("processes", Defence::Processes),
    ("open_files", Defence::OpenFiles),
    ("output_bytes", Defence::OutputWindow),
    ("output_kill_bytes", Defence::Output),
    ("disk_bytes", Defence::LayerBytes),
    ("inodes", Defence::LayerInodes),
    ("collect_bytes", Defence::CollectBytes),
];
const SWITCHED_OFF: u64 = 1 << 36;

/// Limits with every field set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLimits {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) group: LimitsOfGroup,
    pub(crate) output_bytes: u64,
    pub(crate) output_kill_bytes: u64,
    /// The size of each file is limited, and SIGXFSZ shows that the limit was reached.
    pub(crate) each_file: bool,
}

/// The limits that the cgroup enforces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitsOfGroup {
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u64,
}

impl From<LimitsOfGroup> for GroupLimits {
    fn from(limits: LimitsOfGroup) -> Self {
        Self {
            memory_bytes: limits.memory_bytes,
            processes: limits.processes,
        }
    }
}

/// The value of every limit of a request.
pub(super) struct Values {
    pub(super) wall_ms: u64,
    pub(super) cpu_ms: u64,
    pub(super) memory_bytes: u64,
    pub(super) processes: u64,
    pub(super) open_files: u64,
    pub(super) output_bytes: u64,
    pub(super) output_kill_bytes: u64,
    pub(super) disk_bytes: u64,
    pub(super) inodes: u64,
    pub(super) collect_bytes: u64,
}

impl Values {
    /// Takes the default of each limit that was not asked for.
    pub(super) fn new(asked: Limits) -> Result<Self, SandboxError> {
        let defaults = default_limits();
        Ok(Self {
            wall_ms: value("wall_ms", asked.wall_ms.or(defaults.wall_ms), 1, MAX_WALL_MS)?,
            cpu_ms: value("cpu_ms", asked.cpu_ms.or(defaults.cpu_ms), 1, MAX_WALL_MS * 64)?,
            memory_bytes: value(
                "memory_bytes",
                asked.memory_bytes.or(defaults.memory_bytes),
                MIN_MEMORY_BYTES,
                ANY,
            )?,
            processes: value("processes", asked.processes.or(defaults.processes), 1, 1 << 20)?,
            open_files: value("open_files", asked.open_files.or(defaults.open_files), 3, 1 << 20)?,
            output_bytes: value(
                "output_bytes",
                asked.output_bytes.or(defaults.output_bytes),
                0,
                MAX_OUTPUT_BYTES,
            )?,
            output_kill_bytes: value(
                "output_kill_bytes",
                asked.output_kill_bytes.or(defaults.output_kill_bytes),
                1,
                ANY,
            )?,
            disk_bytes: value(
                "disk_bytes",
                asked.disk_bytes.or(defaults.disk_bytes),
                MIN_DISK_BYTES,
                ANY,
            )?,
            inodes: value("inodes", asked.inodes.or(defaults.inodes), MIN_INODES, 1 << 30)?,
            collect_bytes: value(
                "collect_bytes",
                asked.collect_bytes.or(defaults.collect_bytes),
                0,
                MAX_COLLECT_BYTES,
            )?,
        })
    }

    /// The limits that the daemon watches over or gives to the cgroup.
    pub(super) fn of_run(&self, each_file: bool) -> RunLimits {
        RunLimits {
            wall: Duration::from_millis(self.wall_ms),
            cpu: Duration::from_millis(self.cpu_ms),
            group: LimitsOfGroup {
                memory_bytes: self.memory_bytes,
                processes: self.processes,
            },
            output_bytes: self.output_bytes,
            output_kill_bytes: self.output_kill_bytes,
            each_file,
        }
    }

    /// The limits that are set per process or user.
    pub(super) fn per_process(&self, alone: Alone) -> PerProcess {
        PerProcess {
            memory_bytes: if alone.memory { self.memory_bytes } else { 0 },
            processes: if alone.processes { self.processes } else { 0 },
            file_bytes: if alone.files { self.disk_bytes } else { 0 },
        }
    }
}

/// Checks a limit. One that a test switched off becomes as high as it can be.
fn value(name: &str, asked: Option<u64>, low: u64, high: u64) -> Result<u64, SandboxError> {
    let value = asked.unwrap_or(low);
    if !(low..=high).contains(&value) {
        return Err(SandboxError::Invalid(format!(
            "limits.{name} is {value}; it must be between {low} and {high}"
        )));
    }
    let off = OF_LIMITS
        .iter()
        .any(|(limit, defence)| *limit == name && !defence.stands());
    Ok(if off { high.min(SWITCHED_OFF) } else { value })
}

/// The limits of a request that names none.
pub(crate) fn default_limits() -> Limits {
    Limits {
        wall_ms: Some(10_000),
        cpu_ms: Some(10_000),
        memory_bytes: Some(512 << 20),
        processes: Some(64),
        open_files: Some(OPEN_FILES),
        output_bytes: Some(1 << 20),
        output_kill_bytes: Some(64 << 20),
        disk_bytes: Some(256 << 20),
        inodes: Some(10_000),
        collect_bytes: Some(16 << 20),
    }
}

/// The default limits of a writable layer.
pub(crate) fn default_sizes() -> Sizes {
    let limits = default_limits();
    Sizes {
        disk_bytes: limits.disk_bytes.unwrap_or_default(),
        inodes: limits.inodes.unwrap_or_default(),
    }
}

/// The default limits of a group.
pub(crate) fn default_limits_of_group() -> LimitsOfGroup {
    let limits = default_limits();
    LimitsOfGroup {
        memory_bytes: limits.memory_bytes.unwrap_or_default(),
        processes: limits.processes.unwrap_or_default(),
    }
}

/// Checks the limits of one evaluation. Its CPU time has no separate limit.
pub(crate) fn limits_of_evaluation(asked: Limits, of_box: Option<Limits>) -> Result<RunLimits, SandboxError> {
    let (of_box, defaults) = (of_box.unwrap_or_default(), default_limits());
    let limit = |name: &str, asked: Option<u64>, of_box: Option<u64>, default: Option<u64>, most: u64| {
        let value = asked.or(of_box).or(default).unwrap_or(0);
        if (1..=most).contains(&value) {
            return Ok(value);
        }
        Err(SandboxError::Invalid(format!(
            "limits.{name} is {value}; it must be between 1 and {most}"
        )))
    };
    let wall = limit("wall_ms", asked.wall_ms, of_box.wall_ms, defaults.wall_ms, MAX_WALL_MS)?;
    let (bytes, kill) = (asked.output_bytes, asked.output_kill_bytes);
    Ok(RunLimits {
        wall: Duration::from_millis(wall),
        cpu: Duration::MAX,
        group: LimitsOfGroup {
            memory_bytes: of_box.memory_bytes.or(defaults.memory_bytes).unwrap_or(0),
            processes: of_box.processes.or(defaults.processes).unwrap_or(0),
        },
        output_bytes: limit(
            "output_bytes",
            bytes,
            of_box.output_bytes,
            defaults.output_bytes,
            MAX_OUTPUT_BYTES,
        )?,
        output_kill_bytes: limit(
            "output_kill_bytes",
            kill,
            of_box.output_kill_bytes,
            defaults.output_kill_bytes,
            ANY,
        )?,
        each_file: false,
    })
}
