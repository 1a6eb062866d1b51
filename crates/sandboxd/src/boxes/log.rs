//! One output stream of a started process. Any reader can read it from any position that is still kept, also after the
//! end of the process.
//!
//! A lossless stream makes its writer wait once `KEPT_BYTES` are unread. It also keeps as many bytes behind the
//! furthest reader, for a reader that lost its connection. Any other stream drops its oldest bytes, and a reader sees
//! the gap in the positions.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::watch;

/// How many bytes of a stream are kept; twice as many when it is lossless.
const KEPT_BYTES: u64 = 1 << 20;
/// How many bytes a reader gets at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// See the module.
#[derive(Debug)]
pub(super) struct Log {
    lossless: bool,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Position of the first kept byte.
    start: u64,
    bytes: VecDeque<u8>,
    /// The furthest position that was read.
    read: u64,
    ended: bool,
}

impl State {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn drop_until(&mut self, position: u64) {
        let excess = position.saturating_sub(self.start).min(self.bytes.len() as u64);
        self.bytes.drain(..usize::try_from(excess).unwrap_or(0));
        self.start += excess;
    }
}

/// The result of reading.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Position of the first byte, and the bytes.
    Data(u64, Bytes),
    /// No bytes yet.
    Later,
    End,
}

impl Log {
    pub(super) fn new(lossless: bool) -> Self {
        Self {
            lossless,
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }

    /// Adds bytes, when there is room.
    pub(super) async fn push(&self, bytes: &[u8]) {
        let mut changed = self.changed.subscribe();
        while !self.try_push(bytes) {
            // The sender exists as long as the log.
            let _never = changed.changed().await.is_err();
        }
    }

    fn try_push(&self, bytes: &[u8]) -> bool {
        let mut state = self.lock();
        if state.ended {
            return true;
        }
        if self.lossless && state.end() >= state.read + KEPT_BYTES {
            return false;
        }
        state.bytes.extend(bytes);
        let keep_from = if self.lossless { state.read } else { state.end() };
        state.drop_until(keep_from.saturating_sub(KEPT_BYTES));
        drop(state);
        self.changed.send_replace(());
        true
    }

    /// Ends the stream. Bytes that are pushed later are thrown away.
    pub(super) fn finish(&self) {
        self.lock().ended = true;
        self.changed.send_replace(());
    }

    pub(super) fn is_finished(&self) -> bool {
        self.lock().ended
    }

    /// The bytes from a position on.
    pub(super) fn read(&self, from: u64) -> Piece {
        let mut state = self.lock();
        let from = from.max(state.start);
        if from >= state.end() {
            return if state.ended { Piece::End } else { Piece::Later };
        }
        let skip = usize::try_from(from - state.start).unwrap_or(usize::MAX);
        let until = (skip + CHUNK_BYTES).min(state.bytes.len());
        let data: Vec<u8> = state.bytes.range(skip..until).copied().collect();
        let position = from + data.len() as u64;
        if position > state.read {
            state.read = position;
            drop(state);
            self.changed.send_replace(());
        }
        Piece::Data(from, data.into())
    }

    /// Changes whenever bytes are pushed or read, or the stream is finished.
    pub(super) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn byte_at(position: u64) -> u8 {
        (position * 31 % 251) as u8
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(25))]
        /// Every byte that is read was written at its position. A lossless stream has no gap for a reader that
        /// continues where it was, and memory stays bounded in both cases.
        #[test]
        fn positions_never_lie(lossless: bool, steps in prop::collection::vec((any::<bool>(), 1_usize..200_000), 1..30)) {
            let log = Log::new(lossless);
            let (mut written, mut next) = (0_u64, 0_u64);
            for (write, length) in steps {
                if write {
                    let bytes: Vec<u8> = (written..).take(length).map(byte_at).collect();
                    if log.try_push(&bytes) {
                        written += length as u64;
                    } else {
                        prop_assert!(lossless && written - next >= KEPT_BYTES);
                    }
                } else if let Piece::Data(position, data) = log.read(next) {
                    prop_assert!(position >= next && (!lossless || position == next));
                    prop_assert!(data.iter().zip(position..).all(|(byte, at)| *byte == byte_at(at)));
                    next = position + data.len() as u64;
                } else {
                    prop_assert_eq!(next, written);
                }
                prop_assert!(log.lock().bytes.len() as u64 <= 2 * KEPT_BYTES + 400_000);
            }
            log.finish();
            while let Piece::Data(position, data) = log.read(next) {
                next = position + data.len() as u64;
            }
            prop_assert_eq!(next, written);
            prop_assert_eq!(log.read(next), Piece::End);
        }
    }
}
