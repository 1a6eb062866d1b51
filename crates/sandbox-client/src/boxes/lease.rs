//! Renewal of leases: in each third of the shortest lease, one call to each daemon for all boxes held there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prl_sandbox_proto::RenewRequest;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::sandbox_box::Held;
use crate::call::{Manner, Repeat, ask};
use crate::node::Node;
use crate::outcome::{Infra, RunOutcome};

/// Renewals in one lease.
const PER_LEASE: u32 = 3;
/// Shortest pause between renewals, however short leases are.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// The boxes held by a client.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    by_node: Mutex<HashMap<usize, Arc<Renewal>>>,
}

/// The boxes on one daemon.
#[derive(Debug)]
struct Renewal {
    node: Arc<Node>,
    boxes: Mutex<Vec<Weak<Held>>>,
    /// Signals that a box was added, whose lease may be shorter than the pause.
    added: Notify,
}

impl Leases {
    /// Renews this box's lease as long as a handle of it exists.
    pub(crate) fn keep(&self, held: &Arc<Held>) {
        let mut by_node = self.by_node.lock().unwrap_or_else(PoisonError::into_inner);
        let renewal = by_node.entry(Arc::as_ptr(&held.node).addr()).or_insert_with(|| {
            let renewal = Arc::new(Renewal {
                node: Arc::clone(&held.node),
                boxes: Mutex::default(),
                added: Notify::new(),
            });
            tokio::spawn(renew(Arc::downgrade(&renewal)));
            renewal
        });
        renewal
            .boxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::downgrade(held));
        renewal.added.notify_one();
    }

    /// Every box that has not ended, by its daemon.
    pub(crate) fn held(&self) -> Vec<(Arc<Node>, Vec<Arc<Held>>)> {
        let by_node = self.by_node.lock().unwrap_or_else(PoisonError::into_inner);
        let of_node = |renewal: &Arc<Renewal>| (Arc::clone(&renewal.node), renewal.live());
        by_node
            .values()
            .map(of_node)
            .filter(|(_, boxes)| !boxes.is_empty())
            .collect()
    }
}

impl Renewal {
    /// Forgets boxes that have ended or have no handle, and returns the others.
    fn live(&self) -> Vec<Arc<Held>> {
        let mut boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut live = Vec::with_capacity(boxes.len());
        boxes.retain(|held| {
            let held = held.upgrade().filter(|held| !held.is_over());
            let keep = held.is_some();
            live.extend(held);
            keep
        });
        live
    }

    /// When to renew next; `None` without a box.
    fn pause(&self) -> Option<Duration> {
        let shortest = self.live().iter().map(|held| held.lease()).min()?;
        Some((shortest / PER_LEASE).max(SHORTEST_PAUSE))
    }
}

/// Renews until the client is gone.
async fn renew(renewal: Weak<Renewal>) {
    loop {
        let Some(renewal) = renewal.upgrade() else { return };
        let Some(pause) = renewal.pause() else {
            // The wait is short, so that this task notices when the client is gone.
            let _ = timeout(Duration::from_secs(1), renewal.added.notified()).await;
            continue;
        };
        tokio::select! {
            () = sleep(pause) => {}
            () = renewal.added.notified() => continue,
        }
        let boxes = renewal.live();
        if boxes.is_empty() {
            continue;
        }
        if let Some(exit) = renewal.node.exit().await {
            boxes
                .iter()
                .for_each(|held| held.end(RunOutcome::infra(Infra::DaemonExited, exit.clone())));
            continue;
        }
        let ids: Vec<String> = boxes.iter().map(|held| held.id().to_owned()).collect();
        drop(boxes);
        let manner = Manner {
            repeat: Repeat::Safe,
            deadline: pause,
            instance: None,
        };
        let asked = ask(&renewal.node, manner, |connection| {
            let request = RenewRequest { ids: ids.clone() };
            async move { connection.boxes().renew(request).await }
        });
        match asked.await {
            Ok(reply) => {
                for held in renewal
                    .live()
                    .iter()
                    .filter(|held| reply.gone.iter().any(|gone| gone == held.id()))
                {
                    held.end(RunOutcome::infra(
                        Infra::BoxEnded,
                        "the box has ended; its daemon does not know it any more",
                    ));
                }
            }
            // The next pause is a third of a lease away: there is time for another try.
            Err(error) => tracing::warn!(%error, "leases were not renewed"),
        }
    }
}
