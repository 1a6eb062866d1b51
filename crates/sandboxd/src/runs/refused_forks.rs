//! The forks that the limit of processes refused to one exec: when they end it, and when they are so frequent that the
//! program goes on in bursts.

use std::time::{Duration, Instant};

/// A program whose forks are refused for this long cannot go on: its cause is PIDS.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same holds after this many refused forks. Each refused fork copies a whole process and frees it again, under
/// locks for which every other process with the same files waits.
const MOST: u64 = 1000;
/// Forks that are refused more often than this delay other sandboxes.
const FREQUENT: Duration = Duration::from_millis(5);
/// This many refused forks show how often they are refused.
const FEWEST: u64 = 4;
/// Frequent refusals are over when the program has used this much CPU time without one. Its bursts may be far apart: what it
/// ran beyond its quota, in the kernel, is taken from the next ones.
const OVER_AFTER: Duration = Duration::from_millis(4);

/// See the module.
pub(super) struct RefusedForks {
    /// How many were refused before the exec.
    before: u64,
    count: u64,
    since: Option<Instant>,
    last: Option<Instant>,
    /// The CPU time of the exec when the last one was seen.
    used_at_last: Duration,
    /// When the counter was read last.
    looked: Instant,
    frequent: bool,
}

impl RefusedForks {
    pub(super) fn new(before: u64) -> Self {
        Self {
            before,
            count: before,
            since: None,
            last: None,
            used_at_last: Duration::ZERO,
            looked: Instant::now(),
            frequent: false,
        }
    }

    /// Takes the counter as it is now, and the CPU time that the exec has used.
    pub(super) fn note(&mut self, count: u64, used: Duration) {
        let now = Instant::now();
        let (more, passed) = (count.saturating_sub(self.count), now - self.looked);
        self.looked = now;
        if more > 0 {
            if !self.recent() {
                self.since = Some(now);
            }
            self.last = Some(now);
            self.used_at_last = used;
            self.count = count;
        }
        let often = more >= FEWEST && u128::from(more) * FREQUENT.as_nanos() > passed.as_nanos();
        let over = used.saturating_sub(self.used_at_last) > OVER_AFTER;
        self.frequent = often || (self.frequent && !over);
    }

    /// Whether they are so frequent that they delay other sandboxes.
    pub(super) fn frequent(&self) -> bool {
        self.frequent
    }

    /// Whether a fork was refused in the last moments. A program stands still between its bursts, so they do not count as
    /// a pause.
    pub(super) fn recent(&self) -> bool {
        self.frequent || self.last.is_some_and(|last| last.elapsed() < PATIENCE)
    }

    /// Whether forks were refused in the last two thirds of the run. A program that waits longer and longer between its
    /// tries has not given up.
    pub(super) fn late(&self, started: Option<Instant>) -> bool {
        let (Some(last), Some(started)) = (self.last, started) else {
            return false;
        };
        self.frequent || (last - started) * 3 > started.elapsed()
    }

    /// Whether forks have been refused for long, or in great number.
    pub(super) fn persistent(&self) -> bool {
        let span = self.since.zip(self.last).map(|(since, last)| last - since);
        let long = self.recent() && span.is_some_and(|span| span >= PATIENCE);
        long || self.count - self.before >= MOST
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    const NONE: Duration = Duration::ZERO;

    /// Notes a count after a pause.
    fn noted(before: u64, count: u64, pause: Duration) -> RefusedForks {
        let mut forks = RefusedForks::new(before);
        sleep(pause);
        forks.note(count, NONE);
        forks
    }

    #[test]
    fn many_in_a_short_time_are_frequent_until_the_program_runs_without_one() {
        let mut forks = noted(7, 2007, Duration::from_millis(20));
        assert!(forks.frequent() && forks.persistent());
        sleep(PATIENCE);
        forks.note(2007, OVER_AFTER);
        assert!(
            forks.frequent() && forks.recent() && forks.late(Some(forks.looked)),
            "it stood still"
        );
        forks.note(2007, OVER_AFTER * 2);
        assert!(!forks.frequent() && !forks.recent());
    }

    #[test]
    fn bursts_that_are_far_apart_are_one_time_of_refusals() {
        let mut forks = noted(0, MOST - 2, Duration::ZERO);
        assert!(forks.frequent() && !forks.persistent());
        sleep(PATIENCE);
        forks.note(MOST - 1, OVER_AFTER);
        assert!(forks.persistent(), "refused for half a second");
    }

    #[test]
    fn few_or_rare_ones_are_not_frequent() {
        for (count, pause) in [(3, 0), (4, 30)] {
            let forks = noted(0, count, Duration::from_millis(pause));
            assert!(
                !forks.frequent() && forks.recent() && !forks.persistent(),
                "{count} in {pause} ms"
            );
        }
        assert!(!noted(9, 9, Duration::ZERO).recent(), "those before the exec");
    }
}
