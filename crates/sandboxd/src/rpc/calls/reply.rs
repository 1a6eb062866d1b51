//! Counts replies as long as they are in memory: first the message until it is encoded, then its pieces until the
//! connection has written them.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Response;
use hyper::body::Frame;
use tonic::body::Body;

use super::outward::{Change, Frames};
use crate::tenants::{Kept, Results, Tenant};

/// Pieces that are smaller are not counted: counting them would cost more than it shows.
const SMALL: usize = 1 << 10;

/// Counts the bytes of replies. Until a reply is encoded, its message is counted by the `Arc<Kept>` in its extensions.
#[derive(Clone, Debug)]
pub(crate) struct CountReplies(pub(crate) Arc<Results>);

/// One piece of a body.
struct Piece {
    bytes: Bytes,
    _kept: Kept,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Change for CountReplies {
    fn change(self, tenant: &Tenant, mut reply: Response<Body>) -> Response<Body> {
        let mut unwritten = reply.extensions_mut().remove::<Arc<Kept>>();
        let share = self.0.of(tenant);
        reply.map(|inner| {
            let change = move |frame: Frame<Bytes>| {
                let counted = frame.map_data(|bytes| {
                    if bytes.len() < SMALL {
                        return bytes;
                    }
                    let _kept = share.keep(bytes.len());
                    Bytes::from_owner(Piece { bytes, _kept })
                });
                drop(unwritten.take());
                counted
            };
            Body::new(Frames { inner, change })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::task::{Context, Poll};
    use std::time::Duration;

    use http_body_util::{BodyExt, Full};
    use hyper::Request;
    use tonic::codegen::{BoxFuture, Service};
    use tower::Layer;

    use super::super::outward::Outward;
    use super::*;
    use crate::error::SandboxError;

    /// Answers with as many bytes as the path says, from a result that is counted.
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
            reply
                .extensions_mut()
                .insert(Arc::new(self.0.of(&Tenant::default()).keep(bytes)));
            Box::pin(async move { Ok(reply) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_counts_until_its_last_byte_is_let_go_of() {
        let results = Results::new(10_000);
        let mut service = Outward::new(CountReplies(Arc::clone(&results))).layer(Answering(Arc::clone(&results)));
        let held = || results.held();
        let share = results.of(&Tenant::default());
        let mut unread = service.call(Request::new(6000)).await.expect("a reply");
        assert_eq!(held(), 6000, "before it is written down");
        let piece = unread.body_mut().frame().await.expect("a piece").expect("well");
        assert_eq!(held(), 6000, "written down");
        let other = service.call(Request::new(6000)).await.expect("a reply");
        assert_eq!(held(), 12_000);
        let refused = share.room(Duration::from_millis(100)).await;
        assert!(
            matches!(refused, Err(SandboxError::Overloaded { retry_after_ms, .. }) if retry_after_ms > 0),
            "{refused:?}"
        );
        let waiting = tokio::spawn({
            let share = share.clone();
            async move { share.room(Duration::from_secs(60)).await }
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
        assert_eq!(held(), 0, "a reply that was not wanted");
    }
}
