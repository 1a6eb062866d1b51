//! Gives every rank the same number of bins: heavy bins are halved until their number fits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::balance::Bin;
use super::cost::Ordered;

/// Halves the heaviest bins with several samples until the number of bins is a multiple of `ranks`. When every bin has one
/// sample only, empty bins are added. The result is in descending order of cost, empty bins last.
pub(crate) fn split_to_multiple(bins: Vec<Vec<u32>>, ranks: usize, cost: &[f64]) -> Vec<Bin> {
    let target = bins.len().next_multiple_of(ranks);
    let mut bins: Vec<Bin> = bins.into_iter().map(|samples| Bin::new(samples, cost)).collect();
    let entry = |bins: &[Bin], bin: usize| (Ordered(bins[bin].cost), Reverse(bin));
    let mut heaviest: BinaryHeap<_> = (0..bins.len())
        .filter(|&bin| bins[bin].samples.len() > 1)
        .map(|bin| entry(&bins, bin))
        .collect();
    while bins.len() < target {
        let Some((_, Reverse(bin))) = heaviest.pop() else { break };
        let (left, right) = halves(std::mem::take(&mut bins[bin].samples), cost);
        bins[bin] = Bin::new(left, cost);
        bins.push(Bin::new(right, cost));
        for half in [bin, bins.len() - 1] {
            if bins[half].samples.len() > 1 {
                heaviest.push(entry(&bins, half));
            }
        }
    }
    bins.resize_with(target, Bin::default);
    bins.sort_by(Bin::heavier_first);
    bins
}

/// Longest processing time first: each sample goes to the half that is lighter so far; neither half is empty.
fn halves(mut samples: Vec<u32>, cost: &[f64]) -> (Vec<u32>, Vec<u32>) {
    samples.sort_by_key(|&sample| (Reverse(Ordered(cost[sample as usize])), sample));
    let mut halves = [(0.0, Vec::new()), (0.0, Vec::new())];
    for sample in samples {
        let lighter =
            usize::from((Ordered(halves[1].0), halves[1].1.len()) < (Ordered(halves[0].0), halves[0].1.len()));
        halves[lighter].0 += cost[sample as usize];
        halves[lighter].1.push(sample);
    }
    let [(_, left), (_, right)] = halves;
    (left, right)
}
