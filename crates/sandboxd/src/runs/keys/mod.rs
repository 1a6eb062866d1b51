//! Idempotency keys: at most one execution for each key. Every caller that sends an equal request gets its result.
//!
//! Results are kept for a while; the oldest are dropped first when they take too much memory. A dropped key is
//! remembered longer than its result and then answers INFRA, so that it is not run again by mistake; of very many keys
//! the oldest are forgotten earlier. With a journal this also holds across a restart of the daemon.

mod journal;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use journal::Journal;
use prl_sandbox_proto::{RunOnceRequest, RunOnceResult};
use prost::Message;
use tokio::sync::watch;

use crate::error::SandboxError;

/// How long a result is kept after the end of its run.
const KEEP: Duration = Duration::from_secs(600);
/// How long a key is remembered after that.
const REMEMBER: Duration = Duration::from_secs(3600);
/// How many keys without a result are remembered: at 300 runs a second those of 28 minutes.
const MAX_REMEMBERED: usize = 500_000;
/// The bytes of a kept result beside its message.
const ENTRY_BYTES: usize = 512;
/// The bound of all kept results together.
const MAX_KEPT_BYTES: usize = 256 << 20;

/// The end of a run, for all callers that wait for it.
pub(crate) type Shared = Result<Arc<RunOnceResult>, Arc<SandboxError>>;

/// Stops a run, and shows its end.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) cancel: Arc<watch::Sender<bool>>,
    pub(crate) end: watch::Receiver<Option<Shared>>,
}

#[derive(Debug)]
struct Entry {
    fingerprint: u64,
    /// `None` once the result was dropped.
    handle: Option<Handle>,
    bytes: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<String, Entry>,
    /// Finished keys, oldest first, with the time of their end.
    kept: VecDeque<(String, Instant)>,
    dropped: VecDeque<(String, Instant)>,
    kept_bytes: usize,
    journal: Option<Journal>,
}

/// Whether a key is new here.
pub(crate) enum Claim {
    /// The caller runs it.
    New,
    /// It runs or ran already.
    Known(Handle),
}

/// A number that differs for different requests with the same key.
pub(crate) fn fingerprint(request: &RunOnceRequest) -> u64 {
    let mut plain = request.clone();
    plain.instance_id.clear();
    plain.labels.clear();
    let env = std::mem::take(&mut plain.env);
    mark(&plain, [env])
}

/// One number for a message and its maps, which have no order and were taken out of the message.
pub(crate) fn mark<const N: usize>(plain: &impl Message, maps: [HashMap<String, String>; N]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for map in maps {
        map.into_iter().collect::<BTreeMap<_, _>>().hash(&mut hasher);
    }
    plain.encode_to_vec().hash(&mut hasher);
    hasher.finish()
}

impl Keys {
    /// Opens the keys, with a journal in this directory, if one is given.
    pub(crate) fn open(directory: Option<&Path>) -> Result<Self, SandboxError> {
        let journal = directory.map(Journal::open).transpose();
        let journal = journal.map_err(|source| SandboxError::Serve {
            action: "open the journal of keys".to_owned(),
            source,
        })?;
        Ok(Self {
            state: Mutex::new(State {
                journal,
                ..State::default()
            }),
        })
    }

    /// Claims a key for the run of `handle`.
    pub(crate) fn claim(&self, key: &str, fingerprint: u64, handle: &Handle) -> Result<Claim, SandboxError> {
        let mut state = self.lock();
        state.expire();
        match state.entries.get(key) {
            None => {
                if let Some(journal) = &mut state.journal {
                    if journal.knows(key) {
                        return Err(SandboxError::Restarted("an earlier daemon".to_owned()));
                    }
                    journal.add(key).map_err(|source| SandboxError::Setup {
                        step: "write to the journal of keys".to_owned(),
                        source,
                    })?;
                }
                let entry = Entry {
                    fingerprint,
                    handle: Some(handle.clone()),
                    bytes: 0,
                };
                state.entries.insert(key.to_owned(), entry);
                Ok(Claim::New)
            }
            Some(entry) if entry.fingerprint != fingerprint => Err(SandboxError::Invalid(
                "this idempotency_key belongs to another request".to_owned(),
            )),
            Some(Entry {
                handle: Some(handle), ..
            }) => Ok(Claim::Known(handle.clone())),
            Some(_) => Err(SandboxError::Expired(KEEP.as_secs())),
        }
    }

    /// The run of a key, while it has not ended.
    pub(crate) fn unfinished(&self, key: &str) -> Option<Handle> {
        let state = self.lock();
        let handle = state.entries.get(key)?.handle.clone()?;
        let running = handle.end.borrow().is_none();
        running.then_some(handle)
    }

    /// Records the end of a key's run. A run that never began does not use its key up.
    pub(crate) fn finished(&self, key: &str, end: &Shared) {
        let mut state = self.lock();
        let Ok(result) = end else {
            state.entries.remove(key);
            return;
        };
        let bytes = ENTRY_BYTES + result.encoded_len();
        if let Some(entry) = state.entries.get_mut(key) {
            entry.bytes = bytes;
        }
        state.kept_bytes += bytes;
        state.kept.push_back((key.to_owned(), Instant::now()));
        state.expire();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn expire(&mut self) {
        while let Some((key, at)) = self.kept.front() {
            if at.elapsed() < KEEP && self.kept_bytes <= MAX_KEPT_BYTES {
                break;
            }
            if let Some(entry) = self.entries.get_mut(key) {
                entry.handle = None;
                self.kept_bytes -= entry.bytes;
            }
            let key = key.clone();
            self.kept.pop_front();
            self.dropped.push_back((key, Instant::now()));
        }
        while let Some((key, at)) = self.dropped.front() {
            if at.elapsed() < REMEMBER && self.dropped.len() <= MAX_REMEMBERED {
                break;
            }
            self.entries.remove(key);
            self.dropped.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_very_many_keys_is_bounded_and_the_newest_are_kept() {
        let keys = Keys::default();
        let handle = Handle {
            cancel: Arc::new(watch::channel(false).0),
            end: watch::channel(None).1,
        };
        let end: Shared = Ok(Arc::new(RunOnceResult::default()));
        let kept = MAX_KEPT_BYTES / ENTRY_BYTES;
        let all = kept + MAX_REMEMBERED + 1000;
        for number in 0..all {
            let claim = keys.claim(&number.to_string(), 1, &handle);
            assert!(matches!(claim, Ok(Claim::New)));
            keys.finished(&number.to_string(), &end);
        }
        let claimed = |number: usize| keys.claim(&number.to_string(), 1, &handle);
        assert!(matches!(claimed(all - 1), Ok(Claim::Known(_))));
        assert!(matches!(claimed(all - kept - 2), Err(SandboxError::Expired(_))));
        assert!(matches!(claimed(2000), Err(SandboxError::Expired(_))));
        let state = keys.lock();
        assert!(state.kept_bytes <= MAX_KEPT_BYTES);
        assert!(state.entries.len() <= kept + MAX_REMEMBERED && !state.entries.contains_key("0"));
    }
}
