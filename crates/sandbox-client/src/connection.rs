//! One connection to one daemon process.
//!
//! A connection never reconnects: every call on it either fails or reaches the process whose instance id was read when it was opened.
//! This makes it safe to send an idempotency key again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use prl_sandbox_proto::boxes_client::BoxesClient;
use prl_sandbox_proto::sandboxes_client::SandboxesClient;
use prl_sandbox_proto::{HealthReply, HealthRequest, MAX_MESSAGE_BYTES};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint, Uri};
use tower::service_fn;

use crate::credentials::{Bearer, Credentials};
use crate::ending::Ending;
use crate::status::{ConnectionOver, Verdict, verdict, with_sources};
use crate::{Address, ClientError};

/// Large results stream without waiting for window updates.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// How often a daemon is pinged. A daemon that works answers pings, a daemon that hangs does not.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// The stubs of a connection; clones share it.
pub(crate) type Sandboxes = SandboxesClient<InterceptedService<Channel, Bearer>>;
/// The stubs for held sandboxes.
pub(crate) type Boxes = BoxesClient<InterceptedService<Channel, Bearer>>;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    sandboxes: Sandboxes,
    boxes: Boxes,
    first_health: HealthReply,
    is_lost: AtomicBool,
    /// Reports the end of the process at the other end, if it is the embedded daemon.
    ending: Option<Ending>,
}

impl Connection {
    /// Connects and asks for the daemon's instance id.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], [`ClientError::Auth`], [`ClientError::Address`].
    pub(crate) async fn open(address: &Address, credentials: &Credentials) -> Result<Self, ClientError> {
        let unreachable = |error: &dyn std::error::Error| ClientError::Unreachable {
            address: address.to_string(),
            reason: with_sources(error),
        };
        let channel = match address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).await.map_err(|error| unreachable(&error))?;
                over(stream, None).await
            }
            Address::Tcp { authority, host, tls } => {
                let encryption = credentials.tls(host);
                if *tls && encryption.is_none() {
                    return Err(ClientError::Address {
                        address: address.to_string(),
                        reason: "https needs the certificate of the authority that signed the daemon's (tls.ca)",
                    });
                }
                let stream = TcpStream::connect(authority)
                    .await
                    .map_err(|error| unreachable(&error))?;
                stream.set_nodelay(true).map_err(|error| unreachable(&error))?;
                over(stream, encryption).await
            }
            Address::Dns { .. } => {
                return Err(ClientError::Address {
                    address: address.to_string(),
                    reason: "a name of several daemons is not one of them",
                });
            }
        }
        .map_err(|error| unreachable(&error))?;
        let mut sandboxes = SandboxesClient::with_interceptor(channel.clone(), credentials.bearer())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let boxes = BoxesClient::with_interceptor(channel, credentials.bearer())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let health = sandboxes
            .health(HealthRequest {})
            .await
            .map_err(|status| match verdict(&status) {
                Verdict::Refused(error) => error,
                Verdict::Ended(_) | Verdict::Lost(_) | Verdict::NotSent(_) => unreachable(&status),
            })?;
        Ok(Self {
            sandboxes,
            boxes,
            first_health: health.into_inner(),
            is_lost: AtomicBool::new(false),
            ending: None,
        })
    }

    /// This connection, with the end of the daemon's process watched.
    pub(crate) fn watching(self, ending: Option<Ending>) -> Self {
        Self { ending, ..self }
    }

    /// How the process at the other end ended, if it is watched and did so within `notice`.
    pub(crate) async fn exit(&self, notice: Duration) -> Option<String> {
        self.ending.as_ref()?.within(notice).await
    }

    pub(crate) fn sandboxes(&self) -> Sandboxes {
        self.sandboxes.clone()
    }

    pub(crate) fn boxes(&self) -> Boxes {
        self.boxes.clone()
    }

    /// Names the daemon process at the other end.
    pub(crate) fn instance_id(&self) -> &str {
        &self.first_health.instance_id
    }

    /// Whether the daemon took work when the connection was opened.
    pub(crate) fn was_serving(&self) -> bool {
        self.first_health.serving
    }

    /// Marks the connection, so that no request is sent on it any more.
    pub(crate) fn mark_lost(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }
}

/// A channel over this stream and no other.
async fn over<S>(stream: S, tls: Option<ClientTlsConfig>) -> Result<Channel, tonic::transport::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut only = Mutex::new(Some(TokioIo::new(stream)));
    let connector = service_fn(move |_: Uri| {
        let stream = only.get_mut().ok().and_then(Option::take);
        async move { stream.ok_or(ConnectionOver) }
    });
    // The connector ignores the URI, but HTTP/2 needs an authority.
    let endpoint = match tls {
        Some(tls) => Endpoint::from_static("https://sandboxd.prl").tls_config(tls)?,
        None => Endpoint::from_static("http://sandboxd.prl"),
    };
    endpoint
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true)
        .connect_with_connector(connector)
        .await
}
