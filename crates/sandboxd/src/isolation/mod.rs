//! How strongly this machine lets boxes be set apart (`tier`), and what of that the daemon can enforce (`probe`).

mod probe;
mod tier;

pub(crate) use probe::{Alone, Probe, probe};
pub(crate) use tier::{Site, Tier, Wanted, choose};
