//! Listening: one gRPC service on one TCP address, behind a token where others could reach it.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::{Interceptor, Routes};
use tonic::transport::Server as GrpcServer;
use tonic::transport::server::TcpIncoming;

use crate::link::ping_interval;
use crate::{Times, TransportError};

/// Lets several chunks be under way.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 8 << 20;
/// A chunk takes few frames.
pub(crate) const FRAME_BYTES: u32 = 1 << 18;
/// Calls of one connection at a time.
const MAX_STREAMS: u32 = 16;
/// Calls under way have this long to end when the server closes.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// The bearer token of a node: what its callers must present, and what it presents to others.
#[derive(Clone, Default)]
pub struct Token(Option<MetadataValue<Ascii>>);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Token(set)" } else { "Token(none)" })
    }
}

impl Token {
    /// `None` and the empty string are no token.
    ///
    /// # Errors
    /// [`TransportError::Auth`] when it cannot travel in a header.
    pub fn new(token: Option<&str>) -> Result<Self, TransportError> {
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Ok(Self(None));
        };
        let mut value: MetadataValue<Ascii> = format!("Bearer {token}")
            .parse()
            .map_err(|_| TransportError::Auth("it holds characters that a header cannot carry".to_owned()))?;
        value.set_sensitive(true);
        Ok(Self(Some(value)))
    }

    /// For the calling side.
    pub(crate) fn present(&self) -> impl Interceptor + Clone + use<> {
        let value = self.0.clone();
        move |mut request: Request<()>| {
            if let Some(value) = &value {
                request.metadata_mut().insert("authorization", value.clone());
            }
            Ok(request)
        }
    }

    /// For the serving side.
    pub(crate) fn demand(&self) -> impl Interceptor + Clone + use<> {
        let wanted = self.0.clone();
        move |request: Request<()>| {
            let Some(wanted) = &wanted else { return Ok(request) };
            let given = request.metadata().get("authorization").map(MetadataValue::as_bytes);
            if is_equal(given.unwrap_or_default(), wanted.as_bytes()) {
                return Ok(request);
            }
            Err(TransportError::Auth("set PRL_TRANSPORT_TOKEN to that of the node".to_owned()).to_status())
        }
    }
}

/// Takes as long wherever they differ.
fn is_equal(given: &[u8], wanted: &[u8]) -> bool {
    let differing = given
        .iter()
        .zip(wanted.iter().cycle())
        .fold(0, |bits, (a, b)| bits | (a ^ b));
    differing == 0 && given.len() == wanted.len()
}

/// A service that listens until it is closed or dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    closing: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Listens on `listen`, `host:port` with port 0 for any, and serves `routes` until `closing`.
    ///
    /// # Errors
    /// [`TransportError::Address`] when it cannot be listened on, or others could reach it and there is no token.
    pub(crate) async fn start(
        listen: &str,
        token: &Token,
        times: &Times,
        routes: Routes,
        closing: CancellationToken,
    ) -> Result<Self, TransportError> {
        let wrong = |reason: String| TransportError::Address {
            address: listen.to_owned(),
            reason,
        };
        let listener = match timeout(times.connect, TcpListener::bind(listen)).await {
            Ok(bound) => bound.map_err(|error| wrong(format!("cannot listen there: {error}")))?,
            Err(_) => return Err(wrong("its name was not resolved in time".to_owned())),
        };
        let address = listener.local_addr().map_err(|error| wrong(error.to_string()))?;
        if token.0.is_none() && !address.ip().is_loopback() {
            return Err(wrong(
                "other machines could reach it: set PRL_TRANSPORT_TOKEN on all sides".to_owned(),
            ));
        }
        let router = GrpcServer::builder()
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(STREAM_WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES)
            .http2_keepalive_interval(Some(ping_interval(times)))
            .http2_keepalive_timeout(Some(times.stall))
            .add_routes(routes);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let until = closing.clone();
        let task = tokio::spawn(async move {
            if let Err(error) = router
                .serve_with_incoming_shutdown(incoming, until.cancelled_owned())
                .await
            {
                tracing::error!(%error, %address, "the server ended");
            }
        });
        Ok(Self {
            address,
            closing,
            task: Mutex::new(Some(task)),
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening; what is under way is cut off after a moment.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        if timeout(CLOSE_GRACE, &mut task).await.is_err() {
            task.abort();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}
