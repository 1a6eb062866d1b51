//! The course of one exec: watches it until it is over, and ends it when a limit or the caller requires that.
//!
//! The first reason to end it wins. No wait ends in a default answer: an exec is over when its end was reported, or
//! when the process that reports is dead.

use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use prl_sandbox_guest::child;
use prl_sandbox_guest::defence::Defence;
use prl_sandbox_guest::wire::{Ended, Event, Failure, Finished};
use prl_sandbox_proto::Timings;
use tokio::time::{sleep, sleep_until};

use super::refused_forks::RefusedForks;
use super::stdio::Flood;
use super::{Cancel, raised};
use crate::cgroup::{Group, Observed};
use crate::error::SandboxError;
use crate::error::Unwritten;
use crate::plan::RunLimits;

/// How often the groups' counters are read while a program runs: in its first moments, in which a fork bomb grows to its
/// limit; then; and later when it runs for long.
const OBSERVE_AT_FIRST: Duration = Duration::from_millis(5);
const OBSERVE_EVERY: Duration = Duration::from_millis(20);
const OBSERVE_RARELY: Duration = Duration::from_millis(250);
/// How often the CPU time of one exec is measured, once all execs of the sandbox together are over its limit.
const MEASURE_EVERY: Duration = Duration::from_millis(40);
/// A program that has used this much CPU time gives way to those that have used less. So long programs and fork bombs
/// do not delay the many short ones.
const SHORT: Duration = Duration::from_millis(30);
/// An exec that is not over this long after it was killed is ended from outside.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// The sandbox is killed when its processes are not ended and its files not collected within this time.
const FINISH_PATIENCE: Duration = Duration::from_secs(30);

/// Why we ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Wall,
    Cpu,
    Oom,
    Pids,
    Output,
    Cancelled,
}

/// The events until the end of an exec.
#[derive(Debug)]
pub(crate) struct Course {
    pub(super) verdict: Option<Verdict>,
    pub(super) main: Option<Ended>,
    pub(super) finished: Option<Finished>,
    pub(super) not_executed: Option<Failure>,
    /// The program could not be begun. The program is not the reason.
    pub(super) failed: Option<Failure>,
    pub(super) unwritten: Option<Unwritten>,
    /// The zygote executed the command instead of running it itself.
    pub(super) executed: bool,
    /// The exec was alone in its sandbox, so that a missing `finished` means a lost sandbox.
    pub(super) alone: bool,
    pub(crate) started: Option<Instant>,
    pub(crate) ended: Instant,
    /// The groups' counters at the end, and at the beginning.
    pub(super) seen: Observed,
    pub(super) before: Observed,
}

impl Course {
    /// How long to wait before the counters are read again.
    fn pause(&self) -> Duration {
        let elapsed = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        if elapsed < OBSERVE_EVERY {
            OBSERVE_AT_FIRST
        } else {
            (elapsed / 50).clamp(OBSERVE_EVERY, OBSERVE_RARELY)
        }
    }

    /// Notes why the command was not executed: because of us, of its directory, or of the program.
    fn did_not_execute(&mut self, failure: Failure) {
        if !child::is_of_program(&failure) {
            self.failed = Some(failure);
        } else if Unwritten::is_of_directory(&failure) {
            self.unwritten = Some(Unwritten::of_directory(&failure));
        } else {
            self.not_executed = Some(failure);
        }
    }

    /// The runtime of the program. `warm`: the one that was asked to run it.
    pub(crate) fn runtime(&self, warm: Option<String>) -> String {
        let warm = warm.filter(|_| !self.executed);
        warm.unwrap_or_else(|| "exec".to_owned())
    }

    /// How long each part took. The part after the end is still going on.
    pub(crate) fn timings(&self, began: Instant, queued: Duration) -> Timings {
        let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
        let run = self.started.map_or(Duration::ZERO, |started| self.ended - started);
        Timings {
            queue_ms: millis(queued),
            setup_ms: millis(self.started.unwrap_or(self.ended) - began),
            run_ms: self
                .main
                .as_ref()
                .map_or(millis(run), |main| main.run_us as f64 / 1000.0),
            drain_ms: millis(self.ended.elapsed()),
        }
    }
}

/// One exec of any kind.
pub(crate) trait Exec {
    /// Whether the exec is alone in its sandbox: then everything ends with it, and `Finished` follows.
    const ALONE: bool;
    /// Whether the groups have never held another exec: then their peaks belong to this one.
    const FIRST: bool;
    /// The next event of the exec; `None` when the process that reports is dead. May be dropped and called again
    /// without loss.
    fn event(&mut self) -> impl Future<Output = io::Result<Option<Event>>> + Send;
    /// Begins to end the exec with everything that it started.
    fn kill(&mut self) -> impl Future<Output = ()> + Send;
    /// Asks for a `Measured`.
    fn measure(&mut self) -> impl Future<Output = ()> + Send;
    /// The exec is not a short one: others go first.
    fn yields(&mut self) {}
    /// Ends the whole sandbox, because `kill` was not enough.
    fn destroy(&mut self);
}

/// The sources that a course watches, apart from the exec itself.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'a> {
    pub(crate) group: &'a Group,
    /// The groups' counters when the exec was begun.
    pub(crate) before: Observed,
    pub(crate) limits: &'a RunLimits,
    pub(crate) flood: &'a Flood,
}

/// Watches an exec until it is over.
pub(crate) async fn follow<E: Exec>(
    exec: &mut E,
    watched: Watched<'_>,
    mut cancel: Cancel,
) -> Result<Course, SandboxError> {
    if E::ALONE {
        watched.group.set_yielding(false);
        watched.group.set_bursts(false);
    }
    let mut watch = Watch::new(watched, E::ALONE);
    loop {
        let unsettled = !watch.settled();
        let verdict = tokio::select! {
            biased;
            event = exec.event() => {
                let event = event.map_err(|source| SandboxError::Setup { step: "talk to init".to_owned(), source })?;
                match watch.take(event)? {
                    ControlFlow::Continue(verdict) => verdict,
                    ControlFlow::Break(()) => return Ok(watch.over::<E>()),
                }
            }
            () = raised(&mut cancel), if unsettled => Some(Verdict::Cancelled),
            () = watched.flood.over.notified(), if unsettled => Some(Verdict::Output),
            () = sleep_until(watch.wall), if unsettled => Some(watch.too_long()),
            () = sleep(watch.course.pause()), if unsettled => watch.look(exec).await,
            () = sleep_until(watch.outside.unwrap_or(watch.wall)), if watch.outside.is_some() => {
                watch.outside = None;
                exec.destroy();
                None
            }
        };
        if let Some(verdict) = verdict {
            watch.course.verdict = Some(verdict);
            watch.outside = Some(tokio::time::Instant::now() + KILL_PATIENCE);
            exec.kill().await;
        }
        if E::ALONE && watch.settled() {
            // Init ends it and collects its files in the same group.
            watched.group.set_bursts(false);
        }
    }
}

/// A course that is going on, and its deadlines.
struct Watch<'a> {
    watched: Watched<'a>,
    course: Course,
    forks: RefusedForks,
    /// The end of the wall-clock limit.
    wall: tokio::time::Instant,
    /// When the exec must be over.
    outside: Option<tokio::time::Instant>,
    /// When the CPU time of the exec was last asked for.
    measured: Instant,
}

impl<'a> Watch<'a> {
    fn new(watched: Watched<'a>, alone: bool) -> Self {
        Self {
            watched,
            course: Course {
                verdict: None,
                main: None,
                finished: None,
                not_executed: None,
                failed: None,
                unwritten: None,
                executed: false,
                alone,
                started: None,
                ended: Instant::now(),
                seen: Observed::default(),
                before: watched.before,
            },
            forks: RefusedForks::new(watched.before.refused_forks.unwrap_or(0)),
            // Before the start, the wall-clock limit does not count; the set-up has the same time.
            wall: tokio::time::Instant::now() + watched.limits.wall + KILL_PATIENCE,
            outside: None,
            measured: Instant::now(),
        }
    }

    /// Whether the reason of the end is decided: no further verdict is possible.
    fn settled(&self) -> bool {
        self.course.verdict.is_some() || self.course.main.is_some()
    }

    /// Takes the next event, or `None` when the process that reports is dead. Breaks when the exec is over.
    fn take(&mut self, event: Option<Event>) -> Result<ControlFlow<(), Option<Verdict>>, SandboxError> {
        let over = ControlFlow::Break(());
        let goes_on = ControlFlow::Continue(None);
        let Some(event) = event else { return Ok(over) };
        Ok(match event {
            Event::Started(_) => {
                self.course.started = Some(Instant::now());
                self.wall = tokio::time::Instant::now() + self.watched.limits.wall;
                goes_on
            }
            Event::Executing(reason) => {
                tracing::debug!(reason, "a zygote executed the command");
                self.course.executed = true;
                goes_on
            }
            Event::Measured(used) => {
                let too_much = !self.settled() && Duration::from_micros(used) > self.watched.limits.cpu;
                ControlFlow::Continue(too_much.then(|| self.too_much_cpu()))
            }
            Event::Ended(main) => {
                self.course.main = Some(main);
                self.course.ended = Instant::now();
                self.outside = Some(tokio::time::Instant::now() + FINISH_PATIENCE);
                // An exec among others that ended by itself leaves the processes that it started behind.
                let left = !self.course.alone && self.course.verdict.is_none();
                if left { over } else { goes_on }
            }
            Event::Finished(finished) => {
                self.course.finished = Some(finished);
                over
            }
            Event::NotFurnished(failure) => {
                self.course.unwritten = Some(Unwritten::met(&failure));
                over
            }
            Event::Failed(failure) => {
                self.course.failed = Some(failure);
                over
            }
            Event::NotExecuted(failure) => {
                self.course.did_not_execute(failure);
                over
            }
            Event::Gone(_) => over,
            other => return Err(SandboxError::Protocol(format!("{other:?} during a run"))),
        })
    }

    /// Reads the groups' counters and compares them with the limits.
    async fn look<E: Exec>(&mut self, exec: &mut E) -> Option<Verdict> {
        let (before, limits) = (self.watched.before, self.watched.limits);
        let seen = self.watched.group.count();
        let used = Duration::from_nanos(seen.cpu_ns.unwrap_or(0).saturating_sub(before.cpu_ns.unwrap_or(0)));
        let mut in_bursts = false;
        if Defence::PidsVerdict.stands() {
            self.forks.note(seen.refused_forks.unwrap_or(0), used);
            // Only CPU time that is counted shows when the bursts are over.
            if E::ALONE && seen.cpu_ns.is_some() {
                in_bursts = self.watched.group.set_bursts(self.forks.frequent());
            }
        }
        // A run in bursts waits most of the time, and others need its place.
        if E::ALONE && (used > SHORT || self.forks.frequent()) {
            // Bursts have their full weight. They are short anyway, and with a lower one a process that holds a lock of
            // the kernel would wait for its turn behind all those that want the lock.
            self.watched.group.set_yielding(!in_bursts);
            exec.yields();
        }
        if seen.oom_kills > before.oom_kills && Defence::OomVerdict.stands() {
            return Some(Verdict::Oom);
        }
        if used > limits.cpu && E::ALONE {
            return Some(self.too_much_cpu());
        }
        if self.forks.persistent() {
            return Some(Verdict::Pids);
        }
        if used > limits.cpu && self.measured.elapsed() > MEASURE_EVERY {
            // All execs of the sandbox together have used the limit: ask for the part of this one.
            self.measured = Instant::now();
            exec.measure().await;
        }
        None
    }

    fn too_much_cpu(&self) -> Verdict {
        if self.forks.recent() {
            Verdict::Pids
        } else {
            Verdict::Cpu
        }
    }

    fn too_long(&self) -> Verdict {
        let late = self.forks.late(self.course.started);
        if late { Verdict::Pids } else { Verdict::Wall }
    }

    /// The whole course.
    fn over<E: Exec>(mut self) -> Course {
        if self.course.main.is_none() {
            self.course.ended = Instant::now();
        }
        let group = self.watched.group;
        self.course.seen = if E::FIRST { group.observe() } else { group.count() };
        self.course
    }
}
