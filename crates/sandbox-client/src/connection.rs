//! One connection to one daemon process.
//!
//! A connection never reconnects: every call on it reaches the process whose instance id was read when it was opened, or fails. That is
//! what makes it safe to send an idempotency key again.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use prl_sandbox_proto::sandboxes_client::SandboxesClient;
use prl_sandbox_proto::{HealthRequest, MAX_MESSAGE_BYTES};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Request, Status};
use tower::service_fn;

use crate::outcome::{Verdict, verdict, with_sources};
use crate::{Address, ClientError};

/// Large results stream without waiting for window updates.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// A daemon that hangs is told from one that works by its answers to pings.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Puts the bearer token on every call.
#[derive(Debug, Clone)]
pub(crate) struct Bearer(Option<MetadataValue<Ascii>>);

impl Bearer {
    pub(crate) fn new(token: Option<&str>) -> Result<Self, ClientError> {
        let Some(token) = token else { return Ok(Self(None)) };
        let mut value: MetadataValue<Ascii> = format!("Bearer {token}")
            .parse()
            .map_err(|_| ClientError::Auth("the token holds characters that a header cannot carry".to_owned()))?;
        value.set_sensitive(true);
        Ok(Self(Some(value)))
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

/// The stub of a connection; clones share it.
pub(crate) type Stub = SandboxesClient<InterceptedService<Channel, Bearer>>;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stub: Stub,
    instance_id: String,
    is_lost: AtomicBool,
}

impl Connection {
    /// Connects and asks for the daemon's instance id.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], [`ClientError::Auth`].
    pub(crate) async fn open(address: &Address, bearer: &Bearer) -> Result<Self, ClientError> {
        let unreachable = |error: &dyn std::error::Error| ClientError::Unreachable {
            address: address.to_string(),
            reason: with_sources(error),
        };
        let channel = match address {
            Address::Unix(path) => over(UnixStream::connect(path).await.map_err(|error| unreachable(&error))?).await,
            Address::Tcp(authority) => {
                let stream = TcpStream::connect(authority)
                    .await
                    .map_err(|error| unreachable(&error))?;
                stream.set_nodelay(true).map_err(|error| unreachable(&error))?;
                over(stream).await
            }
        }
        .map_err(|error| unreachable(&error))?;
        let mut stub = SandboxesClient::with_interceptor(channel, bearer.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let health = stub
            .health(HealthRequest {})
            .await
            .map_err(|status| match verdict(&status) {
                Verdict::Refused(error) => error,
                Verdict::Ended(_) | Verdict::Lost(_) => unreachable(&status),
            })?;
        Ok(Self {
            stub,
            instance_id: health.into_inner().instance_id,
            is_lost: AtomicBool::new(false),
        })
    }

    pub(crate) fn stub(&self) -> Stub {
        self.stub.clone()
    }

    /// Names the daemon process at the other end.
    pub(crate) fn instance_id(&self) -> &str {
        &self.instance_id
    }

    /// Nothing is to be sent on it any more.
    pub(crate) fn mark_lost(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }
}

/// A channel over this stream and no other.
async fn over<S>(stream: S) -> Result<Channel, tonic::transport::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut only = Mutex::new(Some(TokioIo::new(stream)));
    let connector = service_fn(move |_: Uri| {
        let stream = only.get_mut().ok().and_then(Option::take);
        async move { stream.ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "the connection is over")) }
    });
    // The connector ignores the URI; HTTP/2 wants an authority.
    Endpoint::from_static("http://sandboxd.prl")
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true)
        .connect_with_connector(connector)
        .await
}
