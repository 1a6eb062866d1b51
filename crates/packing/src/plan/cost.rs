//! The cost of a sample for a rank: tokens, floating-point operations of a model, or the caller's numbers.

use std::cmp::Ordering;

use crate::{FlopModel, PackError};

/// The measure by which ranks are balanced.
#[derive(Debug, Clone, Copy, Default)]
pub enum Cost<'a> {
    /// The number of tokens that are kept.
    #[default]
    Tokens,
    /// The operations of a model on the tokens that are kept.
    Flops(FlopModel),
    /// One number per sample, finite and not negative.
    PerSample(&'a [f64]),
}

impl Cost<'_> {
    /// The cost of each sample; `lengths` are those that are kept.
    pub(crate) fn of(&self, lengths: &[u32]) -> Vec<f64> {
        match self {
            Self::Tokens => lengths.iter().map(|&length| f64::from(length)).collect(),
            Self::Flops(model) => lengths.iter().map(|&length| model.flops(length)).collect(),
            Self::PerSample(cost) => cost.to_vec(),
        }
    }

    pub(crate) fn check(&self, samples: usize) -> Result<(), PackError> {
        let cost = match self {
            Self::Tokens => return Ok(()),
            Self::Flops(model) => return model.check(),
            Self::PerSample(cost) => *cost,
        };
        if cost.len() != samples {
            let costs = cost.len();
            return Err(PackError::Input(format!("{costs} costs for {samples} samples")));
        }
        match cost.iter().position(|cost| !cost.is_finite() || *cost < 0.0) {
            None => Ok(()),
            Some(sample) => Err(PackError::Sample {
                sample,
                reason: format!("its cost is {}", cost[sample]),
            }),
        }
    }
}

/// A finite cost, totally ordered.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Ordered(pub(crate) f64);

impl Eq for Ordered {}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
