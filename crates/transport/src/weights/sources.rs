//! Chooses the node to pull from: in the given order, leaving nodes that fail or are slow while others may be better.

use std::time::{Duration, Instant};

use crate::Address;

/// Slower than this (bytes per second), a source is left for one that is not known to be slow.
const SLOW: f64 = (16 << 20) as f64;
/// A source is left for one that was this many times as fast.
const MUCH_FASTER: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Standing {
    Untried,
    /// Bytes per second.
    Rate(f64),
    /// Its last failure, numbered among the failures of all sources.
    Failed(u64),
}

#[derive(Debug)]
struct Source {
    address: Address,
    standing: Standing,
    /// How often it failed since bytes came, from whatever source.
    fruitless: u32,
    /// Since bytes came, from whatever source, its last answer was that it does not have the version.
    lacks: bool,
}

/// The sources of one pull. Nothing is remembered from one pull to the next, so one that recovered is used again.
#[derive(Debug)]
pub(crate) struct Sources {
    list: Vec<Source>,
    failures: u64,
}

impl Sources {
    /// In order of preference; at least one.
    pub(crate) fn new(addresses: &[Address]) -> Self {
        Self {
            list: addresses
                .iter()
                .map(|address| Source {
                    address: address.clone(),
                    standing: Standing::Untried,
                    fruitless: 0,
                    lacks: false,
                })
                .collect(),
            failures: 0,
        }
    }

    /// The next source: the first untried one, else the fastest, else the one whose failure is longest ago.
    pub(crate) fn pick(&self) -> Option<(usize, &Address)> {
        let rank = |standing: Standing| match standing {
            Standing::Untried => f64::INFINITY,
            Standing::Rate(rate) => rate,
            Standing::Failed(at) => -1.0 - at as f64,
        };
        // The first one of equal sources is taken.
        let best = self
            .list
            .iter()
            .enumerate()
            .rev()
            .max_by(|a, b| rank(a.1.standing).total_cmp(&rank(b.1.standing)));
        best.map(|(index, source)| (index, &source.address))
    }

    /// Records that bytes came.
    pub(crate) fn gave(&mut self) {
        for source in &mut self.list {
            source.fruitless = 0;
            source.lacks = false;
        }
    }

    /// Records that a source does not have the version; returns whether that is so of all.
    pub(crate) fn lacks(&mut self, index: usize) -> bool {
        self.failed(index);
        self.list[index].lacks = true;
        self.list.iter().all(|source| source.lacks)
    }

    pub(crate) fn failed(&mut self, index: usize) {
        self.failures += 1;
        self.list[index].lacks = false;
        self.list[index].standing = Standing::Failed(self.failures);
        self.list[index].fruitless += 1;
    }

    /// Records that the bytes of a source do not continue those that came before. Which of them are wrong shows only at the end of a file. The earlier
    /// bytes are kept while a source continues them. When none does, the result is true: they should be thrown away, and this source is the next one.
    pub(crate) fn contradicts(&mut self, index: usize) -> bool {
        self.failed(index);
        // The network may have damaged the chunk, so once is not enough.
        let is_stuck = self.list[index].fruitless > 1 && self.list.iter().all(|source| source.fruitless > 0);
        if is_stuck {
            self.gave();
            self.list[index].standing = Standing::Untried;
        }
        is_stuck
    }

    /// Records the rate of a source; returns true when it should be left.
    pub(crate) fn measured(&mut self, index: usize, rate: f64) -> bool {
        self.list[index].standing = Standing::Rate(rate);
        self.list
            .iter()
            .enumerate()
            .any(|(other, source)| match source.standing {
                _ if other == index => false,
                Standing::Untried => rate < SLOW,
                Standing::Rate(known) => known > MUCH_FASTER * rate,
                Standing::Failed(_) => false,
            })
    }

    /// The names of all sources, for messages.
    pub(crate) fn names(&self) -> String {
        self.list
            .iter()
            .map(|source| source.address.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Measures the rate of a source in windows of time.
pub(crate) struct Window {
    length: Duration,
    since: Instant,
    bytes: usize,
}

impl Window {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            length,
            since: Instant::now(),
            bytes: 0,
        }
    }

    /// Bytes per second, at the end of each window.
    pub(crate) fn count(&mut self, bytes: usize) -> Option<f64> {
        self.bytes += bytes;
        let elapsed = self.since.elapsed();
        if elapsed < self.length {
            return None;
        }
        let rate = self.bytes as f64 / elapsed.as_secs_f64();
        *self = Self::new(self.length);
        Some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(count: u16) -> Sources {
        let addresses: Vec<Address> = (1..=count)
            .map(|port| format!("127.0.0.1:{port}").parse().expect("an address"))
            .collect();
        Sources::new(&addresses)
    }

    fn picked(sources: &Sources) -> usize {
        sources.pick().expect("a source").0
    }

    #[test]
    fn keeps_to_the_order_and_goes_on_when_one_fails() {
        let mut sources = sources(3);
        assert_eq!(picked(&sources), 0);
        sources.failed(0);
        assert_eq!(picked(&sources), 1);
        sources.failed(1);
        sources.failed(2);
        assert_eq!(picked(&sources), 0, "the one whose failure is longest ago");
        sources.failed(0);
        assert_eq!(picked(&sources), 1);
    }

    #[test]
    fn leaves_a_slow_source_for_an_untried_one_and_comes_back_to_the_faster() {
        let mut sources = sources(2);
        assert!(!sources.measured(0, 1e9), "a fast one is kept");
        assert!(sources.measured(0, 1e6));
        assert_eq!(picked(&sources), 1);
        assert!(!sources.measured(1, 0.9e6), "the other is no better by much");
        assert_eq!(picked(&sources), 0);
        assert!(sources.measured(1, 0.4e6));
    }

    #[test]
    fn a_slow_source_is_kept_when_it_is_the_only_one_that_works() {
        let mut sources = sources(2);
        sources.failed(1);
        assert!(!sources.measured(0, 1.0));
        assert_eq!(picked(&sources), 0);
    }

    #[test]
    fn a_version_is_lacking_when_that_is_the_last_answer_of_every_source() {
        let mut sources = sources(2);
        assert!(!sources.lacks(0));
        sources.failed(0);
        assert!(!sources.lacks(1), "the other one may have it again");
        assert!(sources.lacks(0));
        sources.gave();
        assert!(!sources.lacks(0));
    }

    #[test]
    fn bytes_that_no_source_continues_are_thrown_away_for_those_of_the_source_that_contradicts_them() {
        let mut sources = sources(2);
        sources.gave();
        sources.failed(0);
        assert!(!sources.contradicts(1));
        assert_eq!(picked(&sources), 0, "it may have the rest");
        sources.failed(0);
        assert!(sources.contradicts(1));
        assert_eq!(picked(&sources), 1);
        sources.gave();
        assert!(!sources.contradicts(1), "the network may have damaged a chunk");
        assert!(!sources.contradicts(1), "the other one is not asked yet");
    }
}
