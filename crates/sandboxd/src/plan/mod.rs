//! Checks and completes a request: every limit gets a value, and every path is one that a sandbox may have.

mod limits;

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path};
use std::time::Duration;

use prl_sandbox_guest::defence::Defence;
use prl_sandbox_guest::wire::{FileSpec, Finish, Furnish, Program, Start};
use prl_sandbox_proto::{CreateRequest, ExecRequest, InputFile, Isolation, Limits, RunOnceRequest};

use crate::egress::{Grants, NetworkPlan};
use crate::error::SandboxError;
use crate::error::Unwritten;
use crate::images::Images;
use crate::isolation::Alone;

use limits::Values;
pub(crate) use limits::{
    LimitsOfGroup, OPEN_FILES, RunLimits, default_limits, default_limits_of_group, default_sizes, limits_of_evaluation,
};

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
const MAX_FILES: usize = 10_000;
const MAX_PATTERNS: usize = 100;
const MAX_KEY_BYTES: usize = 256;

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

/// Checks a request for a run, which has no held box.
pub(crate) fn plan_run(request: RunOnceRequest, terms: Terms<'_>) -> Result<Plan, SandboxError> {
    let planned = plan(request, terms)?;
    planned.network.needs_no_caller()?;
    Ok(planned)
}

/// Checks what requests have in common.
fn plan(request: RunOnceRequest, terms: Terms<'_>) -> Result<Plan, SandboxError> {
    check_sizes(&request)?;
    let network = NetworkPlan::new(request.network.as_ref(), terms.grants)?;
    if !terms.network && !network.is_none() {
        return Err(SandboxError::Unsupported("a network in the process tier"));
    }
    let (image, of_image) = terms.images.find(&request.image)?.unzip();
    let values = Values::new(request.limits.unwrap_or_default())?;
    let files = request.files.into_iter().map(file).collect::<Result<_, _>>()?;
    let env = entries(&request.env, of_image.map(|image| &image.env), terms.path)?;
    let cwd = working_directory(&request.cwd)?;
    let furnish = Furnish {
        disk_bytes: values.disk_bytes,
        inodes: values.inodes,
        cwd: cwd.clone(),
        files,
    };
    let unwritten = Unwritten::foreseen(&furnish, values.memory_bytes, terms.alone.files);
    let start = Start {
        program: Program {
            command: request.command,
            env,
            cwd: cwd.clone(),
            open_files: values.open_files,
            cpu_seconds: if terms.counts_cpu {
                0
            } else {
                values.cpu_ms.div_ceil(1000)
            },
            nobody: false,
            alone: Some(Box::new(values.per_process(terms.alone))),
        },
        furnish: Some(furnish),
        finish: Some(Finish {
            cwd,
            collect: request.collect,
            collect_bytes: values.collect_bytes,
        }),
        terminal: None,
        enclosed: None,
        zygote: 0,
    };
    Ok(Plan {
        start,
        stdin: request.stdin,
        limits: values.of_run(terms.alone.files),
        queue: request.queue_ms.map(Duration::from_millis),
        network,
        image: image.unwrap_or(0),
        insists: !request.runtime.is_empty(),
        runtime: request.runtime,
        unwritten,
    })
}

/// Checks the command, and how much the request holds.
fn check_sizes(request: &RunOnceRequest) -> Result<(), SandboxError> {
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
    Ok(())
}

fn file(file: InputFile) -> Result<FileSpec, SandboxError> {
    let path = Path::new(&file.path);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || file.path.is_empty() || file.path.ends_with('/') || file.path.contains('\0') {
        return Err(SandboxError::Invalid(format!(
            "file path {:?} is not a plain relative path",
            file.path
        )));
    }
    Ok(FileSpec {
        path: file.path,
        content: file.content,
        mode: file.mode,
    })
}

/// The entries of a program's environment: the defaults, those of its image, and those of its request.
fn entries(
    asked: &HashMap<String, String>,
    of_image: Option<&Vec<(String, String)>>,
    path: &str,
) -> Result<Vec<String>, SandboxError> {
    let mut defaults = BTreeMap::from(ENVIRONMENT);
    if of_image.is_none() {
        defaults.insert("PATH", path);
    }
    let of_image = of_image.into_iter().flatten();
    defaults.extend(of_image.map(|(name, value)| (name.as_str(), value.as_str())));
    let mut env: Vec<String> = defaults
        .iter()
        .filter(|(name, _)| !asked.contains_key(**name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !Defence::OwnEnvironment.stands() {
        env.extend(std::env::vars().map(|(name, value)| format!("{name}={value}")));
    }
    for (name, value) in asked {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(SandboxError::Invalid(format!(
                "environment variable {name:?} cannot be set"
            )));
        }
        env.push(format!("{name}={value}"));
    }
    Ok(env)
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
