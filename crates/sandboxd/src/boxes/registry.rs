//! Which boxes there are, by names that no two tenants share.
//!
//! An id is used once: while its box is made or lives an equal request gets the same box, and when it has ended the id
//! is remembered for a while, so that a repeated call never gets a new box by mistake.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::held::{End, HeldBox};
use crate::error::SandboxError;

/// How long the id of an ended box is remembered.
const REMEMBER: Duration = Duration::from_secs(3600);
/// How many are.
const MAX_REMEMBERED: usize = 100_000;

/// A box, or why there is none.
pub(crate) type Made = Result<Arc<HeldBox>, Arc<SandboxError>>;

#[derive(Debug)]
enum Slot {
    Making {
        mark: u64,
        made: watch::Receiver<Option<Made>>,
    },
    Live {
        mark: u64,
        held: Arc<HeldBox>,
    },
    Ended(End),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Registry {
    max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    slots: HashMap<String, Slot>,
    /// Names of ended boxes, oldest first.
    ended: VecDeque<(String, Instant)>,
    held: usize,
}

/// What becomes of a request for a box.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The caller makes it, and says so here.
    New(watch::Sender<Option<Made>>),
    Making(watch::Receiver<Option<Made>>),
    Live(Arc<HeldBox>),
}

impl Registry {
    /// Holds at most `max` boxes.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            state: Mutex::default(),
        }
    }

    /// Claims a name. `id` is the caller's spelling of it.
    pub(crate) fn claim(&self, name: &str, id: &str, mark: u64) -> Result<Claim, SandboxError> {
        let mut state = self.lock();
        state.expire();
        match state.slots.get(name) {
            None => {}
            Some(Slot::Making { mark: known, made }) if *known == mark => return Ok(Claim::Making(made.clone())),
            Some(Slot::Live { mark: known, held }) if *known == mark => return Ok(Claim::Live(Arc::clone(held))),
            Some(Slot::Making { .. } | Slot::Live { .. }) => return Err(SandboxError::Exists(format!("box {id}"))),
            Some(Slot::Ended(end)) => {
                return Err(SandboxError::BoxEnded {
                    id: id.to_owned(),
                    reason: end.reason(),
                });
            }
        }
        if state.held >= self.max {
            return Err(SandboxError::Overloaded {
                message: format!("{} boxes are held", self.max),
                retry_after_ms: 1000,
            });
        }
        state.held += 1;
        let (sender, made) = watch::channel(None);
        state.slots.insert(name.to_owned(), Slot::Making { mark, made });
        Ok(Claim::New(sender))
    }

    /// The box of a claim has been made, or not: then the name is free again.
    pub(crate) fn made(&self, name: &str, mark: u64, made: &Made) {
        let mut state = self.lock();
        match made {
            Ok(held) => {
                let held = Arc::clone(held);
                state.slots.insert(name.to_owned(), Slot::Live { mark, held });
            }
            Err(_) => {
                state.slots.remove(name);
                state.held -= 1;
            }
        }
    }

    /// Nothing of a box is left.
    pub(crate) fn ended(&self, name: &str, end: End) {
        let mut state = self.lock();
        state.slots.insert(name.to_owned(), Slot::Ended(end));
        state.ended.push_back((name.to_owned(), Instant::now()));
        state.held -= 1;
    }

    /// The box of this name.
    pub(crate) fn find(&self, name: &str, id: &str) -> Result<Arc<HeldBox>, SandboxError> {
        match self.lock().slots.get(name) {
            Some(Slot::Live { held, .. }) => Ok(Arc::clone(held)),
            Some(Slot::Ended(end)) => Err(SandboxError::BoxEnded {
                id: id.to_owned(),
                reason: end.reason(),
            }),
            Some(Slot::Making { .. }) | None => Err(SandboxError::NoBox(id.to_owned())),
        }
    }

    /// All boxes whose names begin so and that have these labels.
    pub(crate) fn list(&self, prefix: &str, labels: &HashMap<String, String>) -> Vec<(String, Arc<HeldBox>)> {
        let state = self.lock();
        let mut found: Vec<_> = state
            .slots
            .iter()
            .filter_map(|(name, slot)| match slot {
                Slot::Live { held, .. } if name.starts_with(prefix) && has(&held.request.labels, labels) => {
                    Some((name.clone(), Arc::clone(held)))
                }
                _ => None,
            })
            .collect();
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found
    }

    /// How many are held.
    pub(crate) fn held(&self) -> usize {
        self.lock().held
    }

    /// Ends every box; returns when nothing of them is left.
    pub(crate) async fn close(&self) {
        let all = self.list("", &HashMap::new());
        for (_, held) in &all {
            held.end_with(End::Closed);
        }
        for (_, held) in &all {
            held.gone().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn expire(&mut self) {
        while let Some((name, at)) = self.ended.front() {
            if at.elapsed() < REMEMBER && self.ended.len() <= MAX_REMEMBERED {
                break;
            }
            self.slots.remove(name);
            self.ended.pop_front();
        }
    }
}

/// Whether all wanted labels are there and equal.
pub(crate) fn has(labels: &HashMap<String, String>, wanted: &HashMap<String, String>) -> bool {
    wanted.iter().all(|(name, value)| labels.get(name) == Some(value))
}
