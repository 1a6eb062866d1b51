//! Runs with a key: they are sent, cancelled and fetched again, and every possible end has an outcome.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::{CancelRequest, MAX_MESSAGE_BYTES, RunOnceRequest, RunOnceResult};
use prost::Message;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::{Response, Status};

use crate::ClientError;
use crate::call::{EXIT_NOTICE, MAX_ATTEMPTS};
use crate::client::{Client, Shared};
use crate::connection::Connection;
use crate::node::{Node, Patience, Work};
use crate::outcome::{Infra, RunOutcome};
use crate::status::{Verdict, verdict};

/// Longest wait for a slot when the request has none.
pub(crate) const DEFAULT_QUEUE_MS: u64 = 30_000;
/// The daemon's default wall-clock limit, which the client needs for its own deadline.
pub(crate) const DEFAULT_WALL_MS: u64 = 10_000;
/// Time on top of the run's own limits for setting up, transfers and tearing down. It is generous, because a late result is still true.
pub(crate) const GRACE: Duration = Duration::from_secs(60);
/// A cancelled run must end within this time.
pub(crate) const CANCEL_DEADLINE: Duration = Duration::from_secs(10);
/// A cancellation can overtake its request, so it is repeated, after this pause, until the daemon knows the run.
const CANCEL_RETRY: Duration = Duration::from_millis(20);
/// Most daemons that are asked to take one run.
const MAX_PLACES: usize = 3;

/// A run in flight: its key, its cancellation and its deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) key: &'a str,
    /// The box of an exec; empty for a run.
    pub(crate) in_box: &'a str,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) deadline: Instant,
}

impl Run<'_> {
    fn cancellation(&self) -> CancelRequest {
        CancelRequest {
            idempotency_key: self.key.to_owned(),
            r#box: self.in_box.to_owned(),
        }
    }
}

/// The result of sending a run to one daemon.
pub(crate) enum Placed {
    /// The run has ended.
    Ended(Box<RunOutcome>),
    /// It never began there.
    Elsewhere(Box<RunOutcome>),
}

impl Client {
    /// Runs one command in a fresh sandbox. `cancel` kills it.
    ///
    /// `request.idempotency_key` must be set: a key runs at most once in the life of a daemon. If a daemon is full, stops or does not
    /// answer before it has the run, another one is tried.
    ///
    /// # Errors
    /// Only mistakes of the caller: [`ClientError::Request`], [`ClientError::Isolation`], [`ClientError::Auth`],
    /// [`ClientError::Closed`].
    pub async fn run_once(
        &self,
        mut request: RunOnceRequest,
        cancel: &CancellationToken,
    ) -> Result<RunOutcome, ClientError> {
        let shared = &self.shared;
        let _running = shared.enter()?;
        check_key(&request.idempotency_key)?;
        check(&request)?;
        let queue_ms = *request.queue_ms.get_or_insert(DEFAULT_QUEUE_MS);
        let run = Run {
            key: &request.idempotency_key,
            in_box: "",
            cancel,
            deadline: deadline(queue_ms, request.limits.as_ref().and_then(|limits| limits.wall_ms)),
        };
        let mut tried = Vec::new();
        let mut last = RunOutcome::infra(Infra::ConnectionLost, "no daemon is known");
        while let Some(node) = shared
            .fleet
            .pick(Work::Run, &tried)
            .filter(|_| tried.len() < MAX_PLACES)
        {
            let send = |connection: Arc<Connection>, again: Option<String>| {
                let mut sent = request.clone();
                // This is set on a repetition only; the daemon then refuses a run that another daemon process may have run.
                sent.instance_id = again.unwrap_or_default();
                async move { connection.sandboxes().run_once(sent).await }
            };
            match shared.run_on(&node, None, run, send).await? {
                Placed::Ended(outcome) => return Ok(*outcome),
                // An outcome with a time to come back, from a full daemon, is kept before one of a daemon that is gone.
                Placed::Elsewhere(outcome) if last.retry_after.is_none() => last = *outcome,
                Placed::Elsewhere(_) => {}
            }
            tried.push(node);
        }
        Ok(last)
    }
}

/// The time by which a run must have ended by its own limits.
pub(crate) fn deadline(queue_ms: u64, wall_ms: Option<u64>) -> Instant {
    Instant::now() + Duration::from_millis(queue_ms.saturating_add(wall_ms.unwrap_or(DEFAULT_WALL_MS))) + GRACE
}

impl Shared {
    /// Runs on this daemon, and only in the process `instance` if that is given. `send` gets the instance that may have received the run
    /// already.
    pub(crate) async fn run_on<F>(
        &self,
        node: &Arc<Node>,
        instance: Option<&str>,
        run: Run<'_>,
        send: impl Fn(Arc<Connection>, Option<String>) -> F,
    ) -> Result<Placed, ClientError>
    where
        F: Future<Output = Result<Response<RunOnceResult>, Status>>,
    {
        let _busy = node.enter();
        let ended = |outcome| Ok(Placed::Ended(Box::new(outcome)));
        let first_try = if self.has_alternatives() && instance.is_none() {
            Patience::FirstTry
        } else {
            Patience::Reconnect
        };
        let mut sent_to: Option<String> = None;
        let mut lost = String::new();
        for _ in 0..MAX_ATTEMPTS {
            if sent_to.is_none() && run.cancel.is_cancelled() {
                return ended(RunOutcome::cancelled("cancelled before it was sent"));
            }
            let patience = if sent_to.is_some() {
                Patience::Reconnect
            } else {
                first_try
            };
            let connection = match timeout_at(run.deadline, node.connection(patience)).await {
                Ok(Ok(connection)) => connection,
                Ok(Err(error @ ClientError::Unreachable { .. })) => {
                    let outcome = Box::new(without_connection(node, &error, &lost).await);
                    if sent_to.is_some() {
                        return Ok(Placed::Ended(outcome));
                    }
                    if first_try == Patience::FirstTry {
                        node.put_out();
                    }
                    return Ok(Placed::Elsewhere(outcome));
                }
                Ok(Err(error)) => return Err(error),
                Err(_) => break,
            };
            let expected = sent_to.as_deref().or(instance);
            if expected.is_some_and(|expected| expected != connection.instance_id()) {
                let reason = "the daemon was restarted while the run was in flight; whether it took place is not known";
                return ended(RunOutcome::infra(Infra::DaemonRestarted, reason));
            }
            let again = sent_to.replace(connection.instance_id().to_owned());
            let is_first = again.is_none();
            let call = send(Arc::clone(&connection), again);
            match self.attempt(node, &connection, call, run).await {
                Verdict::Ended(outcome) if is_first && outcome.never_began() => {
                    if outcome.result.error_code == Infra::Draining.code() && self.has_alternatives() {
                        node.put_out();
                    }
                    return Ok(Placed::Elsewhere(outcome));
                }
                Verdict::Ended(outcome) => return Ok(Placed::Ended(outcome)),
                Verdict::Refused(error) => return Err(error),
                Verdict::NotSent(reason) => {
                    connection.mark_lost();
                    lost = reason;
                    if is_first {
                        sent_to = None;
                    }
                }
                Verdict::Lost(reason) => {
                    tracing::debug!(%reason, "lost the connection to the sandbox daemon");
                    connection.mark_lost();
                    lost = reason;
                }
            }
            // A run that was never sent and is for any process goes to the next daemon.
            if let Some(exit) = connection.exit(EXIT_NOTICE).await
                && (sent_to.is_some() || instance.is_some())
            {
                return ended(RunOutcome::infra(Infra::DaemonExited, exit));
            }
        }
        ended(RunOutcome::infra(
            Infra::ConnectionLost,
            format!("the connection to the daemon broke: {lost}"),
        ))
    }

    /// Sends the run once and waits for its end.
    async fn attempt(
        &self,
        node: &Node,
        connection: &Connection,
        call: impl Future<Output = Result<Response<RunOnceResult>, Status>>,
        run: Run<'_>,
    ) -> Verdict {
        let mut call = pin!(async {
            match call.await {
                Ok(reply) => {
                    node.heard(reply.metadata());
                    Verdict::Ended(Box::new(RunOutcome::finished(reply.into_inner())))
                }
                Err(status) => {
                    node.heard(status.metadata());
                    verdict(&status)
                }
            }
        });
        tokio::select! {
                    ended = &mut call => return ended,
                    () = run.cancel.cancelled() => {}
                    () = self.closing.cancelled() => {}
                    () = sleep_until(run.deadline) => {
                        // No caller waits for the run any more, so it must end. It may have ended before, so the outcome is not CANCELLED.
        let _ = timeout(CANCEL_RETRY, connection.sandboxes().cancel(run.cancellation())).await;
                        return late("no result within the run's own limits and the grace on top");
                    }
                }
        tokio::select! {
            ended = call => ended,
            never = kill(connection, run) => match never {},
            () = sleep(CANCEL_DEADLINE) => late("the daemon did not confirm the cancellation in time"),
        }
    }

    /// Whether work can be given to another daemon.
    pub(crate) fn has_alternatives(&self) -> bool {
        self.fleet.nodes().len() > 1
    }
}

async fn without_connection(node: &Node, error: &ClientError, lost: &str) -> RunOutcome {
    if node.exit().await.is_some() {
        return RunOutcome::infra(Infra::DaemonExited, error.to_string());
    }
    let before = if lost.is_empty() {
        String::new()
    } else {
        format!("{lost}; then ")
    };
    RunOutcome::infra(Infra::ConnectionLost, format!("{before}{error}"))
}

/// Asks for the kill until the daemon knows the run, then never returns: the run's result says how it ended.
async fn kill(connection: &Connection, run: Run<'_>) -> Infallible {
    loop {
        if matches!(connection.sandboxes().cancel(run.cancellation()).await, Ok(reply) if reply.get_ref().found) {
            return pending().await;
        }
        sleep(CANCEL_RETRY).await;
    }
}

fn late(reason: &str) -> Verdict {
    Verdict::Ended(Box::new(RunOutcome::infra(Infra::Deadline, reason)))
}

/// Finds mistakes in a request before it is sent.
pub(crate) fn check(request: &RunOnceRequest) -> Result<(), ClientError> {
    if request.command.is_empty() {
        return Err(ClientError::Request("the command is empty".to_owned()));
    }
    check_size(request)
}

pub(crate) fn check_key(key: &str) -> Result<(), ClientError> {
    if key.is_empty() {
        return Err(ClientError::Request("it has no idempotency key".to_owned()));
    }
    Ok(())
}

pub(crate) fn check_size(request: &impl Message) -> Result<(), ClientError> {
    let bytes = request.encoded_len();
    if bytes > MAX_MESSAGE_BYTES {
        return Err(ClientError::Request(format!(
            "stdin and files make {bytes} bytes, more than the {MAX_MESSAGE_BYTES} of one request"
        )));
    }
    Ok(())
}
