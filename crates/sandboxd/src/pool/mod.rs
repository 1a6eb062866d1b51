//! Sandboxes made in advance.
//!
//! A parked sandbox has never run anything and is given out once, unless it has died meanwhile: such a one is cleared away
//! by who comes upon it, and made up for. The pool keeps as many as it was told to and makes
//! more at once for those who wait; how many wait is bounded by the admission in `runs::queue`, not here. Whoever waits may go
//! away at any time: what was made for them is given to the next.
//!
//! A pool that is patient makes up for what was taken only a while later, so that it takes no processor from whoever got it.
//! It does so at once when less than half is there.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
mod warm;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::SandboxError;
use crate::log::Seldom;
use crate::sandbox::Sandbox;
use crate::warm::Maker;

pub(crate) use warm::Warm;

/// Sandboxes being made at a time: more only makes each slower.
const MAKING_AT_ONCE: usize = 8;
/// Pause before the pool tries again to fill itself after a failure.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// What makes the sandboxes of a pool.
pub(crate) trait Make: Send + Sync + 'static {
    type Made: Destroy;

    /// `image`: its number, counted from 1; 0 is the machine's own root.
    fn make(&self, image: u32) -> impl Future<Output = Result<Self::Made, SandboxError>> + Send;
}

/// What must be ended, and not only dropped.
pub(crate) trait Destroy: Send + 'static {
    /// Whether it is of any use: nobody has ended it from outside.
    fn lives(&self) -> bool;

    /// Returns when nothing of it is left.
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
    /// How long what is missing may be missing.
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
    /// What is missing will be made after the pause.
    pausing: bool,
    making: usize,
    waiting: VecDeque<oneshot::Sender<Answer<T>>>,
    closed: bool,
}

/// What was found where the parked ones are.
struct Found<T> {
    alive: Option<T>,
    dead: Vec<T>,
    /// Few are left.
    low: bool,
}

/// A place in the line. Dropped with a sandbox in it, it gives that back: nobody has used it.
struct Place<M: Make> {
    pool: Arc<Pool<M>>,
    answer: oneshot::Receiver<Answer<M::Made>>,
}

impl<M: Make> Drop for Place<M> {
    fn drop(&mut self) {
        self.answer.close();
        if let Ok(Ok(unused)) = self.answer.try_recv() {
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

    /// Keeps none until it is told to.
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

    /// Keeps so many from now on.
    pub(crate) fn keep(self: &Arc<Self>, target: usize) {
        if std::mem::replace(&mut self.lock().target, target) < target {
            self.fill();
        }
    }

    /// A sandbox that nobody has used. Those with an image are made when they are asked for, and must be waited for.
    pub(crate) async fn acquire(self: &Arc<Self>, image: u32) -> Answer<M::Made> {
        if image > 0 {
            return self.maker.make(image).await;
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
        let mut place = Place { pool, answer };
        if let Some(sandbox) = self.look_after(found) {
            return Ok(sandbox);
        }
        self.fill();
        (&mut place.answer).await.unwrap_or(Err(SandboxError::Draining))
    }

    /// One that is parked, if there is any.
    pub(crate) fn take(self: &Arc<Self>) -> Option<M::Made> {
        let found = self.lock().take();
        self.look_after(found)
    }

    /// Clears the dead away and makes up for what is not there any more.
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

    /// Destroys what is parked; nothing is given out any more.
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

    /// Starts as many set-ups as are missing.
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

    /// Starts them after a while, once for all that is taken meanwhile.
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

    /// Gives one to whoever waits longest, else parks it.
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
    /// One that is parked and lives, and those before it that do not.
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

    /// Returns what nobody takes.
    fn offer(&mut self, made: Answer<T>) -> Option<Answer<T>> {
        let mut made = made;
        while let Some(waiter) = self.waiting.pop_front() {
            match waiter.send(made) {
                Ok(()) => return None,
                // It no longer waits: the next one may have it.
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
