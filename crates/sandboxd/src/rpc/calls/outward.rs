//! How replies are changed on their way out, for any service: each reply as a whole, with its caller, and the frames of
//! its body.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tower::Layer;

use crate::tenants::Tenant;

/// Changes replies.
pub(crate) trait Change: Clone + Send + 'static {
    /// `tenant`: the caller who gets the reply.
    fn change(self, tenant: &Tenant, reply: Response<Body>) -> Response<Body>;
}

/// Changes the replies of a service. It is the layer and also the service that the layer makes.
#[derive(Clone, Debug)]
pub(crate) struct Outward<C, S = ()> {
    change: C,
    inner: S,
}

impl<C> Outward<C> {
    pub(crate) fn new(change: C) -> Self {
        Self { change, inner: () }
    }
}

impl<C: Clone, S> Layer<S> for Outward<C> {
    type Service = Outward<C, S>;

    fn layer(&self, inner: S) -> Outward<C, S> {
        let change = self.change.clone();
        Outward { change, inner }
    }
}

impl<C, S, B> Service<Request<B>> for Outward<C, S>
where
    C: Change,
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let tenant = Tenant::of_extensions(request.extensions());
        let change = self.change.clone();
        let reply = self.inner.call(request);
        Box::pin(async move { Ok(change.change(&tenant, reply.await?)) })
    }
}

/// A body with each of its frames changed.
pub(super) struct Frames<F> {
    pub(super) inner: Body,
    pub(super) change: F,
}

impl<F: FnMut(Frame<Bytes>) -> Frame<Bytes> + Unpin> hyper::body::Body for Frames<F> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        frame.map(|frame| frame.map(|frame| frame.map(&mut self.change)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
