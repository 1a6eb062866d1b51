//! The rank of a token in a row of logits, and the most probable tokens.

use crate::compute::Compute;
use crate::head;

/// Most tokens that a request can have named with each sampled or scored one.
pub const MAX_TOP_LOGPROBS: u32 = 20;

/// Where a token stands in its distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// How many tokens are at least as probable, itself included: 1 for the most probable one.
    pub rank: u32,
    /// The most probable tokens with their log-probabilities: falling, on ties the lowest id first.
    pub top: Vec<(u32, f32)>,
}

/// Log-probability of `token` in the softmax of `logits / temperature`, the same bits as [`head::row_logprob`]'s, and its standing among
/// the tokens, with the `count` most probable ones. Logits may be minus infinity.
pub(super) fn rank_row(compute: &Compute, logits: &[f32], temperature: f32, token: u32, count: usize) -> (f32, Ranked) {
    let normalizer = head::row_log_normalizer(compute, logits, temperature);
    let logprob_of = |logit: f32| logit / temperature - normalizer;
    let own = logprob_of(logits[token as usize]);
    let rank = logits.iter().filter(|logit| logprob_of(**logit) >= own).count();
    let top = largest(logits.iter().map(|logit| logprob_of(*logit)), count);
    let rank = u32::try_from(rank).unwrap_or(u32::MAX);
    (own, Ranked { rank, top })
}

/// The `count` largest values with their indices.
fn largest(values: impl Iterator<Item = f32>, count: usize) -> Vec<(u32, f32)> {
    let mut kept: Vec<(u32, f32)> = Vec::with_capacity(count + 1);
    for (id, value) in (0u32..).zip(values) {
        if kept.len() == count && kept.last().is_none_or(|(_, least)| value <= *least) {
            continue;
        }
        let at = kept.partition_point(|(_, other)| *other >= value);
        kept.insert(at, (id, value));
        kept.truncate(count);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_count_in_the_rank_and_the_lowest_id_comes_first() {
        let compute = Compute::new(1, None).unwrap();
        let logits = [0.5, 2.0, f32::NEG_INFINITY, 2.0, 1.0];
        let (logprob, ranked) = rank_row(&compute, &logits, 0.5, 4, 4);
        assert_eq!(logprob, head::row_logprob(&compute, &logits, 0.5, 4));
        assert_eq!(ranked.rank, 3);
        let ids: Vec<u32> = ranked.top.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [1, 3, 4, 0]);
        assert_eq!(
            rank_row(&compute, &logits, 0.5, 3, 0).1,
            Ranked { rank: 2, top: vec![] }
        );
        let all = rank_row(&compute, &logits, 1.0, 1, 20).1;
        assert_eq!(all.top.len(), 5);
        assert_eq!(all.top[4], (2, f32::NEG_INFINITY));
    }
}
