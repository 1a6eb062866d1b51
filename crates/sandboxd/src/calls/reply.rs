//! Results on their way out: how many bytes of them are in memory for readers who have not taken them yet, over all
//! callers. While those are as many as may be no further program is begun, so that slow readers make others wait and never
//! the daemon grow.
//!
//! A result counts from the end of its program until the connection has taken its last byte. Those of programs that run
//! at the moment come on top: as many as run at a time, each with the limits of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::{Request, Response};
use prost::Message;
use tokio::sync::Notify;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tower::Layer;

use crate::error::SandboxError;

/// Smaller pieces of replies are not worth their accounting.
const SMALL: usize = 1 << 10;
/// When room may be there again.
const RETRY_AFTER_MS: u64 = 500;

/// See the module.
#[derive(Debug)]
pub(crate) struct Results {
    most: usize,
    held: AtomicUsize,
    freed: Notify,
}

/// Bytes that are in memory until this is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    results: Arc<Results>,
    bytes: usize,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let before = self.results.held.fetch_sub(self.bytes, Ordering::AcqRel);
        if before >= self.results.most {
            self.results.freed.notify_waiters();
        }
    }
}

impl Results {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            held: AtomicUsize::new(0),
            freed: Notify::new(),
        })
    }

    /// Waits until another result may be made.
    ///
    /// # Errors
    /// `Overloaded` when it was not within `patience`.
    pub(crate) async fn room(&self, patience: Duration) -> Result<(), SandboxError> {
        let free = async {
            loop {
                let freed = self.freed.notified();
                tokio::pin!(freed);
                // From here on no notice is missed.
                freed.as_mut().enable();
                if self.held.load(Ordering::Acquire) < self.most {
                    return;
                }
                freed.await;
            }
        };
        tokio::time::timeout(patience, free)
            .await
            .map_err(|_| SandboxError::Overloaded {
                message: "results that nobody has read fill the memory that they may".to_owned(),
                retry_after_ms: RETRY_AFTER_MS,
            })
    }

    /// A reply whose message counts until its reader has it.
    pub(crate) fn counted<M: Message>(self: &Arc<Self>, message: M) -> tonic::Response<M> {
        let kept = Arc::new(self.keep(message.encoded_len()));
        let mut reply = tonic::Response::new(message);
        reply.extensions_mut().insert(kept);
        reply
    }

    pub(crate) fn keep(self: &Arc<Self>, bytes: usize) -> Kept {
        self.held.fetch_add(bytes, Ordering::AcqRel);
        Kept {
            results: Arc::clone(self),
            bytes,
        }
    }
}

/// Counts what replies hold. A reply's message, until it is written down, is the `Arc<Kept>` among its extensions.
#[derive(Clone, Debug)]
pub(crate) struct ReplyLayer(pub(crate) Arc<Results>);

impl<S> Layer<S> for ReplyLayer {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            results: Arc::clone(&self.0),
        }
    }
}

/// A service whose replies are counted.
#[derive(Clone, Debug)]
pub(crate) struct Counted<S> {
    inner: S,
    results: Arc<Results>,
}

impl<S, B> Service<Request<B>> for Counted<S>
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
        let results = Arc::clone(&self.results);
        Box::pin(async move {
            let mut reply = reply.await?;
            let unwritten = reply.extensions_mut().remove::<Arc<Kept>>();
            Ok(reply.map(|inner| {
                Body::new(Leaving {
                    inner,
                    unwritten,
                    results,
                })
            }))
        })
    }
}

/// A body whose pieces count until the connection lets go of them.
struct Leaving {
    inner: Body,
    unwritten: Option<Arc<Kept>>,
    results: Arc<Results>,
}

/// One piece.
struct Piece {
    bytes: Bytes,
    _kept: Kept,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl hyper::body::Body for Leaving {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        let Poll::Ready(Some(Ok(frame))) = frame else {
            return frame;
        };
        let counted = frame.map_data(|bytes| {
            if bytes.len() < SMALL {
                return bytes;
            }
            let _kept = self.results.keep(bytes.len());
            Bytes::from_owner(Piece { bytes, _kept })
        });
        self.unwritten = None;
        Poll::Ready(Some(Ok(counted)))
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

    use http_body_util::{BodyExt, Full};

    use super::*;

    /// Answers with as many bytes as the path says, from a result that is kept.
    #[derive(Clone)]
    struct Answering(Arc<Results>);

    impl Service<Request<usize>> for Answering {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = BoxFuture<Response<Body>, Infallible>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<usize>) -> Self::Future {
            let bytes = request.into_body();
            let mut reply = Response::new(Body::new(Full::new(Bytes::from(vec![7; bytes]))));
            reply.extensions_mut().insert(Arc::new(self.0.keep(bytes)));
            Box::pin(async move { Ok(reply) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_counts_until_its_last_byte_is_let_go_of() {
        let results = Results::new(10_000);
        let mut service = ReplyLayer(Arc::clone(&results)).layer(Answering(Arc::clone(&results)));
        let held = || results.held.load(Ordering::Relaxed);
        let mut unread = service.call(Request::new(6000)).await.expect("a reply");
        assert_eq!(held(), 6000, "before it is written down");
        let piece = unread.body_mut().frame().await.expect("a piece").expect("well");
        assert_eq!(held(), 6000, "written down");
        let other = service.call(Request::new(6000)).await.expect("a reply");
        assert_eq!(held(), 12_000);
        let refused = results.room(Duration::from_millis(100)).await;
        assert!(
            matches!(refused, Err(SandboxError::Overloaded { retry_after_ms, .. }) if retry_after_ms > 0),
            "{refused:?}"
        );
        let waiting = tokio::spawn({
            let results = Arc::clone(&results);
            async move { results.room(Duration::from_secs(60)).await }
        });
        tokio::task::yield_now().await;
        let data = piece.into_data().expect("data");
        assert_eq!(data.slice(10..20), [7; 10].as_slice());
        let part = data.slice(0..1);
        drop((data, unread));
        assert!(!waiting.is_finished(), "a part of it is still there");
        drop(part);
        waiting.await.expect("no panic").expect("room");
        drop(other);
        assert_eq!(held(), 0, "a reply that nobody wanted");
    }
}
