//! Plans: nothing is lost, every bin fits, ranks share the work.

use prl_packing::{Cost, FlopModel, MAX_RANKS, PackOptions, pack_sequences};
use proptest::prelude::*;

fn used(lengths: &[u32], bin: &[u32], seq_len: u32) -> u64 {
    bin.iter()
        .map(|&sample| u64::from(lengths[sample as usize].min(seq_len)))
        .sum()
}

fn rank_costs(plan: &[Vec<u32>], ranks: usize, cost: impl Fn(u32) -> f64) -> Vec<f64> {
    let mut costs = vec![0.0; ranks];
    for (bin, samples) in plan.iter().enumerate() {
        costs[bin % ranks] += samples.iter().map(|&sample| cost(sample)).sum::<f64>();
    }
    costs
}

fn with_cost(seq_len: u32, ranks: u32, cost: &[f64]) -> PackOptions<'_> {
    PackOptions {
        cost: Cost::PerSample(cost),
        ..PackOptions::new(seq_len, ranks)
    }
}

#[test]
fn no_samples_need_no_bins() {
    assert_eq!(
        pack_sequences(&[], PackOptions::new(8, 3)).unwrap(),
        Vec::<Vec<u32>>::new()
    );
}

#[test]
fn samples_go_first_fit_by_descending_length() {
    // 6+2, 5+3, 4+1: each bin holds its samples in ascending order; equal costs keep the order of their samples.
    assert_eq!(
        pack_sequences(&[1, 2, 3, 4, 5, 6], PackOptions::new(8, 1)).unwrap(),
        [vec![1, 5], vec![2, 4], vec![0, 3]]
    );
}

#[test]
fn samples_above_the_length_count_as_the_length() {
    assert_eq!(
        pack_sequences(&[100, 8, 3, 5], PackOptions::new(8, 1)).unwrap(),
        [vec![0], vec![1], vec![2, 3]]
    );
}

#[test]
fn the_heaviest_bin_is_halved_for_a_missing_one() {
    // One bin of 10 becomes halves of 5 and 5.
    assert_eq!(
        pack_sequences(&[4, 3, 2, 1], PackOptions::new(10, 2)).unwrap(),
        [vec![0, 3], vec![1, 2]]
    );
}

#[test]
fn bins_stay_empty_only_when_samples_run_out() {
    assert_eq!(
        pack_sequences(&[5, 5, 5], PackOptions::new(8, 2)).unwrap(),
        [vec![0], vec![1], vec![], vec![2]]
    );
    assert_eq!(
        pack_sequences(&[5], PackOptions::new(8, 3)).unwrap(),
        [vec![0], vec![], vec![]]
    );
}

#[test]
fn a_cost_of_the_caller_decides_the_balance() {
    // Equal lengths, unequal costs: the most expensive sample shares its rank with the cheapest.
    let plan = pack_sequences(&[4; 4], with_cost(4, 2, &[10.0, 7.0, 6.0, 1.0])).unwrap();
    assert_eq!(
        rank_costs(&plan, 2, |sample| [10.0, 7.0, 6.0, 1.0][sample as usize]),
        [11.0, 13.0]
    );
}

#[test]
fn an_exchange_improves_the_result_of_dealing_in_rounds() {
    // The rounds alone give 12+8+5 and 10+10+1; exchanging 12 for 10 makes both 23.
    let cost = [12.0, 10.0, 10.0, 8.0, 5.0, 1.0];
    let plan = pack_sequences(&[4; 6], with_cost(4, 2, &cost)).unwrap();
    assert_eq!(rank_costs(&plan, 2, |sample| cost[sample as usize]), [23.0, 23.0]);
}

#[test]
fn costs_and_classes_that_do_not_fit_are_named() {
    let options = PackOptions::new(8, 1);
    let model = FlopModel {
        linear: f64::NAN,
        quadratic: 1.0,
    };
    for (options, reason) in [
        (
            PackOptions {
                classes: &[0],
                ..options
            },
            "1 classes for 2 samples",
        ),
        (
            PackOptions {
                cost: Cost::Flops(model),
                ..options
            },
            "linear NaN",
        ),
    ] {
        let error = pack_sequences(&[1, 1], options).unwrap_err();
        assert_eq!(error.code(), "PRL_PACKING_INPUT");
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
    }
}

#[test]
fn contradictory_arguments_are_named() {
    for (lengths, seq_len, ranks, cost, reason) in [
        (&[1u32, 0][..], 8, 1, None, "sample 1: it has no tokens"),
        (&[1], 0, 1, None, "seq_len is 0"),
        (&[1], 8, 0, None, "ranks is 0"),
        (&[1], 8, MAX_RANKS + 1, None, "ranks is 65537"),
        (&[1], 8, 1, Some(&[][..]), "0 costs for 1 samples"),
        (&[1], 8, 1, Some(&[f64::NAN][..]), "its cost is NaN"),
        (&[1], 8, 1, Some(&[-1.0][..]), "its cost is -1"),
    ] {
        let cost = cost.map_or(Cost::Tokens, Cost::PerSample);
        let options = PackOptions {
            cost,
            ..PackOptions::new(seq_len, ranks)
        };
        let error = pack_sequences(lengths, options).unwrap_err();
        assert_eq!(error.code(), "PRL_PACKING_INPUT");
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
    }
}

/// Lengths like those of rollouts: log-normal with sigma 1 and mean 1000.
fn log_normal_lengths(count: usize, longest: u32) -> Vec<u32> {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let length = |_| {
        let normal = (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        ((1000f64.ln() - 0.5 + normal).exp() as u32).clamp(1, longest)
    };
    (0..count).map(length).collect()
}

#[test]
fn log_normal_lengths_fill_bins_and_ranks_do_equal_work() {
    let (seq_len, ranks) = (32_768, 64);
    let lengths = log_normal_lengths(100_000, seq_len);
    let total: f64 = lengths.iter().map(|&length| f64::from(length)).sum();
    let fill = |bins: usize| total / (bins as f64 * f64::from(seq_len));
    let bins = pack_sequences(&lengths, PackOptions::new(seq_len, 1)).unwrap().len();
    assert!(fill(bins) >= 0.99, "{}", fill(bins));
    let model = FlopModel {
        linear: 1.41e10,
        quadratic: 200_704.0,
    };
    let options = PackOptions {
        cost: Cost::Flops(model),
        ..PackOptions::new(seq_len, ranks)
    };
    let plan = pack_sequences(&lengths, options).unwrap();
    // Fewer bins cannot hold so many tokens for so many ranks.
    let fewest = (total / f64::from(seq_len)).ceil() as usize;
    assert_eq!(plan.len(), fewest.next_multiple_of(ranks as usize));
    let costs = rank_costs(&plan, ranks as usize, |sample| model.flops(lengths[sample as usize]));
    let mean = costs.iter().sum::<f64>() / f64::from(ranks);
    let worst = costs.iter().copied().fold(0.0, f64::max);
    assert!(worst <= mean * 1.02, "imbalance {}", worst / mean - 1.0);
}

#[test]
fn a_hundred_thousand_samples_for_many_ranks_are_balanced() {
    let lengths: Vec<u32> = (0..100_000u32)
        .map(|number| 1 + number.wrapping_mul(2_654_435_769) % 2000)
        .collect();
    let plan = pack_sequences(&lengths, PackOptions::new(4096, 64)).unwrap();
    let costs = rank_costs(&plan, 64, |sample| f64::from(lengths[sample as usize]));
    let mean = costs.iter().sum::<f64>() / 64.0;
    let worst = costs.iter().fold(0.0f64, |worst, &cost| worst.max(cost));
    assert!(worst <= mean * 1.001, "worst {worst}, mean {mean}");
    let total: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    assert!(plan.len() as u64 <= total.div_ceil(4096) * 11 / 9 + 64);
}

#[test]
fn many_bins_for_few_ranks_are_dealt_in_time() {
    let lengths: Vec<u32> = (0..200_000u32)
        .map(|number| 60 + number.wrapping_mul(2_654_435_769) % 40)
        .collect();
    let plan = pack_sequences(&lengths, PackOptions::new(100, 2)).unwrap();
    assert_eq!(plan.len(), 200_000);
    let costs = rank_costs(&plan, 2, |sample| f64::from(lengths[sample as usize]));
    assert!((costs[0] - costs[1]).abs() <= 1.0, "{costs:?}");
}

/// Fewest bins by exhaustive search, for a handful of samples.
fn optimum(lengths: &[u32], seq_len: u32) -> usize {
    fn place(lengths: &[u32], room: &mut Vec<u32>, seq_len: u32, best: &mut usize) {
        if room.len() >= *best {
            return;
        }
        let Some((&first, rest)) = lengths.split_first() else {
            *best = room.len();
            return;
        };
        for bin in 0..room.len() {
            if room[bin] >= first {
                room[bin] -= first;
                place(rest, room, seq_len, best);
                room[bin] += first;
            }
        }
        room.push(seq_len - first);
        place(rest, room, seq_len, best);
        room.pop();
    }
    let mut best = lengths.len() + 1;
    place(lengths, &mut Vec::new(), seq_len, &mut best);
    best
}

/// First-fit decreasing by its definition, in quadratic time.
fn naive_bins(lengths: &[u32], seq_len: u32) -> usize {
    let mut sorted: Vec<u32> = lengths.iter().map(|&length| length.min(seq_len)).collect();
    sorted.sort_unstable_by(|left, right| right.cmp(left));
    let mut room: Vec<u32> = Vec::new();
    for length in sorted {
        match room.iter_mut().find(|room| **room >= length) {
            Some(room) => *room -= length,
            None => room.push(seq_len - length),
        }
    }
    room.len()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_sample_is_in_exactly_one_bin_that_it_fits(
        lengths in prop::collection::vec(1u32..300, 0..200),
        seq_len in 1u32..256,
        ranks in 1u32..9,
    ) {
        let plan = pack_sequences(&lengths, PackOptions::new(seq_len, ranks)).unwrap();
        let mut samples: Vec<u32> = plan.iter().flatten().copied().collect();
        samples.sort_unstable();
        prop_assert_eq!(samples, (0u32..).take(lengths.len()).collect::<Vec<_>>());
        prop_assert!(plan.iter().all(|bin| used(&lengths, bin, seq_len) <= u64::from(seq_len)));
        prop_assert!(plan.iter().all(|bin| bin.is_sorted()));
        prop_assert_eq!(plan.len() % ranks as usize, 0);
        let bins = naive_bins(&lengths, seq_len).next_multiple_of(ranks as usize);
        prop_assert_eq!(plan.len(), bins);
        let empty = plan.iter().filter(|bin| bin.is_empty()).count();
        prop_assert_eq!(empty, bins.saturating_sub(lengths.len()));
for rank in 0..ranks as usize {
            let own: Vec<bool> = plan.iter().skip(rank).step_by(ranks as usize).map(Vec::is_empty).collect();
            prop_assert!(own.is_sorted(), "an empty bin of rank {} comes before a full one", rank);
        }
        prop_assert_eq!(pack_sequences(&lengths, PackOptions::new(seq_len, ranks)).unwrap(), plan);
    }

    #[test]
    fn the_number_of_bins_is_near_the_optimum(lengths in prop::collection::vec(1u32..40, 1..10)) {
        let bins = pack_sequences(&lengths, PackOptions::new(40, 1)).unwrap().len();
        prop_assert!(9 * bins <= 11 * optimum(&lengths, 40) + 6);
    }

    #[test]
    fn ranks_differ_by_less_than_the_dearest_bin(
        lengths in prop::collection::vec(1u32..300, 1..200),
        ranks in 1u32..9,
        quadratic in any::<bool>(),
    ) {
        let cost: Vec<f64> = lengths
            .iter()
            .map(|&length| f64::from(length) + if quadratic { f64::from(length).powi(2) } else { 0.0 })
            .collect();
        let plan = pack_sequences(&lengths, with_cost(300, ranks, &cost)).unwrap();
        let bin_cost = |bin: &Vec<u32>| bin.iter().map(|&sample| cost[sample as usize]).sum::<f64>();
        let dearest = plan.iter().map(bin_cost).fold(0.0, f64::max);
        let costs = rank_costs(&plan, ranks as usize, |sample| cost[sample as usize]);
        let spread = costs.iter().copied().fold(0.0, f64::max) - costs.iter().copied().fold(f64::MAX, f64::min);
        prop_assert!(spread <= dearest * 1.000_001, "spread {} of {:?}, dearest bin {}", spread, costs, dearest);
    }

    #[test]
    fn classes_share_no_bin_and_ranks_run_one_class_at_a_time(
        samples in prop::collection::vec((1u32..100, 0u32..3), 1..150),
        ranks in 1u32..6,
    ) {
        let (lengths, classes): (Vec<u32>, Vec<u32>) = samples.into_iter().unzip();
        let options = PackOptions { classes: &classes, ..PackOptions::new(100, ranks) };
        let plan = pack_sequences(&lengths, options).unwrap();
        let mut seen: Vec<u32> = plan.iter().flatten().copied().collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0u32..).take(lengths.len()).collect::<Vec<_>>());
        prop_assert!(plan.iter().all(|bin| used(&lengths, bin, 100) <= 100));
        let mut before = 0;
        for round in plan.chunks(ranks as usize) {
            prop_assert_eq!(round.len(), ranks as usize);
            let mut here: Vec<u32> = round.iter().flatten().map(|&sample| classes[sample as usize]).collect();
            here.dedup();
            prop_assert_eq!(here.len(), 1, "a round of classes {:?}", here);
            prop_assert!(before <= here[0]);
            before = here[0];
        }
    }

    #[test]
    fn bins_of_a_round_cost_alike(lengths in prop::collection::vec(1u32..300, 1..200), ranks in 1u32..9) {
        let plan = pack_sequences(&lengths, PackOptions::new(300, ranks)).unwrap();
        let bounds: Vec<(u64, u64)> = plan
            .chunks(ranks as usize)
            .map(|round| {
                let costs: Vec<u64> = round.iter().map(|bin| used(&lengths, bin, 300)).collect();
                (*costs.iter().min().unwrap(), *costs.iter().max().unwrap())
            })
            .collect();
        prop_assert!(bounds.windows(2).all(|pair| pair[0].0 >= pair[1].1), "{:?}", bounds);
    }
}
