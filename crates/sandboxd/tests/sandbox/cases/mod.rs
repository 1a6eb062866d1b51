//! Programs as data: the program, what must be true of its result, and which defence makes it true.

pub(crate) mod attacks;
pub(crate) mod file_operations;
pub(crate) mod ordinary;

use prl_sandbox_proto::{Cause, Limit, Limits, RunOnceRequest, RunOnceResult};

use crate::support::ground::Ground;
use crate::support::{cause, command, describe, slowness, text};

/// The wall time of a program that ends by itself, in milliseconds.
const PATIENCE_MS: u64 = 30_000;

/// The program of a case.
#[derive(Clone, Copy)]
pub(crate) enum Program {
    /// Python; `sc(number, ...)` makes a system call and gives the errno's name, `attempt(f)` the exception's errno.
    Py(&'static str),
    /// A Python expression whose value is printed.
    Call(&'static str),
    Sh(&'static str),
}

/// Why a case ends as it must.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Defence {
    /// When this one defence is off, by its name in the daemon, the case fails (see `defences`).
    By(&'static str),
    /// More than one defence stops it, or the way in which the sandbox is made. The words explain it; no test proves
    /// it.
    Layers(&'static str),
    /// An ordinary program.
    None,
}

/// One case. `@NAME@` in a program is replaced by something of the machine (see `Ground`).
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) defence: Defence,
    pub(crate) program: Program,
    pub(crate) cause: Cause,
    /// Standard output contains this.
    pub(crate) out: &'static str,
    pub(crate) limit: Option<Limit>,
    pub(crate) change: fn(&mut RunOnceRequest),
    /// Checks the result further; the error says what is wrong.
    pub(crate) check: fn(&RunOnceResult) -> Result<(), String>,
    /// A path of the machine that the case needs.
    pub(crate) needs: &'static str,
}

pub(crate) const fn case(name: &'static str, defence: Defence, program: Program, out: &'static str) -> Case {
    Case {
        name,
        defence,
        program,
        cause: Cause::Exited,
        out,
        limit: None,
        change: |_| {},
        check: |_| Ok(()),
        needs: "/usr",
    }
}

impl Case {
    pub(crate) const fn ends(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    pub(crate) const fn hits(mut self, limit: Limit) -> Self {
        self.limit = Some(limit);
        self
    }

    pub(crate) const fn with(mut self, change: fn(&mut RunOnceRequest)) -> Self {
        self.change = change;
        self
    }

    pub(crate) const fn checked(mut self, check: fn(&RunOnceResult) -> Result<(), String>) -> Self {
        self.check = check;
        self
    }

    pub(crate) const fn needs(mut self, path: &'static str) -> Self {
        self.needs = path;
        self
    }

    pub(crate) fn request(&self, ground: &Ground) -> RunOnceRequest {
        let python = |code: String| command(&["/usr/bin/python3", "-I", "-S", "-c", &format!("{PRELUDE}{code}")]);
        let mut request = match self.program {
            Program::Py(code) => python(ground.fill(code)),
            Program::Call(code) => python(ground.fill(&format!("print({code})"))),
            Program::Sh(code) => command(&["/bin/bash", "-c", &ground.fill(code)]),
        };
        // A program that ends by itself gets time for it: on a busy machine only the limit of its CPU time is meant for it.
        if self.cause == Cause::Exited {
            limits(&mut request, |l| l.wall_ms = Some(PATIENCE_MS * u64::from(slowness())));
        }
        (self.change)(&mut request);
        request
    }

    /// The same case on a warm interpreter; `None` where it contains no Python.
    pub(crate) fn on_warm_python(&self, ground: &Ground) -> Option<RunOnceRequest> {
        if matches!(self.program, Program::Sh(_)) {
            return None;
        }
        let mut request = self.request(ground);
        request.command.retain(|word| word != "-I" && word != "-S");
        request.runtime = "python".to_owned();
        Some(request)
    }

    /// Checks the result; the error says what is wrong.
    pub(crate) fn verdict(&self, result: &RunOnceResult) -> Result<(), String> {
        let wrong = |what: String| Err(format!("{}: {what}\n{}", self.name, describe(result)));
        if cause(result) != self.cause {
            return wrong(format!("cause is not {:?}", self.cause));
        }
        let out = text(&result.stdout);
        // The answer of a call must be the whole output.
        let matches = match self.program {
            Program::Call(_) => out.trim_end() == self.out,
            Program::Py(_) | Program::Sh(_) => out.contains(self.out),
        };
        if !matches {
            return wrong(format!("no {:?} in the output", self.out));
        }
        if let Some(limit) = self.limit
            && !result.limits_hit().any(|hit| hit == limit)
        {
            return wrong(format!("{limit:?} is not among the limits"));
        }
        (self.check)(result).or_else(wrong)
    }
}

pub(crate) fn limits(request: &mut RunOnceRequest, set: impl FnOnce(&mut Limits)) {
    set(request.limits.get_or_insert_default());
}

pub(crate) fn exit_code(result: &RunOnceResult, wanted: i32) -> Result<(), String> {
    if result.exit_code == Some(wanted) {
        return Ok(());
    }
    Err(format!("exit code is not {wanted}"))
}

pub(crate) fn signal(result: &RunOnceResult, wanted: i32) -> Result<(), String> {
    if result.signal == Some(wanted) {
        return Ok(());
    }
    Err(format!("signal is not {wanted}"))
}

/// Checks that nothing was collected, for this reason.
pub(crate) fn left_out(result: &RunOnceResult, reason: &str) -> Result<(), String> {
    if result.files.is_empty() && result.uncollected.iter().any(|one| one.reason.contains(reason)) {
        return Ok(());
    }
    Err(format!("{:?} instead of {reason:?}", result.uncollected))
}

/// Checks that the run was over long before its wall limit.
pub(crate) fn soon_over(result: &RunOnceResult) -> Result<(), String> {
    let timings = result.timings.unwrap_or_default();
    if timings.run_ms + timings.drain_ms < 2000.0 * f64::from(slowness()) {
        return Ok(());
    }
    Err(format!("it was waited for: {timings:?}"))
}

const PRELUDE: &str = r#"
import ctypes, os, sys, errno
libc = ctypes.CDLL(None, use_errno=True)
def sc(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    return errno.errorcode.get(ctypes.get_errno(), "done") if result == -1 else "done"
def attempt(f, *args):
    try:
        f(*args)
        return "done"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
"#;
