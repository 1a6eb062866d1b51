//! Decides how an exec ended, from the events and counters of its course.

use std::io;
use std::time::Duration;

use prl_sandbox_guest::defence::Defence;
use prl_sandbox_guest::wire::{Failure, Finished};
use prl_sandbox_proto::{Cause, CollectedFile, Limit, Output, RunOnceResult, Timings, Uncollected, Usage};

use super::course::{Course, Verdict};
use crate::counts::COUNTS;
use crate::error::SandboxError;
use crate::plan::RunLimits;

/// The kernel's warning is believed when a process has used the limit divided by this. For its limit the kernel counts the
/// clock ticks that meet a process, and it reports the time that the process ran: beside others a process meets more ticks
/// than its time holds. The part may be so small because only the program itself also sends the warning, and then it has
/// failed as well.
const WARNED_PART: u128 = 2;

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
    let facts = Facts::new(&course, limits);
    let (cause, reason) = cause(&course, &facts, limits)?;
    let mut result = RunOnceResult {
        cause: cause.into(),
        reason,
        limits_hit: limits_hit(&course, &facts, limits, stdout_over || stderr_over),
        exit_code: facts.exit_code,
        signal: facts.signal,
        stdout: Some(stdout),
        stderr: Some(stderr),
        usage: Some(Usage {
            cpu_ms: facts.cpu_ns.map(|used| used as f64 / 1e6),
            peak_memory_bytes: course.seen.peak_memory_bytes,
            processes: course.seen.peak_processes,
        }),
        timings: Some(timings),
        ..RunOnceResult::default()
    };
    if let (Cause::Exited, Some(failure)) = (cause, &course.not_executed) {
        // As in shells: 127 when the program was not found, 126 when it was found and is not executable.
        result.exit_code = Some(if failure.errno == libc::ENOENT { 127 } else { 126 });
    }
    let collects = course.alone && course.not_executed.is_none() && course.unwritten.is_none();
    match course.finished {
        Some(finished) => collect(&mut result, finished),
        None if collects => result.uncollected.push(Uncollected {
            path: "**".to_owned(),
            reason: "the sandbox had to be ended from outside".to_owned(),
        }),
        None => {}
    }
    COUNTS.judged(&result);
    Ok(result)
}

/// The verdict that follows from the events and counters of a course.
struct Facts {
    verdict: Option<Verdict>,
    oom: bool,
    cpu_ns: Option<u64>,
    /// The kernel ended a process for its CPU time, where no cgroup counts it.
    out_of_cpu: bool,
    exit_code: Option<i32>,
    signal: Option<i32>,
}

impl Facts {
    fn new(course: &Course, limits: &RunLimits) -> Self {
        let (seen, before) = (&course.seen, &course.before);
        let oom = seen.oom_kills > before.oom_kills && Defence::OomVerdict.stands();
        // Among other execs, only the CPU time of processes that were waited for belongs to this one.
        let cpu_ns = seen
            .cpu_ns
            .filter(|_| course.alone)
            .map(|now| now.saturating_sub(before.cpu_ns.unwrap_or(0)))
            .or_else(|| course.main.as_ref().map(|main| main.cpu_us * 1000));
        let status = course.main.as_ref().map(|main| main.status);
        let signal = status
            .filter(|status| libc::WIFSIGNALED(*status))
            .map(|status| libc::WTERMSIG(status));
        Self {
            // An OOM kill anywhere ends the whole run as OOM, even when it was not seen before the end.
            verdict: course.verdict.or(oom.then_some(Verdict::Oom)),
            oom,
            cpu_ns,
            out_of_cpu: seen.cpu_ns.is_none() && signal.is_some_and(|number| out_of_cpu(number, cpu_ns, limits.cpu)),
            exit_code: status
                .filter(|status| libc::WIFEXITED(*status))
                .map(|status| libc::WEXITSTATUS(status)),
            signal,
        }
    }
}

/// Every limit that was reached, whether or not it ended the exec. `output_over`: output was left out.
fn limits_hit(course: &Course, facts: &Facts, limits: &RunLimits, output_over: bool) -> Vec<i32> {
    let verdict = facts.verdict;
    let too_much_cpu = facts
        .cpu_ns
        .is_some_and(|used| u128::from(used) > limits.cpu.as_nanos());
    let main = course.main.as_ref();
    let collected = course.finished.as_ref();
    let unwritten = course.unwritten.as_ref().and_then(|unwritten| unwritten.limit);
    [
        (verdict == Some(Verdict::Wall), Limit::Wall),
        (
            too_much_cpu || facts.out_of_cpu || verdict == Some(Verdict::Cpu),
            Limit::Cpu,
        ),
        (facts.oom, Limit::Memory),
        (
            course.seen.refused_forks > course.before.refused_forks,
            Limit::Processes,
        ),
        (output_over || verdict == Some(Verdict::Output), Limit::Output),
        (main.is_some_and(|main| main.blocks_full), Limit::Disk),
        (main.is_some_and(|main| main.inodes_full), Limit::Inodes),
        (collected.is_some_and(|finished| finished.collect_limit), Limit::Collect),
    ]
    .into_iter()
    .filter_map(|(happened, limit)| happened.then_some(limit))
    .chain(unwritten)
    // The kernel sends this where each file has a limit, because there is none for the whole layer.
    .chain((limits.each_file && facts.signal == Some(libc::SIGXFSZ)).then_some(Limit::Disk))
    .map(Into::into)
    .collect()
}

/// The reason of the end, and its text.
fn cause(course: &Course, facts: &Facts, limits: &RunLimits) -> Result<(Cause, String), SandboxError> {
    if let Some(verdict) = facts.verdict {
        return Ok(verdict_text(verdict, limits));
    }
    if let Some(unwritten) = &course.unwritten {
        return Ok((Cause::DiskFull, unwritten.reason.clone()));
    }
    if let Some(Failure { step, errno }) = &course.not_executed {
        let error = os_text(*errno);
        return Ok(match *errno {
            libc::EAGAIN => (Cause::Pids, format!("{step}: no process was free: {error}")),
            _ => (Cause::Exited, format!("the command was not executed: {step}: {error}")),
        });
    }
    if let Some(code) = facts.exit_code {
        return Ok((Cause::Exited, format!("exited with {code}")));
    }
    let Some(number) = facts.signal else {
        return Err(lost(course.failed.as_ref()));
    };
    if facts.out_of_cpu {
        let text = format!("a process used {} ms of CPU time", limits.cpu.as_millis());
        return Ok((Cause::CpuTimeout, text));
    }
    if course.main.as_ref().is_some_and(|main| main.unwatched) {
        let text = format!("the process that watched over it was killed by signal {number}");
        return Ok((Cause::Signaled, text));
    }
    match number {
        _ if course.started.is_none() => Err(killed_early(number)),
        libc::SIGSYS => Ok((Cause::Signaled, SENT_OR_FOREIGN.to_owned())),
        _ => Ok((Cause::Signaled, format!("killed by signal {number}"))),
    }
}

/// Adds the collected files.
fn collect(result: &mut RunOnceResult, finished: Finished) {
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

fn killed_early(signal: i32) -> SandboxError {
    let source = io::Error::other(format!("killed by signal {signal}"));
    SandboxError::Setup {
        step: "the process that was to become the program".to_owned(),
        source,
    }
}

/// The reason why a program did not begin, when no limit was the reason.
fn lost(failed: Option<&Failure>) -> SandboxError {
    let Some(Failure { step, errno }) = failed else {
        return SandboxError::InitDied;
    };
    SandboxError::Setup {
        step: step.clone(),
        source: io::Error::from_raw_os_error(*errno),
    }
}

/// Whether a signal is that of the CPU limit of each process: the warning, or the kill of a process that ignored it. A
/// program can also send both to itself.
fn out_of_cpu(signal: i32, cpu_ns: Option<u64>, limit: Duration) -> bool {
    let whole_seconds = limit.as_millis().div_ceil(1000) * 1_000_000_000;
    let least = match signal {
        libc::SIGXCPU => whole_seconds / WARNED_PART,
        libc::SIGKILL => whole_seconds,
        _ => return false,
    };
    cpu_ns.is_some_and(|used| u128::from(used) >= least)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_counts_from_half_of_the_limit_and_a_kill_from_all_of_it() {
        let limit = Duration::from_millis(1500); // The kernel's limit is two whole seconds.
        for (signal, used_ms, expected) in [
            (libc::SIGXCPU, 999, false),
            (libc::SIGXCPU, 1000, true),
            (libc::SIGXCPU, 2010, true),
            (libc::SIGKILL, 1999, false),
            (libc::SIGKILL, 2000, true),
            (libc::SIGSEGV, 5000, false),
        ] {
            assert_eq!(
                out_of_cpu(signal, Some(used_ms * 1_000_000), limit),
                expected,
                "signal {signal} after {used_ms} ms"
            );
        }
        assert!(!out_of_cpu(libc::SIGXCPU, None, limit));
    }
}
