//! Many tests of one program: an optional build, then each case alone.
//!
//! Cases run one after the other in one sandbox, the first lane. While the daemon has nothing else to do, further lanes
//! are opened beside it (`lane`). Each is a separate sandbox with the same files, the limits of the request and a
//! separate slot: cases that run at the same time are as isolated as two requests. All lanes take the next case from
//! one `queue`, which sends the results in the order of the cases, and none behind the case that ended it.
//!
//! When a sandbox is lost, its case is run again in another lane or, once in a request, in a new sandbox. Not so when
//! the request has a key, a build or many bytes to place: then the request ends. In no case does a loss of ours become
//! the result of a case.
//!
//! Each case has a new process, and a clean writable layer over the files of the request and its build. Before the next
//! case begins, everything that the case started is dead and its IPC objects are removed. A case that used the network
//! is followed by a new network with the request's ways out. A layer in which nothing has changed is used again. Any
//! other is discarded first, since its files count as the sandbox's memory.
//!
//! Where the program runs on a warm interpreter, one zygote in the sandbox is a nursery: while a case runs, it forks
//! the zygote of the next one. That zygote waits with init's rights, out of reach of every program in the sandbox and
//! outside its control groups. A parked sandbox has such a nursery and the zygotes of the first two cases, which enter
//! their layers when they get their programs.

mod case;
mod event_stream;
mod key;
mod lane;
mod queue;

use std::sync::Arc;

use prl_sandbox_guest::wire::{Enclosed, Furnish, Sizes};
use prl_sandbox_proto::run_tests_event::Event as TestsEvent;
use prl_sandbox_proto::{Cause, RunOnceRequest, RunOnceResult, RunTestsEnd, RunTestsEvent, RunTestsRequest};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tonic::Status;

use crate::boxes::{End, SandboxBox};
use crate::counts::COUNTS;
use crate::error::SandboxError;
use crate::plan::{self, Plan};
use crate::runs::queue::Slot;
use crate::state::{DEFAULT_QUEUE, DaemonState};
use crate::tenants::Tenant;
use crate::tenants::{Kept, Results};

use lane::{Lane, Nest};
use queue::CaseQueue;

const MAX_CASES: usize = 10_000;
/// Results that wait for a slow reader, and their bytes. When they are full, no further case is begun.
const MAX_UNREAD: usize = 16;
const MAX_UNREAD_BYTES: usize = 32 << 20;

pub(crate) use event_stream::EventStream;
pub(crate) use key::Key;

/// Each event with the bytes that it counts for until it is taken.
type Item = (Result<RunTestsEvent, Status>, Option<[Kept; 2]>);
pub(crate) type Stream = mpsc::Receiver<Item>;

/// A stream of tests that could not be begun because of the daemon, not because of the request.
pub(crate) async fn not_begun(error: &SandboxError) -> Stream {
    let (events, stream) = mpsc::channel(1);
    let end = RunTestsEnd {
        completed: 0,
        error_code: error.code().to_owned(),
        reason: error.chain(),
    };
    let event = RunTestsEvent {
        event: Some(TestsEvent::End(end)),
    };
    // There is room for one event, and the reader is in this function.
    let _kept = events.send((Ok(event), None)).await;
    stream
}

/// A request, checked.
struct Tests {
    build: Option<Plan>,
    /// For every case, without its input and its arguments.
    program: Plan,
    cases: Vec<prl_sandbox_proto::TestCase>,
    stop_on_failure: bool,
    /// Whether a case may be begun again when its sandbox was lost. Not under a key, which promises that nothing is run
    /// twice, and only where another sandbox is soon ready.
    repeatable: bool,
}

/// Begins a request that was admitted. The tests end early when the stream is dropped, or not read for minutes.
/// `kept`: it is dropped when no test of the request is in memory any more.
pub(crate) async fn run_tests(
    state: &Arc<DaemonState>,
    tenant: &Tenant,
    request: RunTestsRequest,
    mut key: Option<Key>,
    kept: impl Send + 'static,
) -> Result<Stream, SandboxError> {
    let mut tests = check(state, request)?;
    tests.repeatable = key.is_none() && lane::is_light(&tests);
    let mut slot = state.queue.enter(tests.program.queue.unwrap_or(DEFAULT_QUEUE)).await?;
    let spare = lane::spare(state, &tests);
    if let Some(key) = &mut key {
        key.begin();
    }
    let results = [state.results.of(tenant), Results::new(MAX_UNREAD_BYTES).of(tenant)];
    let (queue, stream) = CaseQueue::new(tests.cases.len(), tests.stop_on_failure, MAX_UNREAD, results);
    let (state, queue) = (Arc::clone(state), Arc::new(queue));
    tokio::spawn(async move {
        let course = carry_out(&state, tests, &queue, spare);
        tokio::pin!(course);
        let left = tokio::select! {
            left = &mut course => left,
            never = queue.yield_to_others(&mut slot) => match never {},
            () = async { tokio::select! {
                () = queue.forsaken() => {}
                () = Key::cancelled(&mut key) => queue.fail(SandboxError::Cancelled),
            } } => {
                queue.give_up();
                course.await
            }
        };
        state.completed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        slot.over();
        left.clear_away().await;
        drop((slot, key, kept));
    });
    Ok(stream)
}

fn check(state: &DaemonState, request: RunTestsRequest) -> Result<Tests, SandboxError> {
    let RunTestsRequest {
        request,
        cases,
        stop_on_failure,
        build,
        build_limits,
    } = request;
    let request = request.ok_or_else(|| SandboxError::Invalid("request is missing".to_owned()))?;
    if cases.len() > MAX_CASES {
        return Err(SandboxError::Invalid(format!(
            "{} cases; at most {MAX_CASES}",
            cases.len()
        )));
    }
    if let Some(text) = cases
        .iter()
        .flat_map(|case| &case.args)
        .find(|text| text.contains('\0'))
    {
        return Err(SandboxError::Invalid(format!("args hold a NUL byte: {text:?}")));
    }
    let enclosed = |mut plan: Plan, layer: bool| {
        let sizes = plan.start.furnish.as_ref().map(|furnish| Sizes {
            disk_bytes: furnish.disk_bytes,
            inodes: furnish.inodes,
        });
        plan.start.enclosed = plan.start.finish.take().map(|finish| {
            Box::new(Enclosed {
                finish,
                layer: sizes.filter(|_| layer),
            })
        });
        plan
    };
    let build = (!build.is_empty()).then(|| RunOnceRequest {
        command: build,
        env: request.env.clone(),
        cwd: request.cwd.clone(),
        limits: build_limits,
        image: request.image.clone(),
        ..RunOnceRequest::default()
    });
    let build = build.map(|build| plan::plan_run(build, state.terms())).transpose()?;
    let mut program = plan::plan_run(request, state.terms())?;
    state.warm.choose(&mut program)?;
    Ok(Tests {
        build: build.map(|build| enclosed(build, false)),
        program: enclosed(program, true),
        cases,
        stop_on_failure,
        repeatable: false,
    })
}

/// The work that is ended after the last event.
struct Left {
    held: Vec<Arc<SandboxBox>>,
    further: Vec<JoinHandle<()>>,
}

impl Left {
    async fn clear_away(self) {
        for held in self.held {
            held.end_with(End::Closed);
            held.gone().await;
        }
        for lane in self.further {
            if let Err(error) = lane.await {
                tracing::error!(%error, "a lane's task ended early");
            }
        }
    }
}

/// Runs all cases and sends their results, and the end.
async fn carry_out(state: &Arc<DaemonState>, mut tests: Tests, queue: &Arc<CaseQueue>, spare: Vec<Slot>) -> Left {
    let furnish = tests.program.start.furnish.take();
    let build = tests.build.take();
    let tests = Arc::new(tests);
    let open = |slot| {
        let (state, tests, queue) = (Arc::clone(state), Arc::clone(&tests), Arc::clone(queue));
        tokio::spawn(lane::further(state, tests, furnish.clone(), queue, slot))
    };
    let further = spare.into_iter().map(open).collect();
    let mut all = Vec::new();
    let outcome = async {
        let again = tests.repeatable.then(|| Before {
            furnish: furnish.clone(),
            build: None,
        });
        let before = Before { furnish, build };
        let lost = in_sandbox(state, before, &tests, queue, &mut all).await?;
        match (lost, again) {
            (None, _) => Ok(()),
            (Some(_), Some(before)) => {
                let lost = in_sandbox(state, before, &tests, queue, &mut all).await?;
                lost.map_or(Ok(()), Err)
            }
            (Some(error), None) => Err(error),
        }
    };
    if let Err(error) = outcome.await {
        COUNTS.infra(error.code());
        queue.fail(error);
    }
    queue.end().await;
    Left { held: all, further }
}

/// The work of the first lane before its first case.
struct Before {
    furnish: Option<Furnish>,
    build: Option<Plan>,
}

/// Runs the first lane in a new sandbox, until no case is left. Returns the reason when cases are left because the
/// sandbox was lost.
async fn in_sandbox(
    state: &DaemonState,
    Before { furnish, build }: Before,
    tests: &Tests,
    queue: &CaseQueue,
    all: &mut Vec<Arc<SandboxBox>>,
) -> Result<Option<SandboxError>, SandboxError> {
    let (held, nursery) = match lane::make(state, &tests.program, furnish).await {
        Err(SandboxError::Unwritten(unwritten)) => {
            let isolation = state.probe.isolation.into();
            let result = RunOnceResult {
                isolation,
                ..unwritten.result()
            };
            return without_files(queue, build.is_some(), result).await.map(|()| None);
        }
        made => made?,
    };
    all.push(Arc::clone(&held));
    let worked = first(&held, nursery, build, tests, queue).await;
    match (worked, held.ended()) {
        (Err(error), Some(_)) => Ok(Some(error)),
        (Ok(()), Some(end)) if queue.is_left().await => Ok(Some(held.error_of(&end))),
        (worked, _) => worked.map(|()| None),
    }
}

/// The result when the request's files cannot be written: it is the build's, or that of every case.
async fn without_files(queue: &CaseQueue, has_build: bool, result: RunOnceResult) -> Result<(), SandboxError> {
    if has_build {
        queue.send_build(result).await;
        queue.give_up();
        return Ok(());
    }
    while let Some(turn) = queue.begin().await? {
        COUNTS.judged(&result);
        queue.done(turn, Ok(result.clone())).await;
    }
    Ok(())
}

/// Runs the build, then the lane that is always there.
async fn first(
    held: &Arc<SandboxBox>,
    nursery: Option<Nest>,
    build: Option<Plan>,
    tests: &Tests,
    queue: &CaseQueue,
) -> Result<(), SandboxError> {
    if let Some(mut build) = build {
        build.start.furnish = None;
        held.limit(build.limits.group)?;
        let result = lane::exec(held, build, queue.unwanted(0), || ()).await?;
        let built = passed(&result);
        queue.send_build(result).await;
        if !built {
            queue.give_up();
            return Ok(());
        }
        held.limit(tests.program.limits.group)?;
    }
    let opened = Lane::open(Arc::clone(held), nursery, tests).await;
    let mut lane = opened.inspect_err(|_| held.end_with(End::Broken("its zygote was not born")))?;
    while held.ended().is_none() && queue.is_left().await {
        lane.work(queue, tests, || held.ended().is_none()).await?;
    }
    Ok(())
}

fn passed(result: &RunOnceResult) -> bool {
    result.cause == i32::from(Cause::Exited) && result.exit_code == Some(0)
}
