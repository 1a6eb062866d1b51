//! A daemon of one's own: started on a Unix socket in a private folder, gone with its handle and with this process, however that ends.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tempfile::TempDir;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::connection::Connection;
use crate::credentials::Credentials;
use crate::log_tail::LogTail;
use crate::{Address, ClientError};

/// For starting, when the caller does not say.
const START_DEADLINE: Duration = Duration::from_secs(20);
const READY_POLL: Duration = Duration::from_millis(2);
/// For an orderly end, before it is killed.
const STOP_DEADLINE: Duration = Duration::from_secs(5);
/// For the rest of its log, after its end.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The kernel's limit of a socket's path, its final zero included.
const SOCKET_PATH_BYTES: usize = 108;
const FOLDER_PREFIX: &str = "prl-sandbox-";
const LOCK_FILE: &str = "owner.lock";
const SOCKET_FILE: &str = "sandboxd.sock";

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

/// A running daemon; dropping it stops it.
#[derive(Debug)]
pub struct EmbeddedDaemon {
    pid: Pid,
    pidfd: Arc<OwnedFd>,
    /// The lifeline: the daemon stops when this end is closed, by a drop or by the death of this process.
    _stdin: Option<ChildStdin>,
    socket: PathBuf,
    log: Arc<LogTail>,
    exit: watch::Receiver<Option<ExitStatus>>,
    /// Declared last: the folder and its lock outlive everything above.
    folder: PrivateFolder,
}

/// A folder that only this user can enter, locked as long as its owner lives.
#[derive(Debug)]
struct PrivateFolder {
    dir: TempDir,
    _lock: File,
}

impl PrivateFolder {
    /// Makes one, and removes those whose owners died without doing so.
    fn create() -> io::Result<Self> {
        let mut base = std::env::temp_dir();
        // The name's random part has six characters.
        if base.as_os_str().len() + FOLDER_PREFIX.len() + 8 + SOCKET_FILE.len() + 1 > SOCKET_PATH_BYTES {
            base = PathBuf::from("/tmp");
        }
        sweep(&base);
        let dir = tempfile::Builder::new()
            .prefix(FOLDER_PREFIX)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(base)?;
        let lock = File::create_new(dir.path().join(LOCK_FILE))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { dir, _lock: lock })
    }
}

/// Removes the folders of dead owners. What cannot be removed belongs to somebody else.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX) {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join(LOCK_FILE)) else {
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl EmbeddedDaemon {
    /// Starts the daemon and waits until it answers.
    ///
    /// # Errors
    /// [`ClientError::StartFailed`], [`ClientError::StartTimeout`]; both carry the end of its log.
    pub async fn start(options: DaemonOptions) -> Result<Self, ClientError> {
        let binary = options.binary.display().to_string();
        let log = Arc::new(LogTail::default());
        let failed = |reason: String| ClientError::StartFailed {
            binary: binary.clone(),
            reason,
            log: log.text(),
        };
        let limit = options.start_timeout.unwrap_or(START_DEADLINE);
        let until = Instant::now() + limit;
        let daemon = Self::spawn(&options, &log)
            .await
            .map_err(|error| failed(error.to_string()))?;
        let address = Address::Unix(daemon.socket.clone());
        let credentials = Credentials::new(None, None)?;
        loop {
            if let Some(status) = *daemon.exit.borrow() {
                return Err(failed(format!("it ended ({status})")));
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
                Ok(Ok(_)) => return Ok(daemon),
                Ok(Err(_)) => sleep(READY_POLL).await,
                Err(_) => {}
            }
        }
    }

    async fn spawn(options: &DaemonOptions, log: &Arc<LogTail>) -> io::Result<Self> {
        let folder = PrivateFolder::create()?;
        let socket = folder.dir.path().join(SOCKET_FILE);
        let mut command = Command::new(&options.binary);
        command
            .arg("--socket")
            .arg(&socket)
            .arg("--stop-with-stdin")
            .args(&options.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let (spawned, starting) = oneshot::channel();
        let (exited, exit) = watch::channel(None);
        let log = Arc::clone(log);
        let keeper_log = Arc::clone(&log);
        // A thread of its own, for it has to wait for the daemon's end.
        thread::Builder::new().name("prl-sandboxd".to_owned()).spawn(move || {
            keep(command, keeper_log, spawned, &exited);
        })?;
        let Started { pid, pidfd, stdin } = starting.await.map_err(|_| io::Error::other("its thread ended"))??;
        Ok(Self {
            pid,
            pidfd: Arc::new(pidfd),
            _stdin: stdin,
            socket,
            log,
            exit,
            folder,
        })
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The last lines that it wrote.
    pub fn log_tail(&self) -> String {
        self.log.text()
    }

    /// Resolves to how it ended, when it has.
    pub async fn exited(&self) -> String {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(status) => status.map_or_else(String::new, |status| status.to_string()),
            Err(_) => "its end was not observed".to_owned(),
        }
    }

    /// Ends it in order, and kills it when that takes too long. Returns when it is gone.
    pub async fn stop(&self) {
        signal(&self.pidfd, Signal::TERM);
        if timeout(STOP_DEADLINE, self.exited()).await.is_err() {
            tracing::warn!(
                pid = self.pid(),
                "the sandbox daemon did not stop in time and is killed"
            );
            signal(&self.pidfd, Signal::KILL);
            let _ = timeout(STOP_DEADLINE, self.exited()).await;
        }
        // The handle may live on, unused; what cannot be removed is swept by the next start.
        let _ = fs::remove_dir_all(self.folder.dir.path());
    }
}

impl Drop for EmbeddedDaemon {
    fn drop(&mut self) {
        if self.exit.borrow().is_some() {
            return;
        }
        signal(&self.pidfd, Signal::TERM);
        let (pidfd, exit) = (Arc::clone(&self.pidfd), self.exit.clone());
        let killer = move || {
            thread::sleep(STOP_DEADLINE);
            if exit.borrow().is_none() {
                signal(&pidfd, Signal::KILL);
            }
        };
        if thread::Builder::new()
            .name("prl-sandboxd-end".to_owned())
            .spawn(killer)
            .is_err()
        {
            signal(&self.pidfd, Signal::KILL);
        }
    }
}

/// By the descriptor, which never names another process. One that is gone is no error.
fn signal(pidfd: &OwnedFd, signal: Signal) {
    let _ = pidfd_send_signal(pidfd, signal);
}

/// What a spawned daemon is held by.
struct Started {
    pid: Pid,
    pidfd: OwnedFd,
    stdin: Option<ChildStdin>,
}

/// Spawns, follows the log, waits for the end.
fn keep(
    mut command: Command,
    log: Arc<LogTail>,
    spawned: oneshot::Sender<io::Result<Started>>,
    exited: &watch::Sender<Option<ExitStatus>>,
) {
    let mut child: Child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let _ = spawned.send(Err(error));
            return;
        }
    };
    let pid = Pid::from_child(&child);
    // Before anybody waits for it, so that the id is its own.
    let started = pidfd_open(pid, PidfdFlags::empty())
        .map_err(io::Error::from)
        .map(|pidfd| Started {
            pid,
            pidfd,
            stdin: child.stdin.take(),
        });
    let _ = spawned.send(started);
    let (followed, log_end) = mpsc::channel();
    if let Some(stderr) = child.stderr.take() {
        let follower = thread::Builder::new().name("prl-sandboxd-log".to_owned());
        let _ = follower.spawn(move || {
            log.follow(stderr);
            let _ = followed.send(());
        });
    }
    let status = child.wait();
    // Its last words are worth a moment; whatever it left behind could hold the pipe open for ever.
    let _ = log_end.recv_timeout(LAST_WORDS);
    if let Ok(status) = status {
        exited.send_replace(Some(status));
    }
}
