//! Whether the native work of this process gets on, for the heartbeats of its main loop: a thread that waits for a lock for
//! ever, or for a disk that does not answer, does not stop that loop.
//!
//! A piece of work is what one thread does between the begin and the end of `work`; helpers that it starts join it by `share`.
//! It gets on whenever one of them calls `made`. A loop that can take long has to call `made` in each round, so that the time
//! between two calls stays far below the minutes after which work counts as hanging. A call counts; it reads no clock, because
//! a step of generation makes some hundred. Who asks for standstills reads the clock, and has to ask about once a second.
//!
//! This crate decides nothing: it does not know how long is too long.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// All work that is under way.
static UNDER_WAY: Mutex<Vec<Arc<Work>>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: RefCell<Option<Arc<Work>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct Work {
    name: &'static str,
    /// How often it got on.
    count: AtomicU64,
    /// The count that was seen last, and when it was first seen.
    seen: Mutex<(u64, Instant)>,
}

impl Work {
    /// How long the count has been what it is, as far as it was looked at.
    fn lasts(&self, now: Instant) -> Duration {
        let count = self.count.load(Ordering::Relaxed);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 != count {
            *seen = (count, now);
        }
        now.saturating_duration_since(seen.1)
    }
}

/// Work that does not get on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// The name that the work was begun with.
    pub name: &'static str,
    /// How long ago it was last seen to get on.
    pub lasts: Duration,
}

/// Does a piece of work, which is watched until it returns or panics. Work within work is a part of it.
pub fn work<T>(name: &'static str, body: impl FnOnce() -> T) -> T {
    if CURRENT.with_borrow(Option::is_some) {
        return body();
    }
    let piece = Arc::new(Work {
        name,
        count: AtomicU64::new(0),
        seen: Mutex::new((0, Instant::now())),
    });
    under_way().push(Arc::clone(&piece));
    let _watched = Watched(Arc::clone(&piece));
    within(Some(piece), body)
}

/// The work of this thread gets on. Without work nothing happens.
pub fn made() {
    CURRENT.with_borrow(|current| {
        if let Some(work) = current {
            work.count.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// The work of this thread, for the threads that help with it.
#[derive(Clone, Debug)]
pub struct Share(Option<Arc<Work>>);

/// Shares the work of this thread with others.
#[must_use]
pub fn share() -> Share {
    Share(CURRENT.with_borrow(Clone::clone))
}

impl Share {
    /// Does a part of the work on another thread.
    pub fn part<T>(&self, body: impl FnOnce() -> T) -> T {
        within(self.0.clone(), body)
    }
}

/// The work that has not got on for the longest time; `None` when none is under way.
#[must_use]
pub fn longest_standstill() -> Option<Standstill> {
    let now = Instant::now();
    under_way()
        .iter()
        .map(|work| Standstill {
            name: work.name,
            lasts: work.lasts(now),
        })
        .max_by_key(|standstill| standstill.lasts)
}

fn under_way() -> MutexGuard<'static, Vec<Arc<Work>>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body` with this as the work of the thread, then puts the work before it back.
fn within<T>(work: Option<Arc<Work>>, body: impl FnOnce() -> T) -> T {
    struct Before(Option<Arc<Work>>);
    impl Drop for Before {
        fn drop(&mut self) {
            CURRENT.with_borrow_mut(|current| *current = self.0.take());
        }
    }
    let _before = Before(CURRENT.replace(work));
    body()
}

/// Ends the watch.
struct Watched(Arc<Work>);

impl Drop for Watched {
    fn drop(&mut self) {
        under_way().retain(|work| !Arc::ptr_eq(work, &self.0));
    }
}

#[cfg(test)]
mod tests {
    use std::{panic, thread};

    use super::*;

    const SHORT: Duration = Duration::from_millis(30);

    /// How long the work of this name has not got on.
    fn standstill(name: &str) -> Option<Duration> {
        let found = under_way().iter().find(|work| work.name == name).cloned();
        found.map(|work| work.lasts(Instant::now()))
    }

    #[test]
    fn work_is_watched_until_it_ends_or_panics() {
        assert!(work("ends", || standstill("ends").is_some()));
        assert_eq!(standstill("ends"), None);
        panic::catch_unwind(|| work("panics", || panic!("as it must"))).unwrap_err();
        assert_eq!(standstill("panics"), None);
        made();
    }

    #[test]
    fn the_longest_standstill_is_found_and_work_within_it_ends_it() {
        work("longest", || {
            thread::sleep(SHORT);
            // Other tests of this process may have begun work before.
            let found = longest_standstill().unwrap();
            assert!(found.lasts >= SHORT, "{found:?}");
            work("within", made);
            assert!(standstill("within").is_none());
            assert!(standstill("longest").unwrap() < found.lasts);
        });
    }

    #[test]
    fn helpers_keep_the_work_going_that_was_shared_with_them() {
        work("shared", || {
            let share = share();
            thread::sleep(SHORT);
            let before = standstill("shared").unwrap();
            thread::scope(|scope| {
                scope.spawn(made).join().unwrap();
                assert!(standstill("shared").unwrap() >= before, "another thread's");
                scope.spawn(|| share.part(made)).join().unwrap();
                assert!(standstill("shared").unwrap() < before);
            });
        });
    }
}
