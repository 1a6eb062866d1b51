//! One command in a held box, from its start to the report of how it really ended. Processes that it leaves behind go
//! on.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_sandbox_guest::wire::{Event, Order};
use prl_sandbox_proto::{Cause, RunOnceResult};
use tokio::sync::watch;

use super::processes::Process;
use super::sandbox_box::{End, SandboxBox};
use super::standby::provide;
use crate::counts::COUNTS;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::runs::infra;
use crate::runs::{Cancel, Exec, Flood, Watched, feed, follow, judge, record};
use crate::sandbox::{Exchange, pipes};
use crate::warm::Python;

/// One exec among others of its box.
pub(super) struct Among {
    pub(super) held: Arc<SandboxBox>,
    pub(super) exchange: Exchange,
    /// An event that was taken before the course began.
    pub(super) early: Option<Event>,
    /// This process is notified when the exec begins.
    pub(super) process: Option<Arc<Process>>,
}

impl Exec for Among {
    const ALONE: bool = false;
    const FIRST: bool = false;

    async fn event(&mut self) -> io::Result<Option<Event>> {
        if let Some(event) = self.early.take() {
            return Ok(Some(event));
        }
        let event = self.exchange.event().await.map(|(event, _)| event);
        if let (Some(Event::Started(pid)), Some(process)) = (&event, &self.process) {
            process.begin(*pid);
        }
        Ok(event)
    }

    async fn kill(&mut self) {
        self.order(Order::KillTree(true)).await;
    }

    async fn measure(&mut self) {
        self.order(Order::Measure(true)).await;
    }

    fn destroy(&mut self) {
        self.held.end_with(End::Broken("processes in it could not be ended"));
    }
}

impl Among {
    async fn order(&self, order: Order) {
        // When init is gone the next event says so.
        if let Err(error) = self.held.mux.send_order(self.exchange.id, order).await {
            tracing::debug!(error = %error.chain(), "a box takes no more orders");
        }
    }
}

/// Runs a command to its end.
pub(crate) async fn exec(
    held: &Arc<SandboxBox>,
    plan: Plan,
    python: Option<Arc<Python>>,
    cancel: Cancel,
) -> RunOnceResult {
    let result = attempt(held, plan, python, cancel).await;
    let mut result = result.unwrap_or_else(|error| failed(held, &error));
    result.isolation = held.isolation.into();
    if result.runtime.is_empty() {
        result.runtime = "exec".to_owned();
    }
    result
}

async fn attempt(
    held: &Arc<SandboxBox>,
    mut plan: Plan,
    python: Option<Arc<Python>>,
    cancel: Cancel,
) -> Result<RunOnceResult, SandboxError> {
    let began = Instant::now();
    let setup = |step: &'static str| {
        move |source| SandboxError::Setup {
            step: step.to_owned(),
            source,
        }
    };
    let _seat = held.seat()?;
    let before = held.count();
    let flood = Flood::new(plan.limits.output_kill_bytes);
    let ([stdin, stdout, stderr], guests) = pipes().map_err(setup("pipes"))?;
    let _zygote = provide(held, &mut plan, python).await?;
    let warm = plan.warm();
    let exchange = held.mux.call(Order::Start(plan.start), guests.into()).await?;
    let (over, ended) = watch::channel(false);
    let stdout = record(stdout, plan.limits.output_bytes, &flood, ended.clone()).map_err(setup("stdout"))?;
    let stderr = record(stderr, plan.limits.output_bytes, &flood, ended).map_err(setup("stderr"))?;
    let feeder = feed(stdin, plan.stdin).map_err(setup("stdin"))?;
    let mut among = Among {
        held: Arc::clone(held),
        exchange,
        early: None,
        process: None,
    };
    let watched = Watched {
        group: &held.group,
        before,
        limits: &plan.limits,
        flood: &flood,
    };
    let course = follow(&mut among, watched, cancel).await;
    feeder.abort();
    over.send_replace(true);
    let (stdout, stderr) = (stdout.result().await?, stderr.result().await?);
    let course = course?;
    let runtime = course.runtime(warm);
    let timings = course.timings(began, Duration::ZERO);
    let mut result = judge(course, &plan.limits, stdout, stderr, timings)?;
    result.runtime = runtime;
    Ok(result)
}

/// The result when the end of a program could not be observed: the end of the box explains it, or it is INFRA.
pub(super) fn failed(held: &SandboxBox, error: &SandboxError) -> RunOnceResult {
    if matches!(error, SandboxError::InitDied) {
        held.end_with(End::Broken("its init died"));
    }
    match held.ended() {
        Some(end @ (End::Closed | End::LeaseOver | End::LifetimeOver)) => {
            COUNTS.end(Cause::Cancelled);
            RunOnceResult {
                cause: Cause::Cancelled.into(),
                reason: format!("the box has ended: {}", end.reason()),
                ..RunOnceResult::default()
            }
        }
        Some(End::Broken(_)) | None => infra(error, held.isolation),
    }
}
