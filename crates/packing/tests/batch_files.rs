//! The file of a batch: its content, and the refusal of anything else.

use std::fs;

use prl_packing::{
    BATCH_FORMAT, BatchFile, BatchMetadata, BuildOptions, batch_from_bytes, batch_to_bytes, batch_to_file,
};
use prl_weights::{Dtype, SafetensorsFile, TensorToWrite, WriteOptions, data_digest, digest, parse, to_bytes};
use proptest::prelude::*;

mod support;

use support::{metadata, valid_batch};

#[test]
fn a_batch_survives_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("step_5/rank_0.safetensors");
    fs::create_dir(path.parent().unwrap()).unwrap();
    let batch = valid_batch();
    let written = batch_to_file(&path, &batch.view(), &metadata()).unwrap();
    let opened = BatchFile::open(&path).unwrap();
    assert_eq!((opened.view(), opened.metadata()), (batch.view(), &metadata()));
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes, batch_to_bytes(&batch.view(), &metadata()).unwrap());
    assert_eq!(batch_from_bytes(&bytes).unwrap(), (batch, metadata()));
    let file = SafetensorsFile::open(&path).unwrap();
    assert_eq!(file.metadata()["format"], BATCH_FORMAT);
    assert_eq!(file.metadata()["env_names"], r#"["reverse","math \"x\""]"#);
    assert_eq!(file.metadata()["digest"], written.digest);
    assert_eq!(file.header().data_start % 64, 0);
    let bits: Vec<usize> = file
        .names()
        .map(|name| file.tensor(name).unwrap().dtype.bits())
        .collect();
    assert!(bits.is_sorted_by(|left, right| left >= right), "{bits:?}");
    assert_eq!(file.tensor("policy_version_spans").unwrap().shape, [8, 2]);
}

#[test]
fn a_token_takes_little_more_than_its_seventeen_bytes() {
    let samples: Vec<support::Sample> = (0u32..)
        .take(64)
        .map(|first| support::Sample::new(first, 1000, 700, 0))
        .collect();
    let bins: Vec<Vec<u32>> = (0..64).map(|sample| vec![sample]).collect();
    let options = BuildOptions {
        seq_len: 1000,
        ..support::OPTIONS
    };
    let batch = support::build(&samples, &bins, options).unwrap().remove(0);
    let bytes = batch_to_bytes(&batch.view(), &metadata()).unwrap().len() as f64;
    let per_token = bytes / batch.view().tokens() as f64;
    assert!((17.0..=17.2).contains(&per_token), "{per_token}");
}

#[test]
fn equal_batches_of_two_attempts_have_equal_digests() {
    let directory = tempfile::tempdir().unwrap();
    let write = |attempt: u32| {
        let path = directory.path().join(format!("{attempt}.safetensors"));
        batch_to_file(&path, &valid_batch().view(), &BatchMetadata { attempt, ..metadata() }).unwrap()
    };
    let (first, second) = (write(1), write(2));
    assert_eq!(first.digest, second.digest);
}

#[test]
fn a_batch_at_the_path_of_another_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let right = directory.path().join("step_5");
    let wrong = directory.path().join("step_6");
    fs::create_dir(&right).unwrap();
    fs::create_dir(&wrong).unwrap();
    batch_to_file(&right.join("rank_0.safetensors"), &valid_batch().view(), &metadata()).unwrap();
    for path in [wrong.join("rank_0.safetensors"), right.join("rank_1.safetensors")] {
        assert!(
            batch_to_file(&path, &valid_batch().view(), &metadata())
                .unwrap_err()
                .to_string()
                .contains("its path says")
        );
        fs::copy(right.join("rank_0.safetensors"), &path).unwrap();
        let error = BatchFile::open(&path).unwrap_err();
        assert_eq!(error.code(), "PRL_BATCH_INVALID");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("batch.safetensors");
    assert_eq!(BatchFile::open(&path).unwrap_err().code(), "PRL_WEIGHTS_IO");
    assert_eq!(BatchFile::open(directory.path()).unwrap_err().code(), "PRL_WEIGHTS_IO");
    let bytes = batch_to_bytes(&valid_batch().view(), &metadata()).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let error = BatchFile::open(&path).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_FORMAT");
    assert!(error.to_string().contains("batch.safetensors"), "{error}");
}

/// A batch file with some columns and metadata replaced and with a new, right digest.
fn rewritten(
    change_column: impl Fn(&str, TensorToWrite<'static>) -> Option<TensorToWrite<'static>>,
    change_metadata: impl Fn(&mut Vec<(String, String)>),
) -> Vec<u8> {
    let bytes: &'static [u8] = Box::leak(
        batch_to_bytes(&valid_batch().view(), &metadata())
            .unwrap()
            .into_boxed_slice(),
    );
    let header: &'static _ = Box::leak(Box::new(parse(bytes).unwrap()));
    let tensors: Vec<_> = header
        .names()
        .filter_map(|name| {
            let view = header.tensor(bytes, name).unwrap();
            change_column(
                name,
                TensorToWrite {
                    name,
                    dtype: view.dtype,
                    shape: view.shape,
                    data: view.data,
                },
            )
        })
        .collect();
    let mut pairs: Vec<_> = header.metadata.clone().into_iter().collect();
    pairs.iter_mut().find(|(key, _)| key == "digest").unwrap().1 = data_digest(&tensors);
    change_metadata(&mut pairs);
    to_bytes(&tensors, &pairs, WriteOptions::default()).unwrap()
}

#[test]
fn wrong_columns_are_named() {
    batch_from_bytes(&rewritten(|_, tensor| Some(tensor), |_| {})).unwrap();
    type Change = fn(&str, TensorToWrite<'static>) -> Option<TensorToWrite<'static>>;
    let cases: [(Change, &str); 6] = [
        (
            |name, tensor| (name != "advantages").then_some(tensor),
            "lacks the column advantages",
        ),
        (
            |name, tensor| {
                Some(TensorToWrite {
                    name: if name == "ce_weights" { "cf" } else { tensor.name },
                    ..tensor
                })
            },
            "known",
        ),
        (
            |name, tensor| {
                Some(TensorToWrite {
                    dtype: if name == "input_ids" { Dtype::I32 } else { tensor.dtype },
                    ..tensor
                })
            },
            "input_ids is I32",
        ),
        (
            |name, tensor| {
                Some(TensorToWrite {
                    shape: if name == "loss_mask" { &[2, 8] } else { tensor.shape },
                    ..tensor
                })
            },
            "loss_mask is U8 [2, 8]",
        ),
        (
            |name, tensor| {
                Some(TensorToWrite {
                    shape: if name == "policy_version_spans" {
                        &[4, 4]
                    } else {
                        tensor.shape
                    },
                    ..tensor
                })
            },
            "two numbers per row",
        ),
        (
            |name, tensor| {
                Some(TensorToWrite {
                    data: if name == "loss_mask" { &[1; 16] } else { tensor.data },
                    ..tensor
                })
            },
            "loss_mask is not 0 at token 0",
        ),
    ];
    for (change, reason) in cases {
        let error = batch_from_bytes(&rewritten(change, |_| {})).unwrap_err();
        assert_eq!(error.code(), "PRL_BATCH_INVALID");
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
    }
}

#[test]
fn wrong_metadata_are_named() {
    for (key, value, reason) in [
        ("format", Some("prl-batch/2"), "format is"),
        ("format", None, "lacks format"),
        ("step", None, "lacks step"),
        ("step", Some("-1"), "step \"-1\""),
        ("step", Some("05"), "step \"05\""),
        ("attempt", Some("4294967296"), "attempt"),
        ("env_names", Some("[1]"), "no list of strings"),
        ("env_names", Some("[]"), "env_ids has 1"),
        ("n_rl", Some("1"), "are below"),
        ("digest", Some("0000000000000000"), "the digest of its data"),
    ] {
        let bytes = rewritten(
            |_, tensor| Some(tensor),
            |pairs| match value {
                Some(value) => pairs.iter_mut().find(|(name, _)| name == key).unwrap().1 = value.to_owned(),
                None => pairs.retain(|(name, _)| name != key),
            },
        );
        let error = batch_from_bytes(&bytes).unwrap_err();
        assert_eq!(error.code(), "PRL_BATCH_INVALID");
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
    }
    let extra = rewritten(
        |_, tensor| Some(tensor),
        |pairs| pairs.push(("later".to_owned(), "1".to_owned())),
    );
    assert!(
        batch_from_bytes(&extra)
            .unwrap_err()
            .to_string()
            .contains("unknown metadata key \"later\"")
    );
}

// ---- damaged files ----

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_refused_and_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4, any::<u8>()), 1..4),
        repair in any::<bool>(),
    ) {
        let mut bytes = batch_to_bytes(&valid_batch().view(), &metadata()).unwrap();
        for (index, action, value) in edits {
            let at = index.index(bytes.len());
            match action {
                0 => bytes[at] = value,
                1 => bytes[at] ^= 1 << (value % 8),
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, value),
            }
        }
        // The digest is right again, so the checks of the content must find the damage.
        if let (true, Ok(header)) = (repair, parse(&bytes)) {
            let data = digest(&bytes[header.data_start..]);
            let key = br#""digest":""#;
            let value = bytes.windows(key.len()).position(|window| window == key).map(|at| at + key.len());
            if let Some(target) = value.and_then(|at| bytes.get_mut(at..at + 16)) {
                target.copy_from_slice(data.as_bytes());
            }
        }
        match batch_from_bytes(&bytes) {
            Ok((batch, _)) => batch.validate().unwrap(),
            Err(error) => prop_assert!(error.code().starts_with("PRL_WEIGHTS_") || error.code() == "PRL_BATCH_INVALID"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_with_damaged_content_and_a_right_digest_are_refused_or_valid(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = batch_to_bytes(&valid_batch().view(), &metadata()).unwrap();
        let header = parse(&bytes).unwrap();
        for (index, value) in edits {
            let at = header.data_start + index.index(bytes.len() - header.data_start);
            bytes[at] = value;
        }
        let right = digest(&bytes[header.data_start..]);
        let old = header.metadata["digest"].as_bytes();
        let at = bytes.windows(16).position(|window| window == old).unwrap();
        bytes[at..at + 16].copy_from_slice(right.as_bytes());
        match batch_from_bytes(&bytes) {
            Ok((batch, _)) => batch.validate().unwrap(),
            Err(error) => prop_assert_eq!(error.code(), "PRL_BATCH_INVALID"),
        }
    }
}
