//! Outbound connections: one look-up, a check of every address, and a connection to one of the checked addresses.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::policy::{Destination, Host, Policy};

const RESOLVE: Duration = Duration::from_secs(5);
const CONNECT: Duration = Duration::from_secs(10);
/// How many look-ups of one box there may be at a time. Each holds a thread of the daemon until the system's resolver
/// gives up.
const LOOKUPS: usize = 4;
/// How many look-ups of all boxes there may be at a time.
static ALL_LOOKUPS: Semaphore = Semaphore::const_new(64);

/// Why a program did not get its connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{0} is not allowed")]
    NotAllowed(Destination),
    #[error("{0} leads only to addresses that are not allowed")]
    Private(Destination),
    #[error("{0} cannot be resolved: {1}")]
    Unknown(Destination, io::Error),
    #[error("{0} cannot be reached: {1}")]
    Unreachable(Destination, io::Error),
}

/// The outbound connections of one box.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    policy: Arc<Policy>,
    lookups: Arc<Semaphore>,
}

impl Reach {
    pub(crate) fn new(policy: Arc<Policy>) -> Self {
        Self {
            policy,
            lookups: Arc::new(Semaphore::new(LOOKUPS)),
        }
    }

    /// Connects to the destination that the program asked for.
    pub(crate) async fn connect(&self, to: Destination) -> Result<TcpStream, Refusal> {
        if !self.policy.names(&to) {
            return Err(Refusal::NotAllowed(to));
        }
        let addresses = match &to.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => match self.resolve(name).await {
                Ok(addresses) => addresses,
                Err(error) => return Err(Refusal::Unknown(to, error)),
            },
        };
        let open = self.policy.permitted(addresses, to.port);
        if open.is_empty() {
            return Err(Refusal::Private(to));
        }
        match within(CONNECT, TcpStream::connect(&open[..])).await {
            Ok(stream) => Ok(stream),
            Err(error) => Err(Refusal::Unreachable(to, error)),
        }
    }

    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let name = name.to_owned();
        let lookup = async move {
            // With the final dot the resolver adds no search domain. Names in the hosts file have no final dot.
            match lookup_host((format!("{name}."), 0)).await {
                Ok(found) => Ok(found.map(|address| address.ip()).collect()),
                Err(_) => Ok(lookup_host((name, 0)).await?.map(|address| address.ip()).collect()),
            }
        };
        within(RESOLVE, self.in_turn(lookup)).await
    }

    /// Begins a look-up when there is a place for it. It holds its thread and its place to its end, also when its caller
    /// no longer waits for it.
    async fn in_turn<T: Send + 'static>(
        &self,
        lookup: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        // These semaphores are never closed.
        let own = Arc::clone(&self.lookups).acquire_owned().await;
        let places = (own, ALL_LOOKUPS.acquire().await);
        let looked_up = tokio::spawn(async move {
            let _places = places;
            lookup.await
        });
        looked_up.await.map_err(io::Error::other)?
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut)))
}

/// A service that the daemon's caller names, not the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Tcp(Destination),
    Unix(PathBuf),
}

/// A byte stream of either kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl fmt::Display for Service {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(destination) => destination.fmt(out),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

impl Service {
    /// Reads `host:port` or `unix:/path`.
    ///
    /// # Errors
    /// The reason why the text is not accepted.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some(path) if path.starts_with('/') && !path.contains('\0') => Ok(Self::Unix(PathBuf::from(path))),
            Some(_) => Err(format!("{text:?} is not an absolute path")),
            None => Destination::parse(text, None).map(Self::Tcp),
        }
    }

    pub(crate) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Unix(path) => Box::new(within(CONNECT, UnixStream::connect(path)).await?),
            Self::Tcp(Destination { host, port }) => Box::new(match host {
                Host::Address(address) => within(CONNECT, TcpStream::connect((*address, *port))).await?,
                Host::Name(name) => within(CONNECT, TcpStream::connect((name.as_str(), *port))).await?,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_look_up_keeps_its_place_to_its_end() {
        let reach = Reach::new(Arc::default());
        let slow = || async {
            tokio::time::sleep(3 * RESOLVE).await;
            Ok(())
        };
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..LOOKUPS {
            let reach = reach.clone();
            all.spawn(async move { within(RESOLVE, reach.in_turn(slow())).await });
        }
        while let Some(late) = all.join_next().await {
            assert_eq!(
                late.expect("no panic").expect_err("late").kind(),
                io::ErrorKind::TimedOut
            );
        }
        let free = || reach.lookups.available_permits();
        assert_eq!(free(), 0);
        tokio::time::sleep(3 * RESOLVE).await;
        assert_eq!(free(), LOOKUPS);
        reach.in_turn(async { Ok(()) }).await.expect("there is a place");
    }
}
