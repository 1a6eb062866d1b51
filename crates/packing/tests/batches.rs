//! Batches: the columns of a plan and their invariants.

use prl_packing::{
    Batch, BuildOptions, Counts, PackOptions, UNSAMPLED, batch_from_bytes, batch_to_bytes, build_batch_reusing,
    pack_sequences,
};
use proptest::prelude::*;

mod support;

use support::{OPTIONS, Sample, build, metadata, valid_batch};

// ---- building ----

fn counts(rl: u64, ce: u64, ref_kl: u64, sequences: u64) -> Counts {
    Counts {
        rl,
        ce,
        ref_kl,
        sequences,
    }
}

#[test]
fn the_columns_of_a_small_batch_are_the_documented_ones() {
    let samples = [
        Sample::new(10, 4, 2, 1),
        Sample::new(20, 3, 1, 0),
        Sample::new(30, 5, 3, 1),
    ];
    let options = BuildOptions {
        pad_to_multiple_of: 4,
        ..OPTIONS
    };
    let batch = build(&samples, &[vec![0, 1], vec![2]], options).unwrap().remove(0);
    assert_eq!(
        batch.input_ids,
        [10, 11, 12, 13, 20, 21, 22, 99, 30, 31, 32, 33, 34, 99, 99, 99]
    );
    assert_eq!(batch.loss_mask, [0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0]);
    let on_mask = |value: f32| {
        batch
            .loss_mask
            .iter()
            .map(|&mask| if mask == 1 { value } else { 0.0 })
            .collect::<Vec<_>>()
    };
    assert_eq!(batch.inference_logprobs, on_mask(-0.5));
    assert_eq!(batch.advantages, on_mask(2.0));
    let (hot, padded) = (0.7, 1.0);
    let expected = [vec![hot; 7], vec![padded], vec![hot; 5], vec![padded; 3]].concat();
    assert_eq!(batch.temperatures, expected);
    assert_eq!(batch.cu_seqlens, [0, 4, 7, 8, 13, 16]);
    assert_eq!(batch.env_ids, [1, 0, 0, 1, 0]);
    assert_eq!(batch.bin_seq_offsets, [0, 3, 5]);
    let none = UNSAMPLED;
    assert_eq!(
        batch.policy_version_spans,
        [
            [0, none],
            [2, 4],
            [4, none],
            [6, 4],
            [7, none],
            [8, none],
            [10, 4],
            [13, none]
        ]
    );
    assert_eq!(batch.counts, counts(6, 0, 0, 3));
    assert!(batch.rl_weights.is_none() && batch.ce_weights.is_none());
    assert!(batch.ref_kl_weights.is_none() && batch.reference_logprobs.is_none());
}

#[test]
fn a_stream_of_one_sample_is_filled_for_the_others() {
    let mut samples = [Sample::new(10, 3, 2, 0), Sample::new(20, 2, 1, 0)];
    samples[0].rl_weights = Some(vec![0.0, 0.5, 0.0]);
    samples[0].ce_weights = Some(vec![0.0, 0.0, 3.0]);
    samples[1].ref_kl_weights = Some(vec![0.0, 1.0]);
    samples[1].reference_logprobs = Some(vec![0.0, -4.0]);
    let options = BuildOptions {
        pad_to_multiple_of: 2,
        ranks: 2,
        ..OPTIONS
    };
    let batches = build(&samples, &[vec![0], vec![1]], options).unwrap();
    assert_eq!(batches[0].rl_weights.as_deref(), Some(&[0.0, 0.5, 0.0, 0.0][..]));
    assert_eq!(batches[1].rl_weights.as_deref(), Some(&[0.0, 1.0][..]));
    assert_eq!(batches[0].ce_weights.as_deref(), Some(&[0.0, 0.0, 3.0, 0.0][..]));
    assert_eq!(batches[1].ce_weights.as_deref(), Some(&[0.0, 0.0][..]));
    assert_eq!(batches[0].ref_kl_weights.as_deref(), Some(&[0.0; 4][..]));
    assert_eq!(batches[1].reference_logprobs.as_deref(), Some(&[0.0, -4.0][..]));
    // Counts are of the whole step, equal in both batches: a masked token of weight 0 is no member.
    for batch in &batches {
        assert_eq!(batch.counts, counts(2, 1, 1, 2));
    }
    assert_eq!(batches[1].view().local_counts().rl, 1);
}

#[test]
fn a_long_sample_is_cut_with_its_versions() {
    let mut sample = Sample::new(0, 12, 10, 0);
    sample.version_spans = vec![[0, UNSAMPLED], [2, 7], [7, 8], [8, 9]];
    let batch = build(&[sample], &[vec![0]], OPTIONS).unwrap().remove(0);
    assert_eq!(batch.view().tokens(), 8);
    assert_eq!(batch.policy_version_spans, [[0, UNSAMPLED], [2, 7], [7, 8]]);
    assert_eq!(batch.counts.rl, 6);
}

#[test]
fn a_cut_leaves_unbroken_runs_whole() {
    let cut = |seq_len: u32, unbroken: &[[u32; 2]]| {
        let mut sample = Sample::new(0, 12, 10, 0);
        sample.unbroken = unbroken.to_vec();
        let options = BuildOptions { seq_len, ..OPTIONS };
        build(&[sample], &[vec![0]], options).map(|batches| batches[0].view().tokens())
    };
    assert_eq!(cut(8, &[[1, 3], [6, 9]]).unwrap(), 6);
    assert_eq!(cut(8, &[[5, 8], [8, 10]]).unwrap(), 8);
    assert_eq!(cut(12, &[[5, 12]]).unwrap(), 12);
    for (unbroken, reason) in [
        (&[[0, 9]][..], "beyond seq_len 8"),
        (&[[3, 3]], "3..3"),
        (&[[3, 5], [4, 6]], "4..6 after 5"),
        (&[[3, 13]], "of 12 tokens"),
    ] {
        let error = cut(8, unbroken).unwrap_err();
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
    }
}

#[test]
fn a_batch_of_many_tokens_is_the_same_from_any_number_of_threads() {
    let mut samples: Vec<Sample> = (0u32..)
        .take(1200)
        .map(|first| Sample::new(first, 900, 600, 0))
        .collect();
    let lengths = vec![900; samples.len()];
    let options = BuildOptions {
        ranks: 2,
        seq_len: 2000,
        pad_to_multiple_of: 64,
        pad_token_id: 1,
    };
    let plan = pack_sequences(&lengths, PackOptions::new(2000, 2)).unwrap();
    let batches = build(&samples, &plan, options).unwrap();
    for (rank, batch) in batches.iter().enumerate() {
        batch.validate().unwrap();
        assert_eq!(batch.counts.rl, 1200 * 600);
        let mut sequence = 0;
        for members in plan.iter().skip(rank).step_by(2) {
            for &sample in members {
                let start = batch.cu_seqlens[sequence] as usize;
                assert_eq!(batch.input_ids[start..start + 900], samples[sample as usize].token_ids);
                sequence += 1;
            }
            sequence += 1; // Padding: 1800 is no multiple of 64.
        }
    }
    // The error names the first bad sample in the order of the plan, wherever it is.
    let last = *plan[plan.len() - 2].last().unwrap() as usize;
    samples[last].logprobs[500] = f32::NAN;
    let error = build(&samples, &plan, options).unwrap_err();
    assert!(
        error.to_string().contains(&format!("sample {last}: logprobs is NaN")),
        "{error}"
    );
}

#[test]
fn an_empty_bin_is_padding_so_that_every_rank_has_as_many_bins() {
    let samples = [Sample::new(0, 3, 1, 1)];
    let options = BuildOptions {
        ranks: 2,
        pad_to_multiple_of: 4,
        ..OPTIONS
    };
    let plan = pack_sequences(&[3], PackOptions::new(8, 2)).unwrap();
    let batches = build(&samples, &plan, options).unwrap();
    assert_eq!(batches[1].input_ids, [99; 4]);
    assert_eq!(batches[1].env_ids, [0]);
    assert_eq!((batches[0].view().bins(), batches[1].view().bins()), (1, 1));
    assert_eq!((batches[1].counts.rl, batches[1].view().local_counts().rl), (1, 0));
}

#[test]
fn the_first_log_probability_is_taken_as_zero() {
    let mut sample = Sample::new(0, 3, 1, 0);
    sample.logprobs[0] = f32::NAN;
    let batch = build(&[sample], &[vec![0]], OPTIONS).unwrap().remove(0);
    assert_eq!(batch.inference_logprobs[0], 0.0);
}

#[test]
fn malformed_samples_are_named() {
    let spoil = |change: &dyn Fn(&mut Sample)| {
        let mut sample = Sample::new(0, 4, 2, 0);
        change(&mut sample);
        sample
    };
    for (bad, reason) in [
        (spoil(&|bad| bad.mask[0] = 1), "mask is 1 at the first token"),
        (spoil(&|bad| bad.mask[1] = 2), "mask is 2 at token 1"),
        (spoil(&|bad| bad.mask.push(0)), "mask has 5 entries for 4 tokens"),
        (spoil(&|bad| bad.logprobs.truncate(2)), "logprobs has 2 entries"),
        (
            spoil(&|bad| bad.logprobs[2] = f32::NEG_INFINITY),
            "logprobs is -inf at token 2",
        ),
        (
            spoil(&|bad| bad.advantages[3] = f32::NAN),
            "advantages is NaN at token 3",
        ),
        (spoil(&|bad| bad.temperature = -1.0), "temperature is -1"),
        (
            spoil(&|bad| bad.ce_weights = Some(vec![1.0; 4])),
            "ce_weights is not 0 at the first token",
        ),
        (
            spoil(&|bad| bad.rl_weights = Some(vec![f32::NAN; 4])),
            "rl_weights is NaN at token 0",
        ),
        (
            spoil(&|bad| bad.reference_logprobs = Some(vec![])),
            "reference_logprobs has 0 entries",
        ),
        (spoil(&|bad| bad.version_spans = vec![[1, 0]]), "begin at token 1"),
        (
            spoil(&|bad| bad.version_spans = vec![[0, 0], [2, 1], [2, 2]]),
            "do not ascend",
        ),
        (
            spoil(&|bad| bad.version_spans = vec![[0, 0], [4, 1]]),
            "reach token 4 of 4",
        ),
        (Sample::default(), "it has 0 tokens"),
    ] {
        let error = build(&[Sample::new(0, 4, 1, 0), bad], &[vec![0], vec![1]], OPTIONS).unwrap_err();
        assert_eq!(error.code(), "PRL_PACKING_INPUT");
        assert!(
            error.to_string().contains("sample 1") && error.to_string().contains(reason),
            "{error}: {reason}"
        );
    }
}

#[test]
fn plans_that_are_no_partition_are_named() {
    let samples = [Sample::new(0, 5, 1, 0), Sample::new(0, 4, 1, 0)];
    for (plan, options, reason) in [
        (vec![vec![0]], OPTIONS, "lacks sample 1"),
        (vec![vec![0], vec![1], vec![0]], OPTIONS, "sample 0 twice"),
        (vec![vec![0], vec![1, 2]], OPTIONS, "sample 2 of 2"),
        (vec![vec![0, 1]], OPTIONS, "bin 0 has 9 tokens"),
        (vec![], OPTIONS, "0 bins"),
        (
            vec![vec![0], vec![1], vec![]],
            BuildOptions { ranks: 2, ..OPTIONS },
            "3 bins",
        ),
        (
            vec![vec![0], vec![1]],
            BuildOptions { ranks: 0, ..OPTIONS },
            "ranks is 0",
        ),
        (
            vec![vec![0], vec![1]],
            BuildOptions { seq_len: 0, ..OPTIONS },
            "seq_len is 0",
        ),
        (
            vec![vec![0], vec![1]],
            BuildOptions {
                pad_to_multiple_of: 0,
                ..OPTIONS
            },
            "pad_to_multiple_of is 0",
        ),
    ] {
        let error = build(&samples, &plan, options).unwrap_err();
        assert_eq!(error.code(), "PRL_PACKING_INPUT");
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
    }
}

// ---- validation ----

#[test]
fn every_broken_invariant_is_found() {
    type Spoil = fn(&mut Batch);
    let cases: [(Spoil, &str); 27] = [
        (|bad| *bad = Batch::default(), "0 tokens"),
        (|bad| bad.advantages.truncate(3), "advantages has 3 entries"),
        (|bad| bad.temperatures.push(1.0), "temperatures has 17"),
        (|bad| bad.loss_mask[2] = 2, "loss_mask is 2"),
        (|bad| bad.loss_mask[4] = 1, "loss_mask is not 0 at token 4"),
        (
            |bad| bad.inference_logprobs[8] = -1.0,
            "inference_logprobs is not 0 at token 8",
        ),
        (|bad| bad.inference_logprobs[2] = f32::NAN, "inference_logprobs is NaN"),
        (|bad| bad.advantages[3] = f32::INFINITY, "advantages is inf"),
        (|bad| bad.temperatures[9] = f32::NAN, "temperatures is NaN"),
        (|bad| bad.cu_seqlens[0] = 1, "cu_seqlens does not begin at 0"),
        (|bad| bad.cu_seqlens[2] = 4, "cu_seqlens does not ascend"),
        (|bad| bad.cu_seqlens[5] = 17, "cu_seqlens ends at"),
        (|bad| bad.cu_seqlens.clear(), "cu_seqlens does not begin"),
        (|bad| bad.env_ids.truncate(4), "bin_seq_offsets ends at"),
        (|bad| bad.bin_seq_offsets[1] = 5, "bin_seq_offsets does not ascend"),
        (|bad| bad.bin_seq_offsets.truncate(1), "bin_seq_offsets does not begin"),
        (
            |bad| drop(bad.policy_version_spans.remove(2).to_vec()),
            "not cut at token 4",
        ),
        (
            |bad| drop(bad.policy_version_spans.remove(0).to_vec()),
            "not cut at token 0",
        ),
        (|bad| bad.policy_version_spans.clear(), "not cut at token 0"),
        (|bad| bad.policy_version_spans.swap(2, 3), "do not ascend"),
        (|bad| bad.policy_version_spans.push([16, 0]), "reach token 16"),
        (
            |bad| bad.ce_weights = Some(vec![1.0; 16]),
            "ce_weights is not 0 at token 0",
        ),
        (|bad| bad.rl_weights = Some(vec![f32::NAN; 16]), "rl_weights is NaN"),
        (
            |bad| bad.reference_logprobs.as_mut().unwrap()[10] = f32::NAN,
            "reference_logprobs is NaN",
        ),
        (|bad| bad.reference_logprobs = Some(vec![]), "reference_logprobs has 0"),
        (|bad| bad.counts.rl = 5, "are below"),
        (|bad| bad.counts.ref_kl = 0, "are below"),
    ];
    valid_batch().validate().unwrap();
    for (spoil, reason) in cases {
        let mut bad = valid_batch();
        spoil(&mut bad);
        let error = bad.validate().unwrap_err();
        assert_eq!(error.code(), "PRL_BATCH_INVALID");
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
        assert_eq!(
            batch_to_bytes(&bad.view(), &metadata()).unwrap_err().code(),
            "PRL_BATCH_INVALID"
        );
    }
}

// ---- random steps ----

/// Memory of an earlier step. None of its content may be visible again.
fn used_batch() -> Batch {
    let floats = vec![f32::NAN; 300];
    Batch {
        input_ids: vec![u32::MAX; 200],
        inference_logprobs: floats.clone(),
        advantages: floats.clone(),
        temperatures: floats.clone(),
        loss_mask: vec![255; 500],
        cu_seqlens: vec![u32::MAX; 20],
        env_ids: vec![u16::MAX; 20],
        policy_version_spans: vec![[u32::MAX; 2]; 20],
        rl_weights: Some(floats.clone()),
        ce_weights: Some(floats.clone()),
        reference_logprobs: Some(floats),
        ..Batch::default()
    }
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let one = (1usize..24, 0usize..24, 0u16..2, 0u8..16, any::<u32>());
    prop::collection::vec(one, 1..40).prop_map(|given| {
        let make = |(length, sampled, env_id, streams, first): (usize, usize, u16, u8, u32)| {
            let mut sample = Sample::new(first % 1000, length, sampled.min(length - 1), env_id);
            let mut floats = vec![0.25; length];
            floats[0] = 0.0;
            let stream = |bit: u8| (streams == bit).then(|| floats.clone());
            (sample.rl_weights, sample.ce_weights) = (stream(1), stream(2));
            (sample.ref_kl_weights, sample.reference_logprobs) = (stream(3), stream(4));
            sample
        };
        given.into_iter().map(make).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cut_keeps_as_much_as_no_unbroken_run_forbids(
        length in 2usize..40,
        seq_len in 1u32..40,
        gaps in prop::collection::vec((0u32..5, 1u32..9), 0..6),
    ) {
        let mut unbroken = Vec::new();
        let mut at = 0;
        for (gap, run) in gaps {
            unbroken.push([at + gap, at + gap + run]);
            at += gap + run;
        }
        unbroken.retain(|run| run[1] as usize <= length);
        let mut sample = Sample::new(0, length, length - 1, 0);
        sample.unbroken = unbroken.clone();
        let whole = |kept: &u32| unbroken.iter().all(|&[start, end]| *kept <= start || end <= *kept);
        let most = (0..=seq_len.min(u32::try_from(length).unwrap())).rev().find(whole).unwrap();
        prop_assert_eq!(sample.borrowed().kept_tokens(seq_len), most as usize);
        let options = BuildOptions { ranks: 1, seq_len, pad_to_multiple_of: 1, pad_token_id: 0 };
        match build(&[sample], &[vec![0]], options) {
            Ok(batches) => prop_assert_eq!(batches[0].view().tokens(), most as usize),
            Err(error) => prop_assert!(most == 0, "{}", error),
        }
    }

    #[test]
    fn every_token_of_every_sample_arrives_once(
        samples in samples(),
        seq_len in 4u32..32,
        ranks in 1u32..5,
        pad_to_multiple_of in 1u32..9,
    ) {
        let lengths: Vec<u32> = samples.iter().map(|sample| u32::try_from(sample.token_ids.len()).unwrap()).collect();
        let plan = pack_sequences(&lengths, PackOptions::new(seq_len, ranks)).unwrap();
        let options = BuildOptions { ranks, seq_len, pad_to_multiple_of, pad_token_id: 7 };
        let batches = build(&samples, &plan, options).unwrap();
        prop_assert_eq!(batches.len(), ranks as usize);
        let borrowed: Vec<_> = samples.iter().map(Sample::borrowed).collect();
        let again = build_batch_reusing(&borrowed, &plan, options, vec![used_batch(), used_batch()]).unwrap();
        prop_assert_eq!(&again, &batches);
        let mut bins = 0;
        for (rank, batch) in batches.iter().enumerate() {
            batch.validate().unwrap();
            prop_assert_eq!(batch.view().bins(), plan.len() / ranks as usize);
            for bin in 0..batch.view().bins() {
                let members = &plan[bin * ranks as usize + rank];
                let first = batch.bin_seq_offsets[bin] as usize;
                let sequences = batch.bin_seq_offsets[bin + 1] as usize - first;
                prop_assert!(sequences == members.len() || sequences == members.len() + 1);
                let bounds = &batch.cu_seqlens[first..=first + sequences];
                prop_assert_eq!((bounds[sequences] - bounds[0]) % pad_to_multiple_of, 0);
                for (at, &sample) in members.iter().enumerate() {
                    let range = bounds[at] as usize..bounds[at + 1] as usize;
                    let sample = &samples[sample as usize];
                    let length = sample.token_ids.len().min(seq_len as usize);
                    prop_assert_eq!(&batch.input_ids[range.clone()], &sample.token_ids[..length]);
                    prop_assert_eq!(&batch.loss_mask[range], &sample.mask[..length]);
                }
                bins += 1;
            }
        }
        prop_assert_eq!(bins, plan.len());
        let on_mask = |mask: &[u8]| mask.iter().take(seq_len as usize).map(|&mask| u64::from(mask)).sum::<u64>();
        let trained: u64 = samples.iter().map(|sample| on_mask(&sample.mask)).sum();
        let local: u64 = batches.iter().map(|batch| batch.view().local_counts().rl).sum();
        prop_assert_eq!(local, batches[0].counts.rl);
        prop_assert!(batches[0].counts.rl <= trained);
        let bytes = batch_to_bytes(&batches[0].view(), &metadata()).unwrap();
        prop_assert_eq!(&batch_from_bytes(&bytes).unwrap().0, &batches[0]);
    }
}
