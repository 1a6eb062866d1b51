//! How an embedded daemon's process ends.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::log_tail::LogTail;

/// Reports how a process ends, to those who had work there.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    exit: watch::Receiver<Option<ExitStatus>>,
    log: Arc<LogTail>,
}

impl Ending {
    pub(crate) fn new(exit: watch::Receiver<Option<ExitStatus>>, log: Arc<LogTail>) -> Self {
        Self { exit, log }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.exit.borrow().is_some()
    }

    /// Waits for the end and returns how the process ended.
    pub(crate) async fn status(&self) -> String {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(status) => status.map_or_else(String::new, |status| status.to_string()),
            Err(_) => "its end was not observed".to_owned(),
        }
    }

    /// How the process ended, with its last lines, if it did within `notice`.
    pub(crate) async fn within(&self, notice: Duration) -> Option<String> {
        let status = timeout(notice, self.status()).await.ok()?;
        Some(format!(
            "the sandbox daemon ended ({status}); the end of its log:\n{}",
            self.log.text()
        ))
    }
}
