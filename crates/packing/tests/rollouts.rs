//! Rollouts: the samples equal what the worker sent, and contradictory columns are refused.

use std::sync::Arc;

use prl_packing::{BuildOptions, Cost, PackError, Rollout, SampleSet, TraceStreams, UNSAMPLED, Worth};
use prl_weights::{Dtype, TensorToWrite, WriteOptions, to_bytes};
use proptest::prelude::*;

/// A trace in the form of an env worker.
#[derive(Debug, Clone, Default)]
struct Trace {
    token_ids: Vec<u32>,
    mask: Vec<u8>,
    logprobs: Vec<f32>,
    version_spans: Vec<[u32; 2]>,
    branch_offsets: Vec<u32>,
}

impl Trace {
    /// Branches of a prompt and sampled tokens each.
    fn new(branches: &[(usize, usize, u32)]) -> Self {
        let mut trace = Self {
            branch_offsets: vec![0],
            ..Self::default()
        };
        for &(prompt, sampled, version) in branches {
            let start = u32::try_from(trace.token_ids.len()).unwrap();
            let end = start + u32::try_from(prompt + sampled).unwrap();
            trace.token_ids.extend((start..end).map(|token| 100 + token));
            trace
                .mask
                .extend((0..prompt + sampled).map(|token| u8::from(token >= prompt)));
            trace
                .logprobs
                .extend((0..prompt + sampled).map(|token| if token < prompt { 0.0 } else { -0.25 }));
            trace.version_spans.push([start, UNSAMPLED]);
            if sampled > 0 {
                trace
                    .version_spans
                    .push([start + u32::try_from(prompt).unwrap(), version]);
            }
            trace.branch_offsets.push(end);
        }
        trace
    }
}

fn bytes<T: Copy, const N: usize>(values: &[T], encode: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| encode(value)).collect()
}

fn encode(traces: &[Trace]) -> Vec<u8> {
    encode_with(traces, &[])
}

/// The blob of `traces` with further tensors.
fn encode_with(traces: &[Trace], further: &[TensorToWrite<'_>]) -> Vec<u8> {
    let columns: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = traces
        .iter()
        .enumerate()
        .flat_map(|(number, trace)| {
            let spans = trace.version_spans.as_flattened();
            let name = move |column: &str| format!("{number}.{column}");
            let ids = |values: &[u32]| bytes(values, u32::to_le_bytes);
            let offsets = &trace.branch_offsets;
            [
                (
                    name("token_ids"),
                    Dtype::U32,
                    vec![trace.token_ids.len()],
                    ids(&trace.token_ids),
                ),
                (
                    name("logprobs"),
                    Dtype::F32,
                    vec![trace.logprobs.len()],
                    bytes(&trace.logprobs, f32::to_le_bytes),
                ),
                (name("version_spans"), Dtype::U32, vec![spans.len() / 2, 2], ids(spans)),
                (name("branch_offsets"), Dtype::U32, vec![offsets.len()], ids(offsets)),
                (name("mask"), Dtype::U8, vec![trace.mask.len()], trace.mask.clone()),
            ]
        })
        .collect();
    let tensors: Vec<_> = columns
        .iter()
        .map(|(name, dtype, shape, data)| TensorToWrite {
            name,
            dtype: *dtype,
            shape,
            data,
        })
        .chain(further.iter().copied())
        .collect();
    to_bytes(&tensors, &[], WriteOptions::default()).unwrap()
}

const OPTIONS: BuildOptions = BuildOptions {
    ranks: 1,
    seq_len: 1 << 20,
    pad_to_multiple_of: 1,
    pad_token_id: 0,
};

#[test]
fn samples_are_the_branches_with_spans_of_their_own() {
    let traces = [Trace::new(&[(2, 2, 7), (3, 1, 8)]), Trace::new(&[(1, 1, 9)])];
    let rollout = Rollout::parse(&encode(&traces), 2).unwrap();
    assert_eq!(rollout.tokens(), 10);
    assert_eq!(rollout.trace_samples().collect::<Vec<_>>(), [0..2, 2..3]);
    let second = rollout.sample(1);
    assert_eq!(second.token_ids, [104, 105, 106, 107]);
    assert_eq!(second.mask, [0, 0, 0, 1]);
    assert_eq!(second.logprobs, [0.0, 0.0, 0.0, -0.25]);
    assert_eq!(second.version_spans, [[0, UNSAMPLED], [3, 8]]);
    assert_eq!(
        rollout.samples().last().unwrap().version_spans,
        [[0, UNSAMPLED], [1, 9]]
    );
}

#[test]
fn a_set_packs_every_sample_with_its_advantages() {
    let rollouts = [Trace::new(&[(2, 2, 7)]), Trace::new(&[(1, 2, 8), (1, 1, 8)])];
    let mut set = SampleSet::default();
    for (trace, advantage) in rollouts.iter().zip([1.5, -0.5]) {
        let rollout = Arc::new(Rollout::parse(&encode(std::slice::from_ref(trace)), 1).unwrap());
        let worth = Worth {
            advantage,
            temperature: 0.7,
            env_id: 3,
        };
        assert_eq!(set.add(&rollout, worth), trace.branch_offsets.len() - 1);
    }
    let batch = set.pack(OPTIONS, Cost::Tokens, Vec::new()).unwrap().remove(0);
    assert_eq!(batch.cu_seqlens, [0, 4, 7, 9]);
    assert_eq!(batch.advantages, [0.0, 0.0, 1.5, 1.5, 0.0, -0.5, -0.5, 0.0, -0.5]);
    assert_eq!(batch.temperatures, [0.7; 9]);
    assert_eq!(batch.env_ids, [3; 3]);
    assert_eq!(batch.counts.rl, 5);
    assert!(
        SampleSet::default()
            .pack(OPTIONS, Cost::Tokens, Vec::new())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_set_takes_one_trace_of_a_rollout_with_separate_advantages() {
    let traces = [Trace::new(&[(1, 1, 7)]), Trace::new(&[(1, 2, 8), (1, 1, 8)])];
    let rollout = Arc::new(Rollout::parse(&encode(&traces), 2).unwrap());
    let worth = |advantage| Worth {
        advantage,
        temperature: 1.0,
        env_id: 0,
    };
    let mut set = SampleSet::default();
    assert_eq!(set.add_trace(&rollout, 1, worth(2.0)), 2);
    assert_eq!(set.add_trace(&rollout, 0, worth(-1.0)), 1);
    assert_eq!(set.add_trace(&rollout, 2, worth(9.0)), 0);
    assert_eq!(set.len(), 3);
    let batch = set.pack(OPTIONS, Cost::Tokens, Vec::new()).unwrap().remove(0);
    let mut advantages = batch.advantages.clone();
    advantages.sort_by(f32::total_cmp);
    assert_eq!(advantages, [-1.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0]);
}

#[test]
fn missing_columns_and_wrong_types_are_named() {
    let good = encode(&[Trace::new(&[(1, 1, 0)])]);
    let error = Rollout::parse(&good, 2).unwrap_err();
    assert_eq!(error.code(), "PRL_PACKING_INPUT");
    assert!(
        error
            .to_string()
            .contains("trace 1: the blob has no tensor 1.token_ids"),
        "{error}"
    );
    assert!(matches!(Rollout::parse(&good[..9], 1), Err(PackError::Weights(_))));
}

#[test]
fn a_sampled_token_without_a_finite_logprob_is_refused_where_it_is_received() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut trace = Trace::new(&[(2, 2, 0)]);
        trace.logprobs[3] = value;
        let error = Rollout::parse(&encode(&[trace]), 1).unwrap_err();
        assert_eq!(error.code(), "PRL_PACKING_INPUT");
        assert!(error.to_string().contains("at token 3, which was sampled"), "{error}");
    }
    let mut unsampled = Trace::new(&[(2, 2, 0)]);
    unsampled.logprobs[1] = f32::NAN;
    assert!(Rollout::parse(&encode(&[unsampled]), 1).is_ok());
}

#[test]
fn rows_of_experts_that_no_token_has_take_no_memory() {
    let traces = [Trace::new(&[]), Trace::new(&[(4, 4, 0)])];
    // 1 TiB, 64 bits, and more than 64 bits for each token of the second trace, which records none.
    for (sizes, is_valid) in [
        ([1 << 20, 1 << 20], true),
        ([1 << 31, 1 << 31], true),
        ([u32::MAX; 2], false),
    ] {
        let shape = [0, sizes[0] as usize, sizes[1] as usize];
        let dtype = Dtype::U16;
        let experts = TensorToWrite {
            name: "0.routed_experts",
            dtype,
            shape: &shape,
            data: &[],
        };
        match Rollout::parse(&encode_with(&traces, &[experts]), 2) {
            Ok(rollout) => {
                assert!(is_valid && rollout.bytes() < 10_000, "{}", rollout.bytes());
                assert!(rollout.samples().all(|sample| sample.routed_experts.is_none()));
            }
            Err(error) => assert!(!is_valid && error.to_string().contains("routed_experts"), "{error}"),
        }
    }
}

#[test]
fn samples_have_the_experts_of_their_tokens_beside_traces_without() {
    let traces = [
        Trace::new(&[(1, 2, 0)]),
        Trace::new(&[(1, 1, 0), (1, 2, 0)]),
        Trace::new(&[(1, 1, 0)]),
    ];
    let rows: Vec<u8> = (0..10).collect();
    let experts = |name, tokens: &'static [usize; 3], data| TensorToWrite {
        name,
        dtype: Dtype::U8,
        shape: tokens,
        data,
    };
    let further = [
        experts("1.routed_experts", &[5, 1, 2], &rows[..]),
        experts("2.routed_experts", &[2, 1, 2], &[90, 91, 92, 93]),
    ];
    let rollout = Rollout::parse(&encode_with(&traces, &further), 3).unwrap();
    let found: Vec<Option<&[u8]>> = rollout
        .samples()
        .map(|sample| sample.routed_experts.map(|experts| experts.ids))
        .collect();
    assert_eq!(
        found,
        [None, Some(&rows[..4]), Some(&rows[4..]), Some(&[90, 91, 92, 93][..])]
    );
}

fn traces() -> impl Strategy<Value = Vec<Trace>> {
    let branch = (1usize..12, 0usize..12, 0u32..5);
    prop::collection::vec(prop::collection::vec(branch, 1..4), 1..4)
        .prop_map(|traces| traces.iter().map(|branches| Trace::new(branches)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_token_arrives_wherever_the_blob_lies(traces in traces(), shift in 0usize..8) {
        let mut shifted = vec![0; shift];
        shifted.extend(encode(&traces));
        let rollout = Rollout::parse(&shifted[shift..], traces.len()).unwrap();
        for (trace, samples) in traces.iter().zip(rollout.trace_samples()) {
            prop_assert_eq!(samples.len(), trace.branch_offsets.len() - 1);
            for (sample, branch) in samples.zip(trace.branch_offsets.windows(2)) {
                let tokens = branch[0] as usize..branch[1] as usize;
                let sample = rollout.sample(sample);
                prop_assert_eq!(sample.token_ids, &trace.token_ids[tokens.clone()]);
                prop_assert_eq!(sample.mask, &trace.mask[tokens.clone()]);
                prop_assert_eq!(sample.logprobs, &trace.logprobs[tokens]);
                let spans: Vec<[u32; 2]> = sample.version_spans.iter().map(|[first, version]| [branch[0] + first, *version]).collect();
                prop_assert!(spans.iter().all(|span| trace.version_spans.contains(span)));
                prop_assert_eq!(spans[0][0], branch[0]);
            }
        }
        let mut set = SampleSet::default();
        set.add(&Arc::new(rollout), Worth { advantage: 1.0, temperature: 1.0, env_id: 0 });
        let batch = set.pack(OPTIONS, Cost::Tokens, Vec::new()).unwrap().remove(0);
        let sampled: u64 = traces.iter().flat_map(|trace| &trace.mask).map(|&mask| u64::from(mask)).sum();
        prop_assert_eq!(batch.counts.rl, sampled);
        prop_assert_eq!(batch.view().tokens(), traces.iter().map(|trace| trace.token_ids.len()).sum::<usize>());
    }

    #[test]
    fn damaged_columns_are_refused_or_can_be_packed(
        traces in traces(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut blob = encode(&traces);
        for (index, value) in edits {
            let at = index.index(blob.len());
            blob[at] = value;
        }
        let Ok(rollout) = Rollout::parse(&blob, traces.len()) else { return Ok(()) };
        let mut set = SampleSet::default();
        set.add(&Arc::new(rollout), Worth { advantage: 1.0, temperature: 1.0, env_id: 0 });
        prop_assert!(set.pack(OPTIONS, Cost::Tokens, Vec::new()).is_ok());
    }
}

#[test]
fn the_streams_of_a_trace_are_cut_where_its_samples_are() {
    let traces = [Trace::new(&[(1, 2, 7), (1, 1, 7)]), Trace::new(&[(1, 1, 7)])];
    let rollout = Arc::new(Rollout::parse(&encode(&traces), 2).unwrap());
    let worth = Worth {
        advantage: 2.0,
        temperature: 1.0,
        env_id: 0,
    };
    let mut set = SampleSet::default();
    let streams = TraceStreams {
        advantages: Some(vec![0.0, 1.0, 2.0, 0.0, 3.0]),
        ce_weights: Some(vec![0.0, 0.5, 0.0, 0.0, 0.25]),
        ..TraceStreams::default()
    };
    let short = TraceStreams {
        rl_weights: Some(vec![0.0; 4]),
        ..TraceStreams::default()
    };
    let error = set.add_trace_with(&rollout, 0, worth, short).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("rl_weights has 4 entries for a trace of 5 tokens")
    );
    assert_eq!(set.len(), 0);
    assert_eq!(set.add_trace_with(&rollout, 0, worth, streams).unwrap(), 2);
    assert_eq!(set.add_trace(&rollout, 1, worth), 1);
    let batch = set.pack(OPTIONS, Cost::Tokens, Vec::new()).unwrap().remove(0);
    assert_eq!(batch.cu_seqlens, [0, 3, 5, 7]);
    assert_eq!(batch.advantages, [0.0, 1.0, 2.0, 0.0, 3.0, 0.0, 2.0]);
    assert_eq!(batch.ce_weights, Some(vec![0.0, 0.5, 0.0, 0.0, 0.25, 0.0, 0.0]));
    assert_eq!(
        (
            batch.rl_weights,
            batch.counts.rl,
            batch.counts.ce,
            batch.counts.sequences
        ),
        (None, 4, 2, 3)
    );
}
