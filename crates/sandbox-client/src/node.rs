//! One daemon as a client sees it: its connection, its load, and whether it gets new work.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use prl_sandbox_proto::{LOAD_KEY, Load};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::metadata::MetadataMap;

use crate::connection::Connection;
use crate::credentials::Credentials;
use crate::ending::Ending;
use crate::{Address, ClientError, EmbeddedDaemon};

/// Deadline for reconnecting.
pub(crate) const RECONNECT_DEADLINE: Duration = Duration::from_secs(5);
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
/// Deadline for a connection when another daemon can be asked instead.
const FIRST_TRY_DEADLINE: Duration = Duration::from_secs(2);
/// For this time after the client gave up on the daemon, it makes one try only.
const GIVEN_UP: Duration = Duration::from_secs(10);
/// Pause after the first failure; it doubles with each further one.
const FIRST_BACKOFF: Duration = Duration::from_millis(200);
const LONGEST_BACKOFF: Duration = Duration::from_secs(10);

/// How long to try for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Try for long: no other daemon can be asked.
    Reconnect,
    /// Try shortly: another daemon can be asked.
    FirstTry,
}

/// The kind of work for a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A run, which ends.
    Run,
    /// A box, which stays.
    Hold,
}

/// One daemon.
#[derive(Debug)]
pub(crate) struct Node {
    address: Address,
    credentials: Credentials,
    daemon: Option<EmbeddedDaemon>,
    line: tokio::sync::Mutex<Line>,
    standing: Mutex<Standing>,
    /// Runs of this client on the daemon.
    ours: AtomicU32,
}

/// The state of the connection to the daemon.
#[derive(Debug, Default)]
struct Line {
    connection: Option<Arc<Connection>>,
    /// When and why the client gave up on it.
    given_up: Option<(Instant, String)>,
}

#[derive(Debug, Default)]
struct Standing {
    /// Runs of other clients, by the last report.
    others: u32,
    /// Boxes, by the last report.
    held: u32,
    /// Most runs at the same time; `None` before the first report.
    capacity: Option<u32>,
    /// The daemon gets no new work; a probe checks when that can change.
    is_out: bool,
}

/// Counts a run of this client for as long as it lives.
pub(crate) struct Busy<'a>(&'a Node);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.ours.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Node {
    pub(crate) fn new(address: Address, credentials: Credentials, daemon: Option<EmbeddedDaemon>) -> Arc<Self> {
        Arc::new(Self {
            address,
            credentials,
            daemon,
            line: tokio::sync::Mutex::default(),
            standing: Mutex::default(),
            ours: AtomicU32::new(0),
        })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn daemon(&self) -> Option<&EmbeddedDaemon> {
        self.daemon.as_ref()
    }

    pub(crate) fn enter(&self) -> Busy<'_> {
        self.ours.fetch_add(1, Ordering::Relaxed);
        Busy(self)
    }

    /// The open connection, or a new one. All callers that wait for a lost connection give up together.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], [`ClientError::Auth`], [`ClientError::Address`].
    pub(crate) async fn connection(&self, patience: Patience) -> Result<Arc<Connection>, ClientError> {
        let asked = Instant::now();
        let mut line = self.line.lock().await;
        if let Some(connection) = line.connection.as_ref().filter(|connection| !connection.is_lost()) {
            return Ok(Arc::clone(connection));
        }
        line.connection = None;
        let mut patience = patience;
        match &line.given_up {
            Some((at, reason)) if *at > asked => return Err(self.unreachable(reason.clone())),
            // An embedded daemon is started again, or reports at once that it is not.
            Some((at, _)) if at.elapsed() < GIVEN_UP && self.daemon.is_none() => patience = Patience::FirstTry,
            _ => {}
        }
        let opened = self.open(patience).await;
        match &opened {
            Ok(connection) => {
                *line = Line {
                    connection: Some(Arc::clone(connection)),
                    given_up: None,
                };
            }
            Err(ClientError::Unreachable { reason, .. }) => line.given_up = Some((Instant::now(), reason.clone())),
            Err(_) => {}
        }
        opened
    }

    async fn open(&self, patience: Patience) -> Result<Arc<Connection>, ClientError> {
        let limit = match patience {
            Patience::Reconnect => RECONNECT_DEADLINE,
            Patience::FirstTry => FIRST_TRY_DEADLINE,
        };
        let mut until = Instant::now() + limit;
        loop {
            let ending = self.daemon.as_ref().map(EmbeddedDaemon::ending);
            if let (Some(daemon), Some(true)) = (&self.daemon, ending.as_ref().map(Ending::is_over)) {
                daemon.revive().await?;
                until = Instant::now() + limit;
                continue;
            }
            let error = match timeout_at(until, Connection::open(&self.address, &self.credentials)).await {
                // The process of this connection has ended meanwhile; the next one may be up.
                Ok(Ok(_)) if ending.as_ref().is_some_and(Ending::is_over) => continue,
                Ok(Ok(connection)) => return Ok(Arc::new(connection.watching(ending))),
                Ok(Err(error)) => error,
                Err(_) => self.unreachable(format!("no answer within {} ms", limit.as_millis())),
            };
            let can_change = matches!(error, ClientError::Unreachable { .. });
            if patience == Patience::FirstTry || !can_change || Instant::now() + RECONNECT_PAUSE >= until {
                return Err(error);
            }
            sleep(RECONNECT_PAUSE).await;
        }
    }

    pub(crate) async fn disconnect(&self) {
        self.line.lock().await.connection = None;
    }

    pub(crate) fn unreachable(&self, reason: String) -> ClientError {
        ClientError::Unreachable {
            address: self.address.to_string(),
            reason,
        }
    }

    /// How the embedded daemon's process ended, if it has.
    pub(crate) async fn exit(&self) -> Option<String> {
        self.daemon.as_ref()?.ending().within(Duration::ZERO).await
    }

    /// Records the daemon's load from a reply.
    pub(crate) fn heard(&self, metadata: &MetadataMap) {
        let Some(Ok(text)) = metadata.get(LOAD_KEY).map(|value| value.to_str()) else {
            return;
        };
        let Ok(load) = text.parse::<Load>();
        let ours = self.ours.load(Ordering::Relaxed);
        let mut standing = self.standing();
        standing.others = load.running.saturating_add(load.queued).saturating_sub(ours);
        standing.held = load.held;
        standing.capacity = Some(load.capacity);
        // It answers and has room, so it is no longer out.
        standing.is_out &= load.capacity == 0;
    }

    /// How busy the daemon is, by the last report about other clients and by this client's own runs. Smaller is better.
    pub(crate) fn pressure(&self, work: Work) -> f64 {
        let standing = self.standing();
        let runs = f64::from(standing.others) + f64::from(self.ours.load(Ordering::Relaxed));
        match (work, standing.capacity) {
            // The daemon stops.
            (_, Some(0)) => f64::INFINITY,
            // Most boxes are idle most of the time, so they are spread by their number.
            (Work::Hold, _) => runs + f64::from(standing.held),
            (Work::Run, capacity) => runs / f64::from(capacity.unwrap_or(1)),
        }
    }

    pub(crate) fn is_out(&self) -> bool {
        self.standing().is_out
    }

    /// Gives the daemon no new work until it answers that it takes work. Its present work continues.
    pub(crate) fn put_out(self: &Arc<Self>) {
        if std::mem::replace(&mut self.standing().is_out, true) {
            return;
        }
        tracing::warn!(address = %self.address, "the sandbox daemon gets no new work for now");
        tokio::spawn(probe(Arc::downgrade(self)));
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks a daemon that is out until it takes work again or no client needs it any more.
async fn probe(node: Weak<Node>) {
    let mut backoff = FIRST_BACKOFF;
    loop {
        // The pause is random, so that clients that lost a daemon at the same time do not ask it again at the same time.
        sleep(backoff.mul_f64(0.5 + fastrand::f64())).await;
        let Some(node) = node.upgrade().filter(|node| node.is_out()) else {
            return;
        };
        let asked = timeout(FIRST_TRY_DEADLINE, Connection::open(&node.address, &node.credentials)).await;
        if asked.is_ok_and(|asked| asked.is_ok_and(|connection| connection.was_serving())) {
            node.standing().is_out = false;
            tracing::info!(address = %node.address, "the sandbox daemon takes work again");
            return;
        }
        backoff = (backoff * 2).min(LONGEST_BACKOFF);
    }
}
