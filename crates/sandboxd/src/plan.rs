//! Checks and completes a request: every limit gets a value, and every path is one that a sandbox may have.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

use prl_sandbox_guest::defence::Defence;
use prl_sandbox_guest::wire::{FileSpec, Finish, Furnish, PerProcess, Program, Sizes, Start};
use prl_sandbox_proto::{CreateRequest, ExecRequest, Isolation, Limits, RunOnceRequest};

use crate::cgroup::GroupLimits;
use crate::egress::{Grants, NetworkPlan};
use crate::error::SandboxError;
use crate::error::Unwritten;
use crate::images::Images;
use crate::isolation::Alone;

/// The work directory.
const WORK: &str = "/work";
/// Where programs are looked for, unless the command line adds directories.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// A program's environment before its request adds to it. It contains nothing of the daemon's environment.
const ENVIRONMENT: [(&str, &str); 7] = [
    ("PATH", PATH),
    ("HOME", WORK),
    ("LANG", "C.UTF-8"),
    ("TMPDIR", "/tmp"),
    ("USER", "sandbox"),
    ("LOGNAME", "sandbox"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];
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
const MAX_FILES: usize = 10_000;
const MAX_PATTERNS: usize = 100;
const MAX_KEY_BYTES: usize = 256;
const MAX_WALL_MS: u64 = 24 * 3600 * 1000;
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

/// Facts about this daemon, and rights of the caller, that decide about a request.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// A cgroup counts CPU time. Otherwise each process gets a CPU limit.
    pub(crate) counts_cpu: bool,
    /// The limits that are set per process or user, because there is no better way.
    pub(crate) alone: Alone,
    /// Boxes have a separate network.
    pub(crate) network: bool,
    /// Where programs are looked for outside images.
    pub(crate) path: &'a str,
    /// The destinations that the caller may open.
    pub(crate) grants: &'a Grants,
    pub(crate) images: &'a Images,
}

/// One run, ready to be carried out.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) start: Start,
    pub(crate) stdin: bytes::Bytes,
    pub(crate) limits: RunLimits,
    pub(crate) queue: Option<Duration>,
    pub(crate) network: NetworkPlan,
    /// Number of its image, counted from 1; 0: the machine's system directories.
    pub(crate) image: u32,
    /// The runtime of the program; empty: the best one.
    pub(crate) runtime: String,
    /// The caller named the runtime, so no other may be used.
    pub(crate) insists: bool,
    /// Set when its files exceed its limits.
    pub(crate) unwritten: Option<Unwritten>,
}

impl Plan {
    /// The warm runtime that is to run it; `None` when it is executed.
    pub(crate) fn warm(&self) -> Option<String> {
        (self.start.zygote > 0).then(|| self.runtime.clone())
    }
}

/// A program's environment when its request adds nothing, as entries `NAME=value`.
pub(crate) fn environment(path: &str) -> Vec<String> {
    let mut entries = BTreeMap::from(ENVIRONMENT);
    entries.insert("PATH", path);
    entries.iter().map(|(name, value)| format!("{name}={value}")).collect()
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

/// The spelling of a tier in messages.
pub(crate) fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Any => "any",
        Isolation::Process => "process",
        Isolation::Rootless => "rootless",
        Isolation::Full => "full",
    }
}

/// Checks the part of a held box's request that a run has too. Its program is not used.
pub(crate) fn plan_box(request: &CreateRequest, terms: Terms<'_>) -> Result<Plan, SandboxError> {
    let asked = RunOnceRequest {
        command: vec!["-".to_owned()],
        files: request.files.clone(),
        env: request.env.clone(),
        limits: request.limits,
        network: request.network.clone(),
        queue_ms: request.queue_ms,
        image: request.image.clone(),
        ..RunOnceRequest::default()
    };
    plan(asked, terms)
}

/// Checks an exec in a box that was made with `of_box`. Limits that belong to the box are refused.
pub(crate) fn plan_exec(request: &ExecRequest, of_box: &CreateRequest, terms: Terms<'_>) -> Result<Plan, SandboxError> {
    let asked = request.limits.unwrap_or_default();
    let own = Limits {
        wall_ms: None,
        cpu_ms: None,
        output_bytes: None,
        output_kill_bytes: None,
        ..asked
    };
    if own != Limits::default() {
        return Err(SandboxError::Invalid(
            "limits of an exec are wall_ms, cpu_ms, output_bytes and output_kill_bytes; the others are the box's"
                .to_owned(),
        ));
    }
    let of_box_limits = of_box.limits.unwrap_or_default();
    let mut env = of_box.env.clone();
    env.extend(request.env.clone());
    let mut planned = plan(
        RunOnceRequest {
            command: request.command.clone(),
            stdin: request.stdin.clone(),
            env,
            cwd: request.cwd.clone(),
            limits: Some(Limits {
                wall_ms: asked.wall_ms.or(of_box_limits.wall_ms),
                cpu_ms: asked.cpu_ms.or(of_box_limits.cpu_ms),
                output_bytes: asked.output_bytes.or(of_box_limits.output_bytes),
                output_kill_bytes: asked.output_kill_bytes.or(of_box_limits.output_kill_bytes),
                ..of_box_limits
            }),
            idempotency_key: request.idempotency_key.clone(),
            image: of_box.image.clone(),
            ..RunOnceRequest::default()
        },
        terms,
    )?;
    planned.start.furnish = None;
    planned.start.finish = None;
    planned.start.program.nobody = match request.user.as_str() {
        "" | "sandbox" => false,
        "nobody" => true,
        other => return Err(SandboxError::Invalid(format!("user {other:?} is not known"))),
    };
    Ok(planned)
}

/// Checks a request.
pub(crate) fn plan(request: RunOnceRequest, terms: Terms<'_>) -> Result<Plan, SandboxError> {
    let invalid = |message: String| Err(SandboxError::Invalid(message));
    if request.command.first().is_none_or(String::is_empty) {
        return invalid("command is empty".to_owned());
    }
    if let Some(text) = request.command.iter().find(|text| text.contains('\0')) {
        return invalid(format!("command holds a NUL byte: {text:?}"));
    }
    if request.idempotency_key.len() > MAX_KEY_BYTES {
        return invalid(format!("idempotency_key is longer than {MAX_KEY_BYTES} bytes"));
    }
    if request.files.len() > MAX_FILES {
        return invalid(format!("{} files; at most {MAX_FILES}", request.files.len()));
    }
    if request.collect.len() > MAX_PATTERNS {
        return invalid(format!(
            "{} collect patterns; at most {MAX_PATTERNS}",
            request.collect.len()
        ));
    }
    let network = NetworkPlan::new(request.network.as_ref(), terms.grants)?;
    if !terms.network && !network.is_none() {
        return Err(SandboxError::Unsupported("a network in the process tier"));
    }
    let image = terms.images.find(&request.image)?;
    let asked = request.limits.unwrap_or_default();
    let defaults = default_limits();
    let limit = |name: &str, asked: Option<u64>, default: Option<u64>, low: u64, high: u64| {
        let value = asked.or(default).unwrap_or(low);
        if (low..=high).contains(&value) {
            let off = OF_LIMITS
                .iter()
                .any(|(limit, defence)| *limit == name && !defence.stands());
            return Ok(if off { high.min(SWITCHED_OFF) } else { value });
        }
        Err(SandboxError::Invalid(format!(
            "limits.{name} is {value}; it must be between {low} and {high}"
        )))
    };
    let any = u64::MAX >> 2;
    let wall_ms = limit("wall_ms", asked.wall_ms, defaults.wall_ms, 1, MAX_WALL_MS)?;
    let cpu_ms = limit("cpu_ms", asked.cpu_ms, defaults.cpu_ms, 1, MAX_WALL_MS * 64)?;
    let memory_bytes = limit(
        "memory_bytes",
        asked.memory_bytes,
        defaults.memory_bytes,
        MIN_MEMORY_BYTES,
        any,
    )?;
    let processes = limit("processes", asked.processes, defaults.processes, 1, 1 << 20)?;
    let open_files = limit("open_files", asked.open_files, defaults.open_files, 3, 1 << 20)?;
    let output_bytes = limit(
        "output_bytes",
        asked.output_bytes,
        defaults.output_bytes,
        0,
        MAX_OUTPUT_BYTES,
    )?;
    let output_kill_bytes = limit(
        "output_kill_bytes",
        asked.output_kill_bytes,
        defaults.output_kill_bytes,
        1,
        any,
    )?;
    let disk_bytes = limit("disk_bytes", asked.disk_bytes, defaults.disk_bytes, MIN_DISK_BYTES, any)?;
    let inodes = limit("inodes", asked.inodes, defaults.inodes, MIN_INODES, 1 << 30)?;
    let collect_bytes = limit(
        "collect_bytes",
        asked.collect_bytes,
        defaults.collect_bytes,
        0,
        MAX_COLLECT_BYTES,
    )?;

    let mut files = Vec::with_capacity(request.files.len());
    for file in request.files {
        let path = Path::new(&file.path);
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || file.path.is_empty() || file.path.ends_with('/') || file.path.contains('\0') {
            return invalid(format!("file path {:?} is not a plain relative path", file.path));
        }
        files.push(FileSpec {
            path: file.path,
            content: file.content,
            mode: file.mode,
        });
    }
    let mut defaults = BTreeMap::from(ENVIRONMENT);
    if image.is_none() {
        defaults.insert("PATH", terms.path);
    }
    let of_image = image.iter().flat_map(|(_, image)| &image.env);
    defaults.extend(of_image.map(|(name, value)| (name.as_str(), value.as_str())));
    let mut env: Vec<String> = defaults
        .iter()
        .filter(|(name, _)| !request.env.contains_key(**name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !Defence::OwnEnvironment.stands() {
        env.extend(std::env::vars().map(|(name, value)| format!("{name}={value}")));
    }
    for (name, value) in &request.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return invalid(format!("environment variable {name:?} cannot be set"));
        }
        env.push(format!("{name}={value}"));
    }
    let cwd = working_directory(&request.cwd)?;
    let start = Start {
        program: Program {
            command: request.command,
            env,
            cwd: cwd.clone(),
            open_files,
            cpu_seconds: if terms.counts_cpu { 0 } else { cpu_ms.div_ceil(1000) },
            nobody: false,
            alone: Some(Box::new(PerProcess {
                memory_bytes: if terms.alone.memory { memory_bytes } else { 0 },
                processes: if terms.alone.processes { processes } else { 0 },
                file_bytes: if terms.alone.files { disk_bytes } else { 0 },
            })),
        },
        furnish: Some(Furnish {
            disk_bytes,
            inodes,
            cwd: cwd.clone(),
            files,
        }),
        finish: Some(Finish {
            cwd,
            collect: request.collect,
            collect_bytes,
        }),
        terminal: None,
        enclosed: None,
        zygote: 0,
    };
    let limits = RunLimits {
        wall: Duration::from_millis(wall_ms),
        cpu: Duration::from_millis(cpu_ms),
        group: LimitsOfGroup {
            memory_bytes,
            processes,
        },
        output_bytes,
        output_kill_bytes,
        each_file: terms.alone.files,
    };
    let furnish = start.furnish.as_ref();
    let unwritten =
        furnish.and_then(|furnish| Unwritten::foreseen(furnish, limits.group.memory_bytes, terms.alone.files));
    Ok(Plan {
        start,
        stdin: request.stdin,
        limits,
        queue: request.queue_ms.map(Duration::from_millis),
        network,
        image: image.map_or(0, |(number, _)| number),
        insists: !request.runtime.is_empty(),
        runtime: request.runtime,
        unwritten,
    })
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
            u64::MAX >> 2,
        )?,
        each_file: false,
    })
}

fn working_directory(asked: &str) -> Result<String, SandboxError> {
    let path = Path::new(WORK).join(asked);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::RootDir));
    if !plain || asked.contains('\0') {
        return Err(SandboxError::Invalid(format!("cwd {asked:?} is not a plain path")));
    }
    Ok(path
        .components()
        .collect::<std::path::PathBuf>()
        .to_string_lossy()
        .into_owned())
}
