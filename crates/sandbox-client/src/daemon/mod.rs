//! An embedded daemon: it listens on a Unix socket in a private folder and ends with its handle or with this process, however that ends.
//!
//! When the daemon's process ends by itself, or is killed, the next call starts another one, a few times within some minutes
//! (`budget`). The state of the first process is lost.

mod budget;
mod folder;
mod process;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::credentials::Credentials;
use crate::ending::Ending;
use crate::log_tail::LogTail;
use crate::{Address, ClientError};

use budget::Budget;
use folder::PrivateFolder;
use process::DaemonProcess;

/// Default of the longest wait for a start.
const START_DEADLINE: Duration = Duration::from_secs(20);
const READY_POLL: Duration = Duration::from_millis(2);

/// How to start a daemon.
#[derive(Debug, Clone)]
pub struct DaemonOptions {
    /// The program `prl-sandboxd`.
    pub binary: PathBuf,
    /// Further arguments.
    pub args: Vec<String>,
    /// Longest wait until it answers; `None` is 20 s.
    pub start_timeout: Option<Duration>,
}

/// A daemon; dropping it stops it.
#[derive(Debug)]
pub struct EmbeddedDaemon {
    kept: Arc<Kept>,
}

/// The parts that a restart needs.
#[derive(Debug)]
struct Kept {
    options: DaemonOptions,
    socket: PathBuf,
    process: Mutex<Arc<DaemonProcess>>,
    /// Held during a restart.
    starting: tokio::sync::Mutex<()>,
    budget: Mutex<Budget>,
    stopping: CancellationToken,
    /// Declared last, so that the folder and its lock are dropped after everything above.
    folder: PrivateFolder,
}

impl EmbeddedDaemon {
    /// Starts the daemon and waits until it answers.
    ///
    /// # Errors
    /// [`ClientError::StartFailed`], [`ClientError::StartTimeout`]; both carry the end of its log.
    pub async fn start(options: DaemonOptions) -> Result<Self, ClientError> {
        let folder = PrivateFolder::create().map_err(|error| ClientError::StartFailed {
            binary: options.binary.display().to_string(),
            reason: error.to_string(),
            log: LogTail::default().text(),
        })?;
        let socket = folder.socket();
        let process = launch(&options, &socket).await?;
        let kept = Kept {
            options,
            socket,
            process: Mutex::new(Arc::new(process)),
            starting: tokio::sync::Mutex::default(),
            budget: Mutex::default(),
            stopping: CancellationToken::new(),
            folder,
        };
        Ok(Self { kept: Arc::new(kept) })
    }

    /// The socket on which it listens.
    pub fn socket(&self) -> &Path {
        &self.kept.socket
    }

    /// The id of its latest process, which may have ended.
    pub fn pid(&self) -> u32 {
        self.kept.process().pid()
    }

    /// Reports how its present process ends.
    pub(crate) fn ending(&self) -> Ending {
        self.kept.process().ending().clone()
    }

    /// Starts it again if its process has ended. A start continues even when its caller gives up.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`], with the reason and the time of the next try; [`ClientError::Closed`].
    pub(crate) async fn revive(&self) -> Result<(), ClientError> {
        let kept = Arc::clone(&self.kept);
        let reviving = tokio::spawn(async move { kept.revive().await });
        reviving
            .await
            .unwrap_or_else(|error| Err(self.kept.unreachable(error.to_string())))
    }

    /// Stops the daemon, and kills it when that takes too long. Returns when it is gone; it is not started again.
    pub async fn stop(&self) {
        self.kept.stopping.cancel();
        let process = Arc::clone(&self.kept.process());
        process.stop().await;
        // The handle may exist longer, without a use.
        self.kept.folder.remove();
    }
}

impl Drop for EmbeddedDaemon {
    fn drop(&mut self) {
        self.kept.stopping.cancel();
    }
}

impl Kept {
    fn process(&self) -> MutexGuard<'_, Arc<DaemonProcess>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unreachable(&self, reason: String) -> ClientError {
        ClientError::Unreachable {
            address: Address::Unix(self.socket.clone()).to_string(),
            reason,
        }
    }

    async fn revive(&self) -> Result<(), ClientError> {
        let _alone = self.starting.lock().await;
        let ending = self.process().ending().clone();
        let Some(exit) = ending.within(Duration::ZERO).await else {
            return Ok(());
        };
        let taken = self
            .budget
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(Instant::now());
        let pause = taken.map_err(|left| {
            self.unreachable(format!(
                "it was started again {} times within {} s and is not for another {} s: {exit}",
                budget::MOST,
                budget::WINDOW.as_secs(),
                left.as_secs()
            ))
        })?;
        let starting = async {
            sleep(pause).await;
            launch(&self.options, &self.socket).await
        };
        let started = tokio::select! {
            started = starting => started.map_err(|error| self.unreachable(error.to_string()))?,
            () = self.stopping.cancelled() => return Err(ClientError::Closed),
        };
        let mut process = self.process();
        if self.stopping.is_cancelled() {
            return Err(ClientError::Closed);
        }
        tracing::warn!(
            pid = started.pid(),
            before = exit,
            "the sandbox daemon was started again"
        );
        *process = Arc::new(started);
        Ok(())
    }
}

/// Starts a process and waits until it answers.
async fn launch(options: &DaemonOptions, socket: &Path) -> Result<DaemonProcess, ClientError> {
    let binary = options.binary.display().to_string();
    let log = Arc::new(LogTail::default());
    let failed = |reason: String| ClientError::StartFailed {
        binary: binary.clone(),
        reason,
        log: log.text(),
    };
    let limit = options.start_timeout.unwrap_or(START_DEADLINE);
    let until = Instant::now() + limit;
    let process = DaemonProcess::spawn(options, socket, &log)
        .await
        .map_err(|error| failed(error.to_string()))?;
    let address = Address::Unix(socket.to_owned());
    let credentials = Credentials::new(None, None)?;
    loop {
        if process.ending().is_over() {
            return Err(failed(format!("it ended ({})", process.ending().status().await)));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ClientError::StartTimeout {
                binary,
                waited_ms: limit.as_millis(),
                log: log.text(),
            });
        }
        match timeout(left, Connection::open(&address, &credentials)).await {
            Ok(Ok(_)) => return Ok(process),
            Ok(Err(_)) => sleep(READY_POLL).await,
            Err(_) => {}
        }
    }
}
