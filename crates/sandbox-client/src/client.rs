//! A client of one daemon or of many.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::{CapabilitiesReply, CapabilitiesRequest, HealthReply, HealthRequest};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::boxes::{Leases, SnapshotPlaces};
use crate::call::{Manner, ask};
use crate::credentials::{Credentials, TlsOptions};
use crate::fleet::Fleet;
use crate::node::{Node, Patience, RECONNECT_DEADLINE};
use crate::run::CANCEL_DEADLINE;
use crate::{Address, ClientError, EmbeddedDaemon};

/// Time on top of the deadline of the cancellations.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// How to reach daemons that run already.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// Bearer token; none is needed on a Unix socket.
    pub token: Option<String>,
    /// Encrypts every connection on TCP.
    pub tls: Option<TlsOptions>,
    /// Longest wait for the first connection; `None` is 5 s.
    pub connect_timeout: Option<Duration>,
}

/// A client. Cheap to clone; [`Client::close`] ends all clones, and the boxes that were made with them.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) closing: CancellationToken,
    pub(crate) leases: Leases,
    pub(crate) snapshots: SnapshotPlaces,
    running: watch::Sender<usize>,
}

/// Counts a run for as long as it lives, so that closing can wait for it.
pub(crate) struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.send_modify(|count| *count -= 1);
    }
}

impl Client {
    /// Connects to daemons that run already. At least one of them must answer.
    ///
    /// # Errors
    /// [`ClientError::Address`], [`ClientError::Unreachable`], [`ClientError::Auth`].
    pub async fn connect(addresses: Vec<Address>, options: ConnectOptions) -> Result<Self, ClientError> {
        let credentials = Credentials::new(options.token.as_deref(), options.tls)?;
        let limit = options.connect_timeout.unwrap_or(RECONNECT_DEADLINE);
        let fleet = Fleet::new(addresses, credentials).await?;
        let mut opening = JoinSet::new();
        for node in fleet.nodes() {
            opening.spawn(async move {
                let opened = timeout(limit, node.connection(Patience::FirstTry)).await;
                let opened = opened
                    .unwrap_or_else(|_| Err(node.unreachable(format!("no answer within {} ms", limit.as_millis()))));
                (node, opened.err())
            });
        }
        let mut failed = Vec::new();
        let mut is_any_open = false;
        while let Some(Ok((node, error))) = opening.join_next().await {
            match error {
                None => is_any_open = true,
                Some(error @ ClientError::Unreachable { .. }) => failed.push((node, error)),
                Some(mistake) => return Err(mistake),
            }
        }
        if !is_any_open && let Some((_, error)) = failed.pop() {
            return Err(error);
        }
        for (node, _) in failed {
            node.put_out();
        }
        Ok(Self::new(fleet))
    }

    /// A client of an embedded daemon, which ends with the client.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`].
    pub async fn embedded(daemon: EmbeddedDaemon) -> Result<Self, ClientError> {
        let client = Self::new(Fleet::embedded(daemon, Credentials::new(None, None)?));
        for node in client.shared.fleet.nodes() {
            node.connection(Patience::FirstTry).await?;
        }
        Ok(client)
    }

    fn new(fleet: Arc<Fleet>) -> Self {
        Self {
            shared: Arc::new(Shared {
                fleet,
                closing: CancellationToken::new(),
                leases: Leases::default(),
                snapshots: SnapshotPlaces::default(),
                running: watch::Sender::new(0),
            }),
        }
    }

    /// Process id of the embedded daemon.
    pub fn daemon_pid(&self) -> Option<u32> {
        let nodes = self.shared.fleet.nodes();
        nodes.first()?.daemon().map(EmbeddedDaemon::pid)
    }

    /// The limits and causes that each daemon can enforce and observe, by its address. Daemons that do not answer are left out when another does.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], [`ClientError::Auth`], [`ClientError::Closed`].
    pub async fn capabilities(&self) -> Result<Vec<(String, CapabilitiesReply)>, ClientError> {
        let question = |node: Arc<Node>| async move {
            ask(&node, Manner::QUERY, |connection| async move {
                connection.sandboxes().capabilities(CapabilitiesRequest {}).await
            })
            .await
        };
        Ok(by_address(self.shared.survey(question).await?))
    }

    /// Whether each daemon takes work, and how busy it is, by its address. Daemons that do not answer are left out when another does.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], [`ClientError::Auth`], [`ClientError::Closed`].
    pub async fn health(&self) -> Result<Vec<(String, HealthReply)>, ClientError> {
        let question = |node: Arc<Node>| async move {
            ask(&node, Manner::QUERY, |connection| async move {
                connection.sandboxes().health(HealthRequest {}).await
            })
            .await
        };
        Ok(by_address(self.shared.survey(question).await?))
    }

    /// Cancels every run, waits until they have ended, closes every box that was made here, and stops the embedded daemon. A second call
    /// waits for the first.
    pub async fn close(&self) {
        let shared = &self.shared;
        if !shared.closing.is_cancelled() {
            shared.close_boxes().await;
        }
        shared.closing.cancel();
        let mut running = shared.running.subscribe();
        // Every run ends within its cancellation's deadline, so this is bounded by it.
        let _ = timeout(CANCEL_DEADLINE + CLOSE_GRACE, running.wait_for(|&count| count == 0)).await;
        for node in shared.fleet.nodes() {
            node.disconnect().await;
            if let Some(daemon) = node.daemon() {
                daemon.stop().await;
            }
        }
    }
}

fn by_address<T>(replies: Vec<(Arc<Node>, T)>) -> Vec<(String, T)> {
    let named = replies
        .into_iter()
        .map(|(node, reply)| (node.address().to_string(), reply));
    named.collect()
}

impl Shared {
    /// # Errors
    /// [`ClientError::Closed`].
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Running, ClientError> {
        if self.closing.is_cancelled() {
            return Err(ClientError::Closed);
        }
        self.running.send_modify(|count| *count += 1);
        Ok(Running(Arc::clone(self)))
    }

    /// Asks all daemons at the same time; returns each reply with its daemon.
    ///
    /// # Errors
    /// The error of one daemon, when none replied.
    pub(crate) async fn survey<T, F>(
        &self,
        question: impl Fn(Arc<Node>) -> F,
    ) -> Result<Vec<(Arc<Node>, T)>, ClientError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        if self.closing.is_cancelled() {
            return Err(ClientError::Closed);
        }
        let mut asking = JoinSet::new();
        for (index, node) in self.fleet.nodes().into_iter().enumerate() {
            let reply = question(Arc::clone(&node));
            asking.spawn(async move { (index, node, reply.await) });
        }
        let (mut replies, mut failure) = (Vec::new(), None);
        while let Some(joined) = asking.join_next().await {
            match joined {
                Ok((index, node, Ok(reply))) => replies.push((index, node, reply)),
                Ok((_, node, Err(error))) => {
                    tracing::debug!(address = %node.address(), %error, "a sandbox daemon gave no answer");
                    failure = Some(error);
                }
                Err(error) => return Err(ClientError::Request(error.to_string())),
            }
        }
        match failure {
            Some(error) if replies.is_empty() => Err(error),
            _ => {
                replies.sort_by_key(|(index, ..)| *index);
                Ok(replies.into_iter().map(|(_, node, reply)| (node, reply)).collect())
            }
        }
    }
}
