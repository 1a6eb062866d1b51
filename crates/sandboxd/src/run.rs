//! One run in one sandbox, and the truth about how it ended.
//!
//! The first reason to end a run wins and is its cause; what is seen later only adds to `limits_hit`. No wait ends in a
//! default answer: a run is over when init reports it or is dead, and output is complete when every process that could
//! write it is dead and the pipes are drained.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prl_sandbox_proto::{Cause, CollectedFile, Limit, Output, RunOnceResult, Timings, Uncollected, Usage};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, sleep_until};

use crate::cgroup::Observed;
use crate::error::SandboxError;
use crate::output::Recorder;
use crate::plan::{Plan, RunLimits};
use crate::sandbox::{Init, Orders, Sandbox};
use crate::sys;
use crate::wire::{Ended, Event, Failure, Finished, Order};

/// How often the groups' counters are read while a program runs.
const OBSERVE_EVERY: Duration = Duration::from_millis(20);
/// A program whose forks keep being refused for this long does not cope: PIDS.
const REFUSED_FORKS_PATIENCE: Duration = Duration::from_millis(500);
/// When init does not end a run in this time after it was told to, the sandbox is killed from outside.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// When init does not end what a finished run left, and collect, in this time, it is killed too.
const FINISH_PATIENCE: Duration = Duration::from_secs(30);
/// The id of a run's only order.
const RUN: u64 = 1;
const READ_BYTES: usize = 64 << 10;

/// Says once that a run is to be cancelled.
pub(crate) type Cancel = watch::Receiver<bool>;

/// Why we ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Wall,
    Cpu,
    Oom,
    Pids,
    Output,
    Cancelled,
}

/// Both output streams together, as the kill limit sees them.
struct Flood {
    bytes: AtomicU64,
    limit: u64,
    over: Notify,
}

/// What happened until the end of the program.
struct Course {
    verdict: Option<Verdict>,
    main: Option<Ended>,
    finished: Option<Finished>,
    not_executed: Option<Failure>,
    disk_full: Option<Failure>,
    started: Option<Instant>,
    ended: Instant,
    seen: Observed,
    cpu_before_ns: u64,
}

/// Runs a plan and leaves the sandbox to be destroyed by the caller. `queued`: how long it waited.
pub(crate) async fn execute(
    sandbox: &mut Sandbox,
    plan: Plan,
    cancel: Cancel,
    queued: Duration,
) -> Result<RunOnceResult, SandboxError> {
    let began = Instant::now();
    let setup = |step: &'static str| {
        move |source| SandboxError::Setup {
            step: step.to_owned(),
            source,
        }
    };
    sandbox.group.limit(plan.limits.group.into()).map_err(setup("limits"))?;
    let flood = Arc::new(Flood {
        bytes: AtomicU64::new(0),
        limit: plan.limits.output_kill_bytes,
        over: Notify::new(),
    });
    let cpu_before_ns = sandbox.group.observe().cpu_ns.unwrap_or(0);
    let (ours, guests) = stdio().map_err(setup("pipes"))?;
    let ends = guests.each_ref().map(AsFd::as_fd);
    sandbox
        .orders
        .send(RUN, Order::Start(plan.start), &ends)
        .await
        .map_err(setup("send the run"))?;
    drop(guests);
    let [stdin, stdout, stderr] = ours;
    let (over, dead) = watch::channel(false);
    let stdout = record(stdout, plan.limits.output_bytes, &flood, dead.clone()).map_err(setup("stdout"))?;
    let stderr = record(stderr, plan.limits.output_bytes, &flood, dead).map_err(setup("stderr"))?;
    let feeder = feed(stdin, plan.stdin).map_err(setup("stdin"))?;
    let course = follow(sandbox, &plan.limits, &flood, cancel, cpu_before_ns).await;
    feeder.abort();
    // Everybody who could write is dead.
    over.send_replace(true);
    let joined = |error: tokio::task::JoinError| SandboxError::Protocol(error.to_string());
    let (stdout, stderr) = (stdout.await.map_err(joined)?, stderr.await.map_err(joined)?);
    let course = course?;
    let run = course.started.map_or(Duration::ZERO, |started| course.ended - started);
    let timings = Timings {
        queue_ms: millis(queued),
        setup_ms: millis(course.started.unwrap_or(course.ended) - began),
        run_ms: course
            .main
            .as_ref()
            .map_or(millis(run), |main| main.run_us as f64 / 1000.0),
        drain_ms: millis(course.ended.elapsed()),
    };
    judge(course, &plan.limits, stdout, stderr, timings)
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

// ---- stdio ----

/// Three pipes: our ends, which never block, and the guest's.
fn stdio() -> io::Result<([OwnedFd; 3], [OwnedFd; 3])> {
    let (stdin_guest, stdin) = sys::pipe()?;
    let (stdout, stdout_guest) = sys::pipe()?;
    let (stderr, stderr_guest) = sys::pipe()?;
    let ours = [stdin, stdout, stderr];
    for fd in &ours {
        sys::set_nonblocking(fd.as_fd())?;
    }
    Ok((ours, [stdin_guest, stdout_guest, stderr_guest]))
}

/// Reads a stream to its end. When everybody is dead and the pipe still does not end (a descriptor that the kernel has
/// yet to collect), what is in it is all there is.
fn record(
    fd: OwnedFd,
    limit: u64,
    flood: &Arc<Flood>,
    mut dead: watch::Receiver<bool>,
) -> io::Result<JoinHandle<(Output, bool)>> {
    let pipe = pipe::Receiver::from_owned_fd(fd)?;
    let flood = Arc::clone(flood);
    Ok(tokio::spawn(async move {
        let mut recorder = Recorder::new(limit);
        let mut buffer = vec![0; READ_BYTES];
        let mut all_dead = false;
        loop {
            // When everybody is dead the pipe itself is asked: tokio's own readiness may lag behind what was written.
            let read = if all_dead {
                read_now(&pipe, &mut buffer)
            } else {
                pipe.try_read(&mut buffer)
            };
            match read {
                Ok(0) => break,
                Ok(length) => {
                    recorder.push(buffer.get(..length).unwrap_or_default());
                    let before = flood.bytes.fetch_add(length as u64, Ordering::Relaxed);
                    if before <= flood.limit && before + length as u64 > flood.limit {
                        flood.over.notify_one();
                    }
                    tokio::task::yield_now().await;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if all_dead {
                        break;
                    }
                    tokio::select! {
                        ready = pipe.readable() => if ready.is_err() { break },
                        changed = dead.wait_for(|dead| *dead) => {
                            drop(changed);
                            all_dead = true;
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::error!(%error, "cannot read a program's output");
                    break;
                }
            }
        }
        let overflowed = recorder.overflowed();
        (recorder.finish(), overflowed)
    }))
}

/// Reads what is in the pipe at this moment.
fn read_now(pipe: &pipe::Receiver, buffer: &mut [u8]) -> io::Result<usize> {
    io::Read::read(&mut std::fs::File::from(pipe.as_fd().try_clone_to_owned()?), buffer)
}

/// Writes the input, as far as the program takes it.
fn feed(fd: OwnedFd, bytes: bytes::Bytes) -> io::Result<JoinHandle<()>> {
    let mut pipe = pipe::Sender::from_owned_fd(fd)?;
    Ok(tokio::spawn(async move {
        // A program that does not read its input, or ends before it has, is in its right.
        let _closed = pipe.write_all(&bytes).await;
    }))
}

// ---- the course of a run ----

/// Watches a run until it is over, and ends it when it must be ended.
async fn follow(
    sandbox: &mut Sandbox,
    limits: &RunLimits,
    flood: &Flood,
    mut cancel: Cancel,
    cpu_before_ns: u64,
) -> Result<Course, SandboxError> {
    let Sandbox {
        orders,
        events,
        group,
        init,
        ..
    } = sandbox;
    let mut course = Course {
        verdict: None,
        main: None,
        finished: None,
        not_executed: None,
        disk_full: None,
        started: None,
        ended: Instant::now(),
        seen: Observed::default(),
        cpu_before_ns,
    };
    let mut forks = RefusedForks::default();
    // Before the start the wall clock stands still; init's own work has the same time.
    let mut wall = tokio::time::Instant::now() + limits.wall + KILL_PATIENCE;
    // When init must be done with what it was told.
    let mut outside: Option<tokio::time::Instant> = None;
    loop {
        let mut verdict = None;
        let settled = course.verdict.is_some() || course.main.is_some();
        tokio::select! {
            biased;
            event = events.receive() => {
                let event = event.map_err(|source| SandboxError::Setup { step: "talk to init".to_owned(), source })?;
                match event.map(|(_, event, _)| event) {
                    Some(Event::Started(_)) => {
                        course.started = Some(Instant::now());
                        wall = tokio::time::Instant::now() + limits.wall;
                        continue;
                    }
                    Some(Event::Ended(main)) => {
                        course.main = Some(main);
                        course.ended = Instant::now();
                        outside = Some(tokio::time::Instant::now() + FINISH_PATIENCE);
                        continue;
                    }
                    Some(Event::Finished(finished)) => course.finished = Some(finished),
                    Some(Event::NotExecuted(failure)) => course.not_executed = Some(failure),
                    Some(Event::NotFurnished(failure)) if matches!(failure.errno, libc::ENOSPC | libc::EDQUOT) => {
                        course.disk_full = Some(failure);
                    }
                    Some(Event::NotFurnished(failure)) => course.not_executed = Some(failure),
                    Some(other) => return Err(SandboxError::Protocol(format!("{other:?} during a run"))),
                    None => {}
                }
                if course.main.is_none() {
                    course.ended = Instant::now();
                }
                course.seen = group.observe();
                return Ok(course);
            }
            changed = cancel.wait_for(|cancelled| *cancelled), if !settled => {
                // The sender lives as long as the run.
                drop(changed);
                verdict = Some(Verdict::Cancelled);
            }
            () = flood.over.notified(), if !settled => verdict = Some(Verdict::Output),
            () = sleep_until(wall), if !settled => {
                verdict = Some(if forks.late(course.started) { Verdict::Pids } else { Verdict::Wall });
            }
            () = sleep(OBSERVE_EVERY), if !settled => {
                let seen = group.observe();
                forks.note(seen.refused_forks.unwrap_or(0));
                let used = Duration::from_nanos(seen.cpu_ns.unwrap_or(0).saturating_sub(cpu_before_ns));
                if seen.oom_kills.unwrap_or(0) > 0 {
                    verdict = Some(Verdict::Oom);
                } else if used > limits.cpu {
                    verdict = Some(if forks.recent() { Verdict::Pids } else { Verdict::Cpu });
                } else if forks.persistent() {
                    verdict = Some(Verdict::Pids);
                }
            }
            () = sleep_until(outside.unwrap_or(wall)), if outside.is_some() => {
                // Init was told and did not manage: end it from outside. Its end closes the control socket.
                outside = None;
                init.kill();
            }
        }
        if let Some(verdict) = verdict {
            course.verdict = Some(verdict);
            outside = Some(tokio::time::Instant::now() + KILL_PATIENCE);
            end(orders, init).await;
        }
    }
}

/// Tells init to end the run; when it cannot be told, ends it.
async fn end(orders: &mut Orders, init: &Init) {
    if orders.send(RUN, Order::KillAll(true), &[]).await.is_err() {
        init.kill();
    }
}

/// The history of forks that the limit refused.
#[derive(Default)]
struct RefusedForks {
    count: u64,
    since: Option<Instant>,
    last: Option<Instant>,
}

impl RefusedForks {
    fn note(&mut self, count: u64) {
        let now = Instant::now();
        if count > self.count {
            if !self.recent() {
                self.since = Some(now);
            }
            self.last = Some(now);
            self.count = count;
        }
    }

    /// Whether a fork was refused just now.
    fn recent(&self) -> bool {
        self.last.is_some_and(|last| last.elapsed() < REFUSED_FORKS_PATIENCE)
    }

    /// Whether forks were refused in the later two thirds of the run: also a program that waits longer and longer
    /// between its tries has not given them up.
    fn late(&self, started: Option<Instant>) -> bool {
        let (Some(last), Some(started)) = (self.last, started) else {
            return false;
        };
        (last - started) * 3 > started.elapsed()
    }

    /// Whether forks have been refused again and again.
    fn persistent(&self) -> bool {
        let span = self.since.zip(self.last).map(|(since, last)| last - since);
        self.recent() && span.is_some_and(|span| span >= REFUSED_FORKS_PATIENCE)
    }
}

// ---- the verdict ----

fn judge(
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
        disk_full,
        seen,
        cpu_before_ns,
        ..
    } = course;
    let oom = seen.oom_kills.unwrap_or(0) > 0;
    let cpu_ns = seen.cpu_ns.map(|now| now.saturating_sub(cpu_before_ns));
    let mut hit = Vec::new();
    let mut note = |happened: bool, limit: Limit| {
        if happened {
            hit.push(limit.into());
        }
    };
    note(verdict == Some(Verdict::Wall), Limit::Wall);
    note(
        cpu_ns.is_some_and(|used| u128::from(used) > limits.cpu.as_nanos()) || verdict == Some(Verdict::Cpu),
        Limit::Cpu,
    );
    note(oom, Limit::Memory);
    note(seen.refused_forks.unwrap_or(0) > 0, Limit::Processes);
    note(
        stdout_over || stderr_over || verdict == Some(Verdict::Output),
        Limit::Output,
    );
    if let Some(finished) = &finished {
        note(finished.blocks_full, Limit::Disk);
        note(finished.inodes_full, Limit::Inodes);
        note(finished.collect_limit, Limit::Collect);
    }
    note(disk_full.is_some(), Limit::Disk);
    // An OOM kill anywhere ends the whole run as OOM, also when we have not seen it before the end.
    if oom && verdict.is_none() {
        verdict = Some(Verdict::Oom);
    }
    let status = main.as_ref().map(|main| main.status);
    let exit_code = status
        .filter(|status| libc::WIFEXITED(*status))
        .map(|status| libc::WEXITSTATUS(status));
    let signal = status
        .filter(|status| libc::WIFSIGNALED(*status))
        .map(|status| libc::WTERMSIG(status));
    let mut result = RunOnceResult {
        limits_hit: hit,
        exit_code,
        signal,
        stdout: Some(stdout),
        stderr: Some(stderr),
        usage: Some(Usage {
            cpu_ms: cpu_ns
                .map(|used| used as f64 / 1e6)
                .or_else(|| main.as_ref().map(|main| main.cpu_us as f64 / 1e3)),
            peak_memory_bytes: seen.peak_memory_bytes,
            processes: seen.peak_processes,
        }),
        timings: Some(timings),
        ..RunOnceResult::default()
    };
    if finished.is_none() && not_executed.is_none() && disk_full.is_none() {
        result.uncollected.push(Uncollected {
            path: "**".to_owned(),
            reason: "the sandbox had to be ended from outside".to_owned(),
        });
    }
    let (cause, reason) = match (verdict, &disk_full, &not_executed, exit_code, signal) {
        (Some(verdict), ..) => verdict_text(verdict, limits),
        (None, Some(failure), ..) => (Cause::DiskFull, format!("{}: {}", failure.step, os_text(failure.errno))),
        (None, None, Some(failure), ..) => {
            // As shells have it: 127 not found, 126 found and not executable.
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
        (None, None, None, None, Some(libc::SIGSYS)) => {
            (Cause::Policy, "killed for a system call that is not allowed".to_owned())
        }
        (None, None, None, None, Some(libc::SIGXCPU)) if cpu_ns.is_none() => (
            Cause::CpuTimeout,
            format!("a process used {} ms of CPU time", limits.cpu.as_millis()),
        ),
        (None, None, None, None, Some(number)) => (Cause::Signaled, format!("killed by signal {number}")),
        (None, None, None, None, None) => return Err(SandboxError::InitDied),
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
    Ok(result)
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
