//! Node: the script that waits in a Node for its program, and the interpreter behind `Evaluate`.

use std::os::fd::RawFd;

/// The script that waits in a Node, and its path in sandboxes. Programs can read it, but not change it.
pub(crate) const SCRIPT: &str = include_str!("parked.cjs");
pub const SCRIPT_PLACE: &str = "/.parked.cjs";
/// The descriptor of its link. It is the highest possible, so that a program finds the same descriptors as when it is
/// executed.
pub const LINK: RawFd = 255;
/// The interpreter behind `Evaluate`.
pub const REPL: &str = include_str!("repl.js");
