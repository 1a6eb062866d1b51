//! How strongly this machine can isolate boxes (`tier`), and which limits the daemon can enforce (`probe`).

mod probe;
mod tier;

pub(crate) use probe::{Alone, Probe, probe};
pub(crate) use tier::{Site, Tier, Wanted, choose};
