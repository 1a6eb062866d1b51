//! The course of one exec: watches it until it is over, and ends it when a limit or the caller requires that.
//!
//! The first reason to end it wins. No wait ends in a default answer: an exec is over when its end was reported, or
//! when the process that reports is dead.

use std::io;
use std::time::{Duration, Instant};

use prl_sandbox_guest::child;
use prl_sandbox_guest::defence::Defence;
use prl_sandbox_guest::wire::{Ended, Event, Failure, Finished};
use prl_sandbox_proto::Timings;
use tokio::time::{sleep, sleep_until};

use super::stdio::Flood;
use super::{Cancel, raised};
use crate::cgroup::{Group, Observed};
use crate::error::SandboxError;
use crate::error::Unwritten;
use crate::plan::RunLimits;

/// How often the groups' counters are read while a program runs: at first, and later when it runs for long.
const OBSERVE_EVERY: Duration = Duration::from_millis(20);
const OBSERVE_RARELY: Duration = Duration::from_millis(250);
/// How often the CPU time of one exec is measured, once all execs of the sandbox together are over its limit.
const MEASURE_EVERY: Duration = Duration::from_millis(40);
/// A program that has used this much CPU time gives way to those that have used less. So long programs and fork bombs
/// do not delay the many short ones.
const SHORT: Duration = Duration::from_millis(30);
/// A program whose forks are refused for this long cannot go on: its cause is PIDS.
const REFUSED_FORKS_PATIENCE: Duration = Duration::from_millis(500);
/// The same holds after this many refused forks. Each refused fork copies a whole process and frees it again, under
/// locks for which every other process with the same files waits.
const MOST_REFUSED_FORKS: u64 = 1000;
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

/// What happened until the end of an exec.
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
        (elapsed / 50).clamp(OBSERVE_EVERY, OBSERVE_RARELY)
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

/// Watches an exec until it is over. `before`: the groups' counters when it was begun.
pub(crate) async fn follow<E: Exec>(
    exec: &mut E,
    group: &Group,
    before: Observed,
    limits: &RunLimits,
    flood: &Flood,
    mut cancel: Cancel,
) -> Result<Course, SandboxError> {
    let mut course = Course {
        verdict: None,
        main: None,
        finished: None,
        not_executed: None,
        failed: None,
        unwritten: None,
        executed: false,
        alone: E::ALONE,
        started: None,
        ended: Instant::now(),
        seen: Observed::default(),
        before,
    };
    if E::ALONE {
        group.set_yielding(false);
    }
    let mut forks = RefusedForks {
        before: before.refused_forks.unwrap_or(0),
        count: before.refused_forks.unwrap_or(0),
        ..RefusedForks::default()
    };
    // Before the start, the wall-clock limit does not count; the set-up has the same time.
    let mut wall = tokio::time::Instant::now() + limits.wall + KILL_PATIENCE;
    // When the exec must be over.
    let mut outside: Option<tokio::time::Instant> = None;
    let mut measured = Instant::now();
    loop {
        let mut verdict = None;
        let settled = course.verdict.is_some() || course.main.is_some();
        tokio::select! {
            biased;
            event = exec.event() => {
                let event = event.map_err(|source| SandboxError::Setup { step: "talk to init".to_owned(), source })?;
                let over = match event {
                    Some(Event::Started(_)) => {
                        course.started = Some(Instant::now());
                        wall = tokio::time::Instant::now() + limits.wall;
                        false
                    }
                    Some(Event::Executing(reason)) => {
                        tracing::debug!(reason, "a zygote executed the command");
                        course.executed = true;
                        false
                    }
                    Some(Event::Measured(used)) => {
                        if !settled && Duration::from_micros(used) > limits.cpu {
                            verdict = Some(if forks.recent() { Verdict::Pids } else { Verdict::Cpu });
                        }
                        false
                    }
                    Some(Event::Ended(main)) => {
                        course.main = Some(main);
                        course.ended = Instant::now();
                        outside = Some(tokio::time::Instant::now() + FINISH_PATIENCE);
                        // An exec among others that ended by itself leaves the processes that it started behind.
                        !E::ALONE && course.verdict.is_none()
                    }
                    Some(Event::Finished(finished)) => {
                        course.finished = Some(finished);
                        true
                    }
                    Some(Event::NotFurnished(told)) => {
                        course.unwritten = Some(Unwritten::met(&told));
                        true
                    }
                    Some(Event::Failed(failure)) => {
                        course.failed = Some(failure);
                        true
                    }
                    Some(Event::NotExecuted(failure)) if !child::is_of_program(&failure) => {
                        course.failed = Some(failure);
                        true
                    }
                    Some(Event::NotExecuted(failure)) if Unwritten::is_of_directory(&failure) => {
                        course.unwritten = Some(Unwritten::of_directory(&failure));
                        true
                    }
                    Some(Event::NotExecuted(failure)) => {
                        course.not_executed = Some(failure);
                        true
                    }
                    Some(Event::Gone(_)) | None => true,
                    Some(other) => return Err(SandboxError::Protocol(format!("{other:?} during a run"))),
                };
                if over {
                    if course.main.is_none() {
                        course.ended = Instant::now();
                    }
                    course.seen = if E::FIRST { group.observe() } else { group.count() };
                    return Ok(course);
                }
            }
            () = raised(&mut cancel), if !settled => verdict = Some(Verdict::Cancelled),
            () = flood.over.notified(), if !settled => verdict = Some(Verdict::Output),
            () = sleep_until(wall), if !settled => {
                verdict = Some(if forks.late(course.started) { Verdict::Pids } else { Verdict::Wall });
            }
            () = sleep(course.pause()), if !settled => {
                let seen = group.count();
                if Defence::PidsVerdict.stands() {
                    forks.note(seen.refused_forks.unwrap_or(0));
                }
                let used = Duration::from_nanos(seen.cpu_ns.unwrap_or(0).saturating_sub(before.cpu_ns.unwrap_or(0)));
                if E::ALONE && used > SHORT {
                    group.set_yielding(true);
                    exec.yields();
                }
                if seen.oom_kills > before.oom_kills && Defence::OomVerdict.stands() {
                    verdict = Some(Verdict::Oom);
                } else if used > limits.cpu && E::ALONE {
                    verdict = Some(if forks.recent() { Verdict::Pids } else { Verdict::Cpu });
                } else if forks.persistent() {
                    verdict = Some(Verdict::Pids);
                } else if used > limits.cpu && measured.elapsed() > MEASURE_EVERY {
                    // All execs of the sandbox together have used the limit: ask for the part of this one.
                    measured = Instant::now();
                    exec.measure().await;
                }
            }
            () = sleep_until(outside.unwrap_or(wall)), if outside.is_some() => {
                outside = None;
                exec.destroy();
            }
        }
        if let Some(verdict) = verdict {
            course.verdict = Some(verdict);
            outside = Some(tokio::time::Instant::now() + KILL_PATIENCE);
            exec.kill().await;
        }
    }
}

/// When the limit refused forks.
#[derive(Default)]
struct RefusedForks {
    before: u64,
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

    /// Whether a fork was refused in the last moments.
    fn recent(&self) -> bool {
        self.last.is_some_and(|last| last.elapsed() < REFUSED_FORKS_PATIENCE)
    }

    /// Whether forks were refused in the last two thirds of the run. A program that waits longer and longer between its
    /// tries has not given up.
    fn late(&self, started: Option<Instant>) -> bool {
        let (Some(last), Some(started)) = (self.last, started) else {
            return false;
        };
        (last - started) * 3 > started.elapsed()
    }

    /// Whether forks have been refused for long, or in great number.
    fn persistent(&self) -> bool {
        let span = self.since.zip(self.last).map(|(since, last)| last - since);
        let long = self.recent() && span.is_some_and(|span| span >= REFUSED_FORKS_PATIENCE);
        long || self.count - self.before >= MOST_REFUSED_FORKS
    }
}
