//! One case, or the build: an exec that has the sandbox for itself and leaves nothing behind.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_sandbox_guest::wire::{Event, Order};
use prl_sandbox_proto::RunOnceResult;
use tokio::sync::watch;

use crate::boxes::{End, SandboxBox};
use crate::egress;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::runs::{Cancel, Exec, Flood, Watched, feed, follow, judge, record};
use crate::sandbox::{Exchange, pipes};

struct Enclosed<'a> {
    held: &'a SandboxBox,
    exchange: Exchange,
}

impl Exec for Enclosed<'_> {
    const ALONE: bool = true;
    const FIRST: bool = false;

    async fn event(&mut self) -> io::Result<Option<Event>> {
        loop {
            match self.exchange.event().await {
                Some((Event::Moved(_), _)) => self.held.moved(),
                other => return Ok(other.map(|(event, _)| event)),
            }
        }
    }

    async fn kill(&mut self) {
        if let Err(error) = self.held.mux.send_order(self.exchange.id, Order::KillTree(true)).await {
            // The next event says why.
            tracing::debug!(error = %error.chain(), "a sandbox takes no more orders");
        }
    }

    async fn measure(&mut self) {}

    fn destroy(&mut self) {
        self.held.end_with(End::Broken("processes in it could not be ended"));
    }
}

/// Runs it to its end. `begun` is called when init has been given the program.
pub(super) async fn run(
    held: &Arc<SandboxBox>,
    mut plan: Plan,
    cancel: Cancel,
    begun: impl FnOnce(),
) -> Result<RunOnceResult, SandboxError> {
    let began = Instant::now();
    let setup = |step: &'static str| {
        move |source| SandboxError::Setup {
            step: step.to_owned(),
            source,
        }
    };
    let _seat = held.seat()?;
    held.follow_network(&plan.network).await?;
    egress::add_missing(&mut plan.start.program.env, &held.network_variables());
    let before = held.count();
    let warm = plan.warm();
    let flood = Flood::new(plan.limits.output_kill_bytes);
    let ([stdin, stdout, stderr], guests) = pipes().map_err(setup("pipes"))?;
    let exchange = held.mux.call(Order::Start(plan.start), guests.into()).await?;
    begun();
    let (over, ended) = watch::channel(false);
    let stdout = record(stdout, plan.limits.output_bytes, &flood, ended.clone()).map_err(setup("stdout"))?;
    let stderr = record(stderr, plan.limits.output_bytes, &flood, ended).map_err(setup("stderr"))?;
    let feeder = feed(stdin, plan.stdin).map_err(setup("stdin"))?;
    let mut exec = Enclosed { held, exchange };
    let watched = Watched {
        group: &held.group,
        before,
        limits: &plan.limits,
        flood: &flood,
    };
    let course = follow(&mut exec, watched, cancel).await;
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
