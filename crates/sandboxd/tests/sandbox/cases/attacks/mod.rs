//! Hostile programs, by family. Every one is finite: when its defence is off it ends by itself, having done no harm
//! beyond its limits, and its expectations fail.

mod files;
mod information;
mod kernel;
mod network;
mod processes;
mod resources;
mod rewards;

use super::Case;

/// Every case is bounded by `support::tight`, or more tightly.
pub(crate) const FAMILIES: &[(&str, &[Case])] = &[
    ("resource exhaustion", resources::CASES),
    ("processes and signals", processes::CASES),
    ("files and uploads", files::CASES),
    ("kernel surface", kernel::CASES),
    ("network", network::CASES),
    ("information leaks", information::CASES),
    ("reward hacking", rewards::CASES),
];

/// All attacks.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    FAMILIES.iter().flat_map(|(_, cases)| cases.iter())
}
