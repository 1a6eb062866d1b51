//! One run in one sandbox, and how it really ended.
//!
//! The first reason to end a run wins and is its cause; reasons that are seen later only add to `limits_hit`. No wait
//! ends in a default answer: a run is over when init reports its end or is dead. Its output is complete when every
//! process that could write it is dead and the pipes are drained.

mod course;
pub(crate) mod keys;
mod output;
pub(crate) mod queue;
mod refused_forks;
mod stdio;
mod verdict;

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use prl_sandbox_guest::wire::{Event, Order};
use prl_sandbox_proto::{Cause, Isolation, RunOnceResult};
use tokio::sync::watch;

use crate::cgroup::Group;
use crate::counts::COUNTS;
use crate::egress;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::sandbox::{Events, Init, Orders, Sandbox, pipes};
use queue::Slot;

pub(crate) use course::{Exec, Watched, follow};
pub(crate) use stdio::{Flood, feed, record, record_part};
pub(crate) use verdict::judge;

/// The id of a run's only order.
const RUN: u64 = 1;

/// Becomes true once, when a run is to be cancelled.
pub(crate) type Cancel = watch::Receiver<bool>;

/// Returns when a flag was set, or when its sender is gone.
pub(crate) async fn raised(flag: &mut watch::Receiver<bool>) {
    let _gone = flag.wait_for(|raised| *raised).await.is_err();
}

/// The result of a run that failed because of the infrastructure.
pub(crate) fn infra(error: &SandboxError, isolation: Isolation) -> RunOnceResult {
    COUNTS.infra(error.code());
    RunOnceResult {
        cause: Cause::Infra.into(),
        reason: error.chain(),
        error_code: error.code().to_owned(),
        isolation: isolation.into(),
        ..RunOnceResult::default()
    }
}

/// Runs a plan and leaves the sandbox to be destroyed by the caller. `queued`: how long it waited.
pub(crate) async fn execute(
    sandbox: &mut Sandbox,
    slot: &mut Slot,
    mut plan: Plan,
    cancel: Cancel,
    queued: Duration,
) -> Result<RunOnceResult, SandboxError> {
    let began = Instant::now();
    let setup = |step: &'static str| {
        move |source| SandboxError::Setup {
            step: step.to_owned(),
            source,
        }
    };
    if let Some(unwritten) = &plan.unwritten {
        let result = unwritten.result();
        COUNTS.judged(&result);
        return Ok(result);
    }
    sandbox.group.limit(plan.limits.group.into()).map_err(setup("limits"))?;
    let flood = Flood::new(plan.limits.output_kill_bytes);
    let sockets = sandbox.open(plan.network.sockets()).await?;
    // The ways out stay open until the result is complete.
    let (_egress, variables) = plan.network.serve(sockets).map_err(setup("network"))?;
    egress::add_missing(&mut plan.start.program.env, &variables);
    let before = sandbox.group.count();
    let warm = plan.warm();
    let (ours, guests) = match sandbox.streams.take() {
        Some(streams) => streams,
        None => pipes().map_err(setup("pipes"))?,
    };
    let ends = guests.each_ref().map(AsFd::as_fd);
    sandbox
        .orders
        .send(RUN, Order::Start(plan.start), &ends)
        .await
        .map_err(setup("send the run"))?;
    drop(guests);
    let [stdin, stdout, stderr] = ours;
    let (over, dead) = watch::channel(false);
    let stdout = record(stdout, plan.limits.output_bytes, &flood, dead.clone()).map_err(setup("stdout"))?;
    let stderr = record(stderr, plan.limits.output_bytes, &flood, dead).map_err(setup("stderr"))?;
    let feeder = feed(stdin, plan.stdin).map_err(setup("stdin"))?;
    let mut alone = Alone {
        orders: &mut sandbox.orders,
        events: &mut sandbox.events,
        init: &sandbox.init,
        group: &sandbox.group,
        slot,
    };
    let watched = Watched {
        group: &sandbox.group,
        before,
        limits: &plan.limits,
        flood: &flood,
    };
    let course = follow(&mut alone, watched, cancel).await;
    feeder.abort();
    // Every process that could write is dead.
    over.send_replace(true);
    let (stdout, stderr) = (stdout.result().await?, stderr.result().await?);
    let course = course?;
    let timings = course.timings(began, queued);
    let runtime = course.runtime(warm);
    let mut result = judge(course, &plan.limits, stdout, stderr, timings)?;
    result.runtime = runtime;
    Ok(result)
}

/// The only exec of a sandbox, a child of its init.
struct Alone<'a> {
    orders: &'a mut Orders,
    events: &'a mut Events,
    init: &'a Init,
    group: &'a Group,
    slot: &'a mut Slot,
}

impl Exec for Alone<'_> {
    const ALONE: bool = true;
    const FIRST: bool = true;

    async fn event(&mut self) -> io::Result<Option<Event>> {
        Ok(self.events.receive().await?.map(|(_, event, _)| event))
    }

    async fn kill(&mut self) {
        self.group.kill_in_bursts(|| self.init.pid());
        if self.orders.send(RUN, Order::KillAll(true), &[]).await.is_err() {
            self.init.kill();
        }
    }

    async fn measure(&mut self) {}

    fn yields(&mut self) {
        self.slot.step_aside();
    }

    fn destroy(&mut self) {
        self.init.kill();
    }
}
