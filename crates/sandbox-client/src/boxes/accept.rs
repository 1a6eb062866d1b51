//! Forwards by the caller: programs of a held sandbox reach services that this process can reach.
//!
//! The daemon hands over each connection that a program makes; this side connects to the service that its own request named
//! for the port, and to nothing else. It never holds the box: all of this ends with the last handle of it.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use prl_sandbox_proto::forward::By;
use prl_sandbox_proto::{Arrival, BoxRequest, CreateRequest, Piece, WAITING_PIECES, carry};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::sandbox_box::Held;
use crate::ClientError;
use crate::call::QUERY_DEADLINE;
use crate::connection::Connection;

/// Most connections of one box at the same time, like the daemon's bound. One more is not taken, and the daemon resets it.
const MAX_CONNECTIONS: usize = 64;
const CONNECT: Duration = Duration::from_secs(10);
/// How long the daemon may take to end a connection whose both directions have ended.
const PARTING: Duration = Duration::from_secs(10);
/// Pause before the daemon is asked again for connections.
const PAUSE: Duration = Duration::from_millis(200);

/// A service that this process can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Service {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// Ports of a box, each with the service behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct Services(Vec<(u32, Service)>);

impl Service {
    fn parse(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            return path.starts_with('/').then(|| Self::Unix(PathBuf::from(path)));
        }
        let (host, port) = text.rsplit_once(':')?;
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let port = port.parse().ok().filter(|port| *port > 0)?;
        let host = bare.unwrap_or(host);
        let is_host = !host.is_empty() && !host.contains(['/', '[', ']']) && (bare.is_some() || !host.contains(':'));
        is_host.then(|| Self::Tcp(host.to_owned(), port))
    }
}

impl Services {
    /// Takes the services of forwards by the caller out of a request: the daemon gets the ports only.
    pub(super) fn take(request: &mut CreateRequest) -> Result<Self, ClientError> {
        let forwards = request.network.iter_mut().flat_map(|network| &mut network.forward);
        let by_caller = forwards.filter(|forward| forward.by == i32::from(By::Caller));
        let services = by_caller.map(|forward| {
            let to = std::mem::take(&mut forward.to);
            let service = Service::parse(&to).ok_or_else(|| {
                let port = forward.listen;
                ClientError::Request(format!(
                    "the forward of port {port} leads to {to:?}: expected host:port or unix:/path"
                ))
            });
            Ok((forward.listen, service?))
        });
        Ok(Self(services.collect::<Result<_, ClientError>>()?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn at(&self, listen: u32) -> Option<Service> {
        let found = self.0.iter().find(|(port, _)| *port == listen);
        found.map(|(_, service)| service.clone())
    }
}

/// Serves the box's connections until this future is dropped, which ends them too, or no more can come.
pub(super) async fn accept(held: Weak<Held>, services: Services) {
    let mut lines = JoinSet::new();
    loop {
        if let Err(error) = serve(&held, &services, &mut lines).await {
            if held.upgrade().is_some_and(|held| !held.is_over()) {
                tracing::warn!(%error, "no more connections of a box are accepted");
            }
            return;
        }
        sleep(PAUSE).await;
    }
}

/// Serves connections as long as one call to the daemon lasts. An error means that another call would be of no use.
async fn serve(held: &Weak<Held>, services: &Services, lines: &mut JoinSet<()>) -> Result<(), ClientError> {
    let strong = held.upgrade().ok_or(ClientError::Closed)?;
    let id = strong.id().to_owned();
    let connection = match strong.connection().await {
        Ok(connection) => connection,
        Err(ClientError::Unreachable { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    // From here on only the holders of the box keep it.
    drop(strong);
    let broken = |status: &Status| {
        let strong = held.upgrade().ok_or(ClientError::Closed)?;
        strong.broken(&connection, status).map_or(Ok(()), Err)
    };
    let request = BoxRequest { r#box: id.clone() };
    let Ok(asked) = timeout(QUERY_DEADLINE, connection.boxes().accept(request)).await else {
        return Ok(());
    };
    let mut arrivals = match asked {
        Ok(reply) => reply.into_inner(),
        Err(status) => return broken(&status),
    };
    loop {
        tokio::select! {
            arrival = arrivals.message() => match arrival {
                Ok(Some(arrival)) if lines.len() < MAX_CONNECTIONS => {
                    let service = services.at(arrival.listen);
                    lines.spawn(line(Arc::clone(&connection), id.clone(), arrival, service));
                }
                Ok(Some(arrival)) => tracing::warn!(listen = arrival.listen, "a box has too many connections to its caller"),
                Ok(None) => return Ok(()),
                Err(status) => return broken(&status),
            },
            Some(_ended) = lines.join_next() => {}
        }
    }
}

/// Carries one connection between the daemon and the service that the box's request named for the port.
async fn line(connection: Arc<Connection>, id: String, arrival: Arrival, service: Option<Service>) {
    let listen = arrival.listen;
    let Some(service) = service else {
        return tracing::warn!(
            listen,
            "the daemon reports a connection to a port that was not asked for"
        );
    };
    let carried = match &service {
        Service::Tcp(host, port) => {
            let connected = || TcpStream::connect((host.as_str(), *port));
            join(&connection, id, arrival, connected, |stream| {
                let _reset = stream.set_zero_linger().is_ok();
            })
            .await
        }
        Service::Unix(path) => join(&connection, id, arrival, || UnixStream::connect(path), |_| {}).await,
    };
    if let Err(reason) = carried {
        tracing::debug!(listen, reason, "a connection from a box ended");
    }
}

/// Takes the connection first, so that nothing is connected to for one that waits no more. A broken one is reset at both ends.
async fn join<S, F>(
    connection: &Connection,
    id: String,
    arrival: Arrival,
    connect: impl FnOnce() -> F,
    reset: impl FnOnce(&S),
) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output = io::Result<S>>,
{
    let (outgoing, waiting) = mpsc::channel(WAITING_PIECES);
    let first = Piece {
        r#box: id,
        connection: arrival.connection,
        ..Piece::default()
    };
    outgoing.send(first).await.map_err(|error| error.to_string())?;
    let taken = timeout(QUERY_DEADLINE, connection.boxes().carry(ReceiverStream::new(waiting))).await;
    let taken = taken.map_err(|_| "the daemon gave no answer in time".to_owned())?;
    let mut incoming = taken.map_err(|status| status.to_string())?.into_inner();
    let connected = timeout(CONNECT, connect()).await;
    let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let mut stream = connected.map_err(|error| format!("the service cannot be reached: {error}"))?;
    if let Err(broken) = carry(&mut stream, &mut incoming, &outgoing).await {
        reset(&stream);
        return Err(broken.to_string());
    }
    // Bytes in the channel may not have been sent yet; dropping the call would take them back.
    drop(outgoing);
    let parted = timeout(PARTING, parting(&mut incoming)).await;
    parted.map_err(|_| "the daemon did not end it in time".to_owned())
}

/// Returns when the daemon has ended the call, in any way.
async fn parting(incoming: &mut Streaming<Piece>) {
    while let Some(Ok(_)) = incoming.next().await {}
}

#[cfg(test)]
mod tests {
    use prl_sandbox_proto::{Forward, Network};

    use super::*;

    #[test]
    fn services_are_read() {
        for (text, service) in [
            ("127.0.0.1:80", Service::Tcp("127.0.0.1".to_owned(), 80)),
            ("[::1]:80", Service::Tcp("::1".to_owned(), 80)),
            ("policy.internal:8080", Service::Tcp("policy.internal".to_owned(), 8080)),
            ("unix:/run/policy", Service::Unix("/run/policy".into())),
        ] {
            assert_eq!(Service::parse(text), Some(service), "{text}");
        }
        for wrong in [
            "",
            "host",
            ":80",
            "host:0",
            "host:70000",
            "::1:80",
            "unix:relative",
            "http://host:80",
            "[]:80",
            "[a:80",
        ] {
            assert_eq!(Service::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_daemon_gets_no_address_of_a_service_of_the_caller() {
        let forward = |listen, to: &str, by: By| Forward {
            listen,
            to: to.to_owned(),
            by: by.into(),
        };
        let mut request = CreateRequest {
            network: Some(Network {
                forward: vec![forward(80, "127.0.0.1:1", By::Caller), forward(81, "db:2", By::Daemon)],
                ..Network::default()
            }),
            ..CreateRequest::default()
        };
        let services = Services::take(&mut request).expect("services");
        let sent = request.network.expect("a network").forward;
        assert_eq!(sent, [forward(80, "", By::Caller), forward(81, "db:2", By::Daemon)]);
        assert_eq!(services.at(80), Some(Service::Tcp("127.0.0.1".to_owned(), 1)));
        assert_eq!(services.at(81), None, "only the daemon connects there");
    }
}
