//! The generator: how requests end, control of a running generator, requests that change the distribution, and the trainer's
//! log-probabilities.

mod adapters;
mod control;
mod distribution;
#[path = "../generate_support/mod.rs"]
mod generate_support;
mod parity;
mod requests;
mod tiers;
