//! The zygote that waits in a held box for the next exec that it can lead.
//!
//! Each leads one exec. While that begins the next one is born, in a box that was made for it; in any other box a zygote
//! is born when an exec asks for it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinHandle;

use super::held::HeldBox;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::zygote::{Parked, Python};

/// See the module.
#[derive(Debug)]
pub(crate) struct Standby {
    python: Arc<Python>,
    /// Whether one waits all the time.
    kept: bool,
    next: Mutex<Option<Hatching>>,
}

type Hatching = JoinHandle<Result<Parked, SandboxError>>;

impl Standby {
    pub(crate) fn new(python: Arc<Python>, kept: bool) -> Self {
        Self {
            python,
            kept,
            next: Mutex::default(),
        }
    }

    /// Processes of ours that it has in the box beside those that lead.
    pub(crate) fn processes(&self) -> u64 {
        u64::from(self.kept)
    }

    /// Sees to it that one waits.
    pub(crate) fn prepare(&self, held: &Arc<HeldBox>) {
        if self.kept {
            self.lock().get_or_insert_with(|| self.hatch(held));
        }
    }

    async fn take(&self, held: &Arc<HeldBox>) -> Result<Parked, SandboxError> {
        let waiting = self.lock().take();
        let mut parked = None;
        if let Some(waiting) = waiting {
            // The next attempt says what is wrong.
            parked = joined(waiting).await.ok().filter(Parked::waits);
        }
        let parked = match parked {
            Some(parked) => parked,
            None => joined(self.hatch(held)).await?,
        };
        self.prepare(held);
        Ok(parked)
    }

    fn hatch(&self, held: &Arc<HeldBox>) -> Hatching {
        let (python, held) = (Arc::clone(&self.python), Arc::clone(held));
        tokio::spawn(async move {
            let parked = python.hatch(&held).await?;
            parked.join(&held.group)?;
            Ok(parked)
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Hatching>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn joined(hatching: Hatching) -> Result<Parked, SandboxError> {
    let parked = hatching.await;
    parked.map_err(|error| SandboxError::Protocol(error.to_string()))?
}

/// Gives a plan that is to run warm its zygote. Where there is none now and the caller did not insist, the command is
/// executed: the result says what it ran on.
pub(super) async fn provide(held: &Arc<HeldBox>, plan: &mut Plan) -> Result<Option<Parked>, SandboxError> {
    if plan.start.zygote == 0 {
        held.expect_pair()?;
        return Ok(None);
    }
    let taken = match &held.standby {
        Some(standby) => standby.take(held).await,
        None => Err(SandboxError::Protocol("a warm exec without a runtime".to_owned())),
    };
    match taken {
        Ok(parked) => {
            plan.start.zygote = parked.id();
            Ok(Some(parked))
        }
        Err(error) if plan.runtime.is_empty() => {
            tracing::warn!(error = %error.chain(), "no zygote: the command is executed");
            plan.start.zygote = 0;
            held.expect_pair()?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
