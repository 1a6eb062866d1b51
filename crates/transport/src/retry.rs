//! Deadlines of exchanges, and pauses between tries.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;
use twox_hash::XxHash3_64;

use crate::TransportError;

/// The deadlines of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Longest wait for a connection.
    pub connect: Duration,
    /// Longest wait for the next message of a peer that should be sending; then the connection is given up.
    pub stall: Duration,
    /// Longest wait for an acknowledgement: the receiver first syncs the bytes to its disk.
    pub durable: Duration,
    /// First pause after a failure; it doubles from one failure to the next.
    pub pause: Duration,
    /// Longest pause.
    pub longest_pause: Duration,
    /// An exchange fails when it makes no progress for this long.
    pub patience: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            stall: Duration::from_secs(10),
            durable: Duration::from_secs(120),
            pause: Duration::from_millis(20),
            longest_pause: Duration::from_secs(2),
            patience: Duration::from_secs(600),
        }
    }
}

/// Pauses between tries; ends the exchange after too long without progress.
#[derive(Debug)]
pub(crate) struct Patience {
    times: Times,
    since: Instant,
    failures: u32,
}

impl Patience {
    pub(crate) fn new(times: Times) -> Self {
        Self {
            times,
            since: Instant::now(),
            failures: 0,
        }
    }

    /// Records progress: the patience starts again.
    pub(crate) fn progress(&mut self) {
        self.since = Instant::now();
        self.failures = 0;
    }

    /// Waits before the next try. `what` and `from` name the exchange in the error if there is no next try.
    ///
    /// # Errors
    /// [`TransportError::Unreachable`] when the patience is used up, [`TransportError::Closed`].
    pub(crate) async fn pause(
        &mut self,
        what: &str,
        from: &str,
        reason: &str,
        closing: &CancellationToken,
    ) -> Result<(), TransportError> {
        tracing::debug!(what, from, reason, failures = self.failures, "will be tried again");
        if self.since.elapsed() >= self.times.patience {
            return Err(TransportError::Unreachable {
                what: what.to_owned(),
                from: from.to_owned(),
                waited_s: self.times.patience.as_secs(),
                reason: reason.to_owned(),
            });
        }
        let longest = self
            .times
            .longest_pause
            .min(self.times.pause * (1 << self.failures.min(16)));
        self.failures += 1;
        // The pause is random between a half and the whole, so that peers that failed together do not come back together.
        let pause = longest / 2 + (longest / 2).mul_f64(jitter());
        let left = self.times.patience.saturating_sub(self.since.elapsed());
        tokio::select! {
            () = tokio::time::sleep(pause.min(left)) => Ok(()),
            () = closing.cancelled() => Err(TransportError::Closed),
        }
    }
}

/// A number in [0, 1). It must differ between processes but need not be random.
fn jitter() -> f64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let hash = XxHash3_64::oneshot(&[now.to_le_bytes(), u128::from(std::process::id()).to_le_bytes()].concat());
    f64::from((hash >> 32) as u32) / (f64::from(u32::MAX) + 1.0)
}
