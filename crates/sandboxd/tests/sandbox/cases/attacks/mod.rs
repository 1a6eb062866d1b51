//! Hostile programs, by family. Every one is finite: where its defence is switched off it ends by itself, having done no
//! harm that its limits do not bound, and its expectations fail.

mod files;
mod information;
mod kernel;
mod network;
mod processes;
mod resources;
mod rewards;

use super::Case;

/// Every case is bounded by `support::tight` or tighter.
pub(crate) const FAMILIES: &[(&str, &[Case])] = &[
    ("resource exhaustion", resources::CASES),
    ("processes and signals", processes::CASES),
    ("files and uploads", files::CASES),
    ("kernel surface", kernel::CASES),
    ("network", network::CASES),
    ("information leaks", information::CASES),
    ("reward hacking", rewards::CASES),
];

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    FAMILIES.iter().flat_map(|(_, cases)| cases.iter())
}
