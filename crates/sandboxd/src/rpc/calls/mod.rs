//! What every call has in common, whatever it asks for: how many connections there are and how long one may be useless,
//! how much of requests and of results may be in memory at a time and how slowly they may come, and the load that replies tell.
//!
//! It does not know what calls mean.

mod connection;
mod outward;
mod reply;
mod request;
mod trailers;

pub(crate) use connection::{Admission, Doorkeeper};
pub(crate) use outward::Outward;
pub(crate) use reply::CountReplies;
pub(crate) use request::RequestLayer;
pub(crate) use trailers::Trailers;
