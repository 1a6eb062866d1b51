//! The end of every reply: the daemon's load, so that clients need not ask for it, and an error message that is short
//! enough for every client.

use std::sync::Arc;

use hyper::Response;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use prl_sandbox_proto::{LOAD_KEY, Load};
use tonic::body::Body;

use super::outward::{Change, Frames};
use crate::tenants::Tenant;

const MESSAGE: &str = "grpc-message";
/// A client closes the whole connection when headers are longer than it allows: mostly 16 KiB, less behind some
/// proxies. These are bytes as they are sent: a byte that is not a plain letter takes three.
const HEAD_BYTES: usize = 2 << 10;
/// The reason mostly stands at the end of a message.
const TAIL_BYTES: usize = 1 << 10;
const LEFT_OUT: &[u8] = b" ... ";

/// Adds the load at the moment in which the trailers are sent.
#[derive(Clone)]
pub(crate) struct Trailers(Arc<dyn Fn() -> Load + Send + Sync>);

impl Trailers {
    pub(crate) fn new(measure: impl Fn() -> Load + Send + Sync + 'static) -> Self {
        Self(Arc::new(measure))
    }

    fn complete(&self, trailers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::try_from((self.0)().to_string()) {
            trailers.insert(HeaderName::from_static(LOAD_KEY), value);
        }
        let short = trailers.get(MESSAGE).and_then(|message| shortened(message.as_bytes()));
        if let Some(Ok(value)) = short.as_deref().map(HeaderValue::from_bytes) {
            trailers.insert(HeaderName::from_static(MESSAGE), value);
        }
    }
}

impl Change for Trailers {
    fn change(self, _: &Tenant, mut reply: Response<Body>) -> Response<Body> {
        if reply.headers().contains_key("grpc-status") {
            // An error without a body: its headers are its trailers.
            self.complete(reply.headers_mut());
            return reply;
        }
        reply.map(|inner| {
            let change = move |mut frame: hyper::body::Frame<_>| {
                if let Some(trailers) = frame.trailers_mut() {
                    self.complete(trailers);
                }
                frame
            };
            Body::new(Frames { inner, change })
        })
    }
}

/// The two ends of a percent-encoded text that is too long.
fn shortened(encoded: &[u8]) -> Option<Vec<u8>> {
    if encoded.len() <= HEAD_BYTES + LEFT_OUT.len() + TAIL_BYTES {
        return None;
    }
    let (head, _) = encoded.split_at(boundary(encoded, HEAD_BYTES));
    let (_, tail) = encoded.split_at(boundary(encoded, encoded.len() - TAIL_BYTES));
    Some([head, LEFT_OUT, tail].concat())
}

/// The last place, at this one or before it, where a character begins.
fn boundary(encoded: &[u8], place: usize) -> usize {
    let is_escape = |at: usize| encoded.get(at) == Some(&b'%');
    // The place is within an escape.
    let mut at = (place.saturating_sub(2)..place)
        .find(|at| is_escape(*at))
        .unwrap_or(place);
    // A character has at most three further bytes. Each is an escape from 80 to BF.
    let continues =
        |at: usize| is_escape(at) && matches!(encoded.get(at + 1), Some(b'8' | b'9' | b'A' | b'B' | b'a' | b'b'));
    for _ in 0..3 {
        if at >= 3 && continues(at) {
            at -= 3;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tonic::{Code, Status};

    use super::*;
    use crate::error::SandboxError;

    /// The message as a client reads it, and the number of bytes in which it arrived.
    fn received(message: &str) -> (usize, String) {
        let mut headers = HeaderMap::new();
        let status = Status::from(SandboxError::Usage(message.to_owned()));
        status.add_header(&mut headers).expect("headers");
        Trailers::new(Load::default).complete(&mut headers);
        let lengths = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
        let bytes = lengths.sum();
        let status = Status::from_header_map(&headers).expect("a status");
        assert_eq!(status.code(), Code::InvalidArgument, "{message}");
        (bytes, status.message().to_owned())
    }

    #[test]
    fn short_messages_stay_as_they_are() {
        for message in [
            "",
            "no such file",
            "caf\u{e9} \u{4f60}\u{597d} 100 %",
            "a file called %ff, 50%25 of it",
        ] {
            assert_eq!(received(message).1, message);
        }
    }

    proptest! {
        #[test]
        fn messages_fit_and_keep_their_ends(
            piece in "(\\PC|[%0-9a-f]){1,40}",
            times in 100_usize..2000,
            reason in "[a-z% \u{e9}\u{4f60}\u{1f44d}]{1,60}",
        ) {
            let message = format!("{}: {reason}", piece.repeat(times));
            let (bytes, read) = received(&message);
            prop_assert!(bytes < 4 << 10, "{bytes} bytes");
            prop_assert!(read.ends_with(&reason), "{read}");
            let head = read.split(" ... ").next().unwrap_or_default();
            prop_assert!(message.starts_with(head), "{read}");
        }
    }
}
