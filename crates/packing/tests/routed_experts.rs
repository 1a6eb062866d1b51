//! The experts of each token: from samples through batches and files, beside samples that record none.

use prl_packing::{
    Batch, BatchFile, BuildOptions, Cost, ExpertShape, ExpertWidth, NO_EXPERT_BYTE, RoutedExpertsBuf, batch_from_bytes,
    batch_to_bytes, batch_to_file, pack_batches,
};
use prl_weights::{Dtype, parse};
use proptest::prelude::*;

mod support;

use support::{OPTIONS, Sample, build, metadata, valid_batch};

const SHAPE: ExpertShape = ExpertShape {
    layers: 2,
    top_k: 2,
    width: ExpertWidth::U8,
};

/// Rows in which sample and token can be recognised.
fn recorded(sample: &Sample, shape: ExpertShape) -> RoutedExpertsBuf {
    let row = |&id: &u32| (0..shape.row_bytes()).map(move |at| (id as usize * 7 + at) as u8 % 200);
    RoutedExpertsBuf {
        shape,
        ids: sample.token_ids.iter().flat_map(row).collect(),
    }
}

fn with_experts(first: u32, length: usize, shape: ExpertShape) -> Sample {
    let mut sample = Sample::new(first, length, length / 2, 0);
    sample.routed_experts = Some(recorded(&sample, shape));
    sample
}

fn experts(batch: &Batch) -> &RoutedExpertsBuf {
    batch.routed_experts.as_ref().expect("experts")
}

#[test]
fn rows_follow_their_tokens_and_padding_has_none() {
    let samples = [with_experts(10, 2, SHAPE), Sample::new(20, 1, 0, 0)];
    let options = BuildOptions {
        pad_to_multiple_of: 4,
        ..OPTIONS
    };
    let batch = build(&samples, &[vec![0, 1]], options).unwrap().remove(0);
    let none = [NO_EXPERT_BYTE; 4];
    let rows = [&[70, 71, 72, 73], &[77, 78, 79, 80], &none, &none].map(|row| row.as_slice());
    assert_eq!(experts(&batch).ids, rows.concat());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("batch.safetensors");
    batch_to_file(&path, &batch.view(), &metadata()).unwrap();
    assert_eq!(BatchFile::open(&path).unwrap().view(), batch.view());
}

#[test]
fn other_readers_see_a_tensor_of_three_dimensions() {
    for (width, dtype) in [(ExpertWidth::U8, Dtype::U8), (ExpertWidth::U16, Dtype::U16)] {
        let shape = ExpertShape { width, ..SHAPE };
        let batch = build(&[with_experts(3, 5, shape)], &[vec![0]], OPTIONS)
            .unwrap()
            .remove(0);
        let bytes = batch_to_bytes(&batch.view(), &metadata()).unwrap();
        let header = parse(&bytes).unwrap();
        let view = header.tensor(&bytes, "routed_experts").unwrap();
        assert_eq!((view.dtype, view.shape), (dtype, &[5, 2, 2][..]));
        assert_eq!(view.data, experts(&batch).ids);
        let bits: Vec<usize> = header
            .names()
            .map(|name| header.tensor(&bytes, name).unwrap().dtype.bits())
            .collect();
        assert!(bits.is_sorted_by(|left, right| left >= right), "{bits:?}");
    }
}

#[test]
fn samples_that_record_experts_share_no_bin_with_others() {
    let samples: Vec<Sample> = (0..12)
        .map(|at| match at % 2 {
            0 => with_experts(at * 10, 2, SHAPE),
            _ => Sample::new(at * 10, 2, 1, 0),
        })
        .collect();
    let borrowed: Vec<_> = samples.iter().map(Sample::borrowed).collect();
    let wide = |_: usize| 3;
    for classes in [vec![], (0..12).map(wide).collect()] {
        let batch = pack_batches(&borrowed, OPTIONS, Cost::Tokens, &classes)
            .unwrap()
            .remove(0);
        let is_recorded = |token: usize| experts(&batch).ids[token * SHAPE.row_bytes()] != NO_EXPERT_BYTE;
        assert_eq!(batch.view().bins(), 4);
        for bin in batch.bin_seq_offsets.windows(2) {
            let tokens = batch.cu_seqlens[bin[0] as usize] as usize..batch.cu_seqlens[bin[1] as usize] as usize;
            let first = is_recorded(tokens.start);
            assert!(tokens.into_iter().all(|token| is_recorded(token) == first));
        }
    }
    let error = pack_batches(&borrowed, OPTIONS, Cost::Tokens, &[1]).unwrap_err();
    assert!(error.to_string().contains("1 classes for 12 samples"), "{error}");
}

#[test]
fn experts_that_do_not_fit_are_refused() {
    let wide = ExpertShape { top_k: 3, ..SHAPE };
    let error = build(
        &[with_experts(0, 2, SHAPE), with_experts(9, 2, wide)],
        &[vec![0, 1]],
        OPTIONS,
    )
    .unwrap_err();
    assert_eq!(error.code(), "PRL_PACKING_INPUT");
    assert!(error.to_string().contains("top_k: 3"), "{error}");
    let mut short = with_experts(0, 3, SHAPE);
    short.routed_experts.as_mut().unwrap().ids.pop();
    let error = build(&[short], &[vec![0]], OPTIONS).unwrap_err();
    assert!(error.to_string().contains("11 bytes for 3 tokens"), "{error}");
    let mut batch = valid_batch();
    batch.routed_experts = Some(RoutedExpertsBuf {
        shape: ExpertShape { layers: 0, ..SHAPE },
        ids: vec![],
    });
    let error = batch.validate().unwrap_err();
    assert_eq!(error.code(), "PRL_BATCH_INVALID");
    assert!(error.to_string().contains("0 layers"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_arrives_with_its_token(
        given in prop::collection::vec((1usize..24, any::<bool>(), 0u32..100_000), 1..30),
        layers in 1u32..4,
        top_k in 1u32..4,
        is_wide in any::<bool>(),
        seq_len in 4u32..32,
        ranks in 1u32..4,
        pad_to_multiple_of in 1u32..9,
    ) {
        let width = if is_wide { ExpertWidth::U16 } else { ExpertWidth::U8 };
        let shape = ExpertShape { layers, top_k, width };
        let samples: Vec<Sample> = given
            .iter()
            .map(|&(length, has, first)| match has {
                true => with_experts(first, length, shape),
                // These ids mean that nothing is recorded.
                false => Sample::new(1_000_000 + first, length, 0, 0),
            })
            .collect();
        let borrowed: Vec<_> = samples.iter().map(Sample::borrowed).collect();
        let options = BuildOptions { ranks, seq_len, pad_to_multiple_of, pad_token_id: 2_000_000 };
        let batches = pack_batches(&borrowed, options, Cost::Tokens, &[]).unwrap();
        for batch in &batches {
            batch.validate().unwrap();
            let bytes = batch_to_bytes(&batch.view(), &metadata()).unwrap();
            prop_assert_eq!(&batch_from_bytes(&bytes).unwrap().0, batch);
            if !given.iter().any(|&(_, has, _)| has) {
                prop_assert!(batch.routed_experts.is_none());
                continue;
            }
            let found = experts(batch);
            prop_assert_eq!(found.shape, shape);
            for (token, &id) in batch.input_ids.iter().enumerate() {
                let row = &found.ids[token * shape.row_bytes()..(token + 1) * shape.row_bytes()];
                let lone = Sample { token_ids: vec![id], ..Sample::default() };
                let expected = if id >= 1_000_000 { vec![NO_EXPERT_BYTE; shape.row_bytes()] } else { recorded(&lone, shape).ids };
                prop_assert_eq!(row, &expected[..]);
            }
        }
    }
}
