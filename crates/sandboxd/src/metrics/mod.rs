//! What the daemon shows Prometheus of itself: how busy it is, how runs ended, what it takes to make sandboxes.
//!
//! `counts` is what the others count in, a few atomics of the process that cost nothing to speak of whether somebody looks or not;
//! `page` puts them, and what can be read of the daemon at the moment, into the text format; `endpoint` answers
//! `GET /metrics` and nothing else. No label is of a caller's: no tenant, id, key or command is in it.

mod counts;
mod endpoint;
mod page;
mod writer;

pub(crate) use counts::{Birth, COUNTS, Kind};
pub(crate) use endpoint::Endpoint;
