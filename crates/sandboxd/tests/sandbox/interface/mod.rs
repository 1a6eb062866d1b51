//! The daemon's interface: requests and their bounds, mutated messages, slow readers, health and metrics.

pub(crate) mod fuzz;
mod health;
pub(crate) mod metrics;
mod protocol;
mod slow_readers;
mod unwritten;
