//! The two ends of `Weights.Fetch`, below the generated stubs, because these would copy every chunk on both sides.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{BufMut, BytesMut};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Context, Poll, Service, StdError, http};
use tonic::metadata::GRPC_CONTENT_TYPE;
use tonic::server::NamedService;
use tonic::{Code, Response, Status};

use crate::pb::{Chunk, FetchRequest};
use crate::weights::wire::{Arrived, Messages, message};

const PATH: &str = "/prl.transport.v1.Weights/Fetch";
/// Frames that wait for the network; a chunk takes two.
const FRAMES_AHEAD: usize = 4;

/// Sends the chunks of one call.
pub(crate) struct ChunkSender(mpsc::Sender<Result<Frame<bytes::Bytes>, Status>>);

/// The body that replaces the body of a response.
#[derive(Clone)]
struct Replacement(Arc<Mutex<Option<Body>>>);

/// A response whose chunks go through the sender. [`SendsChunks`] must wrap the service that returns it.
pub(crate) fn chunk_response<T>(stub: T) -> (ChunkSender, Response<T>) {
    let (frames, waiting) = mpsc::channel(FRAMES_AHEAD);
    let body = Body::new(StreamBody::new(ReceiverStream::new(waiting)));
    let mut response = Response::new(stub);
    let replacement = Replacement(Arc::new(Mutex::new(Some(body))));
    response.extensions_mut().insert(replacement);
    (ChunkSender(frames), response)
}

impl ChunkSender {
    /// Waits for room; fails when the reader has gone.
    pub(crate) async fn send(&self, chunk: &Chunk) -> Result<(), Status> {
        for part in message(chunk)? {
            self.frame(Frame::data(part)).await?;
        }
        Ok(())
    }

    /// Ends the call.
    pub(crate) async fn end(self, outcome: Result<(), Status>) -> Result<(), Status> {
        let status = outcome.err().unwrap_or_else(|| Status::new(Code::Ok, ""));
        let mut trailers = http::HeaderMap::new();
        status.add_header(&mut trailers)?;
        self.frame(Frame::trailers(trailers)).await
    }

    async fn frame(&self, frame: Frame<bytes::Bytes>) -> Result<(), Status> {
        let sent = self.0.send(Ok(frame)).await;
        sent.map_err(|_| Status::cancelled("the reader has gone"))
    }
}

/// Gives responses of [`chunk_response`] their bodies.
#[derive(Debug, Clone)]
pub(crate) struct SendsChunks<S>(pub(crate) S);

impl<S, B> Service<http::Request<Body>> for SendsChunks<S>
where
    S: Service<http::Request<Body>, Response = http::Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<StdError>,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let answer = self.0.call(request);
        Box::pin(async move {
            let mut response = answer.await?;
            let replacement = response
                .extensions_mut()
                .remove::<Replacement>()
                .and_then(|replacement| replacement.0.lock().unwrap_or_else(PoisonError::into_inner).take());
            Ok(response.map(|body| replacement.unwrap_or_else(|| Body::new(body))))
        })
    }
}

impl<S: NamedService> NamedService for SendsChunks<S> {
    const NAME: &'static str = S::NAME;
}

/// The chunks that one source sends.
pub(crate) struct ChunkReceiver {
    body: Body,
    messages: Messages,
}

/// Asks a source for chunks.
pub(crate) async fn fetch<S, B>(channel: &mut S, request: &FetchRequest) -> Result<ChunkReceiver, Status>
where
    S: Service<http::Request<Body>, Response = http::Response<B>>,
    S::Error: Into<StdError>,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<StdError>,
{
    let encoded = request.encode_to_vec();
    let length = u32::try_from(encoded.len()).map_err(|_| Status::invalid_argument("too many files"))?;
    let mut message = BytesMut::with_capacity(encoded.len() + 5);
    message.put_u8(0);
    message.put_u32(length);
    message.put_slice(&encoded);
    let mut request = http::Request::new(Body::new(Full::new(message.freeze())));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = http::Uri::from_static(PATH);
    *request.version_mut() = http::Version::HTTP_2;
    let headers = request.headers_mut();
    headers.insert(http::header::TE, http::HeaderValue::from_static("trailers"));
    headers.insert(http::header::CONTENT_TYPE, GRPC_CONTENT_TYPE);
    let failed = |error: StdError| Status::from_error(error);
    std::future::poll_fn(|context| channel.poll_ready(context))
        .await
        .map_err(|error| failed(error.into()))?;
    let response = channel.call(request).await.map_err(|error| failed(error.into()))?;
    if let Some(status) = Status::from_header_map(response.headers())
        && status.code() != Code::Ok
    {
        return Err(status);
    }
    if response.status() != http::StatusCode::OK {
        return Err(Status::unknown(format!("the source answered {}", response.status())));
    }
    Ok(ChunkReceiver {
        body: Body::new(response.into_body()),
        messages: Messages::default(),
    })
}

impl ChunkReceiver {
    /// The next chunk; `None` when the source ended the call without an error.
    pub(crate) async fn next(&mut self) -> Result<Option<Arrived>, Status> {
        loop {
            if let Some(chunk) = self.messages.next()? {
                return Ok(Some(chunk));
            }
            let Some(frame) = self.body.frame().await.transpose()? else {
                return Err(Status::unavailable("the source ended the call without a status"));
            };
            match frame.into_data() {
                Ok(data) => self.messages.push(data),
                Err(other) => match other.trailers_ref().and_then(Status::from_header_map) {
                    Some(status) if status.code() != Code::Ok => return Err(status),
                    Some(_) if self.messages.is_empty() => return Ok(None),
                    _ => return Err(Status::data_loss("the source ended the call within a chunk")),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::CHUNK_BYTES;
    use crate::pb::weights_client::WeightsClient;
    use crate::pb::{DescribeRequest, FetchRequest};
    use crate::weights::one_shard;
    use crate::{Credentials, Times, WeightNode};

    /// The generated client stands for clients of other programs.
    #[tokio::test]
    async fn any_grpc_client_reads_the_chunks_and_the_status() {
        let root = tempfile::tempdir().expect("a folder");
        let bytes: Vec<u8> = (0..CHUNK_BYTES + 9).map(|at| (at % 251) as u8).collect();
        one_shard::publish(&root.path().join("step_1"), &bytes);
        let node = WeightNode::new(root.path(), Credentials::default(), Times::default());
        let address = node.listen("127.0.0.1:0").await.expect("listens");
        let mut client = WeightsClient::connect(format!("http://{address}"))
            .await
            .expect("connected");
        let described = client
            .describe(DescribeRequest::default())
            .await
            .expect("described")
            .into_inner();
        let description = twox_hash::XxHash3_64::oneshot(&prost::Message::encode_to_vec(&described));
        let request = FetchRequest {
            version: 1,
            description,
            offsets: vec![0],
        };
        let mut chunks = client.fetch(request.clone()).await.expect("begun").into_inner();
        let mut came = Vec::new();
        while let Some(chunk) = chunks.message().await.expect("ends well") {
            assert_eq!(chunk.offset, came.len() as u64);
            came.extend_from_slice(&chunk.data);
        }
        assert!(came == bytes);
        let other = FetchRequest {
            description: description ^ 1,
            ..request
        };
        let refused = client.fetch(other).await.expect_err("another version");
        assert_eq!(refused.code(), tonic::Code::NotFound);
    }
}
