//! Sandboxes made in advance.
//!
//! A parked sandbox has never run anything and is given out once. The pool keeps as many as it was told to and makes
//! more at once for those who wait; how many wait is bounded by the admission in `queue`, not here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::error::SandboxError;
use crate::sandbox::Sandbox;
use crate::zygote::Maker;

/// Sandboxes being made at a time: more only makes each slower.
const MAKING_AT_ONCE: usize = 8;
/// Pause before the pool tries again to fill itself after a failure.
const AFTER_FAILURE: std::time::Duration = std::time::Duration::from_millis(500);

/// See the module.
#[derive(Debug)]
pub(crate) struct Pool {
    maker: Maker,
    target: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    idle: VecDeque<Sandbox>,
    making: usize,
    waiting: VecDeque<oneshot::Sender<Result<Sandbox, SandboxError>>>,
    closed: bool,
}

impl Pool {
    pub(crate) fn new(maker: Maker, target: usize) -> Arc<Self> {
        let pool = Arc::new(Self {
            maker,
            target,
            state: Mutex::default(),
        });
        pool.fill();
        pool
    }

    /// A sandbox that nobody has used. Those with an image are made when they are asked for.
    pub(crate) async fn acquire(self: &Arc<Self>, image: u32) -> Result<Sandbox, SandboxError> {
        if image > 0 {
            return self.maker.make(image).await;
        }
        let receiver = {
            let mut state = self.lock();
            if state.closed {
                return Err(SandboxError::Draining);
            }
            if let Some(sandbox) = state.idle.pop_front() {
                drop(state);
                self.fill();
                return Ok(sandbox);
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.push_back(sender);
            receiver
        };
        self.fill();
        receiver.await.unwrap_or(Err(SandboxError::Draining))
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts as many set-ups as are missing.
    fn fill(self: &Arc<Self>) {
        loop {
            {
                let mut state = self.lock();
                let wanted = state.waiting.len() + self.target;
                if state.closed || state.making >= MAKING_AT_ONCE || state.idle.len() + state.making >= wanted {
                    return;
                }
                state.making += 1;
            }
            let pool = Arc::clone(self);
            tokio::spawn(async move {
                let made = pool.maker.make(0).await;
                pool.hand_out(made).await;
                pool.fill();
            });
        }
    }

    async fn hand_out(self: &Arc<Self>, made: Result<Sandbox, SandboxError>) {
        let mut made = made;
        let failed = {
            let mut state = self.lock();
            state.making -= 1;
            loop {
                let Some(waiter) = state.waiting.pop_front() else { break };
                match waiter.send(made) {
                    Ok(()) => return,
                    // It no longer waits: the next one may have it.
                    Err(back) => made = back,
                }
            }
            match made {
                Ok(sandbox) if !state.closed => {
                    state.idle.push_back(sandbox);
                    return;
                }
                other => other,
            }
        };
        match failed {
            Ok(sandbox) => sandbox.destroy().await,
            Err(error) => {
                tracing::error!(error = %error.chain(), "cannot make a sandbox in advance");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}
