//! One lane: a sandbox in which cases run one after the other. While one case runs, the zygote of the next one is
//! forked.
//!
//! The first lane is always there. Further lanes are for a daemon that has nothing else to do: they are opened when a
//! core, a run slot and a parked sandbox are free at the moment in which the request begins. They wait for nothing, and
//! they leave as soon as another request waits. So they cost other requests nothing. A request also ends well without
//! them.
//!
//! A lane whose sandbox is lost gives its case back, if that case may be run again.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use prl_sandbox_guest::wire::{Furnish, Sizes};
use prl_sandbox_proto::{CreateRequest, Isolation, RunOnceResult};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::queue::{CaseQueue, Turn};
use super::{Tests, case};
use crate::boxes::{Contents, End, SandboxBox, Standby};
use crate::counts::COUNTS;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::pool::Pool;
use crate::runs::queue::Slot;
use crate::sandbox::Sandbox;
use crate::state::DaemonState;
use crate::warm::{Parked, Python};

/// With fewer cases, a further sandbox does not pay.
const CASES_PER_LANE: usize = 4;
/// Placing more bytes than this again takes longer than further lanes save.
const LIGHT_BYTES: usize = 1 << 20;
/// Longer than any sandbox lives.
const FOREVER_MS: u64 = 10 * 365 * 24 * 3600 * 1000;

static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// See the module.
pub(super) struct Lane {
    held: Arc<SandboxBox>,
    nursery: Option<Nursery>,
}

/// The nursery of a lane: the zygote that forks the zygotes of the cases, each on a layer of these sizes.
struct Nursery {
    zygote: Arc<Parked>,
    layer: Option<Sizes>,
    /// Zygotes that were forked in advance, for the first cases.
    born: VecDeque<Parked>,
}

type Hatching<T = Parked> = JoinHandle<Result<T, SandboxError>>;
/// A nursery, and the zygotes that it has forked.
pub(super) type Nest = Hatching<(Parked, VecDeque<Parked>)>;

/// Whether another sandbox for these tests is ready as soon as a parked one is: nothing large has to be placed or
/// built.
pub(super) fn is_light(tests: &Tests) -> bool {
    let furnish = tests.program.start.furnish.as_ref();
    let bytes: usize = furnish.map_or(0, |furnish| furnish.files.iter().map(|file| file.content.len()).sum());
    tests.build.is_none() && tests.program.image == 0 && bytes <= LIGHT_BYTES
}

/// Slots for further lanes. Empty while as many runs go on as the machine has cores.
pub(super) fn spare(state: &DaemonState, tests: &Tests) -> Vec<Slot> {
    if !is_light(tests) || state.probe.isolation == Isolation::Process {
        return Vec::new();
    }
    let parked = state.pool.parked() + state.warm.nurseries(&tests.program).map_or(0, |pool| pool.parked());
    let most = most(tests.cases.len(), *CORES, state.queue.busy(), parked);
    (1..most).map_while(|_| state.queue.try_enter()).collect()
}

/// How many lanes these cases get. `busy` counts the runs that go on, this one included.
fn most(cases: usize, cores: usize, busy: usize, parked: usize) -> usize {
    let idle = cores.saturating_sub(busy);
    (cases / CASES_PER_LANE).min(1 + idle).min(parked).max(1)
}

/// A further lane. It works until no case is left, another request waits for its slot, or its sandbox is lost.
pub(super) async fn further(
    state: Arc<DaemonState>,
    tests: Arc<Tests>,
    furnish: Option<Furnish>,
    queue: Arc<CaseQueue>,
    mut slot: Slot,
) {
    let Some(ready) = parked(&state, &tests.program) else {
        return tracing::debug!("a lane is not opened: others have taken the parked sandboxes");
    };
    let (held, nursery) = match furnished(&state, &tests.program, furnish, ready).await {
        Ok(made) => made,
        Err(error) => return tracing::debug!(error = %error.chain(), "a lane is not opened"),
    };
    let goes_on = || state.queue.queued() == 0 && held.ended().is_none();
    let worked = match Lane::open(Arc::clone(&held), nursery, &tests).await {
        Ok(mut lane) => tokio::select! {
            worked = lane.work(&queue, &tests, goes_on) => worked,
            never = queue.yield_to_others(&mut slot) => match never {},
        },
        Err(error) => Err(error),
    };
    if let Err(error) = worked {
        tracing::debug!(error = %error.chain(), "a lane is given up");
    }
    slot.over();
    held.end_with(End::Closed);
    held.gone().await;
    drop(slot);
}

/// A sandbox with the request's files. For a program of a warm interpreter it also has a nursery, or one is on its way.
pub(super) async fn make(
    state: &DaemonState,
    program: &Plan,
    furnish: Option<Furnish>,
) -> Result<(Arc<SandboxBox>, Option<Nest>), SandboxError> {
    let ready = match parked(state, program) {
        Some(ready) => ready,
        None => (state.pool.acquire(program.image).await?, false),
    };
    furnished(state, program, furnish, ready).await
}

/// A sandbox that is parked, and whether it has a nursery.
fn parked(state: &DaemonState, program: &Plan) -> Option<(Sandbox, bool)> {
    let nursery = state.warm.nurseries(program).and_then(Pool::take);
    if let Some(sandbox) = nursery {
        return Some((sandbox, true));
    }
    let plain = (program.image == 0).then(|| state.pool.take()).flatten();
    plain.map(|sandbox| (sandbox, false))
}

async fn furnished(
    state: &DaemonState,
    program: &Plan,
    furnish: Option<Furnish>,
    (sandbox, has_one): (Sandbox, bool),
) -> Result<(Arc<SandboxBox>, Option<Nest>), SandboxError> {
    let python = state.warm.python(program);
    let request = CreateRequest {
        lease_ms: Some(FOREVER_MS),
        ..CreateRequest::default()
    };
    let mut plan = program.clone();
    plan.start.furnish = furnish;
    let contents = Contents {
        request,
        plan,
        snapshot: None,
        standby: Standby::default(),
    };
    let held = SandboxBox::make(sandbox, contents, state.probe.isolation).await?;
    let nursery = python.map(|python| {
        let held = Arc::clone(&held);
        tokio::spawn(async move {
            if has_one {
                return Python::hatched(&held.mux);
            }
            held.hatch(&python).await.map(|nursery| (nursery, VecDeque::new()))
        })
    });
    Ok((held, nursery))
}

impl Lane {
    pub(super) async fn open(
        held: Arc<SandboxBox>,
        nursery: Option<Nest>,
        tests: &Tests,
    ) -> Result<Self, SandboxError> {
        let enclosed = tests.program.start.enclosed.as_ref();
        let nursery = match nursery {
            Some(hatching) => {
                let (zygote, born) = hatched(hatching).await?;
                let (zygote, layer) = (Arc::new(zygote), enclosed.and_then(|enclosed| enclosed.layer));
                Some(Nursery { zygote, layer, born })
            }
            None => None,
        };
        if nursery.is_some() {
            held.expect_nursed()?;
        }
        Ok(Self { held, nursery })
    }

    /// Runs cases until none is left, `goes_on` says no, or the sandbox is lost; a loss also ends the sandbox. What
    /// happens to a case is in the case's result.
    ///
    /// # Errors
    /// Why no further case could be begun.
    pub(super) async fn work(
        &mut self,
        queue: &CaseQueue,
        tests: &Tests,
        goes_on: impl Fn() -> bool,
    ) -> Result<(), SandboxError> {
        let mut next = self.prepare(queue);
        while goes_on() {
            let Some(turn) = queue.begin().await? else {
                break;
            };
            match self.run(queue, tests, &turn, &mut next).await {
                Ok(result) => queue.done(turn, Ok(result)).await,
                Err(error) => {
                    self.held.end_with(End::Broken("a case could not be run in it"));
                    if tests.repeatable {
                        tracing::warn!(error = %error.chain(), "a case is run again: its sandbox was lost");
                        queue.take_back(turn, error).await;
                    } else {
                        COUNTS.infra(error.code());
                        queue.done(turn, Err(error)).await;
                    }
                    break;
                }
            }
        }
        Ok(())
    }

    /// The zygote of the next case, if there will be one.
    fn prepare(&mut self, queue: &CaseQueue) -> Option<Hatching> {
        if queue.prepare() { self.zygote() } else { None }
    }

    fn zygote(&mut self) -> Option<Hatching> {
        let nursery = self.nursery.as_mut()?;
        let born = nursery.born.pop_front();
        let (held, zygote, layer) = (Arc::clone(&self.held), Arc::clone(&nursery.zygote), nursery.layer);
        Some(tokio::spawn(async move {
            match born {
                Some(born) => Ok(born),
                None => Python::bear(&held.mux, &zygote, layer).await,
            }
        }))
    }

    async fn run(
        &mut self,
        queue: &CaseQueue,
        tests: &Tests,
        turn: &Turn,
        next: &mut Option<Hatching>,
    ) -> Result<RunOnceResult, SandboxError> {
        let hatching = next.take().or_else(|| self.zygote());
        let mut plan = tests.program.clone();
        let zygote = match hatching {
            Some(hatching) => match hatched(hatching).await {
                Ok(zygote) => Some(zygote),
                // Where the machine has no second user, an earlier case could have killed the zygote or its nursery.
                Err(error) if !plan.insists => {
                    tracing::debug!(error = %error.chain(), "no zygote: the case is executed");
                    None
                }
                Err(error) => return Err(error),
            },
            None => None,
        };
        plan.start.zygote = zygote.as_ref().map_or(0, Parked::id);
        if let Some(case) = tests.cases.get(turn.index) {
            plan.stdin = case.stdin.clone();
            plan.start.program.command.extend(case.args.iter().cloned());
        }
        let held = Arc::clone(&self.held);
        // The next zygote is not waited for yet.
        let begun = || *next = self.prepare(queue);
        exec(&held, plan, queue.unwanted(turn.index), begun).await
    }
}

/// Runs a case, or the build, to its end. `unwanted` ends it early.
pub(super) async fn exec(
    held: &Arc<SandboxBox>,
    plan: Plan,
    unwanted: impl Future<Output = ()>,
    begun: impl FnOnce(),
) -> Result<RunOnceResult, SandboxError> {
    let (cancel, cancelled) = watch::channel(false);
    let running = case::run(held, plan, cancelled, begun);
    tokio::pin!(running);
    let result = tokio::select! {
        result = &mut running => result,
        () = unwanted => {
            cancel.send_replace(true);
            running.await
        }
    };
    let mut result = result?;
    result.isolation = held.isolation.into();
    Ok(result)
}

async fn hatched<T>(hatching: Hatching<T>) -> Result<T, SandboxError> {
    let hatched = hatching.await;
    hatched.map_err(|error| SandboxError::Protocol(error.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::most;

    #[test]
    fn lanes_are_for_cases_cores_and_sandboxes_that_are_there() {
        assert_eq!(most(10, 2, 1, 4), 2);
        assert_eq!(most(100, 8, 1, 16), 8);
        assert_eq!(most(100, 8, 6, 16), 3);
        assert_eq!(most(11, 8, 1, 16), 2, "too few cases for three");
        assert_eq!(most(7, 8, 1, 16), 1);
        assert_eq!(most(0, 8, 1, 16), 1);
        assert_eq!(most(100, 1, 1, 16), 1, "one core");
        assert_eq!(most(100, 2, 2, 16), 1, "another run goes on");
        assert_eq!(most(100, 2, 9, 16), 1);
        assert_eq!(most(100, 8, 1, 2), 2);
        assert_eq!(most(100, 8, 1, 0), 1, "the first waits for its sandbox");
    }
}
