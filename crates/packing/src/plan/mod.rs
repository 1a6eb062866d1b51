//! The plan of a step: which samples share a bin, and which rank runs it.
//!
//! `first_fit` fills the bins, `split` gives every rank as many, and `balance` gives all ranks similar work by the `cost`.

mod balance;
pub(crate) mod cost;
mod first_fit;
pub(crate) mod flops;
mod split;

use crate::PackError;
use balance::balance_ranks;
use cost::Cost;
use first_fit::first_fit_decreasing;
use split::split_to_multiple;

/// Most ranks that a plan is made for.
pub const MAX_RANKS: u32 = 1 << 16;

/// The limits of a plan, and the costs that it balances.
#[derive(Debug, Clone, Copy)]
pub struct PackOptions<'a> {
    /// Most tokens of a bin; longer samples count as this many.
    pub seq_len: u32,
    /// Data-parallel ranks; bin `i` belongs to rank `i % ranks`.
    pub ranks: u32,
    /// The measure by which ranks are balanced.
    pub cost: Cost<'a>,
    /// The class of each sample; empty when all are of one class. Samples of different classes (other modalities, with or without
    /// router replay) share no bin. At any time all ranks run bins of one class, because they take part in the same collectives.
    pub classes: &'a [u32],
}

impl PackOptions<'_> {
    /// One class of samples, balanced by tokens.
    pub fn new(seq_len: u32, ranks: u32) -> Self {
        Self {
            seq_len,
            ranks,
            cost: Cost::Tokens,
            classes: &[],
        }
    }
}

/// Distributes samples over bins of at most `seq_len` tokens; bin `i` belongs to rank `i % ranks`.
///
/// The number of bins (of each class) is a multiple of `ranks`: the heaviest bins with several samples are halved until
/// it is. When there are too few samples for that, bins in the last round of their class are left empty. The bins
/// `j * ranks..(j + 1) * ranks` are run at the same time: they are of one class and of similar cost, classes in
/// ascending order and costs in descending order within a class. The totals of the ranks are balanced too. Equal input
/// gives an equal plan; no samples give no bins.
///
/// ```
/// use prl_packing::{PackOptions, pack_sequences};
///
/// let plan = pack_sequences(&[6, 3, 5, 2], PackOptions::new(8, 2))?;
/// assert_eq!(plan, [vec![0, 3], vec![1, 2]]);
/// # Ok::<(), prl_packing::PackError>(())
/// ```
///
/// # Errors
/// [`PackError::Input`] when `seq_len` or `ranks` is 0, `ranks` is above [`MAX_RANKS`], or there are not as many costs
/// or classes as samples; [`PackError::Sample`] for an empty sample or a cost that is negative or not finite.
pub fn pack_sequences(lengths: &[u32], options: PackOptions<'_>) -> Result<Vec<Vec<u32>>, PackError> {
    check(lengths, options)?;
    let PackOptions { seq_len, ranks, .. } = options;
    let lengths: Vec<u32> = lengths.iter().map(|&length| length.min(seq_len)).collect();
    let cost = options.cost.of(&lengths);
    let mut rounds = Vec::new();
    for samples in classes(lengths.len(), options.classes) {
        let bins = first_fit_decreasing(&samples, &lengths, seq_len);
        rounds.extend(split_to_multiple(bins, ranks as usize, &cost));
    }
    Ok(balance_ranks(rounds, ranks as usize))
}

/// The samples of each class, classes and samples in ascending order.
fn classes(samples: usize, classes: &[u32]) -> Vec<Vec<u32>> {
    let mut all: Vec<u32> = (0u32..).take(samples).collect();
    if classes.is_empty() {
        return if all.is_empty() { Vec::new() } else { vec![all] };
    }
    all.sort_by_key(|&sample| classes[sample as usize]);
    all.chunk_by(|&left, &right| classes[left as usize] == classes[right as usize])
        .map(<[u32]>::to_vec)
        .collect()
}

fn check(lengths: &[u32], options: PackOptions<'_>) -> Result<(), PackError> {
    let PackOptions { seq_len, ranks, .. } = options;
    if seq_len == 0 {
        return Err(PackError::Input("seq_len is 0".to_owned()));
    }
    if ranks == 0 || ranks > MAX_RANKS {
        return Err(PackError::Input(format!("ranks is {ranks}, expected 1 to {MAX_RANKS}")));
    }
    let samples = lengths.len();
    if u32::try_from(samples).is_err() {
        return Err(PackError::Input(format!("{samples} samples are too many")));
    }
    if let Some(sample) = lengths.iter().position(|&length| length == 0) {
        let reason = "it has no tokens".to_owned();
        return Err(PackError::Sample { sample, reason });
    }
    let classes = options.classes.len();
    if classes != 0 && classes != samples {
        return Err(PackError::Input(format!("{classes} classes for {samples} samples")));
    }
    options.cost.check(samples)
}
