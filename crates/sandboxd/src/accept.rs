//! Connections that cannot be accepted: the log says so once in a while, and the next try waits a little.
//!
//! A lack of descriptors or memory fails every accept until it is over. Without this module it would use a whole
//! processor and fill the log.

use std::io;
use std::time::Duration;

use crate::log::Seldom;

/// The pause before the next accept.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Failed accepts of one kind of listener.
#[derive(Debug)]
pub(crate) struct Failures {
    /// The callers of that listener.
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

    /// Returns when the next accept may be tried: at once when only the one connection has failed.
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

    /// The lines that this thread logs.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Said(Arc<Mutex<Vec<u8>>>);

    impl Said {
        /// Collects lines until the guard is dropped.
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
    async fn errors_of_the_daemon_are_retried_and_logged_seldom() {
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
