//! Requests on their way in: how many of their bytes may be in memory at a time, over all callers, and how long a
//! request of one message may take to arrive. Requests that are streams have their own deadlines, and count with the
//! messages that their call has not taken yet.

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
        let mut request = request.map(|inner| {
            let inner = Body::new(inner);
            if streams {
                return Body::new(Messages {
                    inner,
                    share: of_body,
                    max_bytes,
                    head: Vec::new(),
                    left: 0,
                });
            }
            Body::new(Receiving {
                inner,
                share: of_body,
                max_bytes,
                patience: Box::pin(sleep(COMPLETE)),
            })
        });
        if !streams {
            request.extensions_mut().insert(InMemory {
                _share: Arc::clone(&share),
            });
        }
        let reply = self.inner.call(request);
        Box::pin(async move {
            let reply = reply.await;
            // Until here the message is in memory. Work that goes on keeps it with `InMemory`.
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

impl Share {
    fn give_back(&self) {
        let taken = self.taken.swap(0, Ordering::Relaxed);
        self.held.fetch_sub(taken, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// The message of a request, or a part of it, is in memory for longer than its call: it counts until the last clone is
/// dropped.
#[derive(Clone, Debug)]
pub(crate) struct InMemory {
    _share: Arc<Share>,
}

/// Bytes of such a message.
struct Part {
    bytes: Bytes,
    _counted: InMemory,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl InMemory {
    /// `None` for a request that came through no `RequestLayer`.
    pub(crate) fn of<T>(request: &tonic::Request<T>) -> Option<Self> {
        request.extensions().get().cloned()
    }

    /// The same bytes, which count as long as they, or a slice of them, are in memory.
    pub(crate) fn tie(counted: Option<Self>, bytes: Bytes) -> Bytes {
        match counted {
            Some(_counted) if !bytes.is_empty() => Bytes::from_owner(Part { bytes, _counted }),
            _ => bytes,
        }
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
            return Poll::Ready(Some(Err(full())));
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

fn full() -> Status {
    let full = SandboxError::Overloaded {
        message: "requests fill the memory that they may use".to_owned(),
        retry_after_ms: RETRY_AFTER_MS,
    };
    full.into()
}

/// The length of the head of each message of a stream: whether it is compressed, and its length.
const HEAD_BYTES: usize = 5;

/// A body of many messages. A message counts in full from its head on, because its beginning waits in memory for its
/// end. The call asks for more when it has taken every message that has come.
struct Messages {
    inner: Body,
    share: Arc<Share>,
    max_bytes: usize,
    /// The part of the next head that has come.
    head: Vec<u8>,
    /// The bytes of the last message that have not come.
    left: usize,
}

impl Messages {
    /// Counts the messages that begin in these bytes. False when there is no room for one.
    fn pass(&mut self, mut data: &[u8]) -> bool {
        while !data.is_empty() {
            let of_message = self.left.min(data.len());
            self.left -= of_message;
            data = data.get(of_message..).unwrap_or_default();
            let of_head = if self.left > 0 {
                0
            } else {
                (HEAD_BYTES - self.head.len()).min(data.len())
            };
            let (head, rest) = data.split_at(of_head);
            self.head.extend_from_slice(head);
            data = rest;
            if let [_, a, b, c, d] = self.head[..] {
                self.head.clear();
                self.left = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
                if !self.share.take(self.left, self.max_bytes) {
                    return false;
                }
            }
        }
        true
    }
}

impl hyper::body::Body for Messages {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.left == 0 && self.head.is_empty() {
            self.share.give_back();
        }
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
            && !self.pass(data)
        {
            return Poll::Ready(Some(Err(full())));
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
    /// Reads one frame of a stream at a time, and shows what counts meanwhile.
    struct Stream {
        body: Body,
        layer: RequestLayer,
    }

    impl Stream {
        async fn of(max_bytes: usize, frames: Vec<Vec<u8>>) -> Self {
            let layer = RequestLayer {
                max_bytes,
                ..RequestLayer::new()
            };
            let (give, taken) = tokio::sync::oneshot::channel();
            let give = std::sync::Mutex::new(Some(give));
            let service = tower::service_fn(move |request: Request<Body>| {
                let give = give.lock().expect("unpoisoned").take();
                assert!(give.expect("one call").send(request.into_body()).is_ok());
                async { Ok::<_, Infallible>(Response::new(Body::empty())) }
            });
            let frames = frames
                .into_iter()
                .map(|bytes| Ok::<_, Infallible>(Frame::data(Bytes::from(bytes))));
            let mut request = Request::new(StreamBody::new(tokio_stream::iter(frames)));
            *request.uri_mut() = "/prl.sandbox.v1.Boxes/WriteFile".parse().expect("a path");
            layer.layer(service).call(request).await.expect("a reply");
            let body = taken.await.expect("a body");
            Self { body, layer }
        }

        /// Whether another frame came, and the bytes that count then.
        async fn next(&mut self) -> (Option<bool>, usize) {
            let frame = self.body.frame().await.map(|frame| frame.is_ok());
            (frame, self.layer.held.load(Ordering::Relaxed))
        }
    }

    fn message(bytes: usize) -> Vec<u8> {
        let length = u32::try_from(bytes).expect("small").to_be_bytes();
        [&[0][..], &length, &vec![7; bytes]].concat()
    }

    #[tokio::test]
    async fn a_message_of_a_stream_counts_until_its_call_asks_for_more() {
        let (large, two) = (message(70), [message(30), message(40)].concat());
        let [head, begin, end] = [&large[..2], &large[2..10], &large[10..]].map(<[u8]>::to_vec);
        let frames = vec![message(60), head, begin, end, two, message(0), message(60)];
        let mut stream = Stream::of(100, frames).await;
        for counted in [60, 0, 70, 70, 70, 0, 60] {
            assert_eq!(stream.next().await, (Some(true), counted));
        }
        assert_eq!(stream.next().await, (None, 0));
        let mut stream = Stream::of(100, vec![message(101)[..5].to_vec(), vec![7; 101]]).await;
        assert_eq!(
            stream.next().await.0,
            Some(false),
            "its head says that there is no room for it"
        );
        let layer = stream.layer.clone();
        drop(stream);
        assert_eq!(layer.held.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_message_counts_as_long_as_work_needs_it() {
        let layer = RequestLayer::new();
        let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
        let of_service = Arc::clone(&kept);
        let service = tower::service_fn(move |request: Request<Body>| {
            let of_service = Arc::clone(&of_service);
            async move {
                let (head, body) = request.into_parts();
                let bytes = body.collect().await.expect("a message").to_bytes();
                let counted = head.extensions.get::<InMemory>().cloned();
                let tied = InMemory::tie(counted, bytes).slice(2..5);
                of_service.lock().expect("unpoisoned").push(tied);
                Ok::<_, Infallible>(Response::new(Body::empty()))
            }
        });
        layer.layer(service).call(request(60)).await.expect("a reply");
        assert_eq!(layer.held.load(Ordering::Relaxed), 60, "a slice of it is kept");
        assert_eq!(kept.lock().expect("unpoisoned")[0][..], [0; 3]);
        kept.lock().expect("unpoisoned").clear();
        assert_eq!(layer.held.load(Ordering::Relaxed), 0);
    }
}
