//! From one row of logits to one token and its log-probability.
//!
//! Without changes and truncation the log-probability is [`head::row_logprob`]'s, so the trainer computes the same bits for the same row.
//! The draw inverts the CDF in ascending id order at a uniform number that depends on (seed, position in the completion)
//! only: neither the batch nor the order of requests can change a token. Weights of the CDF come from an exponential with a
//! fixed order of operations, so equal logits give equal tokens on every instruction set.
//!
//! Order, as in vLLM: the format's mask, the request's changes (`controls`) and the mask of banned tokens, temperature, min-p (of the most probable token),
//! top-k (ties with the k-th stay), then top-p: the shortest run of tokens, by falling probability and rising id, whose mass reaches
//! `top_p` of what the others kept. With any of them on, the log-probability is that of the changed, filtered, renormalised distribution.

use super::constraint::{Constraint, Next};
use super::controls::{LogitControls, Occurrences};
use super::ranking::{Ranked, rank_row};
use super::request::RequestError;
use crate::compute::Compute;
use crate::head;

/// How to draw one token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw<'a> {
    /// 0 takes the largest logit.
    pub(super) temperature: f32,
    /// 1 switches it off.
    pub(super) top_p: f32,
    /// None switches it off.
    pub(super) top_k: Option<usize>,
    /// 0 switches it off.
    pub(super) min_p: f32,
    /// Ids that cannot be drawn.
    pub(super) banned: &'a [u32],
    /// None changes no logit.
    pub(super) changes: Option<Changes<'a>>,
    /// None allows every token.
    pub(super) format: Option<Formatted<'a>>,
    /// How many of the most probable tokens are reported, with the rank; None reports neither.
    pub(super) top_logprobs: Option<u32>,
    /// Seed of the request.
    pub(super) seed: u64,
    /// Index of the token in its completion.
    pub(super) position: u64,
}

/// The changes that a request makes to the logits, and the state that they depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changes<'a> {
    pub(super) controls: &'a LogitControls,
    /// Tokens sampled before.
    pub(super) completion: &'a [u32],
    pub(super) occurrences: &'a Occurrences,
}

/// The format that a completion keeps to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Formatted<'a> {
    pub(super) constraint: &'a Constraint,
    /// Tokens that end the completion.
    pub(super) endings: &'a [u32],
    /// Tokens sampled before.
    pub(super) completion: &'a [u32],
}

/// A drawn token.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawn {
    pub(super) id: u32,
    pub(super) logprob: f32,
    pub(super) ranked: Option<Ranked>,
}

/// Why no token can be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Undrawable {
    /// A logit of the model is infinite or not a number.
    NotFinite,
    /// The request's own numbers make a logit infinite.
    Overflow,
    /// The request excludes every token.
    Excluded,
    /// The request excludes every token that its format allows.
    ExcludedByFormat,
    /// The format allows nothing more, and the completion is whole.
    Ended,
    /// The format cannot be followed.
    Format(String),
}

impl Undrawable {
    /// For a request of `tokens` tokens so far, computed by weights of `version`. Its own numbers are finite, so logits that are not are
    /// the fault of the weights.
    pub(super) fn error(self, tokens: usize, version: u64) -> RequestError {
        RequestError::Input(match self {
            Self::NotFinite => {
                return RequestError::Computation(format!(
                    "the logits after {tokens} tokens are not finite: the weights of version {version} are damaged"
                ));
            }
            Self::Overflow => {
                "repetition_penalty or logit_bias makes a logit infinite: use a value nearer to 1 or 0".to_owned()
            }
            Self::Excluded => "allowed_token_ids, bad_words and min_tokens together exclude every token".to_owned(),
            Self::ExcludedByFormat => format!(
                "after {tokens} tokens the required format allows only tokens that allowed_token_ids, bad_words or min_tokens exclude"
            ),
            Self::Ended => "the required format allows no more tokens".to_owned(),
            Self::Format(problem) => problem,
        })
    }
}

/// Working memory whose content does not matter.
#[derive(Debug, Default)]
pub(super) struct Rows {
    changed: Vec<f32>,
    weights: Vec<f32>,
}

/// Tokens whose weights are added up before the search in the CDF goes on to single tokens.
const CDF_CHUNK: usize = 64;

/// Draws a token from `logits`.
pub(super) fn draw(compute: &Compute, logits: &[f32], draw: &Draw<'_>, rows: &mut Rows) -> Result<Drawn, Undrawable> {
    if !all_finite(logits) {
        return Err(Undrawable::NotFinite);
    }
    let greedy = draw.temperature == 0.0;
    let temperature = if greedy { 1.0 } else { draw.temperature };
    let is_changed = !draw.banned.is_empty() || draw.changes.is_some() || draw.format.is_some();
    let is_truncated = !greedy && (draw.top_k.is_some() || draw.top_p < 1.0 || draw.min_p > 0.0);
    let Rows { changed, weights } = rows;
    if is_changed || is_truncated {
        changed.clear();
        changed.extend_from_slice(logits);
    }
    if is_changed {
        change(changed, draw)?;
    }
    let source: &[f32] = if is_changed { changed } else { logits };
    let id = match (greedy, is_truncated) {
        (true, _) => argmax(source),
        (false, false) => draw_from(source, weights, draw),
        (false, true) => draw_truncated(changed, weights, draw),
    };
    let id = id.ok_or(Undrawable::Excluded)?;
    let final_logits: &[f32] = if is_changed || is_truncated { changed } else { logits };
    let (logprob, ranked) = match draw.top_logprobs {
        None => (head::row_logprob(compute, final_logits, temperature, id), None),
        Some(count) => {
            let (logprob, ranked) = rank_row(compute, final_logits, temperature, id, count as usize);
            (logprob, Some(ranked))
        }
    };
    Ok(Drawn { id, logprob, ranked })
}

/// Applies the format, what the request changes, and the mask of banned tokens.
fn change(logits: &mut [f32], draw: &Draw<'_>) -> Result<(), Undrawable> {
    if let Some(format) = draw.format {
        let next = format.constraint.restrict(format.endings, format.completion, logits);
        if next.map_err(Undrawable::Format)? == Next::Nothing {
            return Err(Undrawable::Ended);
        }
    }
    for &id in draw.banned {
        if let Some(logit) = logits.get_mut(id as usize) {
            *logit = f32::NEG_INFINITY;
        }
    }
    if let Some(changes) = draw.changes {
        changes.controls.apply(logits, changes.completion, changes.occurrences);
    }
    if !logits.iter().all(|logit| *logit < f32::INFINITY) {
        return Err(Undrawable::Overflow);
    }
    if logits.iter().all(|logit| *logit == f32::NEG_INFINITY) {
        return Err(match draw.format {
            Some(_) => Undrawable::ExcludedByFormat,
            None => Undrawable::Excluded,
        });
    }
    Ok(())
}

/// Draws at the request's temperature, without truncation; None when every logit is minus infinity.
fn draw_from(logits: &[f32], weights: &mut Vec<f32>, draw: &Draw<'_>) -> Option<u32> {
    fill_weights(logits, weights, draw.temperature)?;
    Some(invert_cdf(weights, uniform(draw.seed, draw.position)))
}

/// The same after top-k, min-p and top-p, which make the logits that they leave out minus infinity.
fn draw_truncated(logits: &mut [f32], weights: &mut Vec<f32>, draw: &Draw<'_>) -> Option<u32> {
    keep_top_k(logits, draw.top_k);
    fill_weights(logits, weights, draw.temperature)?;
    if draw.min_p > 0.0 || draw.top_p < 1.0 {
        keep_min_p(weights, draw.min_p);
        keep_top_p(weights, draw.top_p);
        for (logit, weight) in logits.iter_mut().zip(weights.iter()) {
            if *weight == 0.0 {
                *logit = f32::NEG_INFINITY;
            }
        }
    }
    Some(invert_cdf(weights, uniform(draw.seed, draw.position)))
}

/// Weights relative to the largest, which gets 1.
fn fill_weights(logits: &[f32], weights: &mut Vec<f32>, temperature: f32) -> Option<()> {
    let largest = logits[argmax(logits)? as usize];
    if largest == f32::NEG_INFINITY {
        return None;
    }
    weights.clear();
    weights.extend_from_slice(logits);
    for weight in weights.iter_mut() {
        *weight = exp_nonpositive((*weight - largest) / temperature);
    }
    Some(())
}

fn keep_min_p(weights: &mut [f32], min_p: f32) {
    for weight in weights {
        if *weight < min_p {
            *weight = 0.0;
        }
    }
}

fn all_finite(logits: &[f32]) -> bool {
    // `x * 0` is 0 for finite x and NaN otherwise; lanes let the compiler use vectors.
    let mut lanes = [0.0f32; 8];
    let (chunks, rest) = logits.as_chunks::<8>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value * 0.0;
        }
    }
    lanes.iter().sum::<f32>() == 0.0 && rest.iter().all(|value| value.is_finite())
}

fn argmax(values: &[f32]) -> Option<u32> {
    let mut lanes = [f32::NEG_INFINITY; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = if *value > *lane { *value } else { *lane };
        }
    }
    let largest = lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max);
    values
        .iter()
        .position(|value| *value == largest)
        .and_then(|id| u32::try_from(id).ok())
}

fn keep_top_k(logits: &mut [f32], top_k: Option<usize>) {
    let Some(k) = top_k.filter(|k| *k < logits.len()) else {
        return;
    };
    let mut sorted = logits.to_vec();
    let (_, threshold, _) = sorted.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
    let threshold = *threshold;
    for logit in logits {
        if *logit < threshold {
            *logit = f32::NEG_INFINITY;
        }
    }
}

fn keep_top_p(weights: &mut [f32], top_p: f32) {
    if top_p >= 1.0 {
        return;
    }
    let mut order: Vec<u32> = (0..weights.len() as u32)
        .filter(|id| weights[*id as usize] > 0.0)
        .collect();
    order.sort_unstable_by(|a, b| weights[*b as usize].total_cmp(&weights[*a as usize]).then(a.cmp(b)));
    let total: f64 = order.iter().map(|id| f64::from(weights[*id as usize])).sum();
    let enough = f64::from(top_p) * total;
    let mut mass = 0.0;
    for id in order {
        if mass >= enough {
            weights[id as usize] = 0.0;
        } else {
            mass += f64::from(weights[id as usize]);
        }
    }
}

/// The lowest id at which the running sum of `weights` exceeds `u` times their total; never one of weight 0.
fn invert_cdf(weights: &[f32], u: f64) -> u32 {
    let sum_of = |chunk: &[f32]| {
        let mut lanes = [0.0f32; 8];
        let (eights, rest) = chunk.as_chunks::<8>();
        for eight in eights {
            for (lane, weight) in lanes.iter_mut().zip(eight) {
                *lane += weight;
            }
        }
        f64::from(lanes.iter().chain(rest).sum::<f32>())
    };
    let total: f64 = weights.chunks(CDF_CHUNK).map(sum_of).sum();
    let target = u * total;
    let mut before = 0.0;
    let mut last_possible = 0;
    for (index, chunk) in weights.chunks(CDF_CHUNK).enumerate() {
        let sum = sum_of(chunk);
        if sum <= 0.0 {
            continue;
        }
        let here = before + sum > target;
        let mut running = before;
        if here || index + 1 == weights.len().div_ceil(CDF_CHUNK) {
            for (offset, weight) in chunk.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
                running += f64::from(*weight);
                last_possible = index * CDF_CHUNK + offset;
                if running > target {
                    break;
                }
            }
        } else if let Some(offset) = chunk.iter().rposition(|weight| *weight > 0.0) {
            last_possible = index * CDF_CHUNK + offset;
        }
        if here {
            break;
        }
        before += sum;
    }
    last_possible as u32
}

/// A number in [0, 1) with 53 random bits: the SplitMix64 stream of a scrambled seed, read at `position`.
fn uniform(seed: u64, position: u64) -> f64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let start = scramble(seed.wrapping_add(STEP));
    let bits = scramble(start.wrapping_add(position.wrapping_add(1).wrapping_mul(STEP)));
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// SplitMix64's output function (Stafford's variant 13).
fn scramble(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// e^x for x <= 0 to about 1e-7 relative, exactly 1 at 0 and exactly 0 below -87 (Cephes' polynomial). Plain operations in
/// a fixed order: the compiler can use vectors of any width without changing the bits.
#[inline(always)]
fn exp_nonpositive(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    /// 1.5 * 2^23: adding it rounds to an integer that the low mantissa bits hold.
    const ROUND: f32 = 12_582_912.0;
    let inside = if x > -87.0 { x } else { -87.0 };
    let rounded = inside * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (inside - n * LN2_HIGH) - n * LN2_LOW;
    let mut p = 1.987_569_1e-4;
    p = p * r + 1.398_2e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 1.666_666_5e-1;
    p = p * r + 0.5;
    let value = p * (r * r) + r + 1.0;
    let exponent = rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    let result = value * f32::from_bits(exponent);
    if x > -87.0 { result } else { 0.0 }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod torch_oracle;
