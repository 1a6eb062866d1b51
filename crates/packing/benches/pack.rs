//! Planning a step, beside a first-fit decreasing that scans every bin; building its batches and their files, beside a
//! copy of the bytes that they hold.

use prl_packing::{
    BatchMetadata, BuildOptions, SampleRef, UNSAMPLED, batch_from_bytes, batch_to_bytes, build_batch, pack_sequences,
};

#[path = "../../weights/benches/support/report.rs"]
mod report;

use report::{report, shortest};

const ROUNDS: usize = 7;
const SAMPLES: u32 = 16_384;
const SEQ_LEN: u32 = 4096;
const RANKS: u32 = 8;

fn main() {
    // Long tails as rollouts have them: most are short, some fill a bin.
    let lengths: Vec<u32> = (0..SAMPLES)
        .map(|number| {
            let draw = f64::from(number.wrapping_mul(2_654_435_769) >> 8) / f64::from(1 << 24);
            (64.0 + 4032.0 * draw.powi(4)) as u32
        })
        .collect();
    let thousands = f64::from(SAMPLES) / 1e3;
    let ours = shortest(ROUNDS, || {
        pack_sequences(&lengths, SEQ_LEN, RANKS, None).expect("a plan")
    });
    let theirs = shortest(ROUNDS, || scan_every_bin(&lengths));
    report(
        "packing-plan",
        "ksamples/s",
        thousands / ours,
        &[("scanning first-fit", thousands / theirs)],
    );

    let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
    let ids: Vec<u32> = (0..).take(longest).collect();
    let mut mask = vec![1u8; longest];
    mask[0] = 0;
    let floats = vec![-0.5f32; longest];
    let samples: Vec<SampleRef<'_>> = lengths
        .iter()
        .map(|&length| SampleRef {
            token_ids: &ids[..length as usize],
            mask: &mask[..length as usize],
            logprobs: &floats[..length as usize],
            advantages: &floats[..length as usize],
            temperature: 1.0,
            env_id: 0,
            version_spans: &[(0, UNSAMPLED), (1, 3)],
            rl_weights: None,
            ce_weights: None,
            ref_kl_weights: None,
            reference_logprobs: None,
        })
        .collect();
    let plan = pack_sequences(&lengths, SEQ_LEN, RANKS, None).expect("a plan");
    let options = BuildOptions {
        ranks: RANKS,
        seq_len: SEQ_LEN,
        pad_to_multiple_of: 64,
        pad_token_id: 0,
    };
    let batches = build_batch(&samples, &plan, options).expect("batches");
    let columns: Vec<Vec<u8>> = batches.iter().map(|batch| vec![1; 17 * batch.tokens()]).collect();
    let tokens = batches.iter().map(prl_packing::Batch::tokens).sum::<usize>() as f64 / 1e6;
    let ours = shortest(ROUNDS, || build_batch(&samples, &plan, options).expect("batches"));
    let copy = shortest(ROUNDS, || columns.clone());
    report(
        "packing-build",
        "Mtokens/s",
        tokens / ours,
        &[("memcpy", tokens / copy)],
    );

    let metadata = BatchMetadata {
        env_names: vec!["bench".to_owned()],
        ..BatchMetadata::default()
    };
    let tokens = batches[0].tokens() as f64 / 1e6;
    let copy = shortest(ROUNDS, || columns[0].clone());
    let ours = shortest(ROUNDS, || batch_to_bytes(&batches[0], &metadata).expect("bytes"));
    report(
        "packing-encode",
        "Mtokens/s",
        tokens / ours,
        &[("memcpy", tokens / copy)],
    );
    let bytes = batch_to_bytes(&batches[0], &metadata).expect("bytes");
    let ours = shortest(ROUNDS, || batch_from_bytes(&bytes).expect("a batch"));
    report(
        "packing-decode",
        "Mtokens/s",
        tokens / ours,
        &[("memcpy", tokens / copy)],
    );
}

/// First-fit decreasing without a tree: what the packers of trainers written in Python do.
fn scan_every_bin(lengths: &[u32]) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0u32..).take(lengths.len()).collect();
    order.sort_by_key(|&sample| std::cmp::Reverse(lengths[sample as usize]));
    let mut bins: Vec<(u32, Vec<u32>)> = Vec::new();
    for sample in order {
        let length = lengths[sample as usize];
        match bins.iter_mut().find(|(room, _)| *room >= length) {
            Some((room, bin)) => {
                *room -= length;
                bin.push(sample);
            }
            None => bins.push((SEQ_LEN - length, vec![sample])),
        }
    }
    bins.into_iter().map(|(_, bin)| bin).collect()
}
