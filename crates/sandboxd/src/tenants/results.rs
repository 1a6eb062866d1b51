//! Results on their way out: how many bytes of them are in memory for readers that have not taken them yet, over all
//! callers. When the bound is reached no further program is begun. So slow readers make others wait, but the daemon's
//! memory does not grow.
//!
//! A result counts from the end of its program until the connection has taken its last byte. The results of programs
//! that are running come on top; they are bounded by the number of runs and the limits of each.
//!
//! A tenant cannot take all of it: each may hold a multiple of the bytes that are still free (the dynamic thresholds of
//! Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998). A single tenant has
//! nearly everything, several have equal shares, and some bytes stay free for a tenant that comes later. Each tenant
//! may always hold a 64th of the bound, since runs that end together can exceed what was free when they began.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prost::Message;
use tokio::sync::Notify;

use super::Tenant;
use crate::error::SandboxError;

/// A tenant may hold this many times the free bytes.
const TIMES_FREE: usize = 8;
/// Each tenant may always hold this part of the bound. Waiting calls are woken when the sum has changed by as much;
/// they also look again after a while.
const STEPS: usize = 64;
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// How many calls may wait for room at a time.
const MOST_WAITING: usize = 4096;
/// After this time there may be room again.
const RETRY_AFTER_MS: u64 = 500;

/// See the module.
#[derive(Debug)]
pub(crate) struct Results {
    most: usize,
    held: AtomicUsize,
    freed: Notify,
    waiting: AtomicUsize,
    /// For each tenant that ever held bytes: at most as many as the token file names.
    tenants: Mutex<HashMap<Tenant, Arc<AtomicUsize>>>,
}

/// The share of one tenant.
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

/// Counts one waiting call.
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

    /// The bytes that are held now.
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
    /// `Overloaded` when there was no room within `patience`, or too many calls wait already.
    pub(crate) async fn room(&self, patience: Duration) -> Result<(), SandboxError> {
        let overloaded = || SandboxError::Overloaded {
            message: "results that were not read fill the memory that they may use".to_owned(),
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
                // A change of less than a step wakes no waiting call.
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
