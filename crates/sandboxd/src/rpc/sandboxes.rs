//! The service of one-shot runs: admission, and for each run a task that outlives the call.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use prl_sandbox_proto::sandboxes_server::Sandboxes;
use prl_sandbox_proto::{
    CancelReply, CancelRequest, CapabilitiesReply, CapabilitiesRequest, Cause, HealthReply, HealthRequest, Isolation,
    RunOnceRequest, RunOnceResult, RunTestsEvent, RunTestsRequest, Timings,
};
use tonic::{Request, Response, Status};

use super::calls::InMemory;
use super::demand;
use super::once::{Publisher, once};
use crate::cases;
use crate::counts::COUNTS;
use crate::error::SandboxError;
use crate::plan::{self, Plan};
use crate::pool::Pool;
use crate::runs::keys::fingerprint;
use crate::runs::{self, infra};
use crate::state::{DEFAULT_QUEUE, DaemonState};
use crate::tenants::Share;
use crate::tenants::Tenant;

/// The service itself: a handle on the daemon's state.
#[derive(Clone, Debug)]
pub(crate) struct Service(pub(crate) Arc<DaemonState>);

#[tonic::async_trait]
impl Sandboxes for Service {
    async fn run_once(&self, request: Request<RunOnceRequest>) -> Result<Response<RunOnceResult>, Status> {
        let tenant = Tenant::of(&request);
        let counted = InMemory::of(&request);
        let request = request.into_inner();
        let state = &self.0;
        if !request.instance_id.is_empty() && request.instance_id != state.instance {
            return Ok(Response::new(infra(
                &SandboxError::Restarted(format!("daemon {}", request.instance_id)),
                state.probe.isolation,
            )));
        }
        demand(&state.probe, request.min_isolation)?;
        let key = tenant.key("", &request.idempotency_key);
        let mark = if key.is_empty() { 0 } else { fingerprint(&request) };
        let mut plan = plan::plan_run(request, state.terms())?;
        let pool = state
            .warm
            .choose_for_run(&mut plan)?
            .unwrap_or_else(|| Arc::clone(&state.pool));
        let share = state.results.of(&tenant);
        let run = Run {
            share: share.clone(),
            pool,
            plan,
            counted,
        };
        let work = |cancel, publisher| carry_out(Arc::clone(state), run, cancel, publisher);
        Ok(once(state, &share, key, mark, work).await?)
    }

    type RunTestsStream = tonic::codegen::BoxStream<RunTestsEvent>;

    async fn run_tests(&self, request: Request<RunTestsRequest>) -> Result<Response<Self::RunTestsStream>, Status> {
        let tenant = Tenant::of(&request);
        let counted = InMemory::of(&request);
        let request = request.into_inner();
        let state = &self.0;
        if *state.draining.borrow() {
            return Err(SandboxError::Draining.into());
        }
        demand(
            &state.probe,
            request.request.as_ref().map_or(0, |run| run.min_isolation),
        )?;
        let name = request.request.as_ref().map_or("", |run| &run.idempotency_key);
        let events = match cases::Key::claim(state, tenant.key("", name), &request) {
            Ok(key) => cases::run_tests(state, &tenant, request, key, counted).await?,
            Err(error @ (SandboxError::Expired(_) | SandboxError::Restarted(_))) => cases::not_begun(&error).await,
            Err(error) => return Err(error.into()),
        };
        Ok(Response::new(Box::pin(cases::EventStream::new(events))))
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelReply>, Status> {
        let tenant = Tenant::of(&request);
        let request = request.into_inner();
        let key = tenant.key(&request.r#box, &request.idempotency_key);
        let found = self.0.keys.unfinished(&key);
        if let Some(handle) = &found {
            handle.cancel.send_replace(true);
        }
        Ok(Response::new(CancelReply { found: found.is_some() }))
    }

    async fn capabilities(&self, _: Request<CapabilitiesRequest>) -> Result<Response<CapabilitiesReply>, Status> {
        let state = &self.0;
        let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Ok(Response::new(CapabilitiesReply {
            isolation: state.probe.isolation.into(),
            cgroups: state.probe.cgroups.to_owned(),
            facilities: state
                .probe
                .facilities
                .iter()
                .cloned()
                .chain(state.warm.facilities())
                .collect(),
            unobservable: state.probe.unobservable.iter().map(|cause| (*cause).into()).collect(),
            default_limits: Some(plan::default_limits()),
            max_running: count(state.max_running),
            max_queued: count(state.max_queued),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            runtimes: state.warm.report(),
            images: state.images.names(),
        }))
    }

    async fn health(&self, _: Request<HealthRequest>) -> Result<Response<HealthReply>, Status> {
        let state = &self.0;
        let load = state.load();
        Ok(Response::new(HealthReply {
            serving: load.capacity > 0,
            running: load.running,
            queued: load.queued,
            parked: load.parked,
            completed: state.completed.load(Ordering::Relaxed),
            instance_id: state.instance.clone(),
            held: load.held,
        }))
    }
}

/// One run that was accepted.
struct Run {
    /// Where the bytes of its result count.
    share: Share,
    pool: Arc<Pool>,
    plan: Plan,
    /// Its request counts until its program has ended, also when its caller has left.
    counted: Option<InMemory>,
}

/// Carries out one run, from the queue until its sandbox is gone.
async fn carry_out(
    state: Arc<DaemonState>,
    Run {
        share,
        pool,
        plan,
        counted,
    }: Run,
    mut cancel: runs::Cancel,
    publisher: Publisher,
) {
    let arrived = Instant::now();
    let patience = plan.queue.unwrap_or(DEFAULT_QUEUE);
    let left = || patience.saturating_sub(arrived.elapsed());
    // A run that waits for room keeps no slot from runs whose results are read.
    let entering = async {
        loop {
            share.room(left()).await?;
            let slot = state.queue.enter(left()).await?;
            if share.has_room() {
                return Ok(slot);
            }
        }
    };
    let admitted = tokio::select! {
        admitted = entering => Some(admitted),
        () = runs::raised(&mut cancel) => None,
    };
    let mut slot = match admitted {
        Some(Ok(slot)) => slot,
        Some(Err(error)) => return publisher.publish(Err(Arc::new(error))),
        None => return publisher.publish(Ok(Arc::new(cancelled_in_queue(arrived, state.probe.isolation)))),
    };
    let queued = arrived.elapsed();
    let mut sandbox = match pool.acquire(plan.image).await {
        Ok(sandbox) => sandbox,
        Err(error) => return publisher.publish(Ok(Arc::new(infra(&error, state.probe.isolation)))),
    };
    let acquired = arrived.elapsed().saturating_sub(queued);
    let result = match runs::execute(&mut sandbox, &mut slot, plan, cancel, queued).await {
        Ok(mut result) => {
            result.isolation = state.probe.isolation.into();
            if let Some(timings) = &mut result.timings {
                timings.setup_ms += acquired.as_secs_f64() * 1000.0;
                COUNTS.set_up(timings.setup_ms);
            }
            result
        }
        Err(error) => {
            tracing::error!(error = %error.chain(), "a run failed because of the infrastructure");
            infra(&error, state.probe.isolation)
        }
    };
    drop(counted);
    publisher.publish(Ok(Arc::new(result)));
    sandbox.destroy().await;
    drop((slot, publisher));
}

fn cancelled_in_queue(arrived: Instant, isolation: Isolation) -> RunOnceResult {
    COUNTS.end(Cause::Cancelled);
    RunOnceResult {
        cause: Cause::Cancelled.into(),
        reason: "cancelled before it began".to_owned(),
        isolation: isolation.into(),
        timings: Some(Timings {
            queue_ms: arrived.elapsed().as_secs_f64() * 1000.0,
            ..Timings::default()
        }),
        ..RunOnceResult::default()
    }
}
