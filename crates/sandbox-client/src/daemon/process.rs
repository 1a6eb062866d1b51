//! One process of an embedded daemon.

use std::io;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::DaemonOptions;
use crate::ending::Ending;
use crate::log_tail::LogTail;

/// Longest wait for an orderly end, before it is killed.
const STOP_DEADLINE: Duration = Duration::from_secs(5);
/// Longest wait for the rest of its log after its end.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A process of the daemon; dropping it stops the process.
#[derive(Debug)]
pub(super) struct DaemonProcess {
    pid: Pid,
    pidfd: Arc<OwnedFd>,
    /// The lifeline: the daemon stops when this end is closed, by a drop or by the death of this process.
    _stdin: Option<ChildStdin>,
    ending: Ending,
}

impl DaemonProcess {
    /// Starts a process that will listen on `socket`. `log` gets its output.
    pub(super) async fn spawn(options: &DaemonOptions, socket: &Path, log: &Arc<LogTail>) -> io::Result<Self> {
        let mut command = Command::new(&options.binary);
        command
            .arg("--socket")
            .arg(socket)
            .arg("--stop-with-stdin")
            .args(&options.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let (spawned, starting) = oneshot::channel();
        let (exited, exit) = watch::channel(None);
        let log = Arc::clone(log);
        let keeper_log = Arc::clone(&log);
        // A separate thread, because it waits for the daemon's end.
        thread::Builder::new().name("prl-sandboxd".to_owned()).spawn(move || {
            keep(command, keeper_log, spawned, &exited);
        })?;
        let Started { pid, pidfd, stdin } = starting.await.map_err(|_| io::Error::other("its thread ended"))??;
        Ok(Self {
            pid,
            pidfd: Arc::new(pidfd),
            _stdin: stdin,
            ending: Ending::new(exit, log),
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub(super) fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Stops the process, and kills it when that takes too long. Returns when it is gone.
    pub(super) async fn stop(&self) {
        signal(&self.pidfd, Signal::TERM);
        if timeout(STOP_DEADLINE, self.ending.status()).await.is_err() {
            tracing::warn!(
                pid = self.pid(),
                "the sandbox daemon did not stop in time and is killed"
            );
            signal(&self.pidfd, Signal::KILL);
            let _ = timeout(STOP_DEADLINE, self.ending.status()).await;
        }
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        if self.ending.is_over() {
            return;
        }
        signal(&self.pidfd, Signal::TERM);
        let (pidfd, ending) = (Arc::clone(&self.pidfd), self.ending.clone());
        let killer = move || {
            thread::sleep(STOP_DEADLINE);
            if !ending.is_over() {
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

/// Sends a signal through the descriptor, which never names another process. A process that is gone is no error.
fn signal(pidfd: &OwnedFd, signal: Signal) {
    let _ = pidfd_send_signal(pidfd, signal);
}

/// The handles of a spawned daemon.
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
    // The descriptor is opened before any wait for the process, so that no other process can have its id.
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
    // Wait a moment for the last lines of the log. A process that the daemon left behind could hold the pipe open for ever.
    let _ = log_end.recv_timeout(LAST_WORDS);
    if let Ok(status) = status {
        exited.send_replace(Some(status));
    }
}
