//! Making, finding and closing held sandboxes, and the common part of every call to one.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use prl_sandbox_proto::{Box as BoxInfo, CloseRequest, CreateRequest, ListRequest, SetLifetimeRequest};
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use tonic::{Response, Status};

use super::accept::{Services, accept};
use crate::call::{Manner, QUERY_DEADLINE, Repeat, ask};
use crate::client::{Client, Shared};
use crate::connection::{Boxes, Connection};
use crate::node::{Node, Patience, Work};
use crate::outcome::{Infra, RunOutcome};
use crate::run::{DEFAULT_QUEUE_MS, DEFAULT_WALL_MS, GRACE, check_size};
use crate::status::{Verdict, verdict};
use crate::{CancellationToken, ClientError};

/// The daemon's default.
const DEFAULT_LEASE_MS: u64 = 60_000;
/// Most daemons that are asked to take one box.
const MAX_PLACES: usize = 3;
/// Wall-clock limit for the client's deadlines when a box's limits are not known.
const UNKNOWN_WALL_MS: u64 = 24 * 60 * 60 * 1000;

/// A held sandbox. Clones are the same box. Its lease is renewed as long as one of them exists, and ends the box after that.
#[derive(Debug, Clone)]
pub struct SandboxBox {
    pub(crate) held: Arc<Held>,
}

#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) shared: Arc<Shared>,
    pub(crate) node: Arc<Node>,
    info: BoxInfo,
    /// Wall-clock limit of execs whose request has none.
    pub(crate) wall_ms: u64,
    is_closed: AtomicBool,
    /// Why it is gone; set once.
    ended: OnceLock<RunOutcome>,
    /// Ends, with the last handle, what serves the connections of its programs.
    accepting: OnceLock<DropGuard>,
}

/// The daemons that keep snapshots, by the snapshots' ids.
#[derive(Debug, Default)]
pub(crate) struct SnapshotPlaces(Mutex<HashMap<String, Arc<Node>>>);

impl SnapshotPlaces {
    pub(crate) fn set(&self, id: &str, node: &Arc<Node>) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.insert(id.to_owned(), Arc::clone(node));
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Node>> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(id).cloned()
    }

    pub(crate) fn remove(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

impl Client {
    /// Makes a held sandbox. `request.id` must be chosen by the caller, and never be used again.
    ///
    /// Forwards by the caller lead to services that this process reaches (`to` is `host:port` or `unix:/path`); they work as long as this
    /// handle or a clone of it exists.
    ///
    /// If a daemon is full, stops or does not answer, another one is tried. A box from a snapshot is made on the daemon that keeps the
    /// snapshot. The box's lease is renewed from now on.
    ///
    /// # Errors
    /// Mistakes of the caller as for [`Client::run_once`], and [`ClientError::Refused`]: overloaded, draining, connection lost.
    pub async fn create(&self, mut request: CreateRequest) -> Result<SandboxBox, ClientError> {
        let shared = &self.shared;
        let _running = shared.enter()?;
        if request.id.is_empty() {
            return Err(ClientError::Request("the box has no id".to_owned()));
        }
        check_size(&request)?;
        let services = Services::take(&mut request)?;
        let queue_ms = *request.queue_ms.get_or_insert(DEFAULT_QUEUE_MS);
        let deadline = Duration::from_millis(queue_ms) + GRACE;
        let only = match request.from_snapshot.as_str() {
            "" => None,
            id => Some(shared.snapshot_place(id).await?),
        };
        let mut tried: Vec<Arc<Node>> = Vec::new();
        let mut last = RunOutcome::infra(Infra::ConnectionLost, "no daemon is known").into();
        while tried.len() < MAX_PLACES {
            let node = match &only {
                Some(node) => (tried.is_empty()).then(|| Arc::clone(node)),
                None => shared.fleet.pick(Work::Hold, &tried),
            };
            let Some(node) = node else { break };
            tried.push(Arc::clone(&node));
            let is_choice = only.is_none() && shared.has_alternatives();
            match create_on(&node, &request, deadline, is_choice).await {
                Ok(info) => return Ok(self.hold(node, info, &request, services)),
                Err(error) if is_passed_over(&error) => {
                    let takes_work = error.code() == Infra::Overloaded.code();
                    if is_choice && !takes_work {
                        node.put_out();
                    }
                    last = error;
                }
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn hold(&self, node: Arc<Node>, info: BoxInfo, request: &CreateRequest, services: Services) -> SandboxBox {
        let wall_ms = request.limits.as_ref().and_then(|limits| limits.wall_ms);
        let held = Held::new(&self.shared, node, info, wall_ms.unwrap_or(DEFAULT_WALL_MS));
        self.shared.leases.keep(&held);
        if !services.is_empty() {
            held.accept(services);
        }
        SandboxBox { held }
    }

    /// A box that exists already, by its id; its lease is renewed from now on.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with PRL_SANDBOX_BOX_UNKNOWN; as of [`Client::list`].
    pub async fn open(&self, id: &str) -> Result<SandboxBox, ClientError> {
        let found = self.boxes(HashMap::new()).await?;
        let (node, info) = found.into_iter().find(|(_, info)| info.id == id).ok_or_else(|| {
            ClientError::refused(
                "PRL_SANDBOX_BOX_UNKNOWN",
                format!("no daemon that answers has box {id}"),
                None,
            )
        })?;
        let held = Held::new(&self.shared, node, info, UNKNOWN_WALL_MS);
        self.shared.leases.keep(&held);
        Ok(SandboxBox { held })
    }

    /// The caller's boxes with all of these labels, by the address of their daemon. Daemons that do not answer are left out when another
    /// does.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], [`ClientError::Auth`], [`ClientError::Closed`].
    pub async fn list(&self, labels: HashMap<String, String>) -> Result<Vec<(String, BoxInfo)>, ClientError> {
        let boxes = self.boxes(labels).await?;
        Ok(boxes
            .into_iter()
            .map(|(node, info)| (node.address().to_string(), info))
            .collect())
    }

    async fn boxes(&self, labels: HashMap<String, String>) -> Result<Vec<(Arc<Node>, BoxInfo)>, ClientError> {
        let request = ListRequest { labels };
        let replies = self.shared.survey(|node| {
            let request = request.clone();
            async move {
                ask(&node, Manner::QUERY, |connection| {
                    let request = request.clone();
                    async move { connection.boxes().list(request).await }
                })
                .await
            }
        });
        let of_node = |(node, reply): (Arc<Node>, prl_sandbox_proto::ListReply)| {
            reply.boxes.into_iter().map(move |info| (Arc::clone(&node), info))
        };
        Ok(replies.await?.into_iter().flat_map(of_node).collect())
    }

    /// Closes every box of the caller with all of these labels, also those of other clients; returns their ids. Without labels it closes
    /// none.
    ///
    /// # Errors
    /// As of [`Client::list`].
    pub async fn close_all(&self, labels: HashMap<String, String>) -> Result<Vec<String>, ClientError> {
        let request = CloseRequest {
            ids: Vec::new(),
            labels,
        };
        let replies = self.shared.survey(|node| {
            let request = request.clone();
            async move { close_on(&node, request).await }
        });
        Ok(replies.await?.into_iter().flat_map(|(_, closed)| closed).collect())
    }
}

async fn create_on(
    node: &Node,
    request: &CreateRequest,
    deadline: Duration,
    is_choice: bool,
) -> Result<BoxInfo, ClientError> {
    let _busy = node.enter();
    if is_choice {
        node.connection(Patience::FirstTry).await?;
    }
    let manner = Manner {
        repeat: Repeat::Safe,
        deadline,
        instance: None,
    };
    ask(node, manner, |connection| {
        let request = request.clone();
        async move { connection.boxes().create(request).await }
    })
    .await
}

/// Whether another daemon may succeed.
fn is_passed_over(error: &ClientError) -> bool {
    let codes = [Infra::Overloaded, Infra::Draining, Infra::ConnectionLost].map(Infra::code);
    codes.contains(&error.code()) || matches!(error, ClientError::Unreachable { .. })
}

async fn close_on(node: &Node, request: CloseRequest) -> Result<Vec<String>, ClientError> {
    if node.exit().await.is_some() {
        // The boxes ended with the daemon, which is not started again for this call.
        return Ok(Vec::new());
    }
    let reply = ask(node, Manner::QUERY, |connection| {
        let request = request.clone();
        async move { connection.boxes().close(request).await }
    });
    Ok(reply.await?.closed)
}

impl Shared {
    /// Closes every box that this client holds, with one call for each daemon.
    pub(crate) async fn close_boxes(&self) {
        for (node, boxes) in self.leases.held() {
            let ids = boxes.iter().map(|held| held.id().to_owned()).collect();
            for held in boxes {
                held.is_closed.store(true, Ordering::Release);
            }
            let request = CloseRequest {
                ids,
                labels: HashMap::new(),
            };
            // A box that cannot be closed now ends with its lease.
            let closed = timeout(QUERY_DEADLINE, close_on(&node, request)).await;
            if !matches!(closed, Ok(Ok(_))) {
                tracing::debug!(address = %node.address(), "boxes were left to their leases");
            }
        }
    }
}

impl Held {
    fn new(shared: &Arc<Shared>, node: Arc<Node>, info: BoxInfo, wall_ms: u64) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            node,
            info,
            wall_ms,
            is_closed: AtomicBool::new(false),
            ended: OnceLock::new(),
            accepting: OnceLock::new(),
        })
    }

    /// Serves the connections that its programs make to forwards by the caller, as long as a handle of the box exists.
    fn accept(self: &Arc<Self>, services: Services) {
        let (end, closing) = (CancellationToken::new(), self.shared.closing.clone());
        let ended = end.clone();
        let accepting = accept(Arc::downgrade(self), services);
        tokio::spawn(async move {
            tokio::select! {
                () = accepting => {}
                () = ended.cancelled() => {}
                () = closing.cancelled() => {}
            }
        });
        // A box is made once, so none was set before.
        let _ = self.accepting.set(end.drop_guard());
    }

    pub(crate) fn id(&self) -> &str {
        &self.info.id
    }

    pub(crate) fn instance(&self) -> &str {
        &self.info.instance_id
    }

    pub(crate) fn lease(&self) -> Duration {
        let ms = if self.info.lease_ms == 0 {
            DEFAULT_LEASE_MS
        } else {
            self.info.lease_ms
        };
        Duration::from_millis(ms)
    }

    /// Whether calls can still be made.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed.load(Ordering::Acquire) || self.ended.get().is_some()
    }

    pub(crate) fn end(&self, outcome: RunOutcome) {
        // If a reason is set already, it stays.
        let _ = self.ended.set(outcome);
    }

    /// Why no exec can run any more; `None` while it can.
    ///
    /// # Errors
    /// [`ClientError::Closed`]: closed by the caller.
    pub(crate) fn ending(&self) -> Result<Option<RunOutcome>, ClientError> {
        if self.is_closed.load(Ordering::Acquire) || self.shared.closing.is_cancelled() {
            return Err(ClientError::Closed);
        }
        Ok(self.ended.get().cloned())
    }

    /// Records that the box is gone, when an error says so.
    pub(crate) fn note(&self, error: &ClientError) {
        if let ClientError::Refused { code, message, .. } = error {
            let infra = match *code {
                "PRL_SANDBOX_BOX_ENDED" | "PRL_SANDBOX_BOX_UNKNOWN" => Infra::BoxEnded,
                "PRL_SANDBOX_DAEMON_RESTARTED" => Infra::DaemonRestarted,
                "PRL_SANDBOX_DAEMON_EXITED" => Infra::DaemonExited,
                _ => return,
            };
            self.end(RunOutcome::infra(infra, message.clone()));
        }
    }

    /// Makes a call about this box.
    pub(crate) async fn ask<T, F>(
        &self,
        repeat: Repeat,
        deadline: Duration,
        call: impl Fn(Boxes) -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        if let Some(outcome) = self.ending()? {
            return Err(outcome.into());
        }
        let manner = Manner {
            repeat,
            deadline,
            instance: Some(self.instance()),
        };
        let asked = ask(&self.node, manner, |connection| call(connection.boxes())).await;
        asked.inspect_err(|error| self.note(error))
    }

    /// The connection to the daemon process that holds the box, for a stream.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, ClientError> {
        if let Some(outcome) = self.ending()? {
            return Err(outcome.into());
        }
        let connection = self.node.connection(Patience::Reconnect).await?;
        if connection.instance_id() != self.instance() {
            let outcome = RunOutcome::infra(Infra::DaemonRestarted, "the daemon was restarted; the box is gone");
            self.end(outcome.clone());
            return Err(outcome.into());
        }
        Ok(connection)
    }

    /// The meaning of a broken stream: an error, or `None` when the caller should connect again.
    pub(crate) fn broken(&self, connection: &Connection, status: &Status) -> Option<ClientError> {
        let error = match verdict(status) {
            Verdict::Refused(error) => error,
            Verdict::Ended(outcome) => (*outcome).into(),
            Verdict::Lost(_) | Verdict::NotSent(_) => {
                connection.mark_lost();
                return None;
            }
        };
        self.note(&error);
        Some(error)
    }
}

impl SandboxBox {
    /// The id that the caller chose when the box was made.
    pub fn id(&self) -> &str {
        self.held.id()
    }

    /// The description from when the box was made or found.
    pub fn info(&self) -> &BoxInfo {
        &self.held.info
    }

    /// Ends the box after `lifetime` from now, even if it is in use; `None` removes the limit.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn set_lifetime(&self, lifetime: Option<Duration>) -> Result<BoxInfo, ClientError> {
        let request = SetLifetimeRequest {
            r#box: self.id().to_owned(),
            lifetime_ms: lifetime.map(|lifetime| u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX)),
        };
        self.held
            .ask(Repeat::Safe, QUERY_DEADLINE, |mut boxes| {
                let request = request.clone();
                async move { boxes.set_lifetime(request).await }
            })
            .await
    }

    /// Kills everything in the box and frees it. Closing a box that is gone is no error.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`]; the box then ends with its lease.
    pub async fn close(&self) -> Result<(), ClientError> {
        let is_gone = self.held.is_closed.swap(true, Ordering::AcqRel)
            || self.held.ended.get().is_some()
            || self.held.shared.closing.is_cancelled();
        if is_gone {
            return Ok(());
        }
        let request = CloseRequest {
            ids: vec![self.id().to_owned()],
            labels: HashMap::new(),
        };
        close_on(&self.held.node, request).await?;
        Ok(())
    }

    /// The token that cancels its running execs.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.held.shared.closing
    }
}
