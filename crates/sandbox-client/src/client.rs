//! Runs against one daemon, over one connection, with every end accounted for.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::{
    CancelRequest, CapabilitiesReply, CapabilitiesRequest, HealthReply, HealthRequest, MAX_MESSAGE_BYTES,
    RunOnceRequest,
};
use prost::Message;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::connection::{Bearer, Connection};
use crate::outcome::{Infra, RunOutcome, Verdict, verdict};
use crate::{Address, ClientError, EmbeddedDaemon};

/// Longest wait for a slot when the request does not say.
const DEFAULT_QUEUE_MS: u64 = 30_000;
/// The daemon's default; only for the client's own deadline.
const DEFAULT_WALL_MS: u64 = 10_000;
/// On top of the run's own limits: setting up, transfers, tearing down. Generous, for a result that is late is still the truth.
const GRACE: Duration = Duration::from_secs(60);
/// A run that was cancelled has to end within this.
const CANCEL_DEADLINE: Duration = Duration::from_secs(10);
/// A cancellation can overtake the request that it is for; it is repeated until the daemon knows the run.
const CANCEL_RETRY: Duration = Duration::from_millis(20);
/// Sendings of one key, lost replies included.
const MAX_ATTEMPTS: u32 = 4;
/// For a connection, and for getting a lost one back.
const RECONNECT_DEADLINE: Duration = Duration::from_secs(5);
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
/// For calls that only ask.
const QUERY_DEADLINE: Duration = Duration::from_secs(10);
/// How long after a broken connection the embedded daemon's exit may be noticed.
const EXIT_NOTICE: Duration = Duration::from_secs(2);

/// How to reach a daemon that runs already.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// Bearer token; none is needed on a Unix socket.
    pub token: Option<String>,
    /// Longest wait for the first connection; `None` is 5 s.
    pub connect_timeout: Option<Duration>,
}

/// A client of one daemon. Cheap to share; [`Client::close`] ends it.
#[derive(Debug)]
pub struct Client {
    address: Address,
    bearer: Bearer,
    connection: Mutex<Option<Arc<Connection>>>,
    daemon: Option<EmbeddedDaemon>,
    closing: CancellationToken,
    running: watch::Sender<usize>,
}

/// Counts a run for as long as it lives.
struct Running<'a>(&'a watch::Sender<usize>);

impl<'a> Running<'a> {
    fn enter(running: &'a watch::Sender<usize>) -> Self {
        running.send_modify(|count| *count += 1);
        Self(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Client {
    /// Connects to a daemon that runs already.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], [`ClientError::Auth`].
    pub async fn connect(address: Address, options: ConnectOptions) -> Result<Self, ClientError> {
        let bearer = Bearer::new(options.token.as_deref())?;
        let limit = options.connect_timeout.unwrap_or(RECONNECT_DEADLINE);
        let connection = timeout(limit, Connection::open(&address, &bearer))
            .await
            .map_err(|_| ClientError::Unreachable {
                address: address.to_string(),
                reason: format!("no answer within {} ms", limit.as_millis()),
            })??;
        Ok(Self::new(address, bearer, connection, None))
    }

    /// The client of a daemon that ends with it.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`].
    pub async fn embedded(daemon: EmbeddedDaemon) -> Result<Self, ClientError> {
        let address = Address::Unix(daemon.socket().to_owned());
        let bearer = Bearer::new(None)?;
        let connection = Connection::open(&address, &bearer).await?;
        Ok(Self::new(address, bearer, connection, Some(daemon)))
    }

    fn new(address: Address, bearer: Bearer, connection: Connection, daemon: Option<EmbeddedDaemon>) -> Self {
        Self {
            address,
            bearer,
            connection: Mutex::new(Some(Arc::new(connection))),
            daemon,
            closing: CancellationToken::new(),
            running: watch::Sender::new(0),
        }
    }

    /// Process id of the embedded daemon.
    pub fn daemon_pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(EmbeddedDaemon::pid)
    }

    /// Runs one command in a sandbox of its own. `cancel` kills it.
    ///
    /// `request.idempotency_key` must be set: a key runs at most once in the life of a daemon.
    ///
    /// # Errors
    /// Only mistakes of the caller: [`ClientError::Request`], [`ClientError::Isolation`], [`ClientError::Auth`],
    /// [`ClientError::Closed`].
    pub async fn run_once(
        &self,
        mut request: RunOnceRequest,
        cancel: &CancellationToken,
    ) -> Result<RunOutcome, ClientError> {
        if self.closing.is_cancelled() {
            return Err(ClientError::Closed);
        }
        check(&request)?;
        let _running = Running::enter(&self.running);
        let queue_ms = *request.queue_ms.get_or_insert(DEFAULT_QUEUE_MS);
        let wall_ms = request
            .limits
            .as_ref()
            .and_then(|limits| limits.wall_ms)
            .unwrap_or(DEFAULT_WALL_MS);
        let deadline = Instant::now() + Duration::from_millis(queue_ms.saturating_add(wall_ms)) + GRACE;
        let mut sent_to: Option<String> = None;
        let mut lost = String::new();
        for attempt in 0..MAX_ATTEMPTS {
            if attempt == 0 && cancel.is_cancelled() {
                return Ok(RunOutcome::cancelled("cancelled before it was sent"));
            }
            let connection = match timeout_at(deadline, self.connection()).await {
                Ok(Ok(connection)) => connection,
                Ok(Err(error @ ClientError::Auth(_))) => return Err(error),
                Ok(Err(error)) => return Ok(self.without_connection(&error, &lost).await),
                Err(_) => break,
            };
            if sent_to
                .as_deref()
                .is_some_and(|sent_to| sent_to != connection.instance_id())
            {
                let reason = "the daemon was restarted while the run was in flight; whether it took place is not known";
                return Ok(RunOutcome::infra(Infra::DaemonRestarted, reason));
            }
            let mut sent = request.clone();
            // Set on a repetition only; the daemon then refuses to run what another daemon may have run.
            sent.instance_id = sent_to.unwrap_or_default();
            sent_to = Some(connection.instance_id().to_owned());
            match self.attempt(&connection, sent, cancel, deadline).await {
                Verdict::Ended(outcome) => return Ok(*outcome),
                Verdict::Refused(error) => return Err(error),
                Verdict::Lost(reason) => {
                    tracing::debug!(attempt, %reason, "lost the connection to the sandbox daemon");
                    connection.mark_lost();
                    lost = reason;
                }
            }
            if let Some(exit) = self.daemon_exit(EXIT_NOTICE).await {
                return Ok(RunOutcome::infra(Infra::DaemonExited, exit));
            }
        }
        Ok(RunOutcome::infra(
            Infra::ConnectionLost,
            format!("the connection to the daemon broke: {lost}"),
        ))
    }

    /// Sends the request once and waits for its end, whatever that is.
    async fn attempt(
        &self,
        connection: &Connection,
        request: RunOnceRequest,
        cancel: &CancellationToken,
        deadline: Instant,
    ) -> Verdict {
        let key = request.idempotency_key.clone();
        let mut stub = connection.stub();
        let mut call = pin!(async move {
            match stub.run_once(request).await {
                Ok(reply) => Verdict::Ended(Box::new(RunOutcome::finished(reply.into_inner()))),
                Err(status) => verdict(&status),
            }
        });
        tokio::select! {
            ended = &mut call => return ended,
            () = cancel.cancelled() => {}
            () = self.closing.cancelled() => {}
            () = sleep_until(deadline) => {
                // Nobody waits for it any more, so it has to end; that it may already have is why this is no CANCELLED.
                let _ = timeout(CANCEL_RETRY, connection.stub().cancel(CancelRequest { idempotency_key: key })).await;
                return late("no result within the run's own limits and the grace on top");
            }
        }
        tokio::select! {
            ended = call => ended,
            never = kill(connection, key) => match never {},
            () = sleep(CANCEL_DEADLINE) => late("the daemon did not confirm the cancellation in time"),
        }
    }

    /// The open connection, or a new one.
    async fn connection(&self) -> Result<Arc<Connection>, ClientError> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| !connection.is_lost()) {
            return Ok(Arc::clone(connection));
        }
        *slot = None;
        let until = Instant::now() + RECONNECT_DEADLINE;
        loop {
            if let Some(exit) = self.daemon_exit(Duration::ZERO).await {
                return Err(ClientError::Unreachable {
                    address: self.address.to_string(),
                    reason: exit,
                });
            }
            let error = match timeout_at(until, Connection::open(&self.address, &self.bearer)).await {
                Ok(Ok(connection)) => return Ok(Arc::clone(slot.insert(Arc::new(connection)))),
                Ok(Err(error)) => error,
                Err(_) => ClientError::Unreachable {
                    address: self.address.to_string(),
                    reason: format!("no answer within {} ms", RECONNECT_DEADLINE.as_millis()),
                },
            };
            if matches!(error, ClientError::Auth(_)) || Instant::now() + RECONNECT_PAUSE >= until {
                return Err(error);
            }
            sleep(RECONNECT_PAUSE).await;
        }
    }

    async fn without_connection(&self, error: &ClientError, lost: &str) -> RunOutcome {
        if let Some(exit) = self.daemon_exit(Duration::ZERO).await {
            return RunOutcome::infra(Infra::DaemonExited, exit);
        }
        let before = if lost.is_empty() {
            String::new()
        } else {
            format!("{lost}; then ")
        };
        RunOutcome::infra(Infra::ConnectionLost, format!("{before}{error}"))
    }

    /// How the embedded daemon ended, if it did within `notice`.
    async fn daemon_exit(&self, notice: Duration) -> Option<String> {
        let daemon = self.daemon.as_ref()?;
        let status = timeout(notice, daemon.exited()).await.ok()?;
        Some(format!(
            "the sandbox daemon ended ({status}); the end of its log:\n{}",
            daemon.log_tail()
        ))
    }

    /// What the daemon can enforce and observe.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], [`ClientError::Auth`], [`ClientError::Closed`].
    pub async fn capabilities(&self) -> Result<CapabilitiesReply, ClientError> {
        self.ask(|mut stub| async move { stub.capabilities(CapabilitiesRequest {}).await })
            .await
    }

    /// Whether the daemon takes work, and how busy it is.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], [`ClientError::Auth`], [`ClientError::Closed`].
    pub async fn health(&self) -> Result<HealthReply, ClientError> {
        self.ask(|mut stub| async move { stub.health(HealthRequest {}).await })
            .await
    }

    async fn ask<T, F>(&self, call: impl FnOnce(crate::connection::Stub) -> F) -> Result<T, ClientError>
    where
        F: Future<Output = Result<tonic::Response<T>, tonic::Status>>,
    {
        if self.closing.is_cancelled() {
            return Err(ClientError::Closed);
        }
        let unreachable = |reason: String| ClientError::Unreachable {
            address: self.address.to_string(),
            reason,
        };
        let connection = self.connection().await?;
        match timeout(QUERY_DEADLINE, call(connection.stub())).await {
            Err(_) => Err(unreachable(format!(
                "no answer within {} ms",
                QUERY_DEADLINE.as_millis()
            ))),
            Ok(Ok(reply)) => Ok(reply.into_inner()),
            Ok(Err(status)) => Err(match verdict(&status) {
                Verdict::Refused(error) => error,
                Verdict::Ended(outcome) => unreachable(outcome.result.reason),
                Verdict::Lost(reason) => {
                    connection.mark_lost();
                    match self.daemon_exit(EXIT_NOTICE).await {
                        Some(exit) => unreachable(exit),
                        None => unreachable(reason),
                    }
                }
            }),
        }
    }

    /// Cancels every run, waits for their ends, and stops the embedded daemon. A second call waits for the same.
    pub async fn close(&self) {
        self.closing.cancel();
        let mut running = self.running.subscribe();
        // Every run ends within its cancellation's deadline, so this is bounded by it.
        let _ = timeout(CANCEL_DEADLINE + EXIT_NOTICE, running.wait_for(|&count| count == 0)).await;
        *self.connection.lock().await = None;
        if let Some(daemon) = &self.daemon {
            daemon.stop().await;
        }
    }
}

/// Asks for the kill until the daemon knows the run, then never returns: the run's own result says what became of it.
async fn kill(connection: &Connection, key: String) -> std::convert::Infallible {
    loop {
        let request = CancelRequest {
            idempotency_key: key.clone(),
        };
        if matches!(connection.stub().cancel(request).await, Ok(reply) if reply.get_ref().found) {
            return pending().await;
        }
        sleep(CANCEL_RETRY).await;
    }
}

fn late(reason: &str) -> Verdict {
    Verdict::Ended(Box::new(RunOutcome::infra(Infra::Deadline, reason)))
}

/// What can be seen to be wrong before anything is sent.
fn check(request: &RunOnceRequest) -> Result<(), ClientError> {
    let wrong = |reason: &str| Err(ClientError::Request(reason.to_owned()));
    if request.idempotency_key.is_empty() {
        return wrong("it has no idempotency key");
    }
    if request.command.is_empty() {
        return wrong("the command is empty");
    }
    let bytes = request.encoded_len();
    if bytes > MAX_MESSAGE_BYTES {
        return Err(ClientError::Request(format!(
            "stdin and files make {bytes} bytes, more than the {MAX_MESSAGE_BYTES} of one request"
        )));
    }
    Ok(())
}
