//! Admission: how many runs go on at a time and how many may wait, each no longer than it said.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::SandboxError;

/// Retry advice per waiting run and slot: an ordinary run takes about this long.
const TYPICAL_RUN_MS: u64 = 20;

/// See the module. First come, first served.
#[derive(Debug)]
pub(crate) struct Queue {
    slots: Arc<Semaphore>,
    max_running: usize,
    max_queued: usize,
    queued: AtomicUsize,
}

/// Takes one from the number of waiting runs, also when the wait is given up.
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
            max_running,
            max_queued,
            queued: AtomicUsize::new(0),
        }
    }

    /// Waits for a slot.
    ///
    /// # Errors
    /// `Overloaded` at once when too many wait, or when the wait was as long as it may be; `Draining` after `close`.
    pub(crate) async fn enter(&self, patience: Duration) -> Result<OwnedSemaphorePermit, SandboxError> {
        if let Ok(permit) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(permit);
        }
        if self.queued.fetch_add(1, Ordering::Relaxed) >= self.max_queued {
            self.queued.fetch_sub(1, Ordering::Relaxed);
            return Err(self.overloaded(format!("{} runs are waiting", self.max_queued)));
        }
        let _waiting = Waiting(&self.queued);
        match tokio::time::timeout(patience, Arc::clone(&self.slots).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(SandboxError::Draining),
            Err(_) => Err(self.overloaded(format!("no slot was free within {} ms", patience.as_millis()))),
        }
    }

    pub(crate) fn close(&self) {
        self.slots.close();
    }

    pub(crate) fn running(&self) -> usize {
        self.max_running - self.slots.available_permits().min(self.max_running)
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
