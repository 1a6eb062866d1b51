//! Sandboxes made in advance.
//!
//! No program has ever run in a parked sandbox. It is given out once, unless it has died: the task that finds a dead
//! one clears it away, and the pool makes another. The pool keeps `target` sandboxes parked and makes more at once for
//! callers that wait. Admission in `runs::queue` bounds how many wait. A caller may go away at any time: the sandbox
//! that was made for it goes to the next one.
//!
//! A patient pool replaces the sandboxes that were taken only after a while, so that it takes no processor from the
//! programs in them. It replaces them at once when less than half are left.

#[cfg(test)]
mod tests;

mod warm;

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::SandboxError;
use crate::log::Seldom;
use crate::sandbox::Sandbox;
use crate::warm::Maker;

pub(crate) use warm::Warm;

/// How many sandboxes are made at a time: with more, each only takes longer.
const MAKING_AT_ONCE: usize = 8;
/// Pause before the pool tries again to fill itself after a failure.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// Makes the sandboxes of a pool.
pub(crate) trait Make: Send + Sync + 'static {
    type Made: Destroy;

    /// `image`: its number, counted from 1; 0 is the machine's own root.
    fn make(&self, image: u32) -> impl Future<Output = Result<Self::Made, SandboxError>> + Send;
}

/// A value that must be ended, not only dropped.
pub(crate) trait Destroy: Send + 'static {
    /// Whether it can be used: it was not ended from outside.
    fn lives(&self) -> bool;

    /// Returns when it was taken apart.
    fn destroy(self) -> impl Future<Output = ()> + Send;
}

impl Make for Maker {
    type Made = Sandbox;

    async fn make(&self, image: u32) -> Result<Sandbox, SandboxError> {
        self.make(image).await
    }
}

impl Destroy for Sandbox {
    fn lives(&self) -> bool {
        self.init.lives()
    }

    async fn destroy(self) {
        self.destroy().await;
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Pool<M: Make = Maker> {
    maker: M,
    /// How long after a sandbox was taken it is replaced.
    patience: Duration,
    failures: Seldom,
    deaths: Seldom,
    state: Mutex<State<M::Made>>,
}

type Answer<T> = Result<T, SandboxError>;

#[derive(Debug)]
struct State<T> {
    target: usize,
    idle: VecDeque<T>,
    /// The pause before the next set-ups has begun.
    pausing: bool,
    making: usize,
    waiting: VecDeque<oneshot::Sender<Answer<T>>>,
    closed: bool,
}

/// The parked sandboxes that `take` has looked at.
struct Found<T> {
    alive: Option<T>,
    dead: Vec<T>,
    /// Whether few are left.
    low: bool,
}

/// A place in the line. When it is dropped with a sandbox in it, that sandbox goes back: it was not used. One with an
/// image is destroyed, because none of these is parked.
struct Place<M: Make> {
    pool: Arc<Pool<M>>,
    image: u32,
    answer: oneshot::Receiver<Answer<M::Made>>,
}

impl<M: Make> Drop for Place<M> {
    fn drop(&mut self) {
        self.answer.close();
        if let Ok(Ok(unused)) = self.answer.try_recv() {
            if self.image > 0 {
                tokio::spawn(unused.destroy());
                return;
            }
            let pool = Arc::clone(&self.pool);
            tokio::spawn(async move { pool.hand_out(Ok(unused), false).await });
        }
    }
}

impl<M: Make> Pool<M> {
    pub(crate) fn new(maker: M, target: usize) -> Arc<Self> {
        let pool = Self::patient(maker, Duration::ZERO);
        pool.keep(target);
        pool
    }

    /// A pool that keeps no sandbox until `keep` is called.
    pub(crate) fn patient(maker: M, patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            maker,
            patience,
            failures: Seldom::new(),
            deaths: Seldom::new(),
            state: Mutex::new(State {
                target: 0,
                idle: VecDeque::new(),
                pausing: false,
                making: 0,
                waiting: VecDeque::new(),
                closed: false,
            }),
        })
    }

    /// Sets how many sandboxes are kept.
    pub(crate) fn keep(self: &Arc<Self>, target: usize) {
        if std::mem::replace(&mut self.lock().target, target) < target {
            self.fill();
        }
    }

    /// Gives out a sandbox that was not used. A sandbox with an image is made only when it is asked for.
    pub(crate) async fn acquire(self: &Arc<Self>, image: u32) -> Answer<M::Made> {
        if image > 0 {
            return self.make_with_image(image).await;
        }
        let (found, answer) = {
            let mut state = self.lock();
            if state.closed {
                return Err(SandboxError::Draining);
            }
            let (sender, answer) = oneshot::channel();
            let found = state.take();
            if found.alive.is_none() {
                state.waiting.push_back(sender);
            }
            (found, answer)
        };
        let pool = Arc::clone(self);
        let mut place = Place { pool, image, answer };
        if let Some(sandbox) = self.look_after(found) {
            return Ok(sandbox);
        }
        self.fill();
        (&mut place.answer).await.unwrap_or(Err(SandboxError::Draining))
    }

    /// A separate task makes it, because a set-up that ends with its caller leaves its groups behind.
    async fn make_with_image(self: &Arc<Self>, image: u32) -> Answer<M::Made> {
        let (sender, answer) = oneshot::channel();
        let pool = Arc::clone(self);
        let mut place = Place {
            pool: Arc::clone(self),
            image,
            answer,
        };
        tokio::spawn(async move {
            if let Err(Ok(unused)) = sender.send(pool.maker.make(image).await) {
                unused.destroy().await;
            }
        });
        (&mut place.answer).await.unwrap_or(Err(SandboxError::Draining))
    }

    /// A parked sandbox, if there is one.
    pub(crate) fn take(self: &Arc<Self>) -> Option<M::Made> {
        let found = self.lock().take();
        self.look_after(found)
    }

    /// Clears dead sandboxes away and replaces the missing ones.
    fn look_after(self: &Arc<Self>, found: Found<M::Made>) -> Option<M::Made> {
        let Found { alive, dead, low } = found;
        if !dead.is_empty()
            && let Some(more) = self.deaths.due()
        {
            tracing::warn!(
                dead = dead.len(),
                more,
                "parked sandboxes have died: their inits were killed"
            );
        }
        if alive.is_some() || !dead.is_empty() {
            self.make_up(low);
        }
        for sandbox in dead {
            tokio::spawn(sandbox.destroy());
        }
        alive
    }

    /// How many are parked.
    pub(crate) fn parked(&self) -> usize {
        self.lock().idle.len()
    }

    /// Destroys the parked sandboxes; none is given out any more.
    pub(crate) async fn close(&self) {
        let idle = {
            let mut state = self.lock();
            state.closed = true;
            state.waiting.clear();
            std::mem::take(&mut state.idle)
        };
        let ending: Vec<_> = idle
            .into_iter()
            .map(|sandbox| tokio::spawn(sandbox.destroy()))
            .collect();
        for task in ending {
            if let Err(error) = task.await {
                tracing::error!(%error, "cannot destroy a parked sandbox");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<M::Made>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts as many set-ups as sandboxes are missing.
    fn fill(self: &Arc<Self>) {
        loop {
            {
                let mut state = self.lock();
                state.waiting.retain(|waiter| !waiter.is_closed());
                let wanted = state.waiting.len() + state.target;
                if state.closed || state.making >= MAKING_AT_ONCE || state.idle.len() + state.making >= wanted {
                    return;
                }
                state.making += 1;
            }
            let pool = Arc::clone(self);
            tokio::spawn(async move {
                let made = pool.maker.make(0).await;
                pool.hand_out(made, true).await;
                pool.fill();
            });
        }
    }

    fn make_up(self: &Arc<Self>, low: bool) {
        if low || self.patience.is_zero() {
            self.fill();
        } else {
            self.fill_later();
        }
    }

    /// Starts the set-ups after a while, once for all sandboxes that are taken meanwhile.
    fn fill_later(self: &Arc<Self>) {
        if std::mem::replace(&mut self.lock().pausing, true) {
            return;
        }
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(pool.patience).await;
            pool.lock().pausing = false;
            pool.fill();
        });
    }

    /// Gives a sandbox to the caller that has waited longest, or parks it.
    async fn hand_out(&self, made: Answer<M::Made>, was_making: bool) {
        let left = {
            let mut state = self.lock();
            let left = state.offer(made);
            if !matches!(left, Some(Err(_))) {
                state.making -= usize::from(was_making);
            }
            left
        };
        match left {
            None => {}
            Some(Ok(sandbox)) => sandbox.destroy().await,
            Some(Err(error)) => {
                if let Some(more) = self.failures.due() {
                    tracing::error!(error = %error.chain(), more, "cannot make a sandbox in advance");
                }
                // It counts as being made meanwhile, so that others do not try more often.
                tokio::time::sleep(AFTER_FAILURE).await;
                self.lock().making -= usize::from(was_making);
            }
        }
    }
}

impl<T: Destroy> State<T> {
    /// A parked sandbox that lives, and the dead ones before it.
    fn take(&mut self) -> Found<T> {
        let (mut alive, mut dead) = (None, Vec::new());
        while let Some(next) = self.idle.pop_front() {
            if next.lives() {
                alive = Some(next);
                break;
            }
            dead.push(next);
        }
        let low = self.idle.len() < self.target / 2;
        Found { alive, dead, low }
    }

    /// Offers a sandbox to the waiting callers. Returns it when none takes it.
    fn offer(&mut self, made: Answer<T>) -> Option<Answer<T>> {
        let mut made = made;
        while let Some(waiter) = self.waiting.pop_front() {
            match waiter.send(made) {
                Ok(()) => return None,
                // This caller no longer waits: the next one may get it.
                Err(back) => made = back,
            }
        }
        match made {
            Ok(sandbox) if !self.closed => {
                self.idle.push_back(sandbox);
                None
            }
            left => Some(left),
        }
    }
}
