//! Rows of logits: maximum, normaliser, entropy, and the gradient of a log-probability.

use super::math::{exp, log};
use super::{LANES, Lanes, sum_lanes, tiered};

/// The two numbers that normalise a row of scaled logits `x / temperature`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowStatistics {
    /// The largest scaled logit.
    pub(crate) max: f32,
    /// Sum of `exp(scaled - max)`.
    pub(crate) sum: f32,
    /// `log(sum)`, computed by the tier's own logarithm.
    pub(crate) log_sum: f32,
}

impl RowStatistics {
    /// `log sum exp(scaled)`.
    pub(crate) fn log_normalizer(&self) -> f32 {
        self.max + self.log_sum
    }
}

tiered! {
    /// Maximum and normaliser of a row.
    pub(crate) fn row_statistics(row: &[f32], temperature: f32) -> RowStatistics = row_statistics_body
}

tiered! {
    /// Entropy of `softmax(row / temperature)` in nats: `log_normalizer - sum p * x`.
    pub(crate) fn row_entropy(row: &[f32], temperature: f32, statistics: RowStatistics) -> f32 = row_entropy_body
}

tiered! {
    /// Overwrites logits by the gradient `scale * (onehot(token) - softmax(row / temperature))`. `row` may be a part of the row that the statistics
    /// are of; `token` is counted from its beginning, and None when it lies elsewhere.
    #[expect(clippy::too_many_arguments, reason = "the operands of a row's gradient, and the tier")]
    pub(crate) fn row_gradient(row: &mut [f32], temperature: f32, token: Option<usize>, scale: f32, statistics: RowStatistics) = row_gradient_body
}

#[inline(always)]
fn row_statistics_body<L: Lanes>(row: &[f32], temperature: f32) -> RowStatistics {
    let max = row_max(row) / temperature;
    let (lines, tail) = row.as_chunks::<LANES>();
    let mut lanes = [0f32; LANES];
    for line in lines {
        for lane in 0..LANES {
            lanes[lane] += exp::<L>(line[lane] / temperature - max);
        }
    }
    for (lane, x) in tail.iter().enumerate() {
        lanes[lane] += exp::<L>(x / temperature - max);
    }
    let sum = sum_lanes(lanes);
    RowStatistics {
        max,
        sum,
        log_sum: log::<L>(sum),
    }
}

/// The largest element; NaN elements are skipped here and show in the sum.
#[inline(always)]
pub(crate) fn row_max(row: &[f32]) -> f32 {
    let (lines, tail) = row.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for line in lines {
        for lane in 0..LANES {
            lanes[lane] = if line[lane] > lanes[lane] {
                line[lane]
            } else {
                lanes[lane]
            };
        }
    }
    for (lane, &x) in tail.iter().enumerate() {
        lanes[lane] = if x > lanes[lane] { x } else { lanes[lane] };
    }
    let mut max = f32::NEG_INFINITY;
    for x in lanes {
        max = if x > max { x } else { max };
    }
    max
}

#[inline(always)]
fn row_entropy_body<L: Lanes>(row: &[f32], temperature: f32, statistics: RowStatistics) -> f32 {
    let RowStatistics { max, sum, log_sum } = statistics;
    let (lines, tail) = row.as_chunks::<LANES>();
    let mut lanes = [0f32; LANES];
    // sum of exp(d) * d with d = scaled - max; then H = log_sum - that / sum
    for line in lines {
        for lane in 0..LANES {
            let d = line[lane] / temperature - max;
            let weight = exp::<L>(d);
            lanes[lane] += if weight > 0.0 { weight * d } else { 0.0 };
        }
    }
    for (lane, x) in tail.iter().enumerate() {
        let d = x / temperature - max;
        let weight = exp::<L>(d);
        lanes[lane] += if weight > 0.0 { weight * d } else { 0.0 };
    }
    log_sum - sum_lanes(lanes) / sum
}

#[inline(always)]
fn row_gradient_body<L: Lanes>(
    row: &mut [f32],
    temperature: f32,
    token: Option<usize>,
    scale: f32,
    statistics: RowStatistics,
) {
    let RowStatistics { max, sum, .. } = statistics;
    let factor = -scale / sum;
    for x in row.iter_mut() {
        *x = exp::<L>(*x / temperature - max) * factor;
    }
    if let Some(token) = token {
        row[token] += scale;
    }
}
