//! Held sandboxes: state between execs, on the one daemon that made them.

mod archive;
mod exec;
mod files;
mod held;
mod lease;
mod process;
mod snapshot;
mod tunnel;
mod watch;

pub use archive::Unpacked;
pub use files::FileReader;
pub use held::HeldBox;
pub(crate) use held::SnapshotPlaces;
pub(crate) use lease::Leases;
pub use process::{Evaluation, Process, ProcessEvent, ProcessOutput};
pub use tunnel::PortForward;
pub use watch::BoxWatch;
