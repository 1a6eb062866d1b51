//! Makes the box of a request, or finds the reason why that is impossible.

use std::sync::Arc;

use prl_sandbox_proto::CreateRequest;

use super::{MIN_LEASE_MS, check_id};
use crate::boxes::{Contents, Made, SandboxBox, Snapshot, Standby};
use crate::counts::COUNTS;
use crate::error::SandboxError;
use crate::plan;
use crate::state::{DEFAULT_QUEUE, DaemonState};

/// Makes the box of a claim, and arranges that the registry learns of its end.
pub(super) async fn make(
    state: Arc<DaemonState>,
    name: String,
    mark: u64,
    request: CreateRequest,
    snapshot: Option<Arc<Snapshot>>,
) -> Made {
    let made = attempt(&state, request, snapshot).await.map_err(Arc::new);
    state.boxes.made(&name, mark, &made);
    if let Ok(held) = &made {
        let held = Arc::clone(held);
        tokio::spawn(async move {
            held.gone().await;
            if let Some(end) = held.ended() {
                COUNTS.box_ended(end.counted());
                state.boxes.ended(&name, end);
            }
        });
    }
    made
}

async fn attempt(
    state: &Arc<DaemonState>,
    mut request: CreateRequest,
    snapshot: Option<Arc<Snapshot>>,
) -> Result<Arc<SandboxBox>, SandboxError> {
    let plan = plan::plan_box(&request, state.terms())?;
    // The plan has them. A box keeps its request as long as it lives.
    request.files = Vec::new();
    let standby = Standby::new(state.warm.of_box(&request.runtime, plan.image > 0)?);
    let patience = plan.queue.unwrap_or(DEFAULT_QUEUE);
    let pool = Arc::clone(&state.pool);
    let mut acquiring = tokio::spawn(async move { pool.acquire(plan.image).await });
    let Ok(acquired) = tokio::time::timeout(patience, &mut acquiring).await else {
        // Do not abandon it halfway: a sandbox that comes too late is destroyed.
        tokio::spawn(async move {
            if let Ok(Ok(sandbox)) = acquiring.await {
                sandbox.destroy().await;
            }
        });
        return Err(SandboxError::Overloaded {
            message: format!("no sandbox was ready within {} ms", patience.as_millis()),
            retry_after_ms: 100,
        });
    };
    let mut sandbox = acquired.map_err(|error| SandboxError::Protocol(error.to_string()))??;
    sandbox.group.let_go();
    let contents = Contents {
        request,
        plan,
        snapshot,
        standby,
    };
    SandboxBox::make(sandbox, contents, state.probe.isolation).await
}

/// A copy of an error for which several callers wait.
pub(super) fn shared(error: &SandboxError) -> SandboxError {
    match error {
        SandboxError::Invalid(text) => SandboxError::Invalid(text.clone()),
        SandboxError::Overloaded {
            message,
            retry_after_ms,
        } => SandboxError::Overloaded {
            message: message.clone(),
            retry_after_ms: *retry_after_ms,
        },
        SandboxError::File { path, reason } => SandboxError::File {
            path: path.clone(),
            reason: reason.clone(),
        },
        SandboxError::Unwritten(unwritten) => SandboxError::Unwritten(unwritten.clone()),
        SandboxError::NotFound(what) => SandboxError::NotFound(what.clone()),
        SandboxError::Unsupported(what) => SandboxError::Unsupported(what),
        SandboxError::Runtime { wanted, reason } => SandboxError::Runtime {
            wanted: wanted.clone(),
            reason: reason.clone(),
        },
        SandboxError::Draining => SandboxError::Draining,
        other => SandboxError::Protocol(other.chain()),
    }
}

/// Checks the parts of a request that `plan` does not see.
pub(super) fn check(request: &CreateRequest) -> Result<(), SandboxError> {
    check_id("box", &request.id)?;
    if request.lease_ms.is_some_and(|lease| lease < MIN_LEASE_MS) {
        return Err(SandboxError::Invalid(format!(
            "lease_ms must be at least {MIN_LEASE_MS}"
        )));
    }
    Ok(())
}
