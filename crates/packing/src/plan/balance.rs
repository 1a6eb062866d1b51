//! Which rank runs which bin, so that all have similar work in total.
//!
//! `ranks` consecutive bins are a round: they run at the same time. Each rank gets one bin of every round, so bins that
//! wait for each other have similar costs; only the choice within a round is free. Karmarkar-Karp makes it: of the partial
//! assignments (at first the rounds) the two with the largest spread are merged, heaviest with lightest, until one is left.
//! Its spread is at most that of the widest round. Then bins of the heaviest rank are exchanged for lighter ones of their
//! round as long as that lowers the maximum (bounded work). Ties are broken by index, so that equal input gives an
//! equal plan.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::cost::Ordered;

/// Most bins that the exchange looks at.
const MAX_EXCHANGE_WORK: usize = 20_000_000;

/// Samples that share a micro-batch, and what they cost together.
#[derive(Debug, Default)]
pub(crate) struct Bin {
    /// In ascending order.
    pub(crate) samples: Vec<u32>,
    pub(crate) cost: f64,
}

impl Bin {
    pub(crate) fn new(mut samples: Vec<u32>, cost: &[f64]) -> Self {
        samples.sort_unstable();
        let cost = samples.iter().map(|&sample| cost[sample as usize]).sum();
        Self { samples, cost }
    }

    /// Orders by descending cost; empty bins are last, bins of equal cost go by their first sample.
    pub(crate) fn heavier_first(&self, other: &Self) -> Ordering {
        let first = |bin: &Self| bin.samples.first().copied().unwrap_or(u32::MAX);
        let by_cost = other.cost.total_cmp(&self.cost);
        by_cost.then_with(|| first(self).cmp(&first(other)))
    }
}

/// Orders the bins of each round so that bin `i` can go to rank `i % ranks`. Their number is a multiple of `ranks`.
pub(crate) fn balance_ranks(mut bins: Vec<Bin>, ranks: usize) -> Vec<Vec<u32>> {
    let mut loads = largest_differencing(&bins, ranks);
    exchange(&mut loads, &bins);
    let rounds = bins.len() / ranks;
    let mut plan = Vec::with_capacity(bins.len());
    for round in 0..rounds {
        plan.extend(
            loads
                .iter()
                .map(|rank| std::mem::take(&mut bins[rank.bins[round]].samples)),
        );
    }
    plan
}

/// The bins of one rank: one of each round, in the order of the rounds.
#[derive(Debug, Clone, Default)]
struct Rank {
    bins: Vec<usize>,
    load: f64,
}

/// Some rounds that are already distributed: entry `i` is a share for one rank, the heaviest first.
struct Partial {
    shares: Vec<Rank>,
    /// Lowest index of its rounds; no two partials have the same.
    first: usize,
}

impl Partial {
    fn spread(&self) -> Ordered {
        match (self.shares.first(), self.shares.last()) {
            (Some(heaviest), Some(lightest)) => Ordered(heaviest.load - lightest.load),
            _ => Ordered(0.0),
        }
    }

    /// Joins the heaviest share of each with the lightest of the other.
    fn merge(self, other: Self) -> Self {
        let first = self.first.min(other.first);
        // The shorter lists are appended to the longer ones, so that all merges together stay cheap.
        let (longer, shorter) = if self.rounds() < other.rounds() {
            (other, self)
        } else {
            (self, other)
        };
        let mut shares = longer.shares;
        for (share, partner) in shares.iter_mut().zip(shorter.shares.into_iter().rev()) {
            share.load += partner.load;
            share.bins.extend(partner.bins);
        }
        shares.sort_by(|left, right| right.load.total_cmp(&left.load));
        Self { shares, first }
    }

    fn rounds(&self) -> usize {
        self.shares.first().map_or(0, |share| share.bins.len())
    }
}

fn largest_differencing(bins: &[Bin], ranks: usize) -> Vec<Rank> {
    let share = |(at, bin): (usize, &Bin)| Rank {
        bins: vec![at],
        load: bin.cost,
    };
    let all: Vec<Rank> = bins.iter().enumerate().map(share).collect();
    let rounds = all.chunks(ranks).map(<[Rank]>::to_vec).enumerate();
    let mut partials: Vec<Option<Partial>> = rounds.map(|(first, shares)| Some(Partial { shares, first })).collect();
    let mut widest: BinaryHeap<_> = partials
        .iter()
        .flatten()
        .map(|partial| (partial.spread(), Reverse(partial.first)))
        .collect();
    while let (Some(left), Some(right)) = (widest.pop(), widest.pop()) {
        let [left, right] = [left, right].map(|(_, Reverse(at))| partials[at].take());
        let (Some(left), Some(right)) = (left, right) else {
            break;
        };
        let merged = left.merge(right);
        widest.push((merged.spread(), Reverse(merged.first)));
        let at = merged.first;
        partials[at] = Some(merged);
    }
    let mut loads = partials
        .into_iter()
        .flatten()
        .next()
        .map_or_else(|| vec![Rank::default(); ranks], |whole| whole.shares);
    for rank in &mut loads {
        rank.bins.sort_unstable();
    }
    loads.sort_by_key(|rank| rank.bins.first().copied());
    loads
}

/// Exchanges bins of one round between the heaviest rank and others while the larger of the two loads falls.
fn exchange(ranks: &mut [Rank], bins: &[Bin]) {
    if ranks.len() < 2 || bins.len() <= ranks.len() {
        return;
    }
    for _ in 0..(MAX_EXCHANGE_WORK / bins.len()).min(8 * ranks.len()) {
        let by_load = |rank: &usize| Ordered(ranks[*rank].load);
        let heaviest = (0..ranks.len()).rev().max_by_key(by_load).unwrap_or(0);
        let Some(Exchange { partner, round, .. }) = best_exchange(ranks, bins, heaviest) else {
            return;
        };
        let (given, taken) = (ranks[heaviest].bins[round], ranks[partner].bins[round]);
        ranks[heaviest].bins[round] = taken;
        ranks[partner].bins[round] = given;
        for rank in [heaviest, partner] {
            ranks[rank].load = ranks[rank].bins.iter().map(|&bin| bins[bin].cost).sum();
        }
    }
}

struct Exchange {
    partner: usize,
    round: usize,
    larger_load: f64,
}

fn best_exchange(ranks: &[Rank], bins: &[Bin], heaviest: usize) -> Option<Exchange> {
    let heavy = &ranks[heaviest];
    let mut best: Option<Exchange> = None;
    for (partner, light) in ranks.iter().enumerate() {
        for (round, (&given, &taken)) in heavy.bins.iter().zip(&light.bins).enumerate() {
            let moved = bins[given].cost - bins[taken].cost;
            let larger_load = (heavy.load - moved).max(light.load + moved);
            let bound = best.as_ref().map_or(heavy.load, |best| best.larger_load);
            if moved > 0.0 && larger_load < bound {
                best = Some(Exchange {
                    partner,
                    round,
                    larger_load,
                });
            }
        }
    }
    best
}
