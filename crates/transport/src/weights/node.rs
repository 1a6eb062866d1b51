//! One node of the tree: a root directory, a server if it listens, and pulls from other nodes.

use std::fs::{File, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prl_weights::{Manifest, create_directory, retain_versions};
use tokio::sync::{Mutex, OnceCell, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

use crate::pb::weights_server::WeightsServer;
use crate::server::Server;
use crate::weights::description::Description;
use crate::weights::pull::Pull;
use crate::weights::separate_thread::on_separate_thread;
use crate::weights::service::Service;
use crate::weights::shelf::Shelf;
use crate::weights::stream::SendsChunks;
use crate::{Address, Credentials, Times, TransportError};

/// The one process that receives into a root holds this lock. A publisher's root has none.
pub(crate) const LOCK_FILE: &str = ".receiving.lock";

/// Which version is wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The version's number; `None` for the newest.
    pub version: Option<u64>,
    /// With `version`: the version digest that its manifest must have. `None` accepts any digest.
    pub digest: Option<String>,
    /// Without `version`: only a version newer than this.
    pub after: Option<u64>,
    /// How long to wait for the version while the sources answer that it is missing; `None` is `Times::patience`.
    pub wait: Option<Duration>,
    /// The version must not be sparse. The publisher makes its newest version full when it is asked.
    pub full: bool,
    /// Versions (number and version digest) that the caller holds elsewhere: a sparse version's chain may end at them.
    pub held: Vec<(u64, String)>,
}

/// A version in the root.
#[derive(Debug, Clone)]
pub struct Pulled {
    /// `<root>/step_<v>`.
    pub directory: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

/// Serves the versions below a root and pulls others into it.
#[derive(Debug)]
pub struct WeightNode {
    shelf: Arc<Shelf>,
    credentials: Credentials,
    times: Times,
    closing: CancellationToken,
    server: OnceCell<Server>,
    acknowledged: watch::Sender<(u64, String)>,
    /// Held by the one thread that pulls. It contains the lock on the root after the first pull.
    pulling: Arc<Mutex<Option<File>>>,
}

impl WeightNode {
    /// A node over `root`, whose versions are `step_<v>/` with a manifest. It need not exist yet.
    pub fn new(root: impl Into<PathBuf>, credentials: Credentials, times: Times) -> Self {
        Self {
            shelf: Arc::new(Shelf::new(root.into())),
            credentials,
            times,
            closing: CancellationToken::new(),
            server: OnceCell::new(),
            acknowledged: watch::Sender::default(),
            pulling: Arc::default(),
        }
    }

    /// Listens on `listen` (`host:port`, port 0 for any) for nodes that pull from this one. Returns the address.
    ///
    /// Versions are found as soon as their manifest exists; they need not be announced.
    ///
    /// # Errors
    /// [`TransportError::Address`].
    pub async fn listen(&self, listen: &str) -> Result<SocketAddr, TransportError> {
        let start = || {
            let (shelf, closing) = (Arc::clone(&self.shelf), self.closing.clone());
            let service = Service::new(shelf, self.times, closing, self.acknowledged.clone());
            let service = WeightsServer::with_interceptor(service, self.credentials.demand());
            let routes = Routes::new(SendsChunks(service));
            Server::start(listen, &self.credentials, &self.times, routes, self.closing.clone())
        };
        Ok(self.server.get_or_try_init(start).await?.address())
    }

    /// The manifest of a version that one of `sources` has or is receiving; waits for it.
    ///
    /// # Errors
    /// [`TransportError::Version`] when it does not come within `wanted.wait`, [`TransportError::PassedOver`] when it is wanted in full and
    /// the publisher has a newer one, which alone can become full, [`TransportError::Unreachable`] when no source
    /// answers, [`TransportError::Auth`], [`TransportError::Closed`].
    pub async fn describe(&self, wanted: &Wanted, sources: &[Address]) -> Result<Manifest, TransportError> {
        let pull = self.pull_from(sources)?;
        let description: Description = self.unless_closing(pull.describe(wanted)).await?;
        Ok(description.manifest)
    }

    /// Pulls a version, and before it those versions of its chain that are neither in the root nor in `wanted.held`.
    ///
    /// `sources` are in order of preference, the nearest relay first, the publisher last. A source that fails, stalls or is
    /// slow is left for the next one, and the received bytes are kept. After a cut the next pull continues with them.
    /// This node serves the version while it pulls it. Pulls run one at a time; further ones wait.
    ///
    /// # Errors
    /// As [`WeightNode::describe`], and [`TransportError::Unreachable`] when no source gave anything for `times.patience`;
    /// [`TransportError::Io`], also when another process receives into this root.
    pub async fn pull(&self, wanted: &Wanted, sources: &[Address]) -> Result<Pulled, TransportError> {
        let mut lock = Arc::clone(&self.pulling).lock_owned().await;
        if lock.is_none() {
            *lock = Some(self.lock_root().await?);
        }
        let (pull, wanted) = (self.pull_from(sources)?, wanted.clone());
        let work = async move {
            // The lock is held until the work has really ended.
            let _lock = lock;
            pull.run(&wanted).await
        };
        self.unless_closing(on_separate_thread(work)).await
    }

    /// Reports to the last of `sources`, the publisher, that every node which needs a version has it.
    ///
    /// # Errors
    /// [`TransportError::Unreachable`], [`TransportError::Auth`], [`TransportError::Closed`].
    pub async fn acknowledge(&self, version: u64, digest: &str, sources: &[Address]) -> Result<(), TransportError> {
        let publisher = sources.last().map(std::slice::from_ref).unwrap_or_default();
        self.unless_closing(self.pull_from(publisher)?.acknowledge(version, digest))
            .await
    }

    /// Waits until a version was acknowledged to this node, which listens.
    ///
    /// # Errors
    /// [`TransportError::Unreachable`] when there is no acknowledgement for `times.patience`, [`TransportError::Closed`].
    pub async fn acknowledged(&self, version: u64, digest: &str) -> Result<(), TransportError> {
        let mut acknowledged = self.acknowledged.subscribe();
        let acknowledged_by = acknowledged.wait_for(|(last, of)| *last == version && of == digest);
        tokio::select! {
            acknowledged_by = timeout(self.times.patience, acknowledged_by) => match acknowledged_by {
                Ok(_) => Ok(()),
                Err(_) => Err(TransportError::Unreachable {
                    what: format!("weight version {version}"),
                    from: "the nodes that need it".to_owned(),
                    waited_s: self.times.patience.as_secs(),
                    reason: "there was no acknowledgement".to_owned(),
                }),
            },
            () = self.closing.cancelled() => Err(TransportError::Closed),
        }
    }

    /// Removes all versions of the root except the newest `keep`, those that they build on, and those that a process of this
    /// machine holds by a lease. Nodes that are being served a removed version continue to read it.
    ///
    /// # Errors
    /// [`TransportError::Io`].
    pub async fn prune(&self, keep: usize) -> Result<(), TransportError> {
        let shelf = Arc::clone(&self.shelf);
        blocking(move || {
            retain_versions(shelf.root(), keep)?;
            // No other node may ask for a version any more, which would show that these are removed.
            shelf.forget_removed();
            Ok(())
        })
        .await
    }

    /// Ends serving and pulling.
    pub async fn close(&self) {
        self.closing.cancel();
        if let Some(server) = self.server.get() {
            server.close().await;
        }
        *self.pulling.lock().await = None;
    }

    fn pull_from(&self, sources: &[Address]) -> Result<Pull, TransportError> {
        if sources.is_empty() {
            return Err(TransportError::Version(
                "there is no node to pull weights from".to_owned(),
            ));
        }
        Ok(Pull {
            shelf: Arc::clone(&self.shelf),
            sources: sources.to_vec(),
            credentials: self.credentials.clone(),
            times: self.times,
            closing: self.closing.clone(),
        })
    }

    async fn unless_closing<T>(
        &self,
        work: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        tokio::select! {
            done = work => done,
            () = self.closing.cancelled() => Err(TransportError::Closed),
        }
    }

    async fn lock_root(&self) -> Result<File, TransportError> {
        let root = self.shelf.root().to_owned();
        blocking(move || {
            create_directory(&root)?;
            let path = root.join(LOCK_FILE);
            let file = File::create(&path).map_err(TransportError::io("create", &path))?;
            match file.try_lock() {
                Ok(()) => Ok(file),
                Err(TryLockError::WouldBlock) => {
                    let source = io::Error::new(
                        io::ErrorKind::WouldBlock,
                        "another process receives weights into this folder",
                    );
                    Err(TransportError::io("lock", &path)(source))
                }
                Err(TryLockError::Error(source)) => Err(TransportError::io("lock", &path)(source)),
            }
        })
        .await
    }
}

impl Drop for WeightNode {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TransportError> + Send + 'static,
) -> Result<T, TransportError> {
    match spawn_blocking(move || prl_progress::work("files of weights", work)).await {
        Ok(result) => result,
        Err(join) => std::panic::resume_unwind(join.into_panic()),
    }
}
