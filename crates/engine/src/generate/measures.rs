//! Measures of requests and steps: times and sizes, which decide nothing.

use std::sync::Arc;
use std::time::Instant;

/// Upper bounds of the counts in [`StepSizes`], in tokens. They are vLLM's.
pub const STEP_SIZE_BOUNDS: [u64; 13] = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

/// How many steps computed how many tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepSizes {
    /// Steps with at most as many tokens as the bound in the same place and more than the one before; the last count has no bound.
    pub counts: [u64; STEP_SIZE_BOUNDS.len() + 1],
    /// Tokens of all steps.
    pub tokens: u64,
}

impl StepSizes {
    pub(super) fn add(&mut self, tokens: usize) {
        let tokens = tokens as u64;
        let at = STEP_SIZE_BOUNDS.partition_point(|bound| *bound < tokens);
        self.counts[at] += 1;
        self.tokens += tokens;
    }
}

/// Seconds that the parts of a request took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestTimes {
    /// From the submission to the first step that had a part of it.
    pub queued: f64,
    /// From there to the first token.
    pub prefill: f64,
    /// From the first token to the last.
    pub decode: f64,
}

/// When a request reached its stages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stages {
    submitted: Instant,
    admitted: Option<Instant>,
    /// When the first token came, and the last one so far.
    sampled: Option<(Instant, Instant)>,
}

impl Stages {
    pub(super) fn begin() -> Self {
        Self {
            submitted: Instant::now(),
            admitted: None,
            sampled: None,
        }
    }

    /// Only the first admission counts: a request that was preempted computes again.
    pub(super) fn admit(&mut self) {
        self.admitted.get_or_insert_with(Instant::now);
    }

    pub(super) fn sample(&mut self) {
        let now = Instant::now();
        self.sampled = Some((self.sampled.map_or(now, |(first, _)| first), now));
    }

    /// None before the first token.
    pub(super) fn times(&self) -> Option<RequestTimes> {
        let (admitted, (first, last)) = (self.admitted?, self.sampled?);
        let between = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64();
        Some(RequestTimes {
            queued: between(self.submitted, admitted),
            prefill: between(admitted, first),
            decode: between(first, last),
        })
    }
}

/// How many running requests each named adapter has.
pub type AdapterCounts = Vec<(Arc<str>, usize)>;

pub(super) fn count_adapters<'a>(names: impl Iterator<Item = &'a Arc<str>>) -> AdapterCounts {
    let mut counts = AdapterCounts::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((Arc::clone(name), 1)),
        }
    }
    counts
}
