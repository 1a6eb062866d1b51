//! Many tests of one program in one sandbox: an optional build, then each case alone, one after the other.
//!
//! A case has a process of its own, and a clean writable layer over what the files and the build made; whatever it
//! starts is dead before the next one begins. A layer in which nothing has changed is used again. Where the program runs on
//! a warm interpreter, one zygote in the sandbox is a nursery: while a case runs it bears the zygote of the next one, which
//! waits with init's rights, out of the reach of every program in the sandbox and out of its groups.

mod case;
mod key;

use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::run_tests_event::Event as Told;
use prl_sandbox_proto::{
    CaseResult, Cause, CreateRequest, RunOnceRequest, RunOnceResult, RunTestsEnd, RunTestsEvent, RunTestsRequest,
};
use prost::Message;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tonic::Status;

use crate::boxes::{End, HeldBox, Standby};
use crate::calls::{Kept, Results, Share};
use crate::error::SandboxError;
use crate::plan::{self, Plan};
use crate::run::raised;
use crate::service::{DEFAULT_QUEUE, Shop};
use crate::tenants::Tenant;
use crate::wire::{Enclosed, Sizes};
use crate::zygote::{Parked, Python};

const MAX_CASES: usize = 10_000;
/// Results that wait for a slow reader, and their bytes; the next case waits with them.
const MAX_UNREAD: usize = 16;
const MAX_UNREAD_BYTES: usize = 32 << 20;
/// How long a case waits while others' readers are slow.
const ROOM: Duration = Duration::from_secs(60);
/// Longer than any sandbox lives.
const FOREVER_MS: u64 = 10 * 365 * 24 * 3600 * 1000;

pub(crate) use key::Key;

/// Each event with the bytes that it counts for until it is taken.
type Item = (Result<RunTestsEvent, Status>, Option<[Kept; 2]>);
pub(crate) type Stream = mpsc::Receiver<Item>;

/// A stream of tests that were not begun, for a reason that is not the caller's.
pub(crate) async fn not_begun(error: &SandboxError) -> Stream {
    let (events, stream) = mpsc::channel(1);
    let end = RunTestsEnd {
        completed: 0,
        error_code: error.code().to_owned(),
        reason: error.chain(),
    };
    let event = RunTestsEvent {
        event: Some(Told::End(end)),
    };
    // There is room for one, and nobody has left yet.
    let _kept = events.send((Ok(event), None)).await;
    stream
}

/// A request, checked.
struct Tests {
    build: Option<Plan>,
    /// Of every case, without its input and its own arguments.
    program: Plan,
    cases: Vec<prl_sandbox_proto::TestCase>,
    stop_on_failure: bool,
}

/// Begins a request that was admitted. Ends it when the stream is dropped.
pub(crate) async fn run_tests(
    shop: &Arc<Shop>,
    tenant: &Tenant,
    request: RunTestsRequest,
    mut key: Option<Key>,
) -> Result<Stream, SandboxError> {
    let tests = check(shop, request)?;
    let permit = shop.queue.enter(tests.program.queue.unwrap_or(DEFAULT_QUEUE)).await?;
    if let Some(key) = &mut key {
        key.begin();
    }
    let (events, stream) = mpsc::channel(MAX_UNREAD);
    let results = [shop.results.of(tenant), Results::new(MAX_UNREAD_BYTES).of(tenant)];
    let shop = Arc::clone(shop);
    tokio::spawn(async move {
        let (cancel, cancelled) = watch::channel(false);
        let unread = events.clone();
        let course = async {
            let mut run = Run {
                events,
                results,
                cancelled,
                completed: 0,
            };
            let (outcome, held) = run.carry_out(&shop, tests).await;
            let early = outcome.err();
            let end = RunTestsEnd {
                completed: run.completed,
                error_code: early.as_ref().map_or_else(String::new, |error| error.code().to_owned()),
                reason: early.as_ref().map_or_else(String::new, SandboxError::chain),
            };
            run.tell(Told::End(end)).await;
            if let Some(held) = held {
                held.end_with(End::Closed);
                held.gone().await;
            }
        };
        tokio::pin!(course);
        tokio::select! {
            () = &mut course => {}
            () = async { tokio::select! {
                () = unread.closed() => {}
                () = Key::cancelled(&mut key) => {}
            } } => {
                cancel.send_replace(true);
                course.await;
            }
        }
        shop.completed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        drop((permit, key));
    });
    Ok(stream)
}

fn check(shop: &Shop, request: RunTestsRequest) -> Result<Tests, SandboxError> {
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
    let build = build.map(|build| plan::plan(build, shop.terms())).transpose()?;
    let mut program = plan::plan(request, shop.terms())?;
    shop.warm.choose(&mut program)?;
    Ok(Tests {
        build: build.map(|build| enclosed(build, false)),
        program: enclosed(program, true),
        cases,
        stop_on_failure,
    })
}

struct Run {
    events: mpsc::Sender<Item>,
    /// Of all callers, and of this one.
    results: [Share; 2],
    cancelled: watch::Receiver<bool>,
    completed: u32,
}

impl Run {
    async fn tell(&self, event: Told) {
        let event = RunTestsEvent { event: Some(event) };
        let kept = self.results.each_ref().map(|results| results.keep(event.encoded_len()));
        // When nobody listens the run is being cancelled.
        let _dropped = self.events.send((Ok(event), Some(kept))).await;
    }

    /// Waits until there is room for another result; without end for this caller's own reading.
    async fn room(&mut self) -> Result<(), SandboxError> {
        let [all, own] = &self.results;
        let room = async {
            while own.room(ROOM).await.is_err() {}
            all.room(ROOM).await
        };
        tokio::select! {
            room = room => room,
            () = raised(&mut self.cancelled) => Ok(()),
        }
    }

    /// Returns the sandbox too, of which nothing is wanted any more.
    async fn carry_out(
        &mut self,
        shop: &Arc<Shop>,
        mut tests: Tests,
    ) -> (Result<(), SandboxError>, Option<Arc<HeldBox>>) {
        match make(shop, &mut tests).await {
            Ok(held) => {
                let outcome = self.judge_all(shop, &held, tests).await;
                let broken = held.ended().map(|end| held.error_of(&end));
                (outcome.and(broken.map_or(Ok(()), Err)), Some(held))
            }
            Err(error) => (Err(error), None),
        }
    }

    async fn judge_all(&mut self, shop: &Shop, held: &Arc<HeldBox>, tests: Tests) -> Result<(), SandboxError> {
        let python = shop.warm.python(&tests.program);
        let nursery = python.map(|python| {
            let held = Arc::clone(held);
            tokio::spawn(async move { python.hatch(&held).await })
        });
        if let Some(mut build) = tests.build {
            build.start.furnish = None;
            held.limit(build.limits.group)?;
            let result = self.exec(held, build, None, || ()).await?;
            let built = passed(&result);
            self.tell(Told::Build(result)).await;
            if !built {
                return Ok(());
            }
            held.limit(tests.program.limits.group)?;
        }
        let nursery = match nursery {
            Some(hatching) => Some(Arc::new(hatched(hatching).await?)),
            None => None,
        };
        if nursery.is_some() {
            held.expect_nursed()?;
        }
        let layer = tests
            .program
            .start
            .enclosed
            .as_ref()
            .and_then(|enclosed| enclosed.layer);
        let bear = |more: bool| {
            let nursery = nursery.clone().filter(|_| more)?;
            let held = Arc::clone(held);
            Some(tokio::spawn(async move { Python::bear(&held, &nursery, layer).await }))
        };
        let mut next = bear(!tests.cases.is_empty());
        let last = tests.cases.len().saturating_sub(1);
        for (index, case) in tests.cases.into_iter().enumerate() {
            let zygote = match next.take() {
                Some(hatching) => Some(hatched(hatching).await?),
                None => None,
            };
            self.room().await?;
            let mut plan = tests.program.clone();
            plan.stdin = case.stdin;
            plan.start.program.command.extend(case.args);
            // Nobody waits for the next one yet.
            let begun = || next = bear(index < last);
            let result = self.exec(held, plan, zygote, begun).await?;
            if *self.cancelled.borrow() {
                break;
            }
            let stop = tests.stop_on_failure && !passed(&result);
            self.completed += 1;
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            self.tell(Told::Case(CaseResult {
                index,
                result: Some(result),
            }))
            .await;
            if stop {
                break;
            }
        }
        Ok(())
    }

    async fn exec(
        &self,
        held: &Arc<HeldBox>,
        mut plan: Plan,
        zygote: Option<Parked>,
        begun: impl FnOnce(),
    ) -> Result<RunOnceResult, SandboxError> {
        plan.start.zygote = zygote.as_ref().map_or(0, Parked::id);
        let mut result = case::run(held, plan, self.cancelled.clone(), begun).await?;
        result.isolation = held.isolation.into();
        Ok(result)
    }
}

/// The sandbox with the request's files.
async fn make(shop: &Shop, tests: &mut Tests) -> Result<Arc<HeldBox>, SandboxError> {
    let sandbox = shop.pool.acquire(tests.program.image).await?;
    let request = CreateRequest {
        lease_ms: Some(FOREVER_MS),
        ..CreateRequest::default()
    };
    let plan = tests.program.clone();
    tests.program.start.furnish = None;
    HeldBox::make(sandbox, request, plan, None, Standby::default(), shop.probe.isolation).await
}

async fn hatched(hatching: JoinHandle<Result<Parked, SandboxError>>) -> Result<Parked, SandboxError> {
    let hatched = hatching.await;
    hatched.map_err(|error| SandboxError::Protocol(error.to_string()))?
}

fn passed(result: &RunOnceResult) -> bool {
    result.cause == i32::from(Cause::Exited) && result.exit_code == Some(0)
}
