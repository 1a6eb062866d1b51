//! The daemon's interface: its sockets, the common part of all calls, and the services.

mod boxes;
mod calls;
mod health;
mod listen;
mod once;
mod sandboxes;
mod tls;

use prl_sandbox_proto::Isolation;

use crate::error::SandboxError;
use crate::isolation::Probe;
use crate::plan;

pub(crate) use listen::Listening;

/// Refuses a request that wants a stronger isolation than there is.
pub(crate) fn demand(probe: &Probe, wanted: i32) -> Result<(), SandboxError> {
    let wanted = Isolation::try_from(wanted)
        .map_err(|_| SandboxError::Invalid(format!("min_isolation {wanted} is not known")))?;
    if wanted as i32 <= probe.isolation as i32 {
        return Ok(());
    }
    Err(SandboxError::Isolation {
        wanted: plan::isolation_name(wanted),
        available: plan::isolation_name(probe.isolation),
        missing: probe.missing(),
    })
}
