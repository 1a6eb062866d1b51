//! The daemon through its real interface.
//!
//! Where a machine cannot make sandboxes, or cannot limit a whole process tree, tests print that and pass.

mod boxes;
mod cases;
mod client;
#[cfg(feature = "switch-off")]
mod defences;
mod images;
mod interface;
mod kills;
mod lanes;
mod leaks;
mod machine;
mod model;
mod network;
mod node;
mod programs;
mod run_tests;
mod support;
mod zygote;
