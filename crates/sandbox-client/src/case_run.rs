//! Many tests of one program in one sandbox.

use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::run_tests_event::Event;
use prl_sandbox_proto::{RunOnceResult, RunTestsEnd, RunTestsRequest};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::Streaming;

use crate::client::{Client, Shared};
use crate::error::{CANCELLED, ClientError};
use crate::node::{Node, Patience, Work};
use crate::outcome::{Infra, RunOutcome};
use crate::run::{self, DEFAULT_QUEUE_MS, DEFAULT_WALL_MS, GRACE};
use crate::status::{Verdict, verdict};

/// Most results that wait for a slow reader; then the daemon waits.
const WAITING_RESULTS: usize = 16;
/// Most daemons that are asked to take one request.
const MAX_PLACES: usize = 3;

/// An event of a run of tests.
#[derive(Debug)]
pub enum TestEvent {
    /// The build has ended. No case is run when it did not exit with 0.
    Build(RunOutcome),
    /// A case has ended.
    Case {
        /// Index in the request.
        index: usize,
        /// How it ended.
        outcome: RunOutcome,
    },
    /// The last event. If cases have no result, because they were not begun or did not end, it has the reason.
    End(Option<RunOutcome>),
}

/// A run of tests; dropping it kills it.
#[derive(Debug)]
pub struct TestRun {
    events: mpsc::Receiver<Result<TestEvent, ClientError>>,
}

impl TestRun {
    /// The next event; `None` after [`TestEvent::End`] or an error.
    ///
    /// # Errors
    /// Only mistakes of the caller, as for [`Client::run_once`], and only as the first event.
    pub async fn next(&mut self) -> Option<Result<TestEvent, ClientError>> {
        self.events.recv().await
    }
}

/// How a stream of results ended.
enum End {
    Last(TestEvent),
    Refused(ClientError),
    /// There was no result, so another daemon can be asked.
    Elsewhere(RunOutcome),
    /// The reader is gone.
    Unwanted,
}

impl Client {
    /// Runs a program against cases, each in a new process on a clean writable layer, all in one sandbox. `cancel` kills it.
    ///
    /// The request is never sent again once a daemon may have begun it; cases without a result are INFRA then. Without an idempotency key
    /// the daemon begins a case again when its sandbox was lost.
    ///
    /// # Errors
    /// [`ClientError::Request`], [`ClientError::Closed`].
    pub fn run_tests(&self, mut request: RunTestsRequest, cancel: CancellationToken) -> Result<TestRun, ClientError> {
        let running = self.shared.enter()?;
        let inner = request.request.get_or_insert_default();
        inner.queue_ms.get_or_insert(DEFAULT_QUEUE_MS);
        run::check(inner)?;
        run::check_size(&request)?;
        let (results, events) = mpsc::channel(WAITING_RESULTS);
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            let last = match shared.tests(&request, &cancel, &results).await {
                End::Last(event) => Ok(event),
                End::Refused(error) => Err(error),
                End::Elsewhere(outcome) => Ok(TestEvent::End(Some(outcome))),
                End::Unwanted => return,
            };
            drop(running);
            // This fails when the reader is gone.
            let _ = results.send(last).await;
        });
        Ok(TestRun { events })
    }
}

type Results = mpsc::Sender<Result<TestEvent, ClientError>>;

impl Shared {
    async fn tests(&self, request: &RunTestsRequest, cancel: &CancellationToken, results: &Results) -> End {
        let until = deadline(request);
        let mut tried = Vec::new();
        let mut last = End::Elsewhere(RunOutcome::infra(Infra::ConnectionLost, "no daemon is known"));
        while let Some(node) = self.fleet.pick(Work::Run, &tried).filter(|_| tried.len() < MAX_PLACES) {
            last = tokio::select! {
                end = self.tests_on(&node, request, until, results) => end,
                () = cancel.cancelled() => return cancelled("cancelled"),
                () = self.closing.cancelled() => return cancelled("the pool is closed"),
                () = results.closed() => return End::Unwanted,
                () = sleep_until(until) => {
                    let reason = "no end within the cases' own limits and the grace on top";
                    return End::Last(TestEvent::End(Some(RunOutcome::infra(Infra::Deadline, reason))));
                }
            };
            if !matches!(last, End::Elsewhere(_)) {
                return last;
            }
            tried.push(node);
        }
        last
    }

    async fn tests_on(&self, node: &Arc<Node>, request: &RunTestsRequest, until: Instant, results: &Results) -> End {
        let _busy = node.enter();
        let patience = if self.has_alternatives() {
            Patience::FirstTry
        } else {
            Patience::Reconnect
        };
        let mut connection = match timeout_at(until, node.connection(patience)).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(ClientError::Unreachable { reason, .. })) => {
                if self.has_alternatives() {
                    node.put_out();
                }
                let infra = if node.exit().await.is_some() {
                    Infra::DaemonExited
                } else {
                    Infra::ConnectionLost
                };
                return End::Elsewhere(RunOutcome::infra(infra, reason));
            }
            Ok(Err(error)) => return End::Refused(error),
            Err(_) => return End::Elsewhere(RunOutcome::infra(Infra::Deadline, "no connection in time")),
        };
        let mut opened = connection.sandboxes().run_tests(request.clone()).await;
        if let Err(status) = &opened
            && matches!(verdict(status), Verdict::NotSent(_))
        {
            connection.mark_lost();
            connection = match node.connection(patience).await {
                Ok(connection) => connection,
                Err(error) => return End::Elsewhere(RunOutcome::infra(Infra::ConnectionLost, error.to_string())),
            };
            opened = connection.sandboxes().run_tests(request.clone()).await;
        }
        let (status, began) = match opened {
            Ok(reply) => match pass_on(node, reply.into_inner(), results).await {
                Ok(end) => return end,
                Err(broken) => broken,
            },
            Err(status) => (status, false),
        };
        node.heard(status.metadata());
        let outcome = match verdict(&status) {
            Verdict::Refused(error) if !began => return End::Refused(error),
            Verdict::Refused(error) => RunOutcome::infra(Infra::Protocol, error.to_string()),
            Verdict::Ended(outcome) if !began && outcome.never_began() => {
                if outcome.result.error_code == Infra::Draining.code() && self.has_alternatives() {
                    node.put_out();
                }
                return End::Elsewhere(*outcome);
            }
            Verdict::Ended(outcome) => *outcome,
            Verdict::Lost(reason) | Verdict::NotSent(reason) => {
                connection.mark_lost();
                match connection.exit(crate::call::EXIT_NOTICE).await {
                    Some(exit) => RunOutcome::infra(Infra::DaemonExited, exit),
                    None => RunOutcome::infra(Infra::ConnectionLost, reason),
                }
            }
        };
        End::Last(TestEvent::End(Some(outcome)))
    }
}

/// Passes results on until the end; an error says whether there was any result.
async fn pass_on(
    node: &Node,
    mut stream: Streaming<prl_sandbox_proto::RunTestsEvent>,
    results: &Results,
) -> Result<End, (tonic::Status, bool)> {
    let mut began = false;
    loop {
        let Some(message) = stream.message().await.map_err(|status| (status, began))? else {
            // A stream without an end record is not complete, even if the transport reports success.
            let status = tonic::Status::unknown("the stream ended without an end record");
            return Err((status, began));
        };
        began = true;
        let event = match message.event {
            Some(Event::Build(result)) => TestEvent::Build(RunOutcome::finished(result)),
            Some(Event::Case(case)) => TestEvent::Case {
                index: usize::try_from(case.index).unwrap_or(usize::MAX),
                outcome: RunOutcome::finished(case.result.unwrap_or_default()),
            },
            Some(Event::End(end)) => {
                if let Ok(Some(trailers)) = stream.trailers().await {
                    node.heard(&trailers);
                }
                return Ok(End::Last(TestEvent::End(why(end))));
            }
            // An event of a later version of the protocol is skipped.
            None => continue,
        };
        if results.send(Ok(event)).await.is_err() {
            return Ok(End::Unwanted);
        }
    }
}

/// The reason if cases have no result.
fn why(end: RunTestsEnd) -> Option<RunOutcome> {
    match end.error_code.as_str() {
        "" => None,
        CANCELLED => Some(RunOutcome::cancelled(end.reason)),
        _ => Some(RunOutcome {
            result: RunOnceResult {
                cause: prl_sandbox_proto::Cause::Infra.into(),
                error_code: end.error_code,
                reason: end.reason,
                ..RunOnceResult::default()
            },
            retry_after: None,
        }),
    }
}

fn cancelled(reason: &str) -> End {
    End::Last(TestEvent::End(Some(RunOutcome::cancelled(reason))))
}

/// The time by which every case and the build must have ended by their own limits.
fn deadline(request: &RunTestsRequest) -> Instant {
    let inner = request.request.clone().unwrap_or_default();
    let wall = |limits: Option<&prl_sandbox_proto::Limits>| {
        limits.and_then(|limits| limits.wall_ms).unwrap_or(DEFAULT_WALL_MS)
    };
    let cases = u64::try_from(request.cases.len()).unwrap_or(u64::MAX);
    let runs = wall(inner.limits.as_ref()).saturating_mul(cases);
    let build = if request.build.is_empty() {
        0
    } else {
        wall(request.build_limits.as_ref())
    };
    let total = inner
        .queue_ms
        .unwrap_or_default()
        .saturating_add(runs)
        .saturating_add(build);
    // Far beyond any real run, and within what the clock can add.
    Instant::now() + Duration::from_millis(total.min(1 << 40)) + GRACE
}
