//! A pool of threads for parallel loops of a few microseconds.
//!
//! Threads claim task indices from one counter, so it is not fixed which thread runs a task: each task must write to its own places, and
//! no sum may run over several tasks. Idle threads spin for a bounded time, then park, so that several processes can share few cores. The
//! caller works too and never waits for a thread that has not yet begun; a late thread finds the loop closed. Loops of several callers
//! run one after the other; a loop started inside a task runs on that task's thread alone.

use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Spins of an idle thread before it parks: about 100 microseconds, longer than the serial stretches of a training step.
const SPINS_BEFORE_PARK: u32 = 6_000;
/// Spins of a caller that waits for the last tasks before it yields its core.
const SPINS_BEFORE_YIELD: u32 = 200;

const OPEN: usize = 1;
const ONE_WORKER: usize = 2;

thread_local! {
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
}

type Task = dyn Fn(usize) + Sync;

struct Job {
    task: *const Task,
    count: usize,
}

struct Shared {
    /// Written by the caller while the loop is closed and no worker is in it; read by workers that entered.
    job: UnsafeCell<Option<Job>>,
    /// Bit 0 says that the loop is open; the other bits count the workers inside.
    state: AtomicUsize,
    next: AtomicUsize,
    epoch: AtomicUsize,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
    panicked: AtomicBool,
    shutdown: AtomicBool,
}

// SAFETY: `job` is the only field that is not Sync. It is written by the holder of `Pool::caller` while `state` is 0, and read only by
// workers that entered by raising `state` from an open value, which happens after the write (release on `state`, acquire on entry).
unsafe impl Sync for Shared {}
// SAFETY: the raw pointer in `job` is only dereferenced during the loop that set it, while the caller keeps the closure alive.
unsafe impl Send for Shared {}

/// The pool. Dropping it ends its threads.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    caller: Mutex<()>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool in which `threads` threads work, the caller among them.
    pub(crate) fn new(threads: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            job: UnsafeCell::new(None),
            state: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            epoch: AtomicUsize::new(0),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            wake: Condvar::new(),
            panicked: AtomicBool::new(false),
            shutdown: AtomicBool::new(false),
        });
        let mut pool = Self {
            shared,
            caller: Mutex::new(()),
            threads: Vec::new(),
        };
        for index in 1..threads {
            let shared = Arc::clone(&pool.shared);
            let builder = std::thread::Builder::new().name(format!("prl-compute-{index}"));
            pool.threads.push(builder.spawn(move || work(&shared))?);
        }
        Ok(pool)
    }

    /// The number of threads that work in a loop, the caller included.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Runs `task(0..count)`, each index once, and returns when all are done.
    ///
    /// # Panics
    /// When a task panicked.
    pub(crate) fn run(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        if count <= 1 || self.threads.is_empty() || IN_TASK.get() {
            (0..count).for_each(task);
            prl_progress::made();
            return;
        }
        let _caller = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. The pointer is dropped below, before `task` can go out of scope.
        let task_static: *const Task =
            unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync), *const Task>(task) };
        // SAFETY: `state` is 0 here (the previous loop waited for it) and we hold `caller`, so no other thread reads or writes `job`.
        unsafe {
            *shared.job.get() = Some(Job {
                task: task_static,
                count,
            })
        };
        shared.next.store(0, Ordering::Relaxed);
        shared.state.store(OPEN, Ordering::Release);
        shared.epoch.fetch_add(1, Ordering::SeqCst);
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            drop(shared.lock.lock().unwrap_or_else(PoisonError::into_inner));
            shared.wake.notify_all();
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| drain(shared, task, count)));
        shared.state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut spins = 0;
        while shared.state.load(Ordering::Acquire) != 0 {
            spins += 1;
            if spins < SPINS_BEFORE_YIELD {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        // SAFETY: `state` is 0 again: no worker is inside.
        unsafe { *shared.job.get() = None };
        let worker_panicked = shared.panicked.swap(false, Ordering::AcqRel);
        prl_progress::made();
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        assert!(!worker_panicked, "a compute task panicked on a worker thread");
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.shutdown.store(true, Ordering::SeqCst);
        self.shared.epoch.fetch_add(1, Ordering::SeqCst);
        drop(self.shared.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // Joining cannot fail, because a worker catches the panics of its tasks.
            let _ = thread.join();
        }
    }
}

fn drain(shared: &Shared, task: &(dyn Fn(usize) + Sync), count: usize) {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            IN_TASK.set(false);
        }
    }
    IN_TASK.set(true);
    let _reset = Reset;
    loop {
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            return;
        }
        task(index);
    }
}

fn work(shared: &Shared) {
    let mut seen = 0;
    loop {
        seen = wait_for_epoch(shared, seen);
        if shared.shutdown.load(Ordering::SeqCst) {
            return;
        }
        let entered = shared.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            (state & OPEN != 0).then(|| state + ONE_WORKER)
        });
        if entered.is_err() {
            continue;
        }
        // SAFETY: we are inside an open loop: `job` is set, and stays set and alive until we leave.
        let (task, count) = unsafe {
            match &*shared.job.get() {
                Some(job) => (&*job.task, job.count),
                None => unreachable!("an open loop has a job"),
            }
        };
        if catch_unwind(AssertUnwindSafe(|| drain(shared, task, count))).is_err() {
            shared.panicked.store(true, Ordering::Release);
        }
        shared.state.fetch_sub(ONE_WORKER, Ordering::Release);
    }
}

fn wait_for_epoch(shared: &Shared, seen: usize) -> usize {
    for _ in 0..SPINS_BEFORE_PARK {
        let epoch = shared.epoch.load(Ordering::Acquire);
        if epoch != seen {
            return epoch;
        }
        std::hint::spin_loop();
    }
    let mut guard = shared.lock.lock().unwrap_or_else(PoisonError::into_inner);
    shared.sleepers.fetch_add(1, Ordering::SeqCst);
    let epoch = loop {
        let epoch = shared.epoch.load(Ordering::SeqCst);
        if epoch != seen {
            break epoch;
        }
        guard = shared.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
    };
    shared.sleepers.fetch_sub(1, Ordering::SeqCst);
    epoch
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn every_index_runs_once_in_loops_of_many_sizes() {
        for threads in 1..=4 {
            let pool = Pool::new(threads).expect("threads start");
            for count in [0, 1, 2, 3, 17, 256] {
                let hits: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
                for _ in 0..50 {
                    pool.run(count, &|index| {
                        hits[index].fetch_add(1, Ordering::Relaxed);
                    });
                }
                assert!(hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 50));
            }
        }
    }

    #[test]
    fn several_callers_and_nested_loops_finish() {
        let pool = Pool::new(3).expect("threads start");
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        pool.run(8, &|_| {
                            pool.run(2, &|_| {
                                total.fetch_add(1, Ordering::Relaxed);
                            });
                        });
                    }
                });
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 4 * 100 * 16);
    }

    #[test]
    fn a_panicking_task_panics_the_caller_and_leaves_the_pool_usable() {
        let pool = Pool::new(2).expect("threads start");
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.run(64, &|index| assert!(index != 13, "thirteen"))
        }));
        assert!(outcome.is_err());
        let sum = AtomicUsize::new(0);
        pool.run(10, &|index| {
            sum.fetch_add(index, Ordering::Relaxed);
        });
        assert_eq!(sum.load(Ordering::Relaxed), 45);
    }

    #[test]
    fn no_wake_up_is_lost_when_threads_park_between_loops_and_outnumber_the_cores() {
        let pool = Pool::new(8).expect("threads start");
        let total = AtomicUsize::new(0);
        for round in 0..400u32 {
            // Pauses range from none to one that is long enough for every thread to park.
            std::thread::sleep(std::time::Duration::from_micros(u64::from(round % 8) * 60));
            pool.run(16, &|_| {
                total.fetch_add(1, Ordering::Relaxed);
            });
        }
        assert_eq!(total.load(Ordering::Relaxed), 400 * 16);
    }
}
