//! The end of the embedded daemon's log, in bounded memory.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

const KEPT_BYTES: usize = 16 << 10;
const SHOWN_LINES: usize = 15;

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    bytes: Mutex<VecDeque<u8>>,
}

impl LogTail {
    /// Reads `stream` to its end.
    pub(crate) fn follow(&self, mut stream: impl Read) {
        let mut chunk = [0_u8; 4096];
        while let Ok(length @ 1..) = stream.read(&mut chunk) {
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend(&chunk[..length]);
            let excess = bytes.len().saturating_sub(KEPT_BYTES);
            bytes.drain(..excess);
        }
    }

    /// The last lines, or a note that there are none.
    pub(crate) fn text(&self) -> String {
        let bytes: Vec<u8> = self
            .bytes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .copied()
            .collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.trim().lines().collect();
        if lines.is_empty() {
            return "(it wrote nothing)".to_owned();
        }
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_lines_in_bounded_memory() {
        let tail = LogTail::default();
        assert_eq!(tail.text(), "(it wrote nothing)");
        let log: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
        tail.follow(log.as_bytes());
        assert!(tail.bytes.lock().expect("no panic").len() <= KEPT_BYTES);
        let text = tail.text();
        assert_eq!(text.lines().count(), SHOWN_LINES);
        assert!(text.ends_with("line 9999"));
    }
}
