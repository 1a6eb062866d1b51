//! The daemon through its real interface.
//!
//! On a machine that cannot make sandboxes, or cannot limit a whole process tree, tests say so and pass.

mod boxes;
mod cases;
mod cgroup_v2;
mod client;
mod container;
#[cfg(feature = "switch-off")]
mod defences;
mod deploy;
mod descriptors;
mod fuzz;
mod groups;
mod health;
mod images;
mod kills;
mod lanes;
mod leaks;
mod metrics;
mod model;
mod network;
mod node;
mod process;
mod programs;
mod protocol;
mod run_tests;
mod slow_readers;
mod support;
mod tiers;
mod unwritten;
mod zygote;
