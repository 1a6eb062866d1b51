//! Sandboxes that are held open for many calls: their programs, files, processes and ports, and how long they live.

pub(crate) mod attach;
pub(crate) mod dial;
pub(crate) mod exec;
pub(crate) mod files;
mod input;
mod lease;
mod log;
pub(crate) mod processes;
mod registry;
pub(crate) mod repl;
mod sandbox_box;
mod snapshots;
mod standby;
mod stream;

pub(crate) use registry::{Claim, Made, Registry};
pub(crate) use sandbox_box::{Call, Contents, End, SandboxBox};
pub(crate) use snapshots::{Snapshot, Snapshots};
pub(crate) use standby::Standby;

/// A box ends when no call named it for this long, unless its request says otherwise.
const DEFAULT_LEASE_MS: u64 = 60_000;
