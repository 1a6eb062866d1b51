//! The cases of a request in their order: which is begun next, and the telling of their results.
//!
//! Lanes begin cases in order and end them in any. A result is told when all before it were. The line ends early behind
//! the first case that could not be run, behind the first that failed where that is asked for, and at once when nobody
//! listens or reads: what is begun beyond its end is unwanted and never told. A case is begun when there is room for its
//! result, so that those before it never wait for room, and only so far ahead of what was told. The end has its room from
//! the beginning and waits for no reader.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prl_sandbox_proto::run_tests_event::Event as Told;
use prl_sandbox_proto::{CaseResult, RunOnceResult, RunTestsEnd, RunTestsEvent};
use prost::Message;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::Instant;

use super::{Item, Stream, passed};
use crate::calls::{Kept, Share};
use crate::error::SandboxError;
use crate::queue::Slot;

/// Cases that were begun and not told.
const MAX_AHEAD: u32 = 64;
/// How often the reader is looked after. Who is behind at one look and at the next holds the line up.
const LOOK: Duration = Duration::from_millis(250);
/// How long a reader may hold the line up and take nothing.
const UNREAD: Duration = Duration::from_secs(300);
/// How long a case waits while others' readers are slow.
const ROOM: Duration = Duration::from_secs(60);

/// See the module.
pub(super) struct Line {
    stop_on_failure: bool,
    events: mpsc::Sender<Item>,
    /// Of all callers, and of this one.
    results: [Share; 2],
    /// So many cases, from the first on. Only ever fewer.
    wanted: watch::Sender<usize>,
    begun: AtomicUsize,
    prepared: AtomicUsize,
    sent: AtomicUsize,
    /// Why it ends early: what came first.
    failure: OnceLock<SandboxError>,
    /// One for each case that is begun and not told.
    places: Arc<Semaphore>,
    ledger: Mutex<Ledger>,
}

#[derive(Default)]
struct Ledger {
    told: usize,
    waiting: BTreeMap<usize, (Ended, OwnedSemaphorePermit)>,
    /// Room for the end.
    last: Option<mpsc::OwnedPermit<Item>>,
}

/// An event with the bytes that it counts for, or why there is none.
type Ended = Result<(RunTestsEvent, [Kept; 2]), SandboxError>;

/// A case that is to be run now. Dropped without a result, it leaves what comes after it untold.
pub(super) struct Turn {
    pub(super) index: usize,
    place: OwnedSemaphorePermit,
}

impl Line {
    /// `unread`: results that wait for the reader, besides the end.
    pub(super) fn new(cases: usize, stop_on_failure: bool, unread: usize, results: [Share; 2]) -> (Self, Stream) {
        let (events, stream) = mpsc::channel(unread + 1);
        let last = events.clone().try_reserve_owned().ok();
        let line = Self {
            stop_on_failure,
            events,
            results,
            wanted: watch::Sender::new(cases),
            begun: AtomicUsize::new(0),
            prepared: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            failure: OnceLock::new(),
            places: Arc::new(Semaphore::new(MAX_AHEAD as usize)),
            ledger: Mutex::new(Ledger {
                last,
                ..Ledger::default()
            }),
        };
        (line, stream)
    }

    /// The next case, when there is room for its result; for this caller's own reading that is `forsaken`'s to bound.
    /// Nothing when no more is to be begun.
    ///
    /// # Errors
    /// `Overloaded` while others' readers are slow.
    pub(super) async fn begin(&self) -> Result<Option<Turn>, SandboxError> {
        let [all, own] = &self.results;
        let room = async {
            while own.room(ROOM).await.is_err() {}
            all.room(ROOM).await
        };
        tokio::select! {
            biased;
            () = self.unwanted(self.begun()) => return Ok(None),
            room = room => room?,
        }
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
            return Ok(None);
        };
        let wanted = self.wanted();
        let next = |begun| (begun < wanted).then_some(begun + 1);
        let begun = self.begun.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        Ok(begun.ok().map(|index| Turn { index, place }))
    }

    fn wanted(&self) -> usize {
        *self.wanted.borrow()
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::Acquire)
    }

    /// Whether another zygote should be born before anybody waits for it: one for each case.
    pub(super) fn prepare(&self) -> bool {
        let wanted = self.wanted();
        let next = |prepared| (prepared < wanted).then_some(prepared + 1);
        let prepared = self.prepared.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        prepared.is_ok()
    }

    /// Returns when the result of this case, or of the build as that of the first, is not wanted any more.
    pub(super) async fn unwanted(&self, index: usize) {
        let mut wanted = self.wanted.subscribe();
        let _never = wanted.wait_for(|wanted| *wanted <= index).await.is_err();
    }

    /// Gives a slot up for a place aside whenever the reader holds the line up: others need not wait for that.
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

    /// Whether nothing can be begun or told before the reader takes what is there.
    fn held_up(&self) -> bool {
        let [_, own] = &self.results;
        self.events.capacity() == 0 || (self.unread() > 0 && !own.has_room())
    }

    /// Returns when nobody listens any more, or reads: of that the line has failed then.
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
            // Whatever is taken changes one of the two.
            let now = self
                .held_up()
                .then(|| (self.sent.load(Ordering::Acquire), self.unread()));
            if now.is_none() || now != before {
                since = Instant::now();
            }
            before = now;
        }
    }

    pub(super) async fn tell_build(&self, result: RunOnceResult) {
        let (event, kept) = self.keep(Told::Build(result));
        self.send(event, kept).await;
    }

    /// The end of a case. It is told with those that waited for it.
    pub(super) async fn done(&self, turn: Turn, result: Result<RunOnceResult, SandboxError>) {
        let Turn { index, place } = turn;
        let last = result
            .as_ref()
            .map_or(true, |result| self.stop_on_failure && !passed(result));
        let ended = result.map(|result| {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let result = Some(result);
            self.keep(Told::Case(CaseResult { index, result }))
        });
        if last {
            self.end_behind(index);
        }
        let mut ledger = self.ledger.lock().await;
        ledger.waiting.insert(index, (ended, place));
        while let Some((ended, _place)) = ledger.next(self.wanted()) {
            match ended {
                Ok((event, kept)) => ledger.told += usize::from(self.send(event, kept).await),
                Err(error) => self.fail(error),
            }
        }
    }

    /// Nothing is begun any more, for this reason.
    pub(super) fn fail(&self, error: SandboxError) {
        let _first = self.failure.set(error);
        self.wanted.send_modify(|wanted| *wanted = self.begun().min(*wanted));
    }

    /// No case is wanted, not even those that were begun.
    pub(super) fn give_up(&self) {
        self.wanted.send_replace(0);
    }

    fn end_behind(&self, index: usize) {
        self.wanted.send_modify(|wanted| *wanted = (index + 1).min(*wanted));
    }

    /// Waits for all that was begun, when nothing is begun any more, and tells the end.
    pub(super) async fn end(&self) {
        let _all = self.places.acquire_many(MAX_AHEAD).await;
        let mut ledger = self.ledger.lock().await;
        if ledger.told < self.wanted() {
            let early = || SandboxError::Protocol("the task of a case ended early".to_owned());
            self.failure.get_or_init(early);
        }
        let failure = self.failure.get();
        let end = RunTestsEnd {
            completed: u32::try_from(ledger.told).unwrap_or(u32::MAX),
            error_code: failure.map_or_else(String::new, |error| error.code().to_owned()),
            reason: failure.map_or_else(String::new, SandboxError::chain),
        };
        let (event, kept) = self.keep(Told::End(end));
        if let Some(last) = ledger.last.take() {
            last.send((Ok(event), Some(kept)));
        }
    }

    fn keep(&self, event: Told) -> (RunTestsEvent, [Kept; 2]) {
        let event = RunTestsEvent { event: Some(event) };
        let kept = self.results.each_ref().map(|results| results.keep(event.encoded_len()));
        (event, kept)
    }

    /// Whether it was told: not when nobody listens, or the line is given up before there is room.
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
    /// What is told next, or ends the telling. What is unwanted falls.
    fn next(&mut self, wanted: usize) -> Option<(Ended, OwnedSemaphorePermit)> {
        drop(self.waiting.split_off(&wanted));
        self.waiting.remove(&self.told)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use prl_sandbox_proto::run_tests_event::Event as Told;
    use prl_sandbox_proto::{Cause, RunOnceResult, RunTestsEnd};
    use proptest::prelude::*;

    use super::{LOOK, Line, MAX_AHEAD, UNREAD};
    use crate::calls::Results;
    use crate::cases::Stream;
    use crate::error::SandboxError;
    use crate::tenants::Tenant;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Way {
        Passes,
        Fails,
        IsLost,
    }

    fn case() -> impl Strategy<Value = (u64, Way)> {
        let way = prop_oneof![12 => Just(Way::Passes), 2 => Just(Way::Fails), 1 => Just(Way::IsLost)];
        (0_u64..50, way)
    }

    fn result(index: usize, code: i32) -> RunOnceResult {
        RunOnceResult {
            cause: Cause::Exited.into(),
            exit_code: Some(code),
            reason: index.to_string(),
            ..RunOnceResult::default()
        }
    }

    /// One that keeps so many bytes for its reader, in two results at most.
    fn line(cases: usize, stop_on_failure: bool, bytes: usize) -> (Arc<Line>, Stream) {
        let share = |bytes| Results::new(bytes).of(&Tenant::default());
        let (line, stream) = Line::new(cases, stop_on_failure, 2, [share(1 << 30), share(bytes)]);
        (Arc::new(line), stream)
    }

    /// A lane that does what the cases say, until its sandbox is lost.
    async fn work(line: Arc<Line>, cases: Vec<(u64, Way)>) {
        while let Some(turn) = line.begin().await.expect("there is room") {
            let (milliseconds, way) = cases[turn.index];
            let ended = tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(milliseconds)) => way,
                () = line.unwanted(turn.index) => Way::Passes,
            };
            let result = match ended {
                Way::Passes => Ok(result(turn.index, 0)),
                Way::Fails => Ok(result(turn.index, 1)),
                Way::IsLost => Err(SandboxError::InitDied),
            };
            let lost = result.is_err();
            line.done(turn, result).await;
            if lost {
                return;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        /// However many lanes there are, it is told what one would tell.
        #[test]
        fn lanes_tell_what_one_would(
            cases in prop::collection::vec(case(), 0..150),
            lanes in 1_usize..5,
            stop in any::<bool>(),
            slow_reader in any::<bool>(),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            runtime.expect("a runtime").block_on(async move {
                let (line, mut stream) = line(cases.len(), stop, 1 << 30);
                let working: Vec<_> = (0..lanes).map(|_| tokio::spawn(work(Arc::clone(&line), cases.clone()))).collect();
                let ending = tokio::spawn({
                    let line = Arc::clone(&line);
                    async move {
                        for lane in working {
                            lane.await.expect("no panic");
                        }
                        line.end().await;
                    }
                });
                let mut told = Vec::new();
                let mut end: Option<RunTestsEnd> = None;
                while end.is_none() {
                    let (event, _kept) = stream.recv().await.expect("an end");
                    match event.expect("no error").event {
                        Some(Told::Case(case)) => {
                            assert_eq!(case.index as usize, told.len(), "order");
                            let result = case.result.expect("a result");
                            assert_eq!(result.reason, case.index.to_string());
                            told.push(result.exit_code);
                        }
                        Some(Told::End(last)) => end = Some(last),
                        other => panic!("{other:?}"),
                    }
                    if slow_reader {
                        tokio::time::sleep(Duration::from_millis(7)).await;
                    }
                }
                ending.await.expect("no panic");
                let mut wanted = Vec::new();
                let mut lost = false;
                for (_, way) in &cases {
                    lost = *way == Way::IsLost;
                    if lost {
                        break;
                    }
                    wanted.push(Some(i32::from(*way == Way::Fails)));
                    if stop && *way == Way::Fails {
                        break;
                    }
                }
                assert_eq!(told, wanted);
                let end = end.expect("an end");
                assert_eq!((end.completed as usize, end.error_code.is_empty()), (wanted.len(), !lost));
            });
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_lane_runs_far_ahead_of_a_slow_case() {
        let (line, mut stream) = line(10_000, false, 1 << 30);
        let first = line.begin().await.expect("room").expect("a case");
        let ahead = tokio::spawn({
            let line = Arc::clone(&line);
            async move {
                while let Some(turn) = line.begin().await.expect("room") {
                    let index = turn.index;
                    line.done(turn, Ok(result(index, 0))).await;
                }
            }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(line.begun(), MAX_AHEAD as usize);
        assert!(stream.try_recv().is_err(), "the first was not told");
        line.give_up();
        drop(stream);
        line.done(first, Ok(result(0, 0))).await;
        ahead.await.expect("no panic");
        line.end().await;
    }

    /// Passing cases of 10 ms each but the first, on two lanes; and the end, as soon as the line is forsaken or all is told.
    fn course(line: &Arc<Line>, cases: usize, first_ms: u64) -> tokio::task::JoinHandle<()> {
        let mut times = vec![(10, Way::Passes); cases];
        times[0].0 = first_ms;
        let line = Arc::clone(line);
        tokio::spawn(async move {
            let working = async {
                tokio::join!(
                    work(Arc::clone(&line), times.clone()),
                    work(Arc::clone(&line), times.clone())
                );
                line.end().await;
            };
            tokio::pin!(working);
            tokio::select! {
                () = &mut working => {}
                () = line.forsaken() => {
                    line.give_up();
                    working.await;
                }
            }
        })
    }

    /// How many cases were told, and the code at the end.
    async fn rest(stream: &mut Stream, pause: Duration) -> (usize, u32, String) {
        let mut told = 0;
        while let Some((event, _kept)) = stream.recv().await {
            match event.expect("no error").event {
                Some(Told::Case(_)) => told += 1,
                Some(Told::End(end)) => return (told, end.completed, end.error_code),
                other => panic!("{other:?}"),
            }
            tokio::time::sleep(pause).await;
        }
        panic!("no end");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_who_takes_nothing_gets_what_is_there_and_the_reason() {
        // One result is as much as may wait, or two.
        for (bytes, waiting) in [(1 << 30, 2), (1, 1)] {
            let (line, mut stream) = line(100, false, bytes);
            let began = tokio::time::Instant::now();
            course(&line, 100, 10).await.expect("no panic");
            let waited = began.elapsed();
            assert!((UNREAD..UNREAD + 4 * LOOK).contains(&waited), "{waited:?}");
            let (told, completed, code) = rest(&mut stream, Duration::ZERO).await;
            assert!((waiting..=2).contains(&told), "{told}");
            assert_eq!((completed as usize, code.as_str()), (told, "PRL_SANDBOX_UNREAD"));
            drop(line);
            assert!(stream.recv().await.is_none(), "something behind the end");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_and_one_who_has_nothing_to_take_are_waited_for() {
        let (slow, mut stream) = line(9, false, 1 << 30);
        let running = course(&slow, 9, 10);
        let read = rest(&mut stream, UNREAD - 4 * LOOK).await;
        assert_eq!(read, (9, 9, String::new()));
        running.await.expect("no panic");
        // What the other lane has done fills all that may wait, behind the first case.
        let (idle, mut stream) = line(9, false, 1);
        let running = course(&idle, 9, 1000 * (3 * UNREAD).as_secs());
        let read = rest(&mut stream, Duration::ZERO).await;
        assert_eq!(read, (9, 9, String::new()));
        running.await.expect("no panic");
    }
}
