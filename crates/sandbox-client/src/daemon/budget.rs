//! Bounds how often a daemon that keeps ending is started again.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Most starts within `WINDOW`.
pub(super) const MOST: usize = 6;
pub(super) const WINDOW: Duration = Duration::from_secs(600);
/// Pause before the first start; it doubles with each start in the window.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The recent starts.
#[derive(Debug, Default)]
pub(super) struct Budget(VecDeque<Instant>);

impl Budget {
    /// Takes one start and returns how long to wait before it: a random time from half of the pause to one and a half of it, because the
    /// cause that ended one daemon may have ended others.
    ///
    /// # Errors
    /// When no start is left, the time until there is one.
    pub(super) fn take(&mut self, now: Instant) -> Result<Duration, Duration> {
        while self.0.front().is_some_and(|start| *start + WINDOW <= now) {
            self.0.pop_front();
        }
        if let Some(oldest) = self.0.front().filter(|_| self.0.len() >= MOST) {
            return Err(*oldest + WINDOW - now);
        }
        let pause = FIRST_PAUSE * (1 << self.0.len());
        self.0.push_back(now);
        Ok(pause.mul_f64(0.5 + fastrand::f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_and_come_back() {
        let mut budget = Budget::default();
        let begin = Instant::now();
        for start in 0..MOST {
            let pause = budget.take(begin).expect("one is left");
            let middle = FIRST_PAUSE * (1 << start);
            assert!(pause >= middle / 2 && pause < middle * 3 / 2, "{pause:?}");
        }
        assert_eq!(
            budget.take(begin + Duration::from_secs(200)),
            Err(WINDOW - Duration::from_secs(200))
        );
        let later = begin + WINDOW;
        assert!(
            budget.take(later).is_ok_and(|pause| pause < FIRST_PAUSE * 2),
            "all are forgotten"
        );
    }
}
