//! The zygote that waits in a held box for the next exec that it can lead.
//!
//! Each zygote leads one exec. In a box that was made for a runtime, the next zygote is forked while an exec begins. In
//! any other box a zygote is forked when an exec asks for it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinHandle;

use super::sandbox_box::{End, SandboxBox};
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::warm::{Parked, Python};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Standby {
    /// The runtime whose zygote always waits.
    kept: Option<Arc<Python>>,
    next: Mutex<Option<Hatching>>,
}

type Hatching = JoinHandle<Result<Parked, SandboxError>>;

impl Standby {
    pub(crate) fn new(kept: Option<Arc<Python>>) -> Self {
        Self {
            kept,
            next: Mutex::default(),
        }
    }

    /// Forks the next zygote, unless one waits.
    pub(crate) fn prepare(&self, held: &Arc<SandboxBox>) {
        if let Some(python) = &self.kept {
            self.lock().get_or_insert_with(|| hatch(python, held));
        }
    }

    async fn take(&self, python: &Arc<Python>, held: &Arc<SandboxBox>) -> Result<Parked, SandboxError> {
        if self.kept.as_ref().is_none_or(|kept| !Arc::ptr_eq(kept, python)) {
            return joined(hatch(python, held)).await;
        }
        let waiting = self.lock().take();
        let mut parked = None;
        if let Some(waiting) = waiting {
            // A failure is ignored, because the next attempt reports it.
            parked = joined(waiting).await.ok().filter(Parked::waits);
        }
        let parked = match parked {
            Some(parked) => parked,
            None => joined(hatch(python, held)).await?,
        };
        self.prepare(held);
        Ok(parked)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Hatching>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SandboxBox {
    /// Puts a zygote that leads one exec into the box.
    pub(crate) async fn hatch(&self, python: &Python) -> Result<Parked, SandboxError> {
        // Only programs of this sandbox could do that, where they have the daemon's user.
        let stuck = || {
            self.end_with(End::Broken(
                "a process that was to wait in it for a program was held up",
            ))
        };
        python.hatch(&self.mux, self.user(), stuck).await
    }
}

fn hatch(python: &Arc<Python>, held: &Arc<SandboxBox>) -> Hatching {
    let (python, held) = (Arc::clone(python), Arc::clone(held));
    tokio::spawn(async move { held.hatch(&python).await })
}

async fn joined(hatching: Hatching) -> Result<Parked, SandboxError> {
    let parked = hatching.await;
    parked.map_err(|error| SandboxError::Protocol(error.to_string()))?
}

/// Gives a zygote to a plan that is to run warm. When that fails and the caller does not insist, the command is
/// executed; the result says how it ran.
pub(super) async fn provide(
    held: &Arc<SandboxBox>,
    plan: &mut Plan,
    python: Option<Arc<Python>>,
) -> Result<Option<Parked>, SandboxError> {
    let Some(python) = python.filter(|_| plan.start.zygote > 0) else {
        held.expect_pair()?;
        return Ok(None);
    };
    match held.standby.take(&python, held).await {
        Ok(parked) => {
            plan.start.zygote = parked.id();
            Ok(Some(parked))
        }
        Err(error) if !plan.insists => {
            tracing::warn!(error = %error.chain(), "no zygote: the command is executed");
            plan.start.zygote = 0;
            held.expect_pair()?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
