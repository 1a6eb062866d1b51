//! The queue against one lane that reports in order, with any number of lanes and any reader.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use prl_sandbox_proto::run_tests_event::Event as TestsEvent;
use prl_sandbox_proto::{Cause, RunOnceResult, RunTestsEnd};
use proptest::prelude::*;

use super::{CaseQueue, LOOK, MAX_AHEAD, UNREAD};
use crate::cases::Stream;
use crate::error::SandboxError;
use crate::tenants::Results;
use crate::tenants::Tenant;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Passes,
    Fails,
    IsLost,
    /// Its lane is lost, and it may be run again.
    ComesBack,
    /// The task of its lane ends without a result.
    IsForgotten,
}

fn case() -> impl Strategy<Value = (u64, Way)> {
    let way = prop_oneof![
        12 => Just(Way::Passes),
        2 => Just(Way::Fails),
        1 => Just(Way::IsLost),
        1 => Just(Way::ComesBack),
        1 => Just(Way::IsForgotten),
    ];
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

/// A queue that keeps so many bytes for its reader, in two results at most.
fn queue(cases: usize, stop_on_failure: bool, bytes: usize) -> (Arc<CaseQueue>, Stream) {
    let share = |bytes| Results::new(bytes).of(&Tenant::default());
    let (queue, stream) = CaseQueue::new(cases, stop_on_failure, 2, [share(1 << 30), share(bytes)]);
    (Arc::new(queue), stream)
}

/// A lane that does what the cases say, until its sandbox is lost. The first lane then gets another sandbox, and stays
/// for the cases that others leave.
async fn work(queue: Arc<CaseQueue>, cases: Arc<Mutex<Vec<(u64, Way)>>>, is_first: bool) {
    while !is_first || queue.is_left().await {
        let Some(turn) = queue.begin().await.expect("there is room") else {
            if is_first {
                continue;
            }
            return;
        };
        let (milliseconds, way) = cases.lock().expect("no panic")[turn.index];
        let ended = tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(milliseconds)) => way,
            () = queue.unwanted(turn.index) => Way::Passes,
        };
        let result = match ended {
            Way::Passes => Ok(result(turn.index, 0)),
            Way::Fails => Ok(result(turn.index, 1)),
            Way::IsLost => Err(SandboxError::InitDied),
            Way::IsForgotten => {
                drop(turn);
                if is_first {
                    continue;
                }
                return;
            }
            Way::ComesBack => {
                cases.lock().expect("no panic")[turn.index].1 = Way::Passes;
                queue.take_back(turn, SandboxError::InitDied).await;
                if is_first {
                    continue;
                }
                return;
            }
        };
        let lost = result.is_err();
        queue.done(turn, result).await;
        if lost && !is_first {
            return;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// With any number of lanes, the results are those of one lane.
    #[test]
    fn lanes_report_like_a_single_lane(
        cases in prop::collection::vec(case(), 0..150),
        lanes in 1_usize..5,
        stop in any::<bool>(),
        slow_reader in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async move {
            let (queue, mut stream) = queue(cases.len(), stop, 1 << 30);
            let shared = Arc::new(Mutex::new(cases.clone()));
            let lane = |lane| tokio::spawn(work(Arc::clone(&queue), Arc::clone(&shared), lane == 0));
            let working: Vec<_> = (0..lanes).map(lane).collect();
            let ending = tokio::spawn({
                let queue = Arc::clone(&queue);
                async move {
                    for lane in working {
                        lane.await.expect("no panic");
                    }
                    queue.end().await;
                }
            });
            let mut received = Vec::new();
            let mut end: Option<RunTestsEnd> = None;
            while end.is_none() {
                let next = tokio::time::timeout(UNREAD, stream.recv()).await;
                let (event, _kept) = next.expect("it goes on").expect("an end");
                match event.expect("no error").event {
                    Some(TestsEvent::Case(case)) => {
                        assert_eq!(case.index as usize, received.len(), "order");
                        let result = case.result.expect("a result");
                        assert_eq!(result.reason, case.index.to_string());
                        received.push(result.exit_code);
                    }
                    Some(TestsEvent::End(last)) => end = Some(last),
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
                lost = matches!(way, Way::IsLost | Way::IsForgotten);
                if lost {
                    break;
                }
                wanted.push(Some(i32::from(*way == Way::Fails)));
                if stop && *way == Way::Fails {
                    break;
                }
            }
            assert_eq!(received, wanted);
            let end = end.expect("an end");
            assert_eq!((end.completed as usize, end.error_code.is_empty()), (wanted.len(), !lost));
        });
    }
}

/// The lanes leave before a case that came back is run: the end says so, without waiting for a lane.
#[tokio::test(start_paused = true)]
async fn a_returned_case_that_is_not_run_ends_the_queue() {
    for (forsaken, begun_again) in [(false, false), (true, false), (true, true)] {
        let (queue, mut stream) = queue(4, false, 1 << 30);
        let mut turns = Vec::new();
        for _ in 0..3 {
            turns.push(queue.begin().await.expect("room").expect("a case"));
        }
        let [first, second, third] = <[_; 3]>::try_from(turns).ok().expect("three");
        queue.done(first, Ok(result(0, 0))).await;
        queue.done(third, Ok(result(2, 0))).await;
        queue.take_back(second, SandboxError::InitDied).await;
        if forsaken {
            queue.give_up();
        } else {
            queue.fail(SandboxError::Cancelled);
        }
        let ended = async {
            if begun_again {
                assert!(queue.is_left().await, "it is to be looked at");
                assert!(queue.begin().await.expect("room").is_none(), "nothing is wanted");
                assert!(!queue.is_left().await);
            }
            queue.end().await;
        };
        let in_time = tokio::time::timeout(Duration::from_secs(60), ended).await;
        in_time.expect("nothing is waited for");
        let mut received = Vec::new();
        while let Ok((event, _kept)) = stream.try_recv() {
            received.extend(event.expect("no error").event);
        }
        let [TestsEvent::Case(_), TestsEvent::End(end)] = &received[..] else {
            panic!("{received:?}");
        };
        assert_eq!(end.completed, 1);
        assert_eq!(end.error_code.is_empty(), forsaken, "{end:?}");
    }
}

/// The task ends before the end of the queue is waited for, or meanwhile, while later cases are done.
#[tokio::test(start_paused = true)]
async fn a_case_that_loses_its_task_ends_the_queue() {
    for (early, looked_at) in [(true, true), (true, false), (false, true), (false, false)] {
        let (queue, mut stream) = queue(4, false, 1 << 30);
        let mut turns = Vec::new();
        for _ in 0..4 {
            turns.push(queue.begin().await.expect("room").expect("a case"));
        }
        let [first, second, third, fourth] = <[_; 4]>::try_from(turns).ok().expect("four");
        for turn in [fourth, third, first] {
            let index = turn.index;
            queue.done(turn, Ok(result(index, 0))).await;
        }
        let forgotten = async {
            if !early {
                tokio::time::sleep(LOOK).await;
            }
            drop(second);
        };
        let ended = async {
            if looked_at {
                assert!(!queue.is_left().await);
            }
            queue.end().await;
        };
        let both = async { tokio::join!(forgotten, ended) };
        let in_time = tokio::time::timeout(Duration::from_secs(60), both).await;
        in_time.expect("nothing is waited for");
        let (received, completed, code) = rest(&mut stream, Duration::ZERO).await;
        assert_eq!((received, completed, code.as_str()), (1, 1, "PRL_SANDBOX_PROTOCOL"));
    }
}

#[tokio::test(start_paused = true)]
async fn no_lane_runs_far_ahead_of_a_slow_case() {
    let (queue, mut stream) = queue(10_000, false, 1 << 30);
    let first = queue.begin().await.expect("room").expect("a case");
    let ahead = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move {
            while let Some(turn) = queue.begin().await.expect("room") {
                let index = turn.index;
                queue.done(turn, Ok(result(index, 0))).await;
            }
        }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(queue.begun(), MAX_AHEAD as usize);
    assert!(stream.try_recv().is_err(), "the first result was not sent");
    queue.give_up();
    drop(stream);
    queue.done(first, Ok(result(0, 0))).await;
    ahead.await.expect("no panic");
    queue.end().await;
}

/// Passing cases of 10 ms each except the first, on two lanes; then the end, as soon as the queue is forsaken or all
/// results are sent.
fn course(queue: &Arc<CaseQueue>, cases: usize, first_ms: u64) -> tokio::task::JoinHandle<()> {
    let mut times = vec![(10, Way::Passes); cases];
    times[0].0 = first_ms;
    let queue = Arc::clone(queue);
    tokio::spawn(async move {
        let working = async {
            let times = Arc::new(Mutex::new(times));
            tokio::join!(
                work(Arc::clone(&queue), Arc::clone(&times), true),
                work(Arc::clone(&queue), times, false)
            );
            queue.end().await;
        };
        tokio::pin!(working);
        tokio::select! {
            () = &mut working => {}
            () = queue.forsaken() => {
                queue.give_up();
                working.await;
            }
        }
    })
}

/// How many results were sent, and the error code of the end.
async fn rest(stream: &mut Stream, pause: Duration) -> (usize, u32, String) {
    let mut received = 0;
    while let Some((event, _kept)) = stream.recv().await {
        match event.expect("no error").event {
            Some(TestsEvent::Case(_)) => received += 1,
            Some(TestsEvent::End(end)) => return (received, end.completed, end.error_code),
            other => panic!("{other:?}"),
        }
        tokio::time::sleep(pause).await;
    }
    panic!("no end");
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_the_kept_results_and_the_reason() {
    // At most one result may wait, or two.
    for (bytes, waiting) in [(1 << 30, 2), (1, 1)] {
        let (queue, mut stream) = queue(100, false, bytes);
        let began = tokio::time::Instant::now();
        course(&queue, 100, 10).await.expect("no panic");
        let waited = began.elapsed();
        assert!((UNREAD..UNREAD + 4 * LOOK).contains(&waited), "{waited:?}");
        let (received, completed, code) = rest(&mut stream, Duration::ZERO).await;
        assert!((waiting..=2).contains(&received), "{received}");
        assert_eq!((completed as usize, code.as_str()), (received, "PRL_SANDBOX_UNREAD"));
        drop(queue);
        assert!(stream.recv().await.is_none(), "something behind the end");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_and_one_who_has_nothing_to_take_are_waited_for() {
    let (slow, mut stream) = queue(9, false, 1 << 30);
    let running = course(&slow, 9, 10);
    let read = rest(&mut stream, UNREAD - 4 * LOOK).await;
    assert_eq!(read, (9, 9, String::new()));
    running.await.expect("no panic");
    // The results of the other lane fill all the room that there is, behind the first case.
    let (idle, mut stream) = queue(9, false, 1);
    let running = course(&idle, 9, 1000 * (3 * UNREAD).as_secs());
    let read = rest(&mut stream, Duration::ZERO).await;
    assert_eq!(read, (9, 9, String::new()));
    running.await.expect("no panic");
}
