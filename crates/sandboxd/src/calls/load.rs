//! The daemon's load in the trailers of every reply, so that clients know it without asking.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response};
use prl_sandbox_proto::{LOAD_KEY, Load};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tower::Layer;

type Measure = Arc<dyn Fn() -> Load + Send + Sync>;

/// See the module.
#[derive(Clone)]
pub(crate) struct LoadLayer(Measure);

impl LoadLayer {
    pub(crate) fn new(measure: impl Fn() -> Load + Send + Sync + 'static) -> Self {
        Self(Arc::new(measure))
    }
}

impl<S> Layer<S> for LoadLayer {
    type Service = Told<S>;

    fn layer(&self, inner: S) -> Told<S> {
        Told {
            inner,
            measure: Arc::clone(&self.0),
        }
    }
}

/// A service whose replies tell the load.
#[derive(Clone)]
pub(crate) struct Told<S> {
    inner: S,
    measure: Measure,
}

impl<S, B> Service<Request<B>> for Told<S>
where
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
        let reply = self.inner.call(request);
        let measure = Arc::clone(&self.measure);
        Box::pin(async move {
            let mut reply = reply.await?;
            if reply.headers().contains_key("grpc-status") {
                // An error without a body: its headers are its trailers.
                tell(&measure, reply.headers_mut());
                return Ok(reply);
            }
            Ok(reply.map(|inner| Body::new(Telling { inner, measure })))
        })
    }
}

fn tell(measure: &Measure, trailers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::try_from(measure().to_string()) {
        trailers.insert(HeaderName::from_static(LOAD_KEY), value);
    }
}

/// A body whose trailers tell the load of the moment when they leave.
struct Telling {
    inner: Body,
    measure: Measure,
}

impl hyper::body::Body for Telling {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut frame = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            tell(&self.measure, trailers);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
