//! Programs as data: what is run, and what must be true of the result.

pub(crate) mod attacks;
pub(crate) mod ordinary;

use prl_sandbox_proto::{Cause, Limit, RunOnceRequest, RunOnceResult};

use crate::support::{cause, command, tell, text};

/// What a case runs.
#[derive(Clone, Copy)]
pub(crate) enum Program {
    /// Python; `sc(number, ...)` makes a system call and gives the errno's name, `attempt(f)` the exception's errno.
    Py(&'static str),
    Sh(&'static str),
}

/// One case.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Without this defence the case fails.
    pub(crate) defence: &'static str,
    pub(crate) program: Program,
    pub(crate) cause: Cause,
    /// Standard output holds this.
    pub(crate) out: &'static str,
    pub(crate) limit: Option<Limit>,
    pub(crate) change: fn(&mut RunOnceRequest),
    /// Says what else is wrong.
    pub(crate) check: fn(&RunOnceResult) -> Result<(), String>,
}

pub(crate) const fn case(name: &'static str, defence: &'static str, program: Program, out: &'static str) -> Case {
    Case {
        name,
        defence,
        program,
        cause: Cause::Exited,
        out,
        limit: None,
        change: |_| {},
        check: |_| Ok(()),
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

    pub(crate) fn request(&self) -> RunOnceRequest {
        let mut request = match self.program {
            Program::Py(code) => command(&["/usr/bin/python3", "-I", "-S", "-c", &format!("{PRELUDE}{code}")]),
            Program::Sh(code) => command(&["/bin/bash", "-c", code]),
        };
        (self.change)(&mut request);
        request
    }

    /// What is wrong with the result.
    pub(crate) fn verdict(&self, result: &RunOnceResult) -> Result<(), String> {
        let wrong = |what: String| Err(format!("{}: {what}\n{}", self.name, tell(result)));
        if cause(result) != self.cause {
            return wrong(format!("cause is not {:?}", self.cause));
        }
        if !text(&result.stdout).contains(self.out) {
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

const PRELUDE: &str = r#"
import ctypes, os, sys, errno
libc = ctypes.CDLL(None, use_errno=True)
def sc(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    return errno.errorcode.get(ctypes.get_errno(), "done") if result == -1 else "done"
def attempt(f):
    try:
        f()
        return "done"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
"#;
