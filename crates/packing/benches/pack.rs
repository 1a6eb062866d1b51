//! Planning a step and building its batches: 100,000 samples of log-normal lengths (sigma 1, mean 1k), bins of 32k.
//!
//! Planning is compared with first-fit decreasing in Python, once as a scan over a list and once with a segment tree (when
//! `PRL_BENCH_PYTHON` names an interpreter). Packing is compared with a copy of as many bytes, once in memory that an
//! earlier step left and once in new memory.

use prl_packing::{
    Advantages, Batch, BuildOptions, Cost, FlopModel, PackOptions, SampleRef, UNSAMPLED, build_batch_reusing,
    pack_sequences,
};

#[path = "../../weights/benches/support/report.rs"]
mod report;
#[path = "support/mod.rs"]
mod support;

use report::{report, shortest};
use support::python;

const ROUNDS: usize = 9;
const PLAN_ROUNDS: usize = 50;
const SAMPLES: usize = 100_000;
const SEQ_LEN: u32 = 32_768;
const RANKS: u32 = 64;

fn main() {
    let lengths = log_normal_lengths(SAMPLES, SEQ_LEN);
    plans(&lengths);
    builds(&lengths);
}

fn plans(lengths: &[u32]) {
    let thousands = lengths.len() as f64 / 1e3;
    let rival = python("packing.py", &["plan"]);
    let rivals: Vec<(&str, f64)> = ["python segment tree", "python list scan"]
        .into_iter()
        .filter_map(|name| Some((name, thousands / rival.as_ref()?[name].as_f64()?)))
        .collect();
    let bins_only = PackOptions::new(SEQ_LEN, 1);
    let ours = shortest(PLAN_ROUNDS, || pack_sequences(lengths, bins_only).expect("a plan"));
    report("packing-plan", "ksamples/s", thousands / ours, &rivals);
    // The 7B shape of Qwen2.
    let model = FlopModel {
        linear: 1.41e10,
        quadratic: 2.0 * 28.0 * 3584.0,
    };
    let balanced = PackOptions {
        cost: Cost::Flops(model),
        ..PackOptions::new(SEQ_LEN, RANKS)
    };
    let ours = shortest(PLAN_ROUNDS, || pack_sequences(lengths, balanced).expect("a plan"));
    report("packing-plan-64-ranks", "ksamples/s", thousands / ours, &[]);
    quality(lengths, bins_only, balanced, model);
}

/// Prints fills and imbalances. They are no speeds: a larger fill is better, the best imbalance is 0.
#[expect(clippy::print_stdout, reason = "a bench reports on the terminal")]
fn quality(lengths: &[u32], bins_only: PackOptions<'_>, balanced: PackOptions<'_>, model: FlopModel) {
    let total: f64 = lengths.iter().map(|&length| f64::from(length)).sum();
    let fill = |bins: usize| total / (bins as f64 * f64::from(SEQ_LEN));
    let plan = pack_sequences(lengths, bins_only).expect("a plan");
    println!("bins {}, fill {:.3} %", plan.len(), 100.0 * fill(plan.len()));
    let plan = pack_sequences(lengths, balanced).expect("a plan");
    let cost = |bin: &Vec<u32>| {
        bin.iter()
            .map(|&sample| model.flops(lengths[sample as usize]))
            .sum::<f64>()
    };
    let costs: Vec<f64> = plan.iter().map(cost).collect();
    let ranks = RANKS as usize;
    let total: f64 = costs.iter().sum();
    let of_rank = |rank: usize| costs.iter().skip(rank).step_by(ranks).sum::<f64>();
    let worst = (0..ranks).map(of_rank).fold(0.0, f64::max);
    let in_step: f64 = costs
        .chunks(ranks)
        .map(|round| round.iter().copied().fold(0.0, f64::max))
        .sum();
    println!(
        "bins {}, fill {:.3} %, FLOP imbalance of {ranks} ranks {:.4} %, in lock step {:.3} %",
        plan.len(),
        100.0 * fill(plan.len()),
        100.0 * (worst * ranks as f64 / total - 1.0),
        100.0 * (in_step * ranks as f64 / total - 1.0),
    );
}

/// Every sample has separate memory, like rollouts that arrived one by one.
fn builds(lengths: &[u32]) {
    let tokens: usize = lengths.iter().map(|&length| length as usize).sum();
    let ids: Vec<u32> = (0..).take(tokens).collect();
    let mut mask = vec![1u8; tokens];
    let logprobs = vec![-0.5f32; tokens];
    let starts: Vec<usize> = lengths
        .iter()
        .scan(0, |end, &length| {
            *end += length as usize;
            Some(*end - length as usize)
        })
        .collect();
    for &start in &starts {
        mask[start] = 0;
    }
    let samples: Vec<SampleRef<'_>> = starts
        .iter()
        .zip(lengths)
        .map(|(&start, &length)| {
            let own = start..start + length as usize;
            SampleRef {
                token_ids: &ids[own.clone()],
                mask: &mask[own.clone()],
                logprobs: &logprobs[own],
                advantages: Advantages::Uniform(0.5),
                temperature: 1.0,
                env_id: 0,
                version_spans: if length > 1 { &[[0, UNSAMPLED], [1, 3]] } else { &[] },
                unbroken: &[],
                rl_weights: None,
                ce_weights: None,
                ref_kl_weights: None,
                reference_logprobs: None,
                routed_experts: None,
            }
        })
        .collect();
    let options = BuildOptions {
        ranks: 8,
        seq_len: SEQ_LEN,
        pad_to_multiple_of: 64,
        pad_token_id: 0,
    };
    let pack = |spare: Vec<Batch>| {
        let plan = pack_sequences(lengths, PackOptions::new(SEQ_LEN, options.ranks)).expect("a plan");
        build_batch_reusing(&samples, &plan, options, spare).expect("batches")
    };
    let mut last = pack(Vec::new());
    let columns: Vec<Vec<u8>> = last.iter().map(|batch| vec![1; 17 * batch.view().tokens()]).collect();
    let mut warm = columns.clone();
    let megatokens = tokens as f64 / 1e6;
    let (mut ours, mut ours_new, mut copy, mut copy_new) = (f64::MAX, f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        copy_new = copy_new.min(shortest(1, || columns.clone()));
        ours_new = ours_new.min(shortest(1, || pack(Vec::new())));
        copy = copy.min(shortest(1, || {
            for (target, source) in warm.iter_mut().zip(&columns) {
                target.copy_from_slice(source);
            }
        }));
        ours = ours.min(shortest(1, || last = pack(std::mem::take(&mut last))));
    }
    let rate = |seconds: f64| megatokens / seconds;
    report("packing-build", "Mtokens/s", rate(ours), &[("memcpy", rate(copy))]);
    report(
        "packing-build-new-memory",
        "Mtokens/s",
        rate(ours_new),
        &[("memcpy", rate(copy_new))],
    );
}

/// Log-normal lengths with sigma 1 and mean 1000, from 1 to `longest`, the same in every run.
fn log_normal_lengths(count: usize, longest: u32) -> Vec<u32> {
    let mut state = 7u64;
    let mut uniform = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let length = |_| {
        let normal = (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let length = (1000f64.ln() - 0.5 + normal).exp();
        (length as u32).clamp(1, longest)
    };
    (0..count).map(length).collect()
}
