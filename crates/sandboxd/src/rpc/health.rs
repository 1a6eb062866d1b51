//! `grpc.health.v1`: whether the daemon takes work, for orchestrators and load balancers that know no other interface.
//!
//! Only this can be asked without a token. So it answers with one bit, and says nothing about load, boxes or tenants,
//! not even in trailers. It is in front of everything that other calls share (`calls`). Where client certificates are
//! required, it requires them too. A connection that asks nothing else ends like any other without an admitted call.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::{Request, Response};
use prl_sandbox_proto::health::health_check_response::ServingStatus;
use prl_sandbox_proto::health::health_server::{self, Health, HealthServer};
use prl_sandbox_proto::health::{HealthCheckRequest, HealthCheckResponse};
use prl_sandbox_proto::{boxes_server, sandboxes_server};
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt, once};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Bytes, Service, StdError};
use tower::Layer;

use crate::state::DaemonState;

/// The limit of a question, which is a service's name.
const MAX_QUESTION_BYTES: usize = 1 << 10;
/// Services that can be asked for; the empty name is the whole daemon.
const NAMES: [&str; 3] = ["", sandboxes_server::SERVICE_NAME, boxes_server::SERVICE_NAME];

/// Answers from the daemon's state.
#[derive(Clone, Debug)]
pub(crate) struct Bit(Arc<DaemonState>);

fn answer(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

fn response(draining: bool) -> HealthCheckResponse {
    answer(if draining {
        ServingStatus::NotServing
    } else {
        ServingStatus::Serving
    })
}

#[tonic::async_trait]
impl Health for Bit {
    async fn check(
        &self,
        request: tonic::Request<HealthCheckRequest>,
    ) -> Result<tonic::Response<HealthCheckResponse>, Status> {
        if !NAMES.contains(&request.get_ref().service.as_str()) {
            return Err(Status::not_found("no such service"));
        }
        Ok(tonic::Response::new(response(*self.0.draining.borrow())))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: tonic::Request<HealthCheckRequest>,
    ) -> Result<tonic::Response<Self::WatchStream>, Status> {
        if !NAMES.contains(&request.get_ref().service.as_str()) {
            // The service will never exist. The protocol asks for this answer and an open stream.
            let unknown = once(Ok(answer(ServingStatus::ServiceUnknown)));
            return Ok(tonic::Response::new(Box::pin(unknown.chain(tokio_stream::pending()))));
        }
        let changes = WatchStream::new(self.0.draining.subscribe());
        Ok(tonic::Response::new(Box::pin(
            changes.map(|draining| Ok(response(draining))),
        )))
    }
}

/// Puts the service in front of a server.
#[derive(Clone, Debug)]
pub(crate) struct HealthLayer(HealthServer<Bit>);

impl HealthLayer {
    pub(crate) fn new(state: &Arc<DaemonState>) -> Self {
        Self(HealthServer::new(Bit(Arc::clone(state))).max_decoding_message_size(MAX_QUESTION_BYTES))
    }
}

impl<S> Layer<S> for HealthLayer {
    type Service = InFront<S>;

    fn layer(&self, inner: S) -> InFront<S> {
        InFront {
            health: self.0.clone(),
            inner,
        }
    }
}

/// A server with `grpc.health.v1` in front of it.
#[derive(Clone, Debug)]
pub(crate) struct InFront<S> {
    health: HealthServer<Bit>,
    inner: S,
}

/// Whether a path is one of this service's methods.
fn is_health(path: &str) -> bool {
    let method = path
        .strip_prefix('/')
        .and_then(|path| path.strip_prefix(health_server::SERVICE_NAME));
    method.is_some_and(|method| method.starts_with('/'))
}

impl<S, B, R> Service<Request<B>> for InFront<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: hyper::body::Body + Send + 'static,
    B::Error: Into<StdError> + Send,
    R: hyper::body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<StdError>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<Response<Body>, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        // The health service is always ready.
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if is_health(request.uri().path()) {
            let reply = self.health.call(request);
            return Box::pin(async move {
                let Ok(reply) = reply.await;
                Ok(reply)
            });
        }
        let reply = self.inner.call(request);
        Box::pin(async move { Ok(reply.await?.map(Body::new)) })
    }
}

#[cfg(test)]
mod tests {
    use super::is_health;

    #[test]
    fn nothing_else_looks_like_it() {
        for path in [
            "/grpc.health.v1.Health/Check",
            "/grpc.health.v1.Health/Watch",
            "/grpc.health.v1.Health/",
        ] {
            assert!(is_health(path), "{path}");
        }
        for path in [
            "",
            "/",
            "grpc.health.v1.Health/Check",
            "//grpc.health.v1.Health/Check",
            "/grpc.health.v1.Health",
            "/grpc.health.v1.HealthX/Check",
            "/prl.sandbox.v1.Sandboxes/RunOnce?/grpc.health.v1.Health/Check",
            "/prl.sandbox.v1.Sandboxes/Health",
        ] {
            assert!(!is_health(path), "{path}");
        }
    }
}
