//! The cases of a request in their order: which case is begun next, and when its result is sent.
//!
//! Lanes begin cases in order and end them in any order. The result of a case is sent after the results of all cases
//! before it.
//!
//! The queue ends early
//! - behind the first case that could not be run,
//! - behind the first case that failed, when the request asks for that,
//! - behind a case whose task ended without a result,
//! - at once, when the caller has left or does not read.
//!
//! Cases that were begun behind the end of the queue are unwanted: their results are never sent.
//!
//! A case is begun only when there is room for its result, and at most `MAX_AHEAD` cases ahead of the results that were
//! sent. So no result waits for room. The end event has its room from the beginning and waits for no reader. A case
//! whose lane was lost comes back: the next free lane takes it before all others, and it keeps its room.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use prl_sandbox_proto::run_tests_event::Event as TestsEvent;
use prl_sandbox_proto::{CaseResult, RunOnceResult, RunTestsEnd, RunTestsEvent};
use prost::Message;
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit, mpsc, watch};
use tokio::time::Instant;

use super::{Item, Stream, passed};
use crate::error::SandboxError;
use crate::runs::queue::Slot;
use crate::tenants::{Kept, Share};

/// How many cases may be begun whose results were not sent.
const MAX_AHEAD: u32 = 64;
/// How often the reader is looked at. A reader that is behind at two looks in a row holds the queue up.
const LOOK: Duration = Duration::from_millis(250);
/// How long a reader may hold the queue up without taking an event.
const UNREAD: Duration = Duration::from_secs(300);
/// How long a case waits for room while readers of other requests are slow.
const ROOM: Duration = Duration::from_secs(60);

/// See the module.
pub(super) struct CaseQueue {
    stop_on_failure: bool,
    events: mpsc::Sender<Item>,
    /// The bytes that wait for all callers, and for this one.
    results: [Share; 2],
    /// The cases below this index are wanted. It never grows.
    wanted: watch::Sender<usize>,
    begun: AtomicUsize,
    prepared: AtomicUsize,
    sent: AtomicUsize,
    /// Why the queue ends early: the first reason counts.
    failure: OnceLock<SandboxError>,
    /// One for each case that was begun and whose result was not sent.
    places: Arc<Semaphore>,
    /// Cases that came back, and why. `None` when no case is taken back any more.
    back: std::sync::Mutex<Option<Back>>,
    came_back: Notify,
    ledger: Mutex<Ledger>,
}

#[derive(Default)]
struct Ledger {
    sent: usize,
    waiting: BTreeMap<usize, (Ended, Turn)>,
    /// Room for the end.
    last: Option<mpsc::OwnedPermit<Item>>,
}

/// An event with the bytes that it counts for, or the reason why the case has no result.
type Ended = Result<(RunTestsEvent, [Kept; 2]), SandboxError>;

type Back = BTreeMap<usize, (Turn, SandboxError)>;

/// A case that is to be run now. When it is dropped before its result was sent, the queue ends behind it, because the
/// results after it would wait for ever.
pub(super) struct Turn {
    pub(super) index: usize,
    wanted: watch::Sender<usize>,
    sent: bool,
    _place: OwnedSemaphorePermit,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.sent {
            end_behind(&self.wanted, self.index);
        }
    }
}

fn end_behind(wanted: &watch::Sender<usize>, index: usize) {
    wanted.send_if_modified(|wanted| {
        let earlier = index + 1 < *wanted;
        *wanted = (index + 1).min(*wanted);
        earlier
    });
}

impl CaseQueue {
    /// `unread`: how many results may wait for the reader, besides the end.
    pub(super) fn new(cases: usize, stop_on_failure: bool, unread: usize, results: [Share; 2]) -> (Self, Stream) {
        let (events, stream) = mpsc::channel(unread + 1);
        let last = events.clone().try_reserve_owned().ok();
        let queue = Self {
            stop_on_failure,
            events,
            results,
            wanted: watch::Sender::new(cases),
            begun: AtomicUsize::new(0),
            prepared: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            failure: OnceLock::new(),
            places: Arc::new(Semaphore::new(MAX_AHEAD as usize)),
            back: std::sync::Mutex::new(Some(BTreeMap::new())),
            came_back: Notify::new(),
            ledger: Mutex::new(Ledger {
                last,
                ..Ledger::default()
            }),
        };
        (queue, stream)
    }

    /// The next case, when there is room for its result; `None` when no further case is to be begun. How long it waits
    /// for the caller's own reading is bounded by `forsaken`.
    ///
    /// # Errors
    /// `Overloaded` while readers of other requests are slow.
    pub(super) async fn begin(&self) -> Result<Option<Turn>, SandboxError> {
        let [all, own] = &self.results;
        let place = loop {
            let back = self.back().as_mut().and_then(BTreeMap::pop_first);
            if let Some((index, (turn, error))) = back {
                if index < self.wanted() {
                    return Ok(Some(turn));
                }
                self.done(turn, Err(error)).await;
                continue;
            }
            let place = async {
                while own.room(ROOM).await.is_err() {}
                all.room(ROOM).await?;
                Ok(Arc::clone(&self.places).acquire_owned().await.ok())
            };
            tokio::select! {
                biased;
                () = self.came_back.notified() => {}
                () = self.unwanted(self.begun()) => return Ok(None),
                place = place => break place?,
            }
        };
        let Some(place) = place else {
            return Ok(None);
        };
        let wanted = self.wanted();
        let next = |begun| (begun < wanted).then_some(begun + 1);
        let begun = self.begun.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        Ok(begun.ok().map(|index| Turn {
            index,
            wanted: self.wanted.clone(),
            sent: false,
            _place: place,
        }))
    }

    /// Takes back a case that was begun and could not be run, with the reason.
    pub(super) async fn take_back(&self, turn: Turn, error: SandboxError) {
        let late = match self.back().as_mut() {
            Some(back) => back.insert(turn.index, (turn, error)),
            None => Some((turn, error)),
        };
        match late {
            Some((turn, error)) => self.done(turn, Err(error)).await,
            None => self.came_back.notify_one(),
        }
    }

    fn back(&self) -> MutexGuard<'_, Option<Back>> {
        self.back.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is known whether another case is to be begun. The answer is no when all that were begun are done
    /// or lost.
    pub(super) async fn is_left(&self) -> bool {
        loop {
            if self.back().as_ref().is_some_and(|back| !back.is_empty()) || self.begun() < self.wanted() {
                return true;
            }
            tokio::select! {
                biased;
                () = self.came_back.notified() => {}
                _all = self.all_places() => return false,
            }
        }
    }

    /// All places, once no result can be sent any more. Results that wait behind the end of the queue give up their
    /// places.
    async fn all_places(&self) -> Option<SemaphorePermit<'_>> {
        let mut wanted = self.wanted.subscribe();
        loop {
            let end = *wanted.borrow_and_update();
            self.ledger.lock().await.forget_from(end);
            tokio::select! {
                biased;
                all = self.places.acquire_many(MAX_AHEAD) => return all.ok(),
                // This cannot fail: the queue holds the sender.
                _earlier = wanted.changed() => {}
            }
        }
    }

    fn wanted(&self) -> usize {
        *self.wanted.borrow()
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::Acquire)
    }

    /// Whether another zygote should be forked in advance. There is one for each case.
    pub(super) fn prepare(&self) -> bool {
        let wanted = self.wanted();
        let next = |prepared| (prepared < wanted).then_some(prepared + 1);
        let prepared = self.prepared.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        prepared.is_ok()
    }

    /// Returns when the result of this case is not wanted any more. The build counts as the first case.
    pub(super) async fn unwanted(&self, index: usize) {
        let mut wanted = self.wanted.subscribe();
        let _never = wanted.wait_for(|wanted| *wanted <= index).await.is_err();
    }

    /// Gives the slot up for a place aside whenever the reader holds the queue up, so that other requests need not wait
    /// for the reader.
    pub(super) async fn yield_to_others(&self, slot: &mut Slot) -> Infallible {
        let mut before = false;
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.held_up();
            if before && now {
                slot.step_aside();
            }
            before = now;
        }
    }

    /// Results that the reader could take.
    fn unread(&self) -> usize {
        (self.events.max_capacity() - 1).saturating_sub(self.events.capacity())
    }

    /// Whether nothing can be begun or sent before the reader takes an event.
    fn held_up(&self) -> bool {
        let [_, own] = &self.results;
        self.events.capacity() == 0 || (self.unread() > 0 && !own.has_room())
    }

    /// Returns when the caller has left or has stopped to read; in the second case the queue has failed.
    pub(super) async fn forsaken(&self) {
        tokio::select! {
            () = self.events.closed() => {}
            () = self.neglected() => self.fail(SandboxError::Unread(UNREAD.as_secs())),
        }
    }

    async fn neglected(&self) {
        let mut since = Instant::now();
        let mut before = None;
        while since.elapsed() < UNREAD {
            tokio::time::sleep(LOOK).await;
            // Each event that the reader takes changes one of the two.
            let now = self
                .held_up()
                .then(|| (self.sent.load(Ordering::Acquire), self.unread()));
            if now.is_none() || now != before {
                since = Instant::now();
            }
            before = now;
        }
    }

    pub(super) async fn send_build(&self, result: RunOnceResult) {
        let (event, kept) = self.keep(TestsEvent::Build(result));
        self.send(event, kept).await;
    }

    /// Records the end of a case. Its result is sent, with those that waited for it.
    pub(super) async fn done(&self, turn: Turn, result: Result<RunOnceResult, SandboxError>) {
        let index = turn.index;
        let last = result
            .as_ref()
            .map_or(true, |result| self.stop_on_failure && !passed(result));
        let ended = result.map(|result| {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let result = Some(result);
            self.keep(TestsEvent::Case(CaseResult { index, result }))
        });
        if last {
            end_behind(&self.wanted, index);
        }
        let mut ledger = self.ledger.lock().await;
        ledger.waiting.insert(index, (ended, turn));
        while let Some((ended, mut turn)) = ledger.next(self.wanted()) {
            match ended {
                Ok((event, kept)) => {
                    turn.sent = self.send(event, kept).await;
                    ledger.sent += usize::from(turn.sent);
                }
                Err(error) => self.fail(error),
            }
        }
    }

    /// No further case is begun, for this reason.
    pub(super) fn fail(&self, error: SandboxError) {
        let _first = self.failure.set(error);
        self.wanted.send_modify(|wanted| *wanted = self.begun().min(*wanted));
    }

    /// No case is wanted, not even those that were begun.
    pub(super) fn give_up(&self) {
        self.wanted.send_replace(0);
    }

    /// Waits for all cases that were begun, when no further one is, and sends the end. Cases that came back have no
    /// result.
    pub(super) async fn end(&self) {
        let back = self.back().take();
        for (turn, error) in back.into_iter().flat_map(BTreeMap::into_values) {
            self.done(turn, Err(error)).await;
        }
        let _all = self.all_places().await;
        let mut ledger = self.ledger.lock().await;
        if ledger.sent < self.wanted() {
            let early = || SandboxError::Protocol("the task of a case ended early".to_owned());
            self.failure.get_or_init(early);
        }
        let failure = self.failure.get();
        let end = RunTestsEnd {
            completed: u32::try_from(ledger.sent).unwrap_or(u32::MAX),
            error_code: failure.map_or_else(String::new, |error| error.code().to_owned()),
            reason: failure.map_or_else(String::new, SandboxError::chain),
        };
        let (event, kept) = self.keep(TestsEvent::End(end));
        if let Some(last) = ledger.last.take() {
            last.send((Ok(event), Some(kept)));
        }
    }

    fn keep(&self, event: TestsEvent) -> (RunTestsEvent, [Kept; 2]) {
        let event = RunTestsEvent { event: Some(event) };
        let kept = self.results.each_ref().map(|results| results.keep(event.encoded_len()));
        (event, kept)
    }

    /// Whether the event was sent. It is not when the caller has left, or when the queue is given up before there is
    /// room.
    async fn send(&self, event: RunTestsEvent, kept: [Kept; 2]) -> bool {
        tokio::select! {
            biased;
            sent = self.events.send((Ok(event), Some(kept))) => {
                self.sent.fetch_add(1, Ordering::AcqRel);
                sent.is_ok()
            }
            () = self.unwanted(0) => false,
        }
    }
}

impl Ledger {
    /// The result to send next, or the error that ends the queue. Results that are unwanted are dropped.
    fn next(&mut self, wanted: usize) -> Option<(Ended, Turn)> {
        self.forget_from(wanted);
        self.waiting.remove(&self.sent)
    }

    fn forget_from(&mut self, wanted: usize) {
        drop(self.waiting.split_off(&wanted));
    }
}
