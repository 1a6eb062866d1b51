//! The boxes that exist, by names that no two tenants share.
//!
//! An id is used once. While its box is being made or exists, an equal request gets the same box. When the box has
//! ended, its id is remembered for a while, so that a repeated call never gets a new box by mistake.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::sandbox_box::{End, SandboxBox};
use crate::error::SandboxError;

/// How long the id of an ended box is remembered.
const REMEMBER: Duration = Duration::from_secs(3600);
/// How long to wait for all boxes to end.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);
/// How many ids are remembered.
const MAX_REMEMBERED: usize = 100_000;

/// A box, or the reason why it could not be made.
pub(crate) type Made<B = SandboxBox> = Result<Arc<B>, Arc<SandboxError>>;

/// The part of a box that the registry needs.
pub(crate) trait Labelled {
    fn labels(&self) -> &HashMap<String, String>;
}

#[derive(Debug)]
enum Slot<B> {
    Making {
        mark: u64,
        made: watch::Receiver<Option<Made<B>>>,
    },
    Live {
        mark: u64,
        held: Arc<B>,
    },
    Ended(End),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Registry<B = SandboxBox> {
    max: usize,
    state: Mutex<State<B>>,
}

#[derive(Debug)]
struct State<B> {
    slots: HashMap<String, Slot<B>>,
    /// Names of ended boxes, oldest first.
    ended: VecDeque<(String, Instant)>,
    held: usize,
}

/// The answer to a request for a box.
#[derive(Debug)]
pub(crate) enum Claim<B = SandboxBox> {
    /// The caller makes the box and reports the result here.
    New(watch::Sender<Option<Made<B>>>),
    Making(watch::Receiver<Option<Made<B>>>),
    Live(Arc<B>),
}

impl<B: Labelled> Registry<B> {
    /// Holds at most `max` boxes.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            state: Mutex::new(State {
                slots: HashMap::new(),
                ended: VecDeque::new(),
                held: 0,
            }),
        }
    }

    /// Claims a name. `id` is the name as the caller wrote it.
    pub(crate) fn claim(&self, name: &str, id: &str, mark: u64) -> Result<Claim<B>, SandboxError> {
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

    /// Records the box of a claim. When it could not be made, the name is free again.
    pub(crate) fn made(&self, name: &str, mark: u64, made: &Made<B>) {
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

    /// Records that a box was taken apart.
    pub(crate) fn ended(&self, name: &str, end: End) {
        let mut state = self.lock();
        state.slots.insert(name.to_owned(), Slot::Ended(end));
        state.ended.push_back((name.to_owned(), Instant::now()));
        state.held -= 1;
    }

    /// The box of this name.
    pub(crate) fn find(&self, name: &str, id: &str) -> Result<Arc<B>, SandboxError> {
        match self.lock().slots.get(name) {
            Some(Slot::Live { held, .. }) => Ok(Arc::clone(held)),
            Some(Slot::Ended(end)) => Err(SandboxError::BoxEnded {
                id: id.to_owned(),
                reason: end.reason(),
            }),
            Some(Slot::Making { .. }) | None => Err(SandboxError::NoBox(id.to_owned())),
        }
    }

    /// All boxes whose names begin with `prefix` and that have these labels.
    pub(crate) fn list(&self, prefix: &str, labels: &HashMap<String, String>) -> Vec<(String, Arc<B>)> {
        let state = self.lock();
        let mut found: Vec<_> = state
            .slots
            .iter()
            .filter_map(|(name, slot)| match slot {
                Slot::Live { held, .. } if name.starts_with(prefix) && has(held.labels(), labels) => {
                    Some((name.clone(), Arc::clone(held)))
                }
                _ => None,
            })
            .collect();
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found
    }

    /// How many boxes are held.
    pub(crate) fn held(&self) -> usize {
        self.lock().held
    }

    fn lock(&self) -> MutexGuard<'_, State<B>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// Ends every box, and waits until all were taken apart.
    pub(crate) async fn close(&self) {
        let all = self.list("", &HashMap::new());
        for (_, held) in &all {
            held.end_with(End::Closed);
        }
        let gone = async {
            for (_, held) in &all {
                held.gone().await;
            }
        };
        // Boxes that are left then end with the spawner.
        if tokio::time::timeout(CLOSE_PATIENCE, gone).await.is_err() {
            tracing::warn!("boxes take longer than {} s to end", CLOSE_PATIENCE.as_secs());
        }
    }
}

impl<B> State<B> {
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

/// Whether all wanted labels exist with equal values.
pub(crate) fn has(labels: &HashMap<String, String>, wanted: &HashMap<String, String>) -> bool {
    wanted.iter().all(|(name, value)| labels.get(name) == Some(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    struct Fake(HashMap<String, String>);

    impl Labelled for Fake {
        fn labels(&self) -> &HashMap<String, String> {
            &self.0
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Was {
        Making(u64),
        Live(u64),
        Ended,
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Claim(u8, u64),
        Made(u8, bool),
        End(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0_u8..5, 0_u64..2).prop_map(|(name, mark)| Step::Claim(name, mark)),
            (0_u8..5, any::<bool>()).prop_map(|(name, made)| Step::Made(name, made)),
            (0_u8..5).prop_map(Step::End),
        ]
    }

    proptest! {
        /// A name is never given twice, an equal request finds the box that the first one made, and the number of held
        /// boxes is exact.
        #[test]
        fn a_name_has_one_life(steps in prop::collection::vec(step(), 0..80)) {
            let max = 3;
            let registry = Registry::<Fake>::new(max);
            let mut model: HashMap<u8, Was> = HashMap::new();
            for step in steps {
                let held = model.values().filter(|was| **was != Was::Ended).count();
                match step {
                    Step::Claim(name, mark) => {
                        let claim = registry.claim(&name.to_string(), "id", mark);
                        match (model.get(&name), claim) {
                            (None, Ok(Claim::New(_))) => {
                                prop_assert!(held < max);
                                model.insert(name, Was::Making(mark));
                            }
                            (None, Err(SandboxError::Overloaded { .. })) => prop_assert_eq!(held, max),
                            (Some(Was::Making(known)), Ok(Claim::Making(_))) => prop_assert_eq!(*known, mark),
                            (Some(Was::Live(known)), Ok(Claim::Live(_))) => prop_assert_eq!(*known, mark),
                            (Some(Was::Making(known) | Was::Live(known)), Err(SandboxError::Exists(_))) => {
                                prop_assert_ne!(*known, mark);
                            }
                            (Some(Was::Ended), Err(SandboxError::BoxEnded { .. })) => {}
                            (was, claim) => prop_assert!(false, "{was:?} became {claim:?}"),
                        }
                    }
                    Step::Made(name, made) => {
                        if let Some(Was::Making(mark)) = model.get(&name).copied() {
                            let result = if made { Ok(Arc::new(Fake(HashMap::new()))) } else { Err(Arc::new(SandboxError::Draining)) };
                            registry.made(&name.to_string(), mark, &result);
                            if made { model.insert(name, Was::Live(mark)) } else { model.remove(&name) };
                        }
                    }
                    Step::End(name) => {
                        if let Some(Was::Live(_)) = model.get(&name) {
                            registry.ended(&name.to_string(), End::Closed);
                            model.insert(name, Was::Ended);
                        }
                    }
                }
                let held = model.values().filter(|was| **was != Was::Ended).count();
                prop_assert_eq!(registry.held(), held);
                let live = model.values().filter(|was| matches!(was, Was::Live(_))).count();
                prop_assert_eq!(registry.list("", &HashMap::new()).len(), live);
            }
        }
    }
}
