//! The plan of a step: which samples share a bin, and which rank runs it.

use crate::PackError;
use crate::balance::{balance_ranks, split_to_multiple};
use crate::first_fit::first_fit_decreasing;

/// Most ranks that a plan is made for.
pub const MAX_RANKS: u32 = 1 << 16;

/// Distributes samples over bins of at most `seq_len` tokens; bin `i` belongs to rank `i % ranks`.
///
/// Samples longer than `seq_len` count as `seq_len` (and are cut to it by [`crate::build_batch`]). The number of bins
/// is a multiple of `ranks`: the heaviest bins of several samples are halved until it is. Only when there are fewer
/// samples than the multiple needs are bins left empty, the last ones of their ranks. Bins of a rank come by descending
/// cost, so that ranks working in step have similar work; their totals are balanced. `cost` is per sample and defaults
/// to its tokens. Equal input gives an equal plan; no samples give no bins.
///
/// # Errors
/// [`PackError::Input`] when `seq_len` or `ranks` is 0, `ranks` is above [`MAX_RANKS`], or `cost` has another length
/// than `lengths`; [`PackError::Sample`] for an empty sample or a cost that is negative or not finite.
pub fn pack_sequences(
    lengths: &[u32],
    seq_len: u32,
    ranks: u32,
    cost: Option<&[f64]>,
) -> Result<Vec<Vec<u32>>, PackError> {
    check(lengths, seq_len, ranks, cost)?;
    if lengths.is_empty() {
        return Ok(Vec::new());
    }
    let lengths: Vec<u32> = lengths.iter().map(|&length| length.min(seq_len)).collect();
    let token_cost: Vec<f64>;
    let cost = match cost {
        Some(cost) => cost,
        None => {
            token_cost = lengths.iter().map(|&length| f64::from(length)).collect();
            &token_cost
        }
    };
    let bins = first_fit_decreasing(&lengths, seq_len);
    let bins = split_to_multiple(bins, ranks as usize, cost);
    Ok(balance_ranks(bins, ranks as usize, cost))
}

fn check(lengths: &[u32], seq_len: u32, ranks: u32, cost: Option<&[f64]>) -> Result<(), PackError> {
    if seq_len == 0 {
        return Err(PackError::Input("seq_len is 0".to_owned()));
    }
    if ranks == 0 || ranks > MAX_RANKS {
        return Err(PackError::Input(format!("ranks is {ranks}, expected 1 to {MAX_RANKS}")));
    }
    if u32::try_from(lengths.len()).is_err() {
        return Err(PackError::Input(format!("{} samples are too many", lengths.len())));
    }
    if let Some(sample) = lengths.iter().position(|&length| length == 0) {
        return Err(PackError::Sample {
            sample,
            reason: "it has no tokens".to_owned(),
        });
    }
    let Some(cost) = cost else { return Ok(()) };
    if cost.len() != lengths.len() {
        return Err(PackError::Input(format!(
            "{} costs for {} samples",
            cost.len(),
            lengths.len()
        )));
    }
    if let Some(sample) = cost.iter().position(|cost| !cost.is_finite() || *cost < 0.0) {
        return Err(PackError::Sample {
            sample,
            reason: format!("its cost is {}", cost[sample]),
        });
    }
    Ok(())
}
