//! The control groups of a sandbox as its own processes have them: by open files, since no path of the machine is in sight.

mod removal;
mod ways;

pub(crate) use removal::remove_tree_at;
pub(crate) use ways::{Door, Ways};
