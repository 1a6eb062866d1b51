//! The sockets on which callers reach the daemon, and the limits of one caller.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::MAX_MESSAGE_BYTES;
use prl_sandbox_proto::boxes_server::BoxesServer;
use prl_sandbox_proto::sandboxes_server::SandboxesServer;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::InterceptorLayer;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::boxes::BoxService;
use super::calls::{Admission, CountReplies, Doorkeeper, Outward, RequestLayer, Trailers};
use super::health::HealthLayer;
use super::sandboxes::Service;
use super::tls;
use crate::error::SandboxError;
use crate::options::Options;
use crate::state::DaemonState;
use crate::tenants::Tokens;

/// How many calls there may be at a time on one connection.
const MAX_STREAMS: u32 = 4096;
/// How many calls a caller may reset before they are handled. A connection with more is ended.
const MAX_PENDING_RESETS: usize = 64;
/// How many calls we may reset for errors of the caller's protocol. A connection with more is ended.
const MAX_ERROR_RESETS: usize = 256;
const MAX_HEADER_BYTES: u32 = 16 << 10;

/// The servers, until they are stopped.
#[derive(Debug)]
pub(crate) struct Listening {
    /// The TCP address, with the port that the system has chosen.
    pub(crate) address: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    servers: JoinSet<Result<(), tonic::transport::Error>>,
}

impl Listening {
    /// Serves on every socket that the options name.
    pub(crate) async fn begin(options: &Options, state: &Arc<DaemonState>) -> Result<Self, SandboxError> {
        let tokens = tokens(options)?;
        let tls = tls::configure(options)?;
        let routes = routes(state);
        let doorkeeper = Doorkeeper::new(options.max_connections);
        let load = Outward::new(Trailers::new({
            let state = Arc::clone(state);
            move || state.load()
        }));
        let health = HealthLayer::new(state);
        let requests = RequestLayer::new();
        let replies = Outward::new(CountReplies(Arc::clone(&state.results)));
        let (stop, stopped) = watch::channel(false);
        let mut servers = JoinSet::new();
        let mut address = None;
        if let Some(path) = &options.socket {
            let listener = bind(path)
                .await
                .map_err(failed(format!("listen on {}", path.display())))?;
            let admit = InterceptorLayer::new(|request| {
                Admission::note(&request);
                Ok(request)
            });
            let mut layered = builder()
                .layer(admit)
                .layer(health.clone())
                .layer(load.clone())
                .layer(requests.clone())
                .layer(replies.clone());
            let incoming = doorkeeper.clone().guard(UnixListenerStream::new(listener));
            let server = layered.add_routes(routes.clone());
            servers.spawn(server.serve_with_incoming_shutdown(incoming, until(stopped.clone())));
        }
        if let Some(wanted) = options.listen {
            if tokens.is_none() && options.tls_client_ca.is_none() {
                return Err(SandboxError::Usage(
                    "--listen needs --token-file, PRL_SANDBOX_TOKEN or --tls-client-ca".to_owned(),
                ));
            }
            let listener = TcpListener::bind(wanted)
                .await
                .map_err(failed(format!("listen on {wanted}")))?;
            address = Some(listener.local_addr().map_err(failed("name the address".to_owned()))?);
            let admit = InterceptorLayer::new(move |request| {
                let request = match &tokens {
                    Some(tokens) => tokens.admit(request)?,
                    // The handshake has already checked its certificate.
                    None => request,
                };
                Admission::note(&request);
                Ok(request)
            });
            let server = match tls {
                Some(tls) => builder().tls_config(tls).map_err(|error| {
                    SandboxError::Usage(format!("the certificates cannot be used: {}", chain(&error)))
                })?,
                None => builder(),
            };
            let mut layered = server
                .layer(health)
                .layer(admit)
                .layer(load)
                .layer(requests)
                .layer(replies);
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            let server = layered.add_routes(routes);
            servers.spawn(server.serve_with_incoming_shutdown(doorkeeper.guard(incoming), until(stopped)));
        }
        Ok(Self { address, stop, servers })
    }

    /// Takes no more calls; returns when the last answer was sent, or after `patience`.
    pub(crate) async fn end(mut self, patience: Duration) {
        self.stop.send_replace(true);
        let closed = async { while self.servers.join_next().await.is_some() {} };
        // Idle connections that clients keep open need no waiting.
        if tokio::time::timeout(patience, closed).await.is_err() {
            tracing::debug!("clients keep their connections open");
        }
    }

    /// Takes no more connections; calls on existing ones go on.
    pub(crate) fn refuse(&self) {
        self.stop.send_replace(true);
    }
}

/// Every service of the daemon.
fn routes(state: &Arc<DaemonState>) -> Routes {
    let sandboxes = SandboxesServer::new(Service(Arc::clone(state)))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let boxes = BoxesServer::new(BoxService(Arc::clone(state)))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    Routes::new(sandboxes).add_service(boxes)
}

fn builder() -> Server {
    Server::builder()
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .max_frame_size(1 << 20)
        .tcp_nodelay(true)
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .http2_max_pending_accept_reset_streams(Some(MAX_PENDING_RESETS))
        .http2_max_local_error_reset_streams(Some(MAX_ERROR_RESETS))
        .http2_max_header_list_size(MAX_HEADER_BYTES)
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // An error means that the sender is gone, which is also the end.
    let _end = stopped.wait_for(|stopped| *stopped).await;
}

fn chain(error: &dyn std::error::Error) -> String {
    let inner = error.source().map(|source| format!(": {source}"));
    format!("{error}{}", inner.unwrap_or_default())
}

fn failed(action: String) -> impl Fn(io::Error) -> SandboxError {
    move |source| SandboxError::Serve {
        action: action.clone(),
        source,
    }
}

/// The tokens that callers on TCP must present.
fn tokens(options: &Options) -> Result<Option<Tokens>, SandboxError> {
    let tokens = match &options.token_file {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(failed(format!("read the token file {}", path.display())))?;
            let parsed = Tokens::parse(&text)
                .map_err(|wrong| SandboxError::Usage(format!("token file {}: {wrong}", path.display())))?;
            Some(parsed)
        }
        None => std::env::var("PRL_SANDBOX_TOKEN")
            .ok()
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
            .map(|token| Tokens::single(&token)),
    };
    Ok(tokens)
}

/// Binds the socket's path; a dead daemon's socket is replaced.
async fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if UnixStream::connect(path).await.is_ok() {
                return Err(error);
            }
            fs::remove_file(path)?;
        }
        Ok(listener) => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
            return Ok(listener);
        }
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}
