//! The limits that all calls share: the number of connections and how long one may be useless, how many bytes of requests and
//! results may be in memory and how slowly they may come, and the load that each reply reports.
//!
//! It knows nothing about single calls.

mod connection;
mod outward;
mod reply;
mod request;
mod trailers;

pub(crate) use connection::{Admission, Doorkeeper};
pub(crate) use outward::Outward;
pub(crate) use reply::CountReplies;
pub(crate) use request::{InMemory, RequestLayer};
pub(crate) use trailers::Trailers;
