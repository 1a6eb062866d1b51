//! The daemon's load in the trailers of every reply, so that clients know it without asking.

use std::sync::Arc;

use hyper::Response;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use prl_sandbox_proto::{LOAD_KEY, Load};
use tonic::body::Body;

use super::outward::{Change, Frames};
use crate::tenants::Tenant;

/// Tells it as it is when the trailers leave.
#[derive(Clone)]
pub(crate) struct TellLoad(Arc<dyn Fn() -> Load + Send + Sync>);

impl TellLoad {
    pub(crate) fn new(measure: impl Fn() -> Load + Send + Sync + 'static) -> Self {
        Self(Arc::new(measure))
    }

    fn tell(&self, trailers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::try_from((self.0)().to_string()) {
            trailers.insert(HeaderName::from_static(LOAD_KEY), value);
        }
    }
}

impl Change for TellLoad {
    fn change(self, _: &Tenant, mut reply: Response<Body>) -> Response<Body> {
        if reply.headers().contains_key("grpc-status") {
            // An error without a body: its headers are its trailers.
            self.tell(reply.headers_mut());
            return reply;
        }
        reply.map(|inner| {
            let change = move |mut frame: hyper::body::Frame<_>| {
                if let Some(trailers) = frame.trailers_mut() {
                    self.tell(trailers);
                }
                frame
            };
            Body::new(Frames { inner, change })
        })
    }
}
