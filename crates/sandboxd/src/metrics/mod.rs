//! The metrics of the daemon for Prometheus: how busy it is, how runs ended, how long it takes to make
//! sandboxes.
//!
//! `crate::counts` has the counters; `page` writes them, with the daemon's current values, in the text format;
//! `endpoint` answers `GET /metrics` and nothing else. No label comes from a caller: no tenant, id, key or command is
//! in it.

mod endpoint;
mod page;
mod writer;

pub(crate) use endpoint::Endpoint;
