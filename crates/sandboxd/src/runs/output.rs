//! One output stream of a run: the first and the last bytes, and an exact count of all bytes.

use std::collections::VecDeque;

use prl_sandbox_proto::Output;

/// Keeps at most `limit` bytes: the first half, and the last half of everything else.
pub(crate) struct Recorder {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    total: u64,
}

impl Recorder {
    pub(crate) fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let head_limit = limit / 2;
        Self {
            head: Vec::new(),
            head_limit,
            tail: VecDeque::new(),
            tail_limit: limit - head_limit,
            total: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// Whether bytes were dropped.
    pub(crate) fn overflowed(&self) -> bool {
        self.total > (self.head.len() + self.tail.len()) as u64
    }

    pub(crate) fn finish(self) -> Output {
        let gap = self.total - (self.head.len() + self.tail.len()) as u64;
        let (mut head, tail) = (self.head, Vec::from(self.tail));
        if gap > 0 {
            return Output {
                head: head.into(),
                tail: tail.into(),
                gap,
                total: self.total,
            };
        }
        head.extend_from_slice(&tail);
        Output {
            head: head.into(),
            tail: bytes::Bytes::new(),
            gap,
            total: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Recorder;

    #[test]
    fn head_gap_and_tail_add_up_however_the_bytes_arrive() {
        let all: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for limit in [0, 1, 7, 64, 999, 1000, 1001] {
            for chunk in [1, 3, 64, 1000] {
                let mut recorder = Recorder::new(limit);
                all.chunks(chunk).for_each(|bytes| recorder.push(bytes));
                let output = recorder.finish();
                assert_eq!(output.head.len() as u64 + output.gap + output.tail.len() as u64, 1000);
                assert_eq!(output.total, 1000);
                assert_eq!(output.gap, 1000_u64.saturating_sub(limit));
                assert!(all.starts_with(&output.head) && all.ends_with(&output.tail));
            }
        }
    }
}
