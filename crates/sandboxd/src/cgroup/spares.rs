//! Groups whose sandbox is gone and that the next sandbox may get: making and removing groups takes longer than
//! entering them.
//!
//! The groups of a sandbox must reveal nothing about an earlier sandbox. So a group is kept only if it is empty, its
//! counters can be taken back (`Group::is_as_new`), and the machine has all the counters that show this. Any other
//! group is removed. So are all that are not used for a while.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Group, Layout};

/// How long an unused group is kept.
pub(super) const KEPT_FOR: Duration = Duration::from_millis(500);
/// In ordinary use, at most as many groups are given back at a time as sandboxes run at a time.
const MOST: usize = 64;

/// The groups of one daemon's sandboxes.
#[derive(Debug)]
pub(crate) struct Groups {
    layout: Arc<Layout>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The group that was given back last is at the end.
    spare: Vec<(Instant, Group)>,
    named: u64,
    tidying: bool,
    closed: bool,
}

impl Groups {
    pub(crate) fn new(layout: Arc<Layout>) -> Arc<Self> {
        Arc::new(Self {
            layout,
            state: Mutex::default(),
        })
    }

    /// See `Layout::entrance_of_inits`.
    pub(crate) fn entrance_of_inits(&self) -> Option<BorrowedFd<'_>> {
        self.layout.entrance_of_inits()
    }

    /// Gives out groups that are empty.
    pub(crate) fn take(self: &Arc<Self>) -> io::Result<Group> {
        let number = {
            let mut state = self.lock();
            if let Some((_, group)) = state.spare.pop() {
                return Ok(group);
            }
            state.named += 1;
            state.named
        };
        let mut group = Group::create(&self.layout, &number.to_string())?;
        group.counters.open();
        group.home = Arc::downgrade(self);
        Ok(group)
    }

    /// Keeps a group. Returns it when there are enough.
    pub(super) fn keep(self: &Arc<Self>, group: Group) -> Option<Group> {
        let mut state = self.lock();
        if state.closed || state.spare.len() >= MOST {
            return Some(group);
        }
        state.spare.push((Instant::now(), group));
        if !std::mem::replace(&mut state.tidying, true) {
            tokio::spawn(Arc::clone(self).tidy());
        }
        None
    }

    /// Removes all kept groups; none is kept any more.
    pub(crate) async fn close(&self) {
        let spare = {
            let mut state = self.lock();
            state.closed = true;
            std::mem::take(&mut state.spare)
        };
        remove(spare).await;
    }

    /// Removes unused groups, until none is left.
    async fn tidy(self: Arc<Self>) {
        loop {
            tokio::time::sleep(KEPT_FOR).await;
            let (old, done) = {
                let mut state = self.lock();
                let young = state.spare.iter().position(|(since, _)| since.elapsed() < KEPT_FOR);
                let young = young.unwrap_or(state.spare.len());
                let old: Vec<_> = state.spare.drain(..young).collect();
                let done = state.spare.is_empty();
                state.tidying = !done;
                (old, done)
            };
            remove(old).await;
            if done {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn remove(groups: Vec<(Instant, Group)>) {
    for (_, group) in groups {
        if let Err(error) = group.remove().await {
            tracing::error!(%error, "cannot remove an unused cgroup");
        }
    }
}
