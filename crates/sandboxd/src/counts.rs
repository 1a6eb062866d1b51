//! Counters from the start of the process on. They do not depend on their readers.

use std::array;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use prl_sandbox_proto::{Cause, Output, RunOnceResult};

/// Upper bounds of the times, in seconds; the last class has none.
pub(crate) const BOUNDS: [f64; 15] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0,
];
/// One counter for each number of a cause.
const CAUSES: usize = Cause::Infra as usize + 1;

/// The counters of this process.
pub(crate) static COUNTS: Counts = Counts::new();

/// See the module.
#[derive(Debug)]
pub(crate) struct Counts {
    ended: [AtomicU64; CAUSES],
    output_bytes: AtomicU64,
    /// Errors that callers got, by code. There are as many codes as kinds of errors.
    errors: Mutex<BTreeMap<&'static str, u64>>,
    /// Waiting times in the queue, of calls that were admitted.
    pub(crate) queued: Times,
    /// From a run's slot to the start of its program.
    pub(crate) set_up: Times,
    pub(crate) ran: Times,
    pub(crate) births: [Births; 2],
    template_restarts: AtomicU64,
    boxes_ended: [AtomicU64; 4],
    /// How late a task of the runtime was called.
    pub(crate) lag: Times,
}

/// The kind of thing that is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Sandbox,
    Zygote,
}

/// Why a box ended. The order is that of `Counts::boxes_ended_by_reason`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BoxEnd {
    Closed,
    LeaseOver,
    LifetimeOver,
    Broken,
}

#[derive(Debug)]
pub(crate) struct Births {
    pub(crate) kind: &'static str,
    pub(crate) took: Times,
    failed: AtomicU64,
}

/// A set-up that is under way. It counts as a failure unless it is marked as done.
#[derive(Debug)]
pub(crate) struct Birth {
    kind: Kind,
    began: Instant,
    done: bool,
}

/// How many durations were measured, by class.
#[derive(Debug)]
pub(crate) struct Times {
    classes: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Times {
    const fn new() -> Self {
        Self {
            classes: [const { AtomicU64::new(0) }; BOUNDS.len() + 1],
            nanoseconds: AtomicU64::new(0),
        }
    }

    fn note(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let class = BOUNDS.partition_point(|bound| *bound < seconds);
        if let Some(class) = self.classes.get(class) {
            add(class, 1);
        }
        add(&self.nanoseconds, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    fn note_ms(&self, took: f64) {
        self.note(Duration::try_from_secs_f64(took / 1000.0).unwrap_or_default());
    }

    /// The number in each class, and the sum in seconds.
    pub(crate) fn read(&self) -> ([u64; BOUNDS.len() + 1], f64) {
        let classes = array::from_fn(|at| self.classes.get(at).map_or(0, read));
        (classes, Duration::from_nanos(read(&self.nanoseconds)).as_secs_f64())
    }
}

impl Births {
    const fn new(kind: &'static str) -> Self {
        Self {
            kind,
            took: Times::new(),
            failed: AtomicU64::new(0),
        }
    }

    pub(crate) fn failed(&self) -> u64 {
        read(&self.failed)
    }
}

impl Birth {
    pub(crate) fn begin(kind: Kind) -> Self {
        Self {
            kind,
            began: Instant::now(),
            done: false,
        }
    }

    pub(crate) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Birth {
    fn drop(&mut self) {
        let [sandboxes, zygotes] = &COUNTS.births;
        let births = match self.kind {
            Kind::Sandbox => sandboxes,
            Kind::Zygote => zygotes,
        };
        if self.done {
            births.took.note(self.began.elapsed());
        } else {
            add(&births.failed, 1);
        }
    }
}

impl Counts {
    const fn new() -> Self {
        Self {
            ended: [const { AtomicU64::new(0) }; CAUSES],
            output_bytes: AtomicU64::new(0),
            errors: Mutex::new(BTreeMap::new()),
            queued: Times::new(),
            set_up: Times::new(),
            ran: Times::new(),
            births: [Births::new("sandbox"), Births::new("zygote")],
            template_restarts: AtomicU64::new(0),
            boxes_ended: [const { AtomicU64::new(0) }; 4],
            lag: Times::new(),
        }
    }

    /// Counts the end of a run, an exec or a case.
    pub(crate) fn judged(&self, result: &RunOnceResult) {
        self.end(Cause::try_from(result.cause).unwrap_or_default());
        let bytes = |output: &Option<Output>| output.as_ref().map_or(0, |output| output.total);
        add(&self.output_bytes, bytes(&result.stdout) + bytes(&result.stderr));
        if let Some(timings) = &result.timings {
            self.ran.note_ms(timings.run_ms);
        }
    }

    /// Counts an end without a result of a program.
    pub(crate) fn end(&self, cause: Cause) {
        if let Some(count) = self.ended.get(cause as usize) {
            add(count, 1);
        }
    }

    /// Counts a failure of the infrastructure.
    pub(crate) fn infra(&self, code: &'static str) {
        self.end(Cause::Infra);
        self.error(code);
    }

    /// Counts an error with this code that a caller got.
    pub(crate) fn error(&self, code: &'static str) {
        *self.errors().entry(code).or_default() += 1;
    }

    pub(crate) fn waited(&self, long: Duration) {
        self.queued.note(long);
    }

    pub(crate) fn set_up(&self, ms: f64) {
        self.set_up.note_ms(ms);
    }

    pub(crate) fn template_restarted(&self) {
        add(&self.template_restarts, 1);
    }

    pub(crate) fn box_ended(&self, why: BoxEnd) {
        if let Some(count) = self.boxes_ended.get(why as usize) {
            add(count, 1);
        }
    }

    pub(crate) fn late(&self, by: Duration) {
        self.lag.note(by);
    }

    fn errors(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn errors_by_code(&self) -> Vec<(&'static str, u64)> {
        self.errors().iter().map(|(code, count)| (*code, *count)).collect()
    }

    /// The counts of all causes.
    pub(crate) fn ended_by_cause(&self) -> Vec<(&'static str, u64)> {
        let named = self.ended.iter().zip(0_i32..).skip(1);
        named
            .map(|(count, number)| (Cause::try_from(number).unwrap_or_default().as_str_name(), read(count)))
            .collect()
    }

    pub(crate) fn boxes_ended_by_reason(&self) -> [(&'static str, u64); 4] {
        let [closed, lease, lifetime, broken] = self.boxes_ended.each_ref().map(read);
        [
            ("closed", closed),
            ("lease", lease),
            ("lifetime", lifetime),
            ("broken", broken),
        ]
    }

    pub(crate) fn output_bytes(&self) -> u64 {
        read(&self.output_bytes)
    }

    pub(crate) fn template_restarts(&self) -> u64 {
        read(&self.template_restarts)
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each time is in the class whose bound it does not exceed, and in no other.
        #[test]
        fn times_fall_into_their_classes(micros in prop::collection::vec(0_u64..100_000_000, 0..40)) {
            let times = Times::new();
            for one in &micros {
                times.note(Duration::from_micros(*one));
            }
            let (classes, sum) = times.read();
            for (at, bound) in BOUNDS.iter().enumerate() {
                let within = micros.iter().filter(|one| Duration::from_micros(**one).as_secs_f64() <= *bound).count();
                prop_assert_eq!(classes[..=at].iter().sum::<u64>(), within as u64);
            }
            prop_assert_eq!(classes.iter().sum::<u64>(), micros.len() as u64);
            prop_assert!((sum - micros.iter().sum::<u64>() as f64 / 1e6).abs() < 1e-6);
        }
    }

    #[test]
    fn every_cause_has_a_place_and_a_name() {
        let counts = Counts::new();
        counts.end(Cause::Infra);
        let by_cause = counts.ended_by_cause();
        assert_eq!(by_cause.first(), Some(&("EXITED", 0)));
        assert_eq!(by_cause.last(), Some(&("INFRA", 1)));
        assert!(
            Cause::try_from(i32::try_from(CAUSES).expect("small")).is_err(),
            "one without a place"
        );
        assert_eq!(by_cause.len(), CAUSES - 1);
    }
}
