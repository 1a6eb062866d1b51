//! Batches of the orchestrator and rollouts of env workers.

use prl_fuzz::Target;
use prl_packing::{
    Advantages, BatchMetadata, BuildOptions, Cost, Rollout, SampleRef, UNSAMPLED, batch_from_bytes, batch_to_bytes,
    pack_batches,
};
use prl_weights::{Dtype, TensorToWrite, WriteOptions, digest, to_bytes};

use crate::answer;

const WORDS: [&str; 16] = [
    "\"dtype\":\"U8\"",
    "\"dtype\":\"U16\"",
    "\"dtype\":\"F32\"",
    "\"shape\":[0]",
    "\"shape\":[2,2]",
    "\"data_offsets\":[0,0]",
    "\"token_ids\"",
    "\"n_rl\":\"1\"",
    "\"n_ce\":\"1\"",
    "\"n_sequences\":\"1\"",
    "\"rank\":\"4294967295\"",
    "prl-batch/1",
    "\"1.mask\"",
    "\"1.routed_experts\"",
    "\"0.routed_experts\"",
    "[0,4294967295,4294967295]",
];

fn batch() -> Vec<u8> {
    let sample = SampleRef {
        token_ids: &[11, 12, 13, 14],
        mask: &[0, 0, 1, 1],
        logprobs: &[0.0, 0.0, -0.5, -0.25],
        advantages: Advantages::Uniform(1.0),
        temperature: 1.0,
        env_id: 0,
        version_spans: &[[0, UNSAMPLED], [2, 7]],
        unbroken: &[],
        rl_weights: None,
        ce_weights: Some(&[0.0, 0.5, 0.5, 0.5]),
        ref_kl_weights: None,
        reference_logprobs: None,
        routed_experts: None,
    };
    let options = BuildOptions {
        ranks: 1,
        seq_len: 8,
        pad_to_multiple_of: 4,
        pad_token_id: 0,
    };
    let batches = pack_batches(&[sample; 3], options, Cost::Tokens, &[]).expect("a batch");
    let metadata = BatchMetadata {
        env_names: vec!["math".to_owned()],
        ..BatchMetadata::default()
    };
    batch_to_bytes(&batches[0].view(), &metadata).expect("its bytes")
}

/// Puts the digest into the header that the data has, so that more than the digest's check is reached.
fn with_digest(bytes: &[u8]) -> Vec<u8> {
    const KEY: &[u8] = b"\"digest\":\"";
    let mut bytes = bytes.to_vec();
    let Ok(header) = prl_weights::parse(&bytes) else {
        return bytes;
    };
    let found = digest(&bytes[header.data_start..]);
    if let Some(at) = bytes.windows(KEY.len()).position(|part| part == KEY) {
        let from = at + KEY.len();
        if let Some(place) = bytes.get_mut(from..from + found.len()) {
            place.copy_from_slice(found.as_bytes());
        }
    }
    bytes
}

#[test]
fn batch_files() {
    let target = Target::new("batch")
        .words(&WORDS)
        .start(batch())
        .inputs(6000)
        .heap(1 << 20, 128);
    target.run(|bytes| {
        answer(batch_from_bytes(&with_digest(bytes)), |(batch, metadata)| {
            let again = batch_to_bytes(&batch.view(), &metadata).expect("what was read can be written");
            assert_eq!(batch_from_bytes(&again).expect("and read").0, batch);
            format!("{}", batch.view().counts.sequences.min(2))
        })
    });
}

/// Two traces, the second with experts.
fn rollout() -> Vec<u8> {
    let tensor = |name, dtype, shape, data| TensorToWrite {
        name,
        dtype,
        shape,
        data,
    };
    let tokens = [1u8; 12];
    let logprobs = [0u8; 12];
    let offsets = [0u8, 0, 0, 0, 3, 0, 0, 0];
    let spans = [0u8, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 7, 0, 0, 0];
    let mut tensors = Vec::new();
    for [ids, mask, values, branches, versions] in [
        [
            "0.token_ids",
            "0.mask",
            "0.logprobs",
            "0.branch_offsets",
            "0.version_spans",
        ],
        [
            "1.token_ids",
            "1.mask",
            "1.logprobs",
            "1.branch_offsets",
            "1.version_spans",
        ],
    ] {
        tensors.push(tensor(ids, Dtype::U32, &[3][..], &tokens[..]));
        tensors.push(tensor(mask, Dtype::U8, &[3], &[0, 1, 1]));
        tensors.push(tensor(values, Dtype::F32, &[3], &logprobs));
        tensors.push(tensor(branches, Dtype::U32, &[2], &offsets));
        tensors.push(tensor(versions, Dtype::U32, &[2, 2], &spans));
    }
    tensors.push(tensor("1.routed_experts", Dtype::U8, &[3, 2, 2], &[4; 12]));
    to_bytes(&tensors, &[], WriteOptions::default()).expect("a blob")
}

#[test]
fn rollouts() {
    let target = Target::new("rollout").words(&WORDS).start(rollout()).inputs(10_000);
    target.run(|bytes| {
        answer(Rollout::parse(bytes, 2), |rollout| {
            let tokens: usize = rollout.samples().map(|sample| sample.token_ids.len()).sum();
            assert_eq!(tokens, rollout.tokens());
            let experts = rollout
                .samples()
                .filter(|sample| sample.routed_experts.is_some())
                .count();
            format!("{} {experts}", rollout.samples().len())
        })
    });
}
