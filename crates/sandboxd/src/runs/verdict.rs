//! Decides how an exec ended, from the events and counters of its course.

use std::io;

use prl_sandbox_guest::defence::Defence;
use prl_sandbox_guest::wire::Failure;
use prl_sandbox_proto::{Cause, CollectedFile, Limit, Output, RunOnceResult, Timings, Uncollected, Usage};

use super::course::{Course, Verdict};
use crate::counts::COUNTS;
use crate::error::SandboxError;
use crate::plan::RunLimits;

/// The kernel's warning may come earlier than the limit by this much, because the kernel counts CPU time in two ways.
const TICK_NS: u64 = 50_000_000;

/// The kernel sends SIGSYS for a system call of another table than that of x86-64. Any program can send it too, and the
/// parent of a process learns no more than the signal's number.
const SENT_OR_FOREIGN: &str =
    "killed by signal 31 (SIGSYS): for a system call of another table (i386, x32), or as it was sent";

/// Puts a result together. The first reason to end the exec is its cause; the rest is in `limits_hit`.
pub(crate) fn judge(
    course: Course,
    limits: &RunLimits,
    (stdout, stdout_over): (Output, bool),
    (stderr, stderr_over): (Output, bool),
    timings: Timings,
) -> Result<RunOnceResult, SandboxError> {
    let Course {
        mut verdict,
        main,
        finished,
        not_executed,
        failed,
        unwritten,
        alone,
        started,
        seen,
        before,
        ..
    } = course;
    let oom = seen.oom_kills > before.oom_kills && Defence::OomVerdict.stands();
    let refused_forks = seen.refused_forks > before.refused_forks;
    // Among other execs, only the CPU time of processes that were waited for belongs to this one.
    let cpu_ns = seen
        .cpu_ns
        .filter(|_| alone)
        .map(|now| now.saturating_sub(before.cpu_ns.unwrap_or(0)))
        .or_else(|| main.as_ref().map(|main| main.cpu_us * 1000));
    let counts_cpu = seen.cpu_ns.is_some();
    let begun = started.is_some();
    let status = main.as_ref().map(|main| main.status);
    let exit_code = status
        .filter(|status| libc::WIFEXITED(*status))
        .map(|status| libc::WEXITSTATUS(status));
    let signal = status
        .filter(|status| libc::WIFSIGNALED(*status))
        .map(|status| libc::WTERMSIG(status));
    let mut hit = Vec::new();
    let mut note = |happened: bool, limit: Limit| {
        if happened {
            hit.push(limit.into());
        }
    };
    note(verdict == Some(Verdict::Wall), Limit::Wall);
    let over = cpu_ns.is_some_and(|used| u128::from(used) > limits.cpu.as_nanos());
    // The kernel's limit counts in ticks: it may end a process that has used a little less.
    let by_itself = !counts_cpu && signal.is_some_and(|number| out_of_cpu(number, cpu_ns, limits));
    note(over || by_itself || verdict == Some(Verdict::Cpu), Limit::Cpu);
    note(oom, Limit::Memory);
    note(refused_forks, Limit::Processes);
    note(
        stdout_over || stderr_over || verdict == Some(Verdict::Output),
        Limit::Output,
    );
    if let Some(main) = &main {
        note(main.blocks_full, Limit::Disk);
        note(main.inodes_full, Limit::Inodes);
    }
    note(
        finished.as_ref().is_some_and(|finished| finished.collect_limit),
        Limit::Collect,
    );
    if let Some(limit) = unwritten.as_ref().and_then(|unwritten| unwritten.limit) {
        note(true, limit);
    }
    // The kernel sends this where each file has a limit, because there is none for the whole layer.
    note(limits.each_file && signal == Some(libc::SIGXFSZ), Limit::Disk);
    // An OOM kill anywhere ends the whole run as OOM, even when it was not seen before the end.
    if oom && verdict.is_none() {
        verdict = Some(Verdict::Oom);
    }
    let mut result = RunOnceResult {
        limits_hit: hit,
        exit_code,
        signal,
        stdout: Some(stdout),
        stderr: Some(stderr),
        usage: Some(Usage {
            cpu_ms: cpu_ns.map(|used| used as f64 / 1e6),
            peak_memory_bytes: seen.peak_memory_bytes,
            processes: seen.peak_processes,
        }),
        timings: Some(timings),
        ..RunOnceResult::default()
    };
    if alone && finished.is_none() && not_executed.is_none() && unwritten.is_none() {
        result.uncollected.push(Uncollected {
            path: "**".to_owned(),
            reason: "the sandbox had to be ended from outside".to_owned(),
        });
    }
    let (cause, reason) = match (verdict, unwritten, &not_executed, exit_code, signal) {
        (Some(verdict), ..) => verdict_text(verdict, limits),
        (None, Some(unwritten), ..) => (Cause::DiskFull, unwritten.reason),
        (None, None, Some(failure), ..) if failure.errno == libc::EAGAIN => (
            Cause::Pids,
            format!("{}: no process was free: {}", failure.step, os_text(failure.errno)),
        ),
        (None, None, Some(failure), ..) => {
            // As in shells: 127 when the program was not found, 126 when it was found and is not executable.
            result.exit_code = Some(if failure.errno == libc::ENOENT { 127 } else { 126 });
            (
                Cause::Exited,
                format!(
                    "the command was not executed: {}: {}",
                    failure.step,
                    os_text(failure.errno)
                ),
            )
        }
        (None, None, None, Some(code), _) => (Cause::Exited, format!("exited with {code}")),
        (None, None, None, None, Some(_)) if by_itself => (
            Cause::CpuTimeout,
            format!("a process used {} ms of CPU time", limits.cpu.as_millis()),
        ),
        (None, None, None, None, Some(number)) if main.as_ref().is_some_and(|main| main.unwatched) => (
            Cause::Signaled,
            format!("the process that watched over it was killed by signal {number}"),
        ),
        (None, None, None, None, Some(number)) if !begun => return Err(killed_early(number)),
        (None, None, None, None, Some(libc::SIGSYS)) => (Cause::Signaled, SENT_OR_FOREIGN.to_owned()),
        (None, None, None, None, Some(number)) => (Cause::Signaled, format!("killed by signal {number}")),
        (None, None, None, None, None) => return Err(lost(failed)),
    };
    result.cause = cause.into();
    result.reason = reason;
    if let Some(finished) = finished {
        result.files = finished
            .files
            .into_iter()
            .map(|file| CollectedFile {
                path: file.path,
                content: file.content,
                mode: file.mode,
            })
            .collect();
        result
            .uncollected
            .extend(finished.uncollected.into_iter().map(|one| Uncollected {
                path: one.path,
                reason: one.reason,
            }));
    }
    COUNTS.judged(&result);
    Ok(result)
}

fn killed_early(signal: i32) -> SandboxError {
    let source = io::Error::other(format!("killed by signal {signal}"));
    SandboxError::Setup {
        step: "the process that was to become the program".to_owned(),
        source,
    }
}

/// The reason why a program did not begin, when no limit was the reason.
fn lost(failed: Option<Failure>) -> SandboxError {
    let Some(Failure { step, errno }) = failed else {
        return SandboxError::InitDied;
    };
    let source = io::Error::from_raw_os_error(errno);
    SandboxError::Setup { step, source }
}

/// Whether a signal is that of the CPU limit of each process: the warning, or the kill of a process that ignored it. A
/// program can also send both to itself.
fn out_of_cpu(signal: i32, cpu_ns: Option<u64>, limits: &RunLimits) -> bool {
    let whole_seconds = limits.cpu.as_millis().div_ceil(1000) * 1_000_000_000;
    let tick = match signal {
        libc::SIGXCPU => TICK_NS,
        libc::SIGKILL => 0,
        _ => return false,
    };
    cpu_ns.is_some_and(|used| u128::from(used + tick) >= whole_seconds)
}

fn os_text(errno: i32) -> String {
    io::Error::from_raw_os_error(errno).to_string()
}

fn verdict_text(verdict: Verdict, limits: &RunLimits) -> (Cause, String) {
    match verdict {
        Verdict::Wall => (
            Cause::WallTimeout,
            format!("still running after {} ms", limits.wall.as_millis()),
        ),
        Verdict::Cpu => (
            Cause::CpuTimeout,
            format!("used more than {} ms of CPU time", limits.cpu.as_millis()),
        ),
        Verdict::Oom => (
            Cause::Oom,
            format!(
                "a process was killed for going over {} bytes",
                limits.group.memory_bytes
            ),
        ),
        Verdict::Pids => (
            Cause::Pids,
            format!("kept starting processes over the limit of {}", limits.group.processes),
        ),
        Verdict::Output => (
            Cause::OutputLimit,
            format!("wrote more than {} bytes of output", limits.output_kill_bytes),
        ),
        Verdict::Cancelled => (Cause::Cancelled, "cancelled".to_owned()),
    }
}
