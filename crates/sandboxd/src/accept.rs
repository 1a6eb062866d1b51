//! What is done about a connection that cannot be accepted: it is said once in a while, and waited a little before the next.
//!
//! Otherwise a want of descriptors or memory, which fails every accept until it is over, would take a processor and fill the log.

use std::io;
use std::time::Duration;

use crate::log::Seldom;

/// Before the next accept.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Accepts of one kind of listener that failed.
#[derive(Debug)]
pub(crate) struct Failures {
    /// Whose connections.
    of: &'static str,
    seldom: Seldom,
}

impl Failures {
    pub(crate) const fn new(of: &'static str) -> Self {
        Self {
            of,
            seldom: Seldom::new(),
        }
    }

    /// Returns when it may be tried again: at once when what failed was the one connection, and nothing of ours.
    pub(crate) async fn pause(&self, error: &io::Error) {
        if is_of_the_peer(error) {
            return;
        }
        if let Some(more) = self.seldom.due() {
            tracing::warn!(%error, more, of = self.of, "a connection cannot be accepted");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use tokio::time::Instant;
    use tracing::subscriber::DefaultGuard;

    use super::*;

    /// What this thread logs.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Said(Arc<Mutex<Vec<u8>>>);

    impl Said {
        /// Until the guard is dropped.
        pub(crate) fn listen() -> (Self, DefaultGuard) {
            let said = Self::default();
            let to = said.clone();
            let subscriber = tracing_subscriber::fmt().with_writer(move || to.clone()).finish();
            (said, tracing::subscriber::set_default(subscriber))
        }

        pub(crate) fn lines(&self) -> Vec<String> {
            let text = self.0.lock().unwrap();
            String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
        }
    }

    impl Write for Said {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_ours_is_waited_for_and_said_seldom() {
        let (said, _guard) = Said::listen();
        for (errno, waits) in [
            (libc::EMFILE, true),
            (libc::ENOMEM, true),
            (libc::EINVAL, true),
            (libc::ECONNABORTED, false),
        ] {
            let (failures, began) = (Failures::new("the test"), Instant::now());
            for _ in 0..20 {
                failures.pause(&io::Error::from_raw_os_error(errno)).await;
            }
            let waited = if waits { 20 * PAUSE } else { Duration::ZERO };
            assert!((waited..waited + PAUSE).contains(&began.elapsed()), "{errno}");
        }
        let lines = said.lines();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().all(|line| line.contains("the test")), "{lines:?}");
    }
}
