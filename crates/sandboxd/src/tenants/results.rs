//! Results on their way out: how many bytes of them are in memory for readers who have not taken them yet, over all
//! callers. While those are as many as may be no further program is begun, so that slow readers make others wait and never
//! the daemon grow.
//!
//! A result counts from the end of its program until the connection has taken its last byte. Those of programs that run
//! at the moment come on top: as many as run at a time, each with the limits of its own.
//!
//! No tenant takes all of it: each may hold so many times what is still free (the dynamic thresholds of Choudhury and Hahne,
//! "Dynamic queue length thresholds for shared-memory packet switches", 1998). One alone has nearly everything, several have
//! equal shares, and something is free for one who comes next. A 64th of the bound is each tenant's in any case, since runs that end
//! together can go beyond what was free when they began.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prost::Message;
use tokio::sync::Notify;

use super::Tenant;
use crate::error::SandboxError;

/// So many times the free bytes may be one tenant's.
const TIMES_FREE: usize = 8;
/// This part of the bound may be any tenant's. Who waits is told when the sum has changed by as much, and looks again anyhow
/// after a while.
const STEPS: usize = 64;
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Calls that wait for room at a time.
const MOST_WAITING: usize = 4096;
/// When room may be there again.
const RETRY_AFTER_MS: u64 = 500;

/// See the module.
#[derive(Debug)]
pub(crate) struct Results {
    most: usize,
    held: AtomicUsize,
    freed: Notify,
    waiting: AtomicUsize,
    /// Of each tenant that ever had some. There are as many as the token file names.
    tenants: Mutex<HashMap<Tenant, Arc<AtomicUsize>>>,
}

/// What one tenant has of it.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    results: Arc<Results>,
    held: Arc<AtomicUsize>,
}

/// Bytes that are in memory until this is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    share: Share,
    bytes: usize,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Share { results, held } = &self.share;
        held.fetch_sub(self.bytes, Ordering::AcqRel);
        let before = results.held.fetch_sub(self.bytes, Ordering::AcqRel);
        let step = results.step();
        if before / step != (before - self.bytes) / step {
            results.freed.notify_waiters();
        }
    }
}

/// Counts one that waits.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Results {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            held: AtomicUsize::new(0),
            freed: Notify::new(),
            waiting: AtomicUsize::new(0),
            tenants: Mutex::default(),
        })
    }

    fn step(&self) -> usize {
        (self.most / STEPS).max(1)
    }

    /// Bytes now.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    pub(crate) fn of(self: &Arc<Self>, tenant: &Tenant) -> Share {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let held = match tenants.get(tenant) {
            Some(held) => held,
            None => tenants.entry(tenant.clone()).or_default(),
        };
        Share {
            results: Arc::clone(self),
            held: Arc::clone(held),
        }
    }
}

impl Share {
    /// Whether another result may be made.
    pub(crate) fn has_room(&self) -> bool {
        let free = self
            .results
            .most
            .saturating_sub(self.results.held.load(Ordering::Acquire));
        let fair = free.saturating_mul(TIMES_FREE).max(self.results.step());
        self.held.load(Ordering::Acquire) < fair
    }

    /// Waits until another result may be made.
    ///
    /// # Errors
    /// `Overloaded` when it was not within `patience`, or too many wait for that already.
    pub(crate) async fn room(&self, patience: Duration) -> Result<(), SandboxError> {
        let overloaded = || SandboxError::Overloaded {
            message: "results that nobody has read fill the memory that they may".to_owned(),
            retry_after_ms: RETRY_AFTER_MS,
        };
        if self.has_room() {
            return Ok(());
        }
        let before = self.results.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(&self.results.waiting);
        if before >= MOST_WAITING {
            return Err(overloaded());
        }
        let free = async {
            loop {
                let freed = self.results.freed.notified();
                tokio::pin!(freed);
                // From here on no notice is missed.
                freed.as_mut().enable();
                if self.has_room() {
                    return;
                }
                // What is freed by less than a step is not told.
                let _elapsed = tokio::time::timeout(LOOK_AGAIN, freed).await;
            }
        };
        tokio::time::timeout(patience, free).await.map_err(|_| overloaded())
    }

    /// A reply whose message counts until its reader has it.
    pub(crate) fn counted<M: Message>(&self, message: M) -> tonic::Response<M> {
        let kept = Arc::new(self.keep(message.encoded_len()));
        let mut reply = tonic::Response::new(message);
        reply.extensions_mut().insert(kept);
        reply
    }

    pub(crate) fn keep(&self, bytes: usize) -> Kept {
        self.held.fetch_add(bytes, Ordering::AcqRel);
        self.results.held.fetch_add(bytes, Ordering::AcqRel);
        Kept {
            share: self.clone(),
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_leaves_room_for_others() {
        let results = Results::new(1000);
        let [ann, ben, cat] = ["ann", "ben", "cat"].map(|name| results.of(&Tenant::named(name)));
        let fill = |share: &Share| {
            let mut kept = Vec::new();
            while share.has_room() {
                kept.push(share.keep(10));
            }
            kept
        };
        let of_ann = fill(&ann);
        assert_eq!(of_ann.len(), 89, "one alone has eight of nine parts");
        assert!(ann.room(Duration::from_secs(9)).await.is_err());
        let of_ben = fill(&ben);
        assert!(!of_ben.is_empty());
        cat.room(Duration::ZERO).await.expect("room for a third");
        let beyond = ann.keep(500);
        cat.room(Duration::ZERO).await.expect("room although there is none");
        drop(beyond);
        drop(of_ann);
        let more = fill(&ben).len() + of_ben.len();
        assert!(more > 80, "what another gave back: {more}");
        let waiting = tokio::spawn({
            let ben = ben.clone();
            async move { ben.room(Duration::from_secs(60)).await }
        });
        tokio::task::yield_now().await;
        drop(of_ben);
        waiting.await.expect("no panic").expect("room");
        drop(ann.keep(5));
        assert_eq!(results.held.load(Ordering::Relaxed), 0);
        assert!([ann, ben, cat].iter().all(|one| one.held.load(Ordering::Relaxed) == 0));
    }
}
