//! Admission: how many runs go on at a time, and how many may wait, each no longer than its request allows.
//!
//! A run that turns out to be long steps aside and makes room for another, so that short ones do not wait for it. Tests
//! whose reader does not read do the same. There are as many places aside as slots. When all are taken, further runs
//! keep their slots.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::counts::COUNTS;
use crate::error::SandboxError;

/// For the advice when to retry: an ordinary run takes about this long for each waiting run and slot.
const TYPICAL_RUN_MS: u64 = 20;

/// See the module. First come, first served.
#[derive(Debug)]
pub(crate) struct Queue {
    slots: Arc<Semaphore>,
    aside: Arc<Semaphore>,
    max_running: usize,
    max_queued: usize,
    queued: AtomicUsize,
    over: Arc<AtomicUsize>,
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    /// A permit of the slots, or of the places aside.
    permit: OwnedSemaphorePermit,
    aside: Arc<Semaphore>,
    over: Over,
}

/// Whether a run is over and only has to be cleared away.
#[derive(Debug)]
struct Over {
    all: Arc<AtomicUsize>,
    is: bool,
}

impl Drop for Over {
    fn drop(&mut self) {
        if self.is {
            self.all.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Slot {
    /// Makes room for another run, if there is a place aside.
    pub(crate) fn step_aside(&mut self) {
        if Arc::ptr_eq(self.permit.semaphore(), &self.aside) {
            return;
        }
        if let Ok(place) = Arc::clone(&self.aside).try_acquire_owned() {
            self.permit = place;
        }
    }

    /// Notes that the run is over. The slot stays taken until the run is cleared away.
    pub(crate) fn over(&mut self) {
        if !std::mem::replace(&mut self.over.is, true) {
            self.over.all.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Removes one from the number of waiting runs, also when the wait is given up.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Queue {
    pub(crate) fn new(max_running: usize, max_queued: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(max_running)),
            aside: Arc::new(Semaphore::new(max_running)),
            max_running,
            max_queued,
            queued: AtomicUsize::new(0),
            over: Arc::default(),
        }
    }

    /// Waits for a slot.
    ///
    /// # Errors
    /// `Overloaded` at once when too many wait, or after the longest allowed wait; `Draining` after `close`.
    pub(crate) async fn enter(&self, patience: Duration) -> Result<Slot, SandboxError> {
        if let Some(slot) = self.try_enter() {
            COUNTS.waited(Duration::ZERO);
            return Ok(slot);
        }
        if self.queued.fetch_add(1, Ordering::Relaxed) >= self.max_queued {
            self.queued.fetch_sub(1, Ordering::Relaxed);
            return Err(self.overloaded(format!("{} runs are waiting", self.max_queued)));
        }
        let (_waiting, began) = (Waiting(&self.queued), Instant::now());
        match tokio::time::timeout(patience, Arc::clone(&self.slots).acquire_owned()).await {
            Ok(Ok(permit)) => {
                COUNTS.waited(began.elapsed());
                Ok(self.slot(permit))
            }
            Ok(Err(_)) => Err(SandboxError::Draining),
            Err(_) => Err(self.overloaded(format!("no slot was free within {} ms", patience.as_millis()))),
        }
    }

    /// A free slot for which no run waits.
    pub(crate) fn try_enter(&self) -> Option<Slot> {
        let permit = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        Some(self.slot(permit))
    }

    fn slot(&self, permit: OwnedSemaphorePermit) -> Slot {
        Slot {
            permit,
            aside: Arc::clone(&self.aside),
            over: Over {
                all: Arc::clone(&self.over),
                is: false,
            },
        }
    }

    pub(crate) fn close(&self) {
        self.slots.close();
    }

    pub(crate) fn running(&self) -> usize {
        let free = self.slots.available_permits() + self.aside.available_permits();
        (2 * self.max_running).saturating_sub(free)
    }

    /// How many runs have a slot and are not over.
    pub(crate) fn busy(&self) -> usize {
        self.running().saturating_sub(self.over.load(Ordering::Relaxed))
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    fn overloaded(&self, message: String) -> SandboxError {
        let rounds = self.queued() / self.max_running.max(1) + 1;
        SandboxError::Overloaded {
            message,
            retry_after_ms: TYPICAL_RUN_MS * rounds as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::time::Duration;

    use proptest::prelude::*;
    use tokio::task::JoinHandle;

    use super::{Queue, SandboxError, Slot};

    #[derive(Clone, Debug)]
    enum Step {
        Enter {
            patience_ms: u64,
        },
        /// A run ends.
        Leave(usize),
        /// A run turns out to be long.
        Yield(usize),
        /// A run is over, and only has to be cleared away.
        End(usize),
        /// The caller of a waiting run gives up.
        GiveUp(usize),
        Pass(u64),
        Close,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (1_u64..200).prop_map(|patience_ms| Step::Enter { patience_ms }),
            4 => any::<usize>().prop_map(Step::Leave),
            2 => any::<usize>().prop_map(Step::Yield),
            2 => any::<usize>().prop_map(Step::End),
            1 => any::<usize>().prop_map(Step::GiveUp),
            3 => (1_u64..120).prop_map(Step::Pass),
            1 => Just(Step::Close),
        ]
    }

    type Entered = Result<Slot, SandboxError>;

    /// A waiting caller: when its patience ends, and its call.
    struct Waiter {
        until: u64,
        call: JoinHandle<Entered>,
    }

    /// Lets every task get as far as it can at this time.
    async fn settle() {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// The queue beside a model: which callers are let in at once or wait, in which order they are served, and
        /// which are refused and why.
        #[test]
        fn it_admits_as_its_model_does(
            slots in 1_usize..4,
            places in 0_usize..4,
            steps in prop::collection::vec(step(), 1..60),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            runtime.expect("a runtime").block_on(async move {
                let queue = Arc::new(Queue::new(slots, places));
                let mut running: Vec<Slot> = Vec::new();
                let mut aside: Vec<Slot> = Vec::new();
                let mut waiting: VecDeque<Waiter> = VecDeque::new();
                let (mut now, mut closed) = (0_u64, false);
                for step in steps {
                    match step {
                        Step::Enter { patience_ms } => {
                            let entering = Arc::clone(&queue);
                            let call = tokio::spawn(async move { entering.enter(Duration::from_millis(patience_ms)).await });
                            settle().await;
                            if closed {
                                let answer = call.await.expect("no panic");
                                let full = waiting.len() >= places;
                                let right = matches!(&answer, Err(SandboxError::Draining))
                                    || (full && matches!(&answer, Err(SandboxError::Overloaded { .. })));
                                assert!(right, "{answer:?} after the end");
                            } else if running.len() < slots {
                                running.push(call.await.expect("no panic").expect("a slot is free"));
                            } else if waiting.len() < places {
                                assert!(!call.is_finished(), "it must wait");
                                waiting.push_back(Waiter { until: now + patience_ms, call });
                            } else {
                                let answer = call.await.expect("no panic");
                                let advised = matches!(answer, Err(SandboxError::Overloaded { retry_after_ms, .. }) if retry_after_ms > 0);
                                assert!(advised, "not refused with advice");
                            }
                        }
                        Step::Leave(which) if which % 2 == 1 && !aside.is_empty() => {
                            drop(aside.remove(which % aside.len()));
                            settle().await;
                        }
                        Step::Yield(which) if !running.is_empty() => {
                            let which = which % running.len();
                            running[which].step_aside();
                            running[which].step_aside();
                            if aside.len() < slots {
                                aside.push(running.remove(which));
                            }
                            settle().await;
                            if running.len() < slots && let Some(first) = waiting.pop_front() {
                                running.push(first.call.await.expect("no panic").expect("a long one made room"));
                            }
                        }
                        Step::Leave(which) if !running.is_empty() => {
                            drop(running.remove(which % running.len()));
                            settle().await;
                            if let Some(first) = waiting.pop_front() {
                                running.push(first.call.await.expect("no panic").expect("first come, first served"));
                            }
                        }
                        Step::GiveUp(which) if !waiting.is_empty() => {
                            let gone = waiting.remove(which % waiting.len()).expect("within bounds");
                            gone.call.abort();
                            assert!(gone.call.await.is_err());
                        }
                        Step::Pass(milliseconds) => {
                            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                            now += milliseconds;
                            settle().await;
                            let mut patient = VecDeque::new();
                            for waiter in waiting.drain(..) {
                                if waiter.until > now {
                                    patient.push_back(waiter);
                                } else if waiter.until < now {
                                    let answer = waiter.call.await.expect("no panic");
                                    assert!(matches!(answer, Err(SandboxError::Overloaded { .. })), "it was patient for longer");
                                } else {
                                    // At this very moment either may have come first; no slot became free meanwhile.
                                    assert!(waiter.call.await.expect("no panic").is_err());
                                }
                            }
                            waiting = patient;
                        }
                        Step::Close => {
                            queue.close();
                            closed = true;
                            settle().await;
                            for waiter in waiting.drain(..) {
                                assert!(matches!(waiter.call.await.expect("no panic"), Err(SandboxError::Draining)));
                            }
                        }
                        Step::End(which) if !running.is_empty() => {
                            let which = which % running.len();
                            running[which].over();
                        }
                        Step::Leave(_) | Step::Yield(_) | Step::End(_) | Step::GiveUp(_) => {}
                    }
                    assert_eq!(queue.busy(), running.iter().chain(&aside).filter(|slot| !slot.over.is).count());
                    assert_eq!((queue.running(), queue.queued()), (running.len() + aside.len(), waiting.len()));
                }
            });
        }
    }
}
