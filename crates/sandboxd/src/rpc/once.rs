//! At most one execution for each key: which caller begins it, which callers wait for it, and what happens when a
//! caller goes away.
//!
//! The work runs in a separate task. Without a key it is cancelled when its caller leaves. With a key it goes on, and
//! all callers that send the same request get its result.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prl_sandbox_proto::RunOnceResult;
use tokio::sync::watch;
use tonic::{Response, Status};

use crate::error::SandboxError;
use crate::runs::Cancel;
use crate::runs::infra;
use crate::runs::keys::{Claim, Handle, Shared};
use crate::state::DaemonState;
use crate::tenants::Share;

/// How long a caller that asks for a result again waits for room for it.
const ROOM_FOR_ANOTHER: Duration = Duration::from_secs(10);

/// The place where the work puts its result, once. Until it is dropped the work can be cancelled.
pub(crate) struct Publisher {
    state: Arc<DaemonState>,
    key: String,
    end: watch::Sender<Option<Shared>>,
    _cancel: Arc<watch::Sender<bool>>,
}

impl Publisher {
    pub(crate) fn publish(&self, shared: Shared) {
        if !self.key.is_empty() {
            self.state.keys.finished(&self.key, &shared);
        }
        self.state.completed.fetch_add(1, Ordering::Relaxed);
        self.end.send_replace(Some(shared));
    }
}

/// Cancels the work of a call whose caller has left.
struct CancelOnDrop(Option<Arc<watch::Sender<bool>>>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.send_replace(true);
        }
    }
}

/// Begins `work`, unless its key is known, and waits for the result. `mark` differs for different requests with the
/// same key.
pub(crate) async fn once<F: Future<Output = ()> + Send + 'static>(
    state: &Arc<DaemonState>,
    share: &Share,
    key: String,
    mark: u64,
    work: impl FnOnce(Cancel, Publisher) -> F,
) -> Result<Response<RunOnceResult>, Status> {
    let (cancel, cancelled) = watch::channel(false);
    let (end, ended) = watch::channel(None);
    let mut handle = Handle {
        cancel: Arc::new(cancel),
        end: ended,
    };
    let mut guard = CancelOnDrop(None);
    let mut replayed = false;
    if key.is_empty() {
        guard.0 = Some(Arc::clone(&handle.cancel));
    } else {
        match state.keys.claim(&key, mark, &handle) {
            Ok(Claim::New) => {}
            Ok(Claim::Known(known)) => {
                replayed = true;
                handle = known;
            }
            Err(error @ (SandboxError::Expired(_) | SandboxError::Restarted(_))) => {
                return Ok(Response::new(infra(&error, state.probe.isolation)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if replayed {
        share.room(ROOM_FOR_ANOTHER).await?;
    } else {
        let publisher = Publisher {
            state: Arc::clone(state),
            key,
            end,
            _cancel: Arc::clone(&handle.cancel),
        };
        tokio::spawn(work(cancelled, publisher));
    }
    let shared = handle.end.wait_for(Option::is_some).await;
    let shared = shared
        .map_err(|_| SandboxError::Protocol("a run's task ended early".to_owned()))?
        .clone();
    guard.0 = None;
    match shared {
        Some(Ok(result)) => {
            let mut result = Arc::unwrap_or_clone(result);
            result.replayed = replayed;
            Ok(share.counted(result))
        }
        Some(Err(error)) => Err(status_of(&error)),
        None => Err(SandboxError::Protocol("a run ended without a result".to_owned()).into()),
    }
}

/// Errors are shared by all callers that wait for one run; each gets a new status.
fn status_of(error: &SandboxError) -> Status {
    match error {
        SandboxError::Overloaded {
            message,
            retry_after_ms,
        } => SandboxError::Overloaded {
            message: message.clone(),
            retry_after_ms: *retry_after_ms,
        }
        .into(),
        SandboxError::Draining => SandboxError::Draining.into(),
        other => SandboxError::Protocol(other.chain()).into(),
    }
}
