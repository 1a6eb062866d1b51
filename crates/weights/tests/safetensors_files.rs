//! Files written here are read by the reference implementation with equal content, and the reverse.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use prl_weights::{
    ALIGN_BYTES, Checkpoint, Dtype, LoadedWeights, SafetensorsFile, TensorToWrite, WriteOptions, data_digest, digest,
    digest_file, parse, to_bytes, version_digest, write_checkpoint, write_safetensors,
};
use proptest::prelude::*;
use safetensors::SafeTensors;
use safetensors::tensor::TensorView as ReferenceView;

fn metadata(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn tensor<'a>(name: &'a str, dtype: Dtype, shape: &'a [usize], data: &'a [u8]) -> TensorToWrite<'a> {
    TensorToWrite {
        name,
        dtype,
        shape,
        data,
    }
}

#[test]
fn the_header_keeps_the_given_order_behind_the_metadata() {
    let tensors = [
        tensor("z", Dtype::U16, &[2], &[1, 2, 3, 4]),
        tensor("a\"\n", Dtype::U8, &[], &[9]),
    ];
    let bytes = to_bytes(&tensors, &metadata(&[("z", "1"), ("a", "ü")]), WriteOptions::default()).unwrap();
    let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    let expected = r#"{"__metadata__":{"z":"1","a":"ü"},"z":{"dtype":"U16","shape":[2],"data_offsets":[0,4]},"#
        .to_owned()
        + r#""a\"\n":{"dtype":"U8","shape":[],"data_offsets":[4,5]}}"#;
    let header = str::from_utf8(&bytes[8..8 + length]).unwrap();
    assert_eq!(header.trim_end_matches(' '), expected);
    assert_eq!((8 + length) % 64, 0);
    assert_eq!(bytes[8 + length..], [1, 2, 3, 4, 9]);
}

#[test]
fn the_report_of_a_write_describes_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.safetensors");
    let data: Vec<u8> = (0..1_000_000u32).map(|value| value.to_le_bytes()[1]).collect();
    let tensors = [
        tensor("a", Dtype::F32, &[1000, 250], &data),
        tensor("b", Dtype::U8, &[3], b"xyz"),
    ];
    let written = write_safetensors(&path, &tensors, &[], WriteOptions::default()).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes, to_bytes(&tensors, &[], WriteOptions::default()).unwrap());
    assert_eq!(written.bytes, bytes.len() as u64);
    assert_eq!(written.digest, digest(&bytes));
    assert_eq!(digest_file(&path).unwrap(), (digest(&bytes), bytes.len() as u64));
    let file = SafetensorsFile::open(&path).unwrap();
    assert_eq!(written.tensor_digests, [digest(&data), digest(b"xyz")]);
    assert_eq!(data_digest(&tensors), digest(file.data()));
    let parts = tensors
        .iter()
        .map(|tensor| (tensor.name, tensor.dtype, tensor.shape, tensor.data));
    assert_eq!(written.version_digest, version_digest(parts));
}

#[test]
fn a_file_without_tensors_is_valid() {
    let bytes = to_bytes(&[], &[], WriteOptions::default()).unwrap();
    assert_eq!(bytes.len(), 64);
    assert_eq!(parse(&bytes).unwrap().names().count(), 0);
    assert!(SafeTensors::deserialize(&bytes).unwrap().is_empty());
}

#[test]
fn tensors_that_contradict_themselves_or_each_other_are_refused() {
    let good = tensor("a", Dtype::F32, &[1], &[0; 4]);
    for (tensors, reason) in [
        (
            vec![tensor("a", Dtype::F32, &[2], &[0; 4])],
            "needs 8 bytes, 4 were given",
        ),
        (vec![tensor("a", Dtype::F4, &[3], &[0; 2])], "whole number of bytes"),
        (vec![tensor("a", Dtype::U8, &[usize::MAX, 2], &[])], "overflows"),
        (vec![good, good], "occurs twice"),
        (vec![tensor("__metadata__", Dtype::U8, &[0], &[])], "reserved"),
    ] {
        let error = to_bytes(&tensors, &[], WriteOptions::default()).unwrap_err();
        assert_eq!(error.code(), "PRL_WEIGHTS_TENSOR");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let twice = metadata(&[("k", "1"), ("k", "2")]);
    assert!(
        to_bytes(&[good], &twice, WriteOptions::default())
            .unwrap_err()
            .to_string()
            .contains("twice")
    );
    assert!(
        to_bytes(&[good], &[], WriteOptions { align: 12 })
            .unwrap_err()
            .to_string()
            .contains("power of two")
    );
}

fn open_error(path: &Path) -> (String, &'static str) {
    let error = SafetensorsFile::open(path).unwrap_err();
    (error.to_string(), error.code())
}

#[test]
fn damaged_files_give_an_error_that_names_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weights.safetensors");
    let whole = to_bytes(
        &[tensor("a", Dtype::F32, &[64, 64], &[1; 16384])],
        &[],
        WriteOptions::default(),
    )
    .unwrap();
    for length in [0, 7, 8, 50, 127, 128, 5000, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let (message, code) = open_error(&path);
        assert_eq!(code, "PRL_WEIGHTS_FORMAT");
        assert!(message.contains("weights.safetensors"), "{message}");
    }
    let (message, code) = open_error(directory.path());
    assert_eq!(code, "PRL_WEIGHTS_IO");
    assert!(message.contains("not a regular file"), "{message}");
    let (message, code) = open_error(&directory.path().join("absent.safetensors"));
    assert_eq!(code, "PRL_WEIGHTS_IO");
    assert!(message.contains("absent.safetensors"), "{message}");
}

#[test]
fn a_name_that_is_not_there_is_an_error_that_names_it_and_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("w.safetensors");
    write_safetensors(&path, &[], &[], WriteOptions::default()).unwrap();
    let error = SafetensorsFile::open(&path)
        .unwrap()
        .tensor("lm_head.weight")
        .unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_TENSOR");
    assert!(
        error.to_string().contains("lm_head.weight") && error.to_string().contains("w.safetensors"),
        "{error}"
    );
}

#[test]
fn a_view_of_a_shorter_buffer_is_an_error() {
    let bytes = to_bytes(&[tensor("a", Dtype::U8, &[4], &[1; 4])], &[], WriteOptions::default()).unwrap();
    let header = parse(&bytes).unwrap();
    assert_eq!(header.tensor(&bytes, "a").unwrap().data, [1; 4]);
    assert!(header.tensor(&bytes[..bytes.len() - 1], "a").is_err());
}

type Content = Vec<(String, Dtype, Vec<usize>, Vec<u8>)>;

/// Large enough for several reads by several threads, and for hashing beside writing.
#[test]
fn large_weights_are_written_in_shards_and_loaded_aligned() {
    let large: Vec<u8> = (0..20_000_003u32)
        .map(|value| (value.wrapping_mul(2_654_435_769) >> 24) as u8)
        .collect();
    let (bytes, half) = ([large.len()], [large.len() / 2]);
    let tensors = [
        tensor("odd", Dtype::F8_E5M2, &bytes, &large),
        tensor("packed", Dtype::F4, &[14], &large[..7]),
        tensor("scalar", Dtype::F64, &[], &large[..8]),
        tensor("none", Dtype::BF16, &[0], &[]),
        tensor("half", Dtype::BF16, &half, &large[..half[0] * 2]),
    ];
    let expected = version_digest(
        tensors
            .iter()
            .map(|tensor| (tensor.name, tensor.dtype, tensor.shape, tensor.data)),
    );
    for max_shard_bytes in [u64::MAX, 21_000_000, 1] {
        let directory = tempfile::tempdir().unwrap();
        let written = write_checkpoint(directory.path(), &tensors, max_shard_bytes).unwrap();
        assert_eq!(written.digest, expected);
        for shard in &written.shards {
            let found = digest_file(&directory.path().join(&shard.file)).unwrap();
            assert_eq!(found, (shard.digest.clone(), shard.bytes));
        }
        let loaded = LoadedWeights::read(directory.path(), 3).unwrap();
        assert_eq!(
            loaded.names().collect::<Vec<_>>(),
            ["half", "none", "odd", "packed", "scalar"]
        );
        let mapped = Checkpoint::open(directory.path()).unwrap();
        for written in &tensors {
            let view = loaded.tensor(written.name).unwrap();
            assert!(view == mapped.tensor(written.name).unwrap() && view.data == written.data);
            assert_eq!(view.data.as_ptr().addr() % ALIGN_BYTES, 0);
        }
        assert!(loaded.tensor("other").is_none());
    }
}

#[test]
fn memory_of_earlier_weights_is_read_into_again() {
    let (small, large) = (vec![1_u8; 100_000], vec![2_u8; 300_000]);
    let folder = |data: &[u8]| {
        let directory = tempfile::tempdir().unwrap();
        let tensor = TensorToWrite {
            name: "w",
            dtype: Dtype::U8,
            shape: &[data.len()],
            data,
        };
        write_checkpoint(directory.path(), &[tensor], u64::MAX).unwrap();
        directory
    };
    let (small_folder, large_folder) = (folder(&small), folder(&large));
    let mut loaded = LoadedWeights::read(large_folder.path(), 2).unwrap();
    let place = loaded.tensor("w").unwrap().data.as_ptr().addr();
    for (directory, data) in [(&small_folder, &small), (&large_folder, &large)] {
        loaded = loaded.read_again(directory.path(), 2).unwrap();
        let tensor = loaded.tensor("w").unwrap();
        assert!(tensor.data == data);
        assert_eq!(tensor.data.as_ptr().addr(), place, "the same memory");
    }
    let small_memory = LoadedWeights::read(small_folder.path(), 2).unwrap();
    let grown = small_memory.read_again(large_folder.path(), 2).unwrap();
    assert!(grown.tensor("w").unwrap().data == large);
    let error = grown.read_again(&small_folder.path().join("none"), 2).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_IO");
}

fn contents() -> impl Strategy<Value = Content> {
    let tensor = (
        ".{0,12}",
        prop::sample::select(Dtype::ALL.to_vec()),
        prop::collection::vec(0usize..6, 0..4),
    );
    prop::collection::vec((tensor, any::<u8>()), 0..6).prop_map(|tensors| {
        let mut content = Content::new();
        for ((name, dtype, mut shape), fill) in tensors {
            // A last dimension of 4 makes every dtype a whole number of bytes.
            shape.push(4);
            let bytes = dtype.byte_len(&shape).unwrap();
            if content.iter().all(|(other, ..)| *other != name) {
                content.push((
                    name,
                    dtype,
                    shape,
                    (0..bytes).map(|at| fill.wrapping_add(at as u8)).collect(),
                ));
            }
        }
        content
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_reference_reads_our_files(
        content in contents(),
        pairs in prop::collection::hash_map(".{0,8}", ".{0,8}", 0..4),
    ) {
        let tensors: Vec<_> =
            content.iter().map(|(name, dtype, shape, data)| tensor(name, *dtype, shape, data)).collect();
        let given: Vec<(String, String)> = pairs.clone().into_iter().collect();
        let bytes = to_bytes(&tensors, &given, WriteOptions::default()).unwrap();
        let theirs = SafeTensors::deserialize(&bytes).unwrap();
        let header = parse(&bytes).unwrap();
        prop_assert_eq!(header.data_start % 64, 0);
        prop_assert_eq!(theirs.len(), content.len());
        for (name, dtype, shape, data) in &content {
            let view = theirs.tensor(name).unwrap();
            prop_assert_eq!(view.dtype().to_string(), dtype.name());
            prop_assert_eq!(view.shape(), &shape[..]);
            prop_assert_eq!(view.data(), &data[..]);
            prop_assert_eq!(header.tensor(&bytes, name).unwrap().data, &data[..]);
        }
        let (_, read) = SafeTensors::read_metadata(&bytes).unwrap();
        prop_assert_eq!(read.metadata().clone().unwrap_or_default(), pairs.clone());
        prop_assert_eq!(header.metadata.into_iter().collect::<HashMap<_, _>>(), pairs);
    }

    #[test]
    fn files_of_the_reference_are_read(content in contents()) {
        let views: Vec<(String, ReferenceView<'_>)> = content
            .iter()
            .map(|(name, dtype, shape, data)| {
                let dtype = serde_json::from_str(&format!("\"{dtype}\"")).unwrap();
                (name.clone(), ReferenceView::new(dtype, shape.clone(), data).unwrap())
            })
            .collect();
        let bytes = safetensors::serialize(views, None).unwrap();
        let header = parse(&bytes).unwrap();
        prop_assert_eq!(header.tensors.len(), content.len());
        for (name, dtype, shape, data) in &content {
            let view = header.tensor(&bytes, name).unwrap();
            prop_assert_eq!((view.dtype, view.shape, view.data), (*dtype, &shape[..], &data[..]));
        }
    }
}
