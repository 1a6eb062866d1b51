//! Requests on their way in: how many of their bytes may be in memory at a time, over all callers, and how long a
//! request of one message may take to arrive. Requests that are streams have their own deadlines.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::body::{Frame, SizeHint};
use hyper::{Request, Response};
use prl_sandbox_proto::MAX_MESSAGE_BYTES;
use tokio::time::{Sleep, sleep};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tower::Layer;

use crate::error::SandboxError;

/// For all requests that are being received or carried out.
const MAX_BYTES: usize = 8 * MAX_MESSAGE_BYTES;
/// From a request's head to its last byte, for the largest message on a slow line.
const COMPLETE: Duration = Duration::from_secs(120);
/// After this time there may be room again.
const RETRY_AFTER_MS: u64 = 500;
/// Calls whose requests are streams.
const STREAMING: [&str; 4] = ["/WriteFile", "/WriteArchive", "/Dial", "/Carry"];

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct RequestLayer {
    held: Arc<AtomicUsize>,
    max_bytes: usize,
}

impl RequestLayer {
    /// Clones share one count of bytes.
    pub(crate) fn new() -> Self {
        Self {
            held: Arc::default(),
            max_bytes: MAX_BYTES,
        }
    }
}

impl<S> Layer<S> for RequestLayer {
    type Service = Bounded<S>;

    fn layer(&self, inner: S) -> Bounded<S> {
        Bounded {
            inner,
            bounds: self.clone(),
        }
    }
}

/// A service whose requests are bounded.
#[derive(Clone, Debug)]
pub(crate) struct Bounded<S> {
    inner: S,
    bounds: RequestLayer,
}

impl<S, B> Service<Request<B>> for Bounded<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send,
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let streams = STREAMING.iter().any(|method| request.uri().path().ends_with(method));
        let share = Arc::new(Share {
            held: Arc::clone(&self.bounds.held),
            taken: AtomicUsize::new(0),
        });
        let (max_bytes, of_body) = (self.bounds.max_bytes, Arc::clone(&share));
        let request = request.map(|inner| {
            let inner = Body::new(inner);
            if streams {
                return inner;
            }
            Body::new(Receiving {
                inner,
                share: of_body,
                max_bytes,
                patience: Box::pin(sleep(COMPLETE)),
            })
        });
        let reply = self.inner.call(request);
        Box::pin(async move {
            let reply = reply.await;
            // Until here the message is in memory.
            drop(share);
            reply
        })
    }
}

/// The bytes that one request has in memory.
#[derive(Debug)]
struct Share {
    held: Arc<AtomicUsize>,
    taken: AtomicUsize,
}

impl Share {
    /// Takes room for so many more bytes. False when there is not enough.
    fn take(&self, bytes: usize, max_bytes: usize) -> bool {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        self.held.fetch_add(bytes, Ordering::Relaxed) + bytes <= max_bytes
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.held
            .fetch_sub(self.taken.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A body that is counted and timed.
struct Receiving {
    inner: Body,
    share: Arc<Share>,
    max_bytes: usize,
    patience: Pin<Box<Sleep>>,
}

impl hyper::body::Body for Receiving {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        let Poll::Ready(frame) = frame else {
            return match self.patience.as_mut().poll(context) {
                Poll::Ready(()) => {
                    Poll::Ready(Some(Err(Status::deadline_exceeded("the request did not come in time"))))
                }
                Poll::Pending => Poll::Pending,
            };
        };
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
            && !self.share.take(data.remaining(), self.max_bytes)
        {
            let full = SandboxError::Overloaded {
                message: "requests fill the memory that they may use".to_owned(),
                retry_after_ms: RETRY_AFTER_MS,
            };
            return Poll::Ready(Some(Err(full.into())));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::{BodyExt, Full, StreamBody};
    use tokio_stream::pending;

    use super::*;

    /// Reads the whole request, then waits for `done`.
    #[derive(Clone)]
    struct Reader(Arc<tokio::sync::Notify>);

    impl Service<Request<Body>> for Reader {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = BoxFuture<Response<Body>, Infallible>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<Body>) -> Self::Future {
            let done = Arc::clone(&self.0);
            Box::pin(async move {
                match request.into_body().collect().await {
                    Ok(_) => {
                        done.notified().await;
                        Ok(Response::new(Body::empty()))
                    }
                    Err(status) => Ok(status.into_http()),
                }
            })
        }
    }

    fn request(bytes: usize) -> Request<Full<Bytes>> {
        Request::new(Full::new(Bytes::from(vec![0; bytes])))
    }

    #[tokio::test]
    async fn requests_share_the_bytes_until_they_are_answered() {
        let done = Arc::new(tokio::sync::Notify::new());
        let layer = RequestLayer {
            max_bytes: 100,
            ..RequestLayer::new()
        };
        let mut service = layer.layer(Reader(Arc::clone(&done)));
        let first = tokio::spawn(service.call(request(60)));
        while layer.held.load(Ordering::Relaxed) < 60 {
            tokio::task::yield_now().await;
        }
        let refused = service.call(request(60)).await.expect("a reply");
        assert_eq!(
            refused.headers().get("grpc-status").map(|code| code.as_bytes()),
            Some(&b"8"[..])
        );
        assert_eq!(
            refused.headers().get("prl-error-code").map(|code| code.as_bytes()),
            Some(&b"PRL_SANDBOX_OVERLOADED"[..])
        );
        done.notify_one();
        first.await.expect("no panic").expect("a reply");
        assert_eq!(layer.held.load(Ordering::Relaxed), 0);
        done.notify_one();
        let last = service.call(request(100)).await.expect("a reply");
        assert!(last.headers().get("grpc-status").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_does_not_come_ends_and_a_stream_may_wait() {
        let layer = RequestLayer::new();
        let mut service = layer.layer(Reader(Arc::default()));
        let never = || StreamBody::new(pending::<Result<Frame<Bytes>, Infallible>>());
        let late = service.call(Request::new(never())).await.expect("a reply");
        assert_eq!(
            late.headers().get("grpc-status").map(|code| code.as_bytes()),
            Some(&b"4"[..])
        );
        let mut stream = Request::new(never());
        *stream.uri_mut() = "/prl.sandbox.v1.Boxes/Dial".parse().expect("a path");
        let waits = tokio::time::timeout(2 * COMPLETE, service.call(stream)).await;
        assert!(waits.is_err(), "{waits:?}");
    }
}
