//! The mailbox: the generation thread leaves increments in it, callers pick them up.
//!
//! It holds at most one increment per request: tokens that come before the pick-up are merged into it. A request's id is in use from the
//! submission until its last increment was picked up. When the thread ends, by a close or a panic, every live request gets a
//! last increment and every later call an error, so that no caller waits for a thread that is gone.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::request::{FinishReason, GeneratorStats, Increment, RequestError};
use super::sequence::{Finish, Sequence};
use crate::error::EngineError;

/// How the generation thread ended.
#[derive(Debug, Clone)]
enum End {
    Closed,
    Failed(String),
}

#[derive(Debug, Default)]
struct Content {
    increments: HashMap<u64, Increment>,
    /// Keys of `increments` in the order in which they came.
    order: Vec<u64>,
    /// Ids in use.
    live: HashMap<String, u64>,
    arrivals: u64,
    stats: GeneratorStats,
    end: Option<End>,
}

/// Shared by the generator's handle and its thread.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    content: Mutex<Content>,
    changed: Condvar,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Content> {
        // The content is consistent wherever a panic can happen, so a poisoned lock can be used.
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves the ids of new requests, all or none. Returns the first of their consecutive arrival numbers, and how many requests
    /// were live before.
    pub(super) fn register<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Result<(u64, usize), EngineError> {
        let mut content = self.lock();
        let content = &mut *content;
        content.check()?;
        let (first, live_before) = (content.arrivals, content.live.len());
        let mut arrival = first;
        for id in ids {
            match content.live.entry(id.to_owned()) {
                Entry::Vacant(slot) => slot.insert(arrival),
                Entry::Occupied(_) => {
                    content.live.retain(|_, known| *known < first);
                    return Err(EngineError::Input(format!(
                        "request id {id:?} is in use; ids must be unique"
                    )));
                }
            };
            arrival += 1;
        }
        content.arrivals = arrival;
        Ok((first, live_before))
    }

    /// The arrival number that the next request gets.
    pub(super) fn next_arrival(&self) -> u64 {
        self.lock().arrivals
    }

    /// Leaves an error as the last increment of a request.
    pub(super) fn reject(&self, arrival: u64, id: &str, error: RequestError) {
        let mut content = self.lock();
        content.increment(arrival, id).error = Some(error);
        self.changed.notify_all();
    }

    /// Leaves the unsent tokens of sequences, and their end when they have one, in one go; then publishes `stats`.
    pub(super) fn post<'a>(&self, posts: impl Iterator<Item = Post<'a>>, stats: GeneratorStats) {
        let mut content = self.lock();
        let mut posted = false;
        for post in posts {
            content.add(post);
            posted = true;
        }
        content.stats = stats;
        if posted {
            self.changed.notify_all();
        }
    }

    /// Everything since the last call, in order of appearance; waits until there is something or `deadline` has passed.
    pub(super) fn take(&self, deadline: Instant) -> Result<Vec<Increment>, EngineError> {
        let mut content = self.lock();
        loop {
            if !content.order.is_empty() {
                return Ok(content.drain());
            }
            content.check()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Vec::new());
            }
            content = self
                .changed
                .wait_timeout(content, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// The error of every call once the thread has ended.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.lock().check()
    }

    pub(super) fn stats(&self) -> GeneratorStats {
        self.lock().stats.clone()
    }

    /// The thread ended because it was closed: every live request that has no last increment is aborted.
    pub(super) fn closed(&self) {
        self.end(End::Closed, |increment| {
            increment.finish_reason = Some(FinishReason::Abort)
        });
    }

    /// The thread died: every live request gets `message` as its error.
    pub(super) fn failed(&self, message: &str) {
        self.end(End::Failed(message.to_owned()), |increment| {
            increment.error = Some(RequestError::Panic(message.to_owned()))
        });
    }

    fn end(&self, end: End, finish: impl Fn(&mut Increment)) {
        let mut content = self.lock();
        let mut live: Vec<(u64, String)> = content
            .live
            .iter()
            .map(|(id, arrival)| (*arrival, id.clone()))
            .collect();
        live.sort_unstable();
        for (arrival, id) in live {
            let increment = content.increment(arrival, &id);
            if !increment.is_last() {
                finish(increment);
            }
        }
        content.end.get_or_insert(end);
        self.changed.notify_all();
    }

    /// The error of a call that the thread will never answer. Waits for the thread to say how it ended.
    pub(super) fn why_ended(&self, deadline: Instant) -> EngineError {
        let mut content = self.lock();
        loop {
            if let Err(error) = content.check() {
                return error;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return EngineError::Closed;
            }
            content = self
                .changed
                .wait_timeout(content, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// The news of one sequence after a step.
pub(super) struct Post<'a> {
    pub(super) sequence: &'a mut Sequence,
    pub(super) end: Option<Result<Finish, RequestError>>,
}

impl Content {
    fn check(&self) -> Result<(), EngineError> {
        match &self.end {
            None => Ok(()),
            Some(End::Closed) => Err(EngineError::Closed),
            Some(End::Failed(message)) => Err(EngineError::Failed(message.clone())),
        }
    }

    fn increment(&mut self, arrival: u64, id: &str) -> &mut Increment {
        match self.increments.entry(arrival) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(slot) => {
                self.order.push(arrival);
                slot.insert(Increment {
                    id: id.to_owned(),
                    token_ids: Vec::new(),
                    logprobs: Vec::new(),
                    ranked: Vec::new(),
                    routed_experts: None,
                    policy_versions: Vec::new(),
                    finish_reason: None,
                    stop_reason: None,
                    error: None,
                    cached_tokens: 0,
                    times: None,
                })
            }
        }
    }

    fn add(&mut self, post: Post<'_>) {
        let sequence = post.sequence;
        let first = sequence.completion_len() - sequence.unsent.len();
        let increment = self.increment(sequence.arrival, &sequence.request.id);
        increment.cached_tokens = sequence.cached_tokens.unwrap_or(0);
        if post.end.is_some() || (first == 0 && !sequence.unsent.is_empty()) {
            increment.times = sequence.stages.times();
        }
        for (index, token) in (first..).zip(sequence.unsent.drain(..)) {
            increment.token_ids.push(token.id);
            increment.logprobs.push(token.logprob);
            increment.ranked.extend(token.ranked);
            if increment
                .policy_versions
                .last()
                .is_none_or(|(_, version)| *version != token.version)
            {
                increment
                    .policy_versions
                    .push((u32::try_from(index).unwrap_or(u32::MAX), token.version));
            }
        }
        if let Some(recording) = &mut sequence.recording {
            let new = recording.take();
            match &mut increment.routed_experts {
                None => increment.routed_experts = Some(new),
                Some(experts) => experts.ids.extend(new.ids),
            }
        }
        match post.end {
            None => {}
            Some(Ok(finish)) => {
                increment.finish_reason = Some(finish.reason);
                increment.stop_reason = finish.stop_token;
            }
            Some(Err(error)) => increment.error = Some(error),
        }
    }

    fn drain(&mut self) -> Vec<Increment> {
        let order = std::mem::take(&mut self.order);
        let increments: Vec<Increment> = order
            .iter()
            .filter_map(|arrival| self.increments.remove(arrival))
            .collect();
        for increment in increments.iter().filter(|increment| increment.is_last()) {
            self.live.remove(&increment.id);
        }
        increments
    }
}
