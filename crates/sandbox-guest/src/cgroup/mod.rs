//! The control groups of a sandbox from the side of its processes: by open files, since the machine's paths are not
//! visible.

mod removal;
mod ways;

pub(crate) use removal::remove_tree_at;
pub(crate) use ways::{Door, Ways};
