//! Limits how often the log repeats a message.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(10);

/// One kind of line of the log.
#[derive(Debug)]
pub(crate) struct Seldom(Mutex<State>);

#[derive(Debug)]
struct State {
    said: Option<Instant>,
    unsaid: u64,
}

impl Seldom {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(State { said: None, unsaid: 0 }))
    }

    /// Whether it is time to log the message: returns how often it was left out since the last time.
    pub(crate) fn due(&self) -> Option<u64> {
        self.due_at(Instant::now())
    }

    fn due_at(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.said.is_some_and(|said| now.duration_since(said) < EVERY) {
            state.unsaid += 1;
            return None;
        }
        state.said = Some(now);
        Some(std::mem::take(&mut state.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_lines_are_counted() {
        let (line, begin) = (Seldom::new(), Instant::now());
        assert_eq!(line.due_at(begin), Some(0));
        for milliseconds in [0, 1, 9_999] {
            assert_eq!(line.due_at(begin + Duration::from_millis(milliseconds)), None);
        }
        assert_eq!(line.due_at(begin + EVERY), Some(3));
        assert_eq!(line.due_at(begin + 3 * EVERY), Some(0));
    }
}
