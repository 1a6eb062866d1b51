//! The idempotency key of a request for tests. A key begins its tests once. Their results are a stream and are not
//! kept, so a request that repeats the key gets an error that says so.

use std::sync::Arc;

use prl_sandbox_proto::{RunOnceResult, RunTestsRequest};
use tokio::sync::watch;

use crate::error::SandboxError;
use crate::runs::keys::{Claim, Handle, Shared, fingerprint, mark};
use crate::runs::{Cancel, raised};
use crate::state::DaemonState;

/// Held until the tests have ended. When it is dropped before the tests began, the key may be used again.
pub(crate) struct Key {
    state: Arc<DaemonState>,
    key: String,
    begun: bool,
    cancelled: Cancel,
    /// Says that the tests have ended. Their results go through their stream only.
    end: watch::Sender<Option<Shared>>,
}

impl Key {
    /// Claims the key of a request; `None` when the request has none. `name` is the key, made distinct from those of
    /// other tenants.
    ///
    /// # Errors
    /// `Expired` and `Restarted` when the key was begun before.
    pub(crate) fn claim(
        state: &Arc<DaemonState>,
        name: String,
        request: &RunTestsRequest,
    ) -> Result<Option<Self>, SandboxError> {
        if name.is_empty() {
            return Ok(None);
        }
        let mut plain = request.clone();
        let run = plain.request.take().unwrap_or_default();
        let marks = [fingerprint(&run), mark(&plain, [])];
        let (cancel, cancelled) = watch::channel(false);
        let end = watch::Sender::new(None);
        let handle = Handle {
            cancel: Arc::new(cancel),
            end: end.subscribe(),
        };
        match state.keys.claim(&name, marks[0] ^ marks[1].rotate_left(1), &handle)? {
            Claim::New => Ok(Some(Self {
                state: Arc::clone(state),
                key: name,
                begun: false,
                cancelled,
                end,
            })),
            Claim::Known(_) => Err(SandboxError::Expired(0)),
        }
    }

    pub(super) fn begin(&mut self) {
        self.begun = true;
    }

    /// Returns when it is cancelled by its key.
    pub(super) async fn cancelled(key: &mut Option<Self>) {
        match key {
            Some(key) => raised(&mut key.cancelled).await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let end = if self.begun {
            Ok(Arc::new(RunOnceResult::default()))
        } else {
            Err(Arc::new(SandboxError::Draining))
        };
        self.state.keys.finished(&self.key, &end);
        self.end.send_replace(Some(end));
    }
}
