//! The state that all calls share: the daemon as it is at the moment.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prl_sandbox_proto::{Isolation, Load};
use tokio::sync::watch;

use crate::boxes::{Registry, Snapshots};
use crate::egress::Grants;
use crate::images::Images;
use crate::isolation::Probe;
use crate::plan::Terms;
use crate::pool::{Pool, Warm};
use crate::runs::keys::Keys;
use crate::runs::queue::Queue;
use crate::tenants::Results;

/// How long a run waits for a slot when the request does not say.
pub(crate) const DEFAULT_QUEUE: Duration = Duration::from_secs(60);

/// Everything that the calls share.
#[derive(Debug)]
pub(crate) struct DaemonState {
    pub(crate) pool: Arc<Pool>,
    pub(crate) warm: Warm,
    pub(crate) path: String,
    pub(crate) queue: Queue,
    pub(crate) probe: Probe,
    pub(crate) grants: Grants,
    pub(crate) images: Images,
    pub(crate) instance: String,
    pub(crate) max_running: usize,
    pub(crate) max_queued: usize,
    pub(crate) draining: watch::Sender<bool>,
    pub(crate) keys: Keys,
    pub(crate) boxes: Registry,
    pub(crate) snapshots: Snapshots,
    pub(crate) results: Arc<Results>,
    pub(crate) completed: AtomicU64,
}

impl DaemonState {
    /// The daemon's load; without capacity once it stops.
    pub(crate) fn load(&self) -> Load {
        let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Load {
            running: count(self.queue.running()),
            queued: count(self.queue.queued()),
            parked: count(self.pool.parked() + self.warm.parked()),
            held: count(self.boxes.held()),
            capacity: if *self.draining.borrow() {
                0
            } else {
                count(self.max_running)
            },
        }
    }

    /// The terms that requests are checked against.
    pub(crate) fn terms(&self) -> Terms<'_> {
        Terms {
            counts_cpu: self.probe.counts_cpu,
            alone: self.probe.alone,
            network: self.probe.isolation != Isolation::Process,
            path: &self.path,
            grants: &self.grants,
            images: &self.images,
        }
    }
}
