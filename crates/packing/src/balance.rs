//! Making the work of the ranks equal: as many bins for each, of similar total cost.
//!
//! Bins are dealt in rounds of one per rank, heaviest first to the lightest rank; then bins of the heaviest rank are
//! exchanged for lighter ones of others as long as that lowers the maximum (bounded work). Ties are broken by index,
//! so that equal input gives an equal plan.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Bound on the bins looked at by the exchange, which would otherwise be cubic in the worst case.
const MAX_EXCHANGE_WORK: usize = 20_000_000;

/// Halves the heaviest bins of several samples until their number is a multiple of `ranks`; when every bin has one
/// sample only, empty bins fill up.
pub(crate) fn split_to_multiple(mut bins: Vec<Vec<u32>>, ranks: usize, cost: &[f64]) -> Vec<Vec<u32>> {
    let target = bins.len().next_multiple_of(ranks);
    let entry = |bins: &[Vec<u32>], bin: usize| (Cost(total(&bins[bin], cost)), Reverse(bin));
    let mut heaviest: BinaryHeap<_> = (0..bins.len())
        .filter(|&bin| bins[bin].len() > 1)
        .map(|bin| entry(&bins, bin))
        .collect();
    while bins.len() < target {
        let Some((_, Reverse(bin))) = heaviest.pop() else { break };
        let (left, right) = halves(std::mem::take(&mut bins[bin]), cost);
        bins[bin] = left;
        bins.push(right);
        for half in [bin, bins.len() - 1] {
            if bins[half].len() > 1 {
                heaviest.push(entry(&bins, half));
            }
        }
    }
    bins.resize_with(target, Vec::new);
    bins
}

/// Longest processing time first: each sample goes to the half that is lighter so far; neither half is empty.
fn halves(mut samples: Vec<u32>, cost: &[f64]) -> (Vec<u32>, Vec<u32>) {
    samples.sort_by_key(|&sample| (Reverse(Cost(cost[sample as usize])), sample));
    let mut halves = [(0.0, Vec::new()), (0.0, Vec::new())];
    for sample in samples {
        let lighter = usize::from((Cost(halves[1].0), halves[1].1.len()) < (Cost(halves[0].0), halves[0].1.len()));
        halves[lighter].0 += cost[sample as usize];
        halves[lighter].1.push(sample);
    }
    let [(_, left), (_, right)] = halves;
    (left, right)
}

/// Orders bins so that bin `i % ranks` gives every rank as many bins at a similar total cost. The number of bins is a
/// multiple of `ranks`. Samples of a bin come in ascending order.
pub(crate) fn balance_ranks(bins: Vec<Vec<u32>>, ranks: usize, cost: &[f64]) -> Vec<Vec<u32>> {
    let mut sorted: Vec<Bin> = bins.into_iter().map(|samples| Bin::new(samples, cost)).collect();
    sorted.sort_by(Bin::heavier_first);
    let mut loads: Vec<Rank> = (0..ranks).map(|_| Rank::default()).collect();
    let mut rounds = sorted.into_iter().peekable();
    while rounds.peek().is_some() {
        let mut lightest: Vec<usize> = (0..ranks).collect();
        lightest.sort_by_key(|&rank| (Cost(loads[rank].load), rank));
        for (rank, bin) in lightest.into_iter().zip(rounds.by_ref()) {
            loads[rank].load += bin.cost;
            loads[rank].bins.push(bin);
        }
    }
    exchange(&mut loads);
    let per_rank = loads.first().map_or(0, |rank| rank.bins.len());
    let mut by_rank: Vec<_> = loads.into_iter().map(|rank| rank.bins.into_iter()).collect();
    let rounds = (0..per_rank).flat_map(|_| by_rank.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>());
    rounds.map(|bin| bin.samples).collect()
}

/// Exchanges pairs of bins between the heaviest rank and others while the larger of the two loads falls.
fn exchange(ranks: &mut [Rank]) {
    let per_rank = ranks.first().map_or(0, |rank| rank.bins.len());
    if ranks.len() < 2 || per_rank < 2 {
        return;
    }
    let rounds = (MAX_EXCHANGE_WORK / (ranks.len() * per_rank)).min(8 * ranks.len());
    for _ in 0..rounds {
        let heaviest = (0..ranks.len())
            .rev()
            .max_by_key(|&rank| Cost(ranks[rank].load))
            .unwrap_or(0);
        let Some(best) = best_exchange(ranks, heaviest) else {
            return;
        };
        let (given, taken) = (best.given, best.taken);
        let (heavy_bin, light_bin) = (
            ranks[heaviest].bins.remove(given),
            ranks[best.partner].bins.remove(taken),
        );
        ranks[heaviest].insert(light_bin);
        ranks[best.partner].insert(heavy_bin);
    }
}

struct Exchange {
    partner: usize,
    given: usize,
    taken: usize,
    larger_load: f64,
}

fn best_exchange(ranks: &[Rank], heaviest: usize) -> Option<Exchange> {
    let heavy = &ranks[heaviest];
    let mut best: Option<Exchange> = None;
    for (partner, light) in ranks.iter().enumerate().filter(|&(rank, _)| rank != heaviest) {
        let ideal = (heavy.load - light.load) / 2.0;
        for (given, bin) in heavy.bins.iter().enumerate() {
            let wanted = bin.cost - ideal;
            let below = light.bins.partition_point(|other| other.cost > wanted);
            for taken in [below.checked_sub(1), Some(below)].into_iter().flatten() {
                let Some(other) = light.bins.get(taken) else { continue };
                let moved = bin.cost - other.cost;
                let larger_load = (heavy.load - moved).max(light.load + moved);
                let bound = best.as_ref().map_or(heavy.load, |best| best.larger_load);
                if moved > 0.0 && larger_load < bound {
                    best = Some(Exchange {
                        partner,
                        given,
                        taken,
                        larger_load,
                    });
                }
            }
        }
    }
    best
}

struct Bin {
    samples: Vec<u32>,
    cost: f64,
}

impl Bin {
    fn new(mut samples: Vec<u32>, cost: &[f64]) -> Self {
        samples.sort_unstable();
        let cost = total(&samples, cost);
        Self { samples, cost }
    }

    /// By descending cost; empty bins last, equal ones by their first sample.
    fn heavier_first(&self, other: &Self) -> Ordering {
        let first = |bin: &Self| bin.samples.first().copied().unwrap_or(u32::MAX);
        other
            .cost
            .total_cmp(&self.cost)
            .then_with(|| first(self).cmp(&first(other)))
    }
}

/// The bins of one rank, heaviest first.
#[derive(Default)]
struct Rank {
    bins: Vec<Bin>,
    load: f64,
}

impl Rank {
    fn insert(&mut self, bin: Bin) {
        let at = self.bins.partition_point(|other| other.heavier_first(&bin).is_lt());
        self.bins.insert(at, bin);
        self.load = self.bins.iter().map(|bin| bin.cost).sum();
    }
}

fn total(samples: &[u32], cost: &[f64]) -> f64 {
    samples.iter().map(|&sample| cost[sample as usize]).sum()
}

/// A finite cost, totally ordered.
#[derive(Clone, Copy, PartialEq)]
struct Cost(f64);

impl Eq for Cost {}

impl Ord for Cost {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
