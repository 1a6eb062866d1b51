//! What the daemon shows Prometheus of itself: how busy it is, how runs ended, what it takes to make sandboxes.
//!
//! The others count in `crate::counts`; `page` puts that, and what can be read of the daemon at the moment, into the text format; `endpoint` answers
//! `GET /metrics` and nothing else. No label is of a caller's: no tenant, id, key or command is in it.

mod endpoint;
mod page;
mod writer;

pub(crate) use endpoint::Endpoint;
