//! Held sandboxes: state between execs, on the one daemon that made them.

mod accept;
mod archive;
mod exec;
mod files;
mod lease;
mod process;
mod sandbox_box;
mod snapshot;
mod tunnel;
mod watch;

pub use archive::Unpacked;
pub use files::FileReader;
pub(crate) use lease::Leases;
pub use process::{Evaluation, Process, ProcessEvent, ProcessOutput};
pub use sandbox_box::SandboxBox;
pub(crate) use sandbox_box::SnapshotPlaces;
pub use tunnel::PortForward;
pub use watch::BoxWatch;
