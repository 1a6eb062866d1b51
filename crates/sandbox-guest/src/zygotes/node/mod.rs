//! Node: what waits in one for its program, and what is behind `Evaluate`.

use std::os::fd::RawFd;

/// What waits in a Node, and where sandboxes have it. They can read it and nothing else.
pub(crate) const SCRIPT: &str = include_str!("parked.cjs");
pub const SCRIPT_PLACE: &str = "/.parked.cjs";
/// The number of its link: as high as may be, so that a program finds the descriptors that it would find.
pub const LINK: RawFd = 255;
/// Behind `Evaluate`.
pub const REPL: &str = include_str!("repl.js");
