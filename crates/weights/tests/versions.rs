//! Folders of weights, their digests and manifests.

use std::fs;
use std::path::Path;

use prl_weights::{
    BaseVersion, Canary, Checkpoint, Dtype, Encoding, Hasher, INDEX_FILE, MANIFEST_FILE, MANIFEST_FORMAT, Manifest,
    SINGLE_FILE, Shard, TensorToWrite, WrittenCheckpoint, companion_files, digest, is_digest, read_manifest,
    version_digest, write_checkpoint, write_manifest,
};

const DATA: [u8; 64] = [5; 64];

fn tensors() -> Vec<TensorToWrite<'static>> {
    let tensor = |name, dtype, shape: &'static [usize], bytes| TensorToWrite {
        name,
        dtype,
        shape,
        data: &DATA[..bytes],
    };
    vec![
        tensor("model.norm.weight", Dtype::BF16, &[8], 16),
        tensor("lm_head.weight", Dtype::F32, &[2, 8], 64),
        tensor("model.embed.weight", Dtype::F32, &[4, 3], 48),
        tensor("a", Dtype::F32, &[1], 4),
    ]
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn write(directory: &Path, max_shard_bytes: u64) -> WrittenCheckpoint {
    write_checkpoint(directory, &tensors(), max_shard_bytes).unwrap()
}

// ---- digests ----

#[test]
fn digests_are_those_of_the_specification() {
    // XXH3-64, seed 0: vectors of the reference implementation of xxHash.
    assert_eq!(digest(b""), "2d06800538d394c2");
    assert_eq!(digest(b"a"), "e6c632b61e964e1f");
    assert_eq!(digest(b"abc"), "78af5f94892f3950");
    let mut hasher = Hasher::new();
    hasher.update(b"a");
    hasher.update(b"bc");
    assert_eq!(hasher.finish(), digest(b"abc"));
    assert!(is_digest("2d06800538d394c2") && !is_digest("2D06800538D394C2") && !is_digest("2d06800538d394c"));
}

/// The hash input that README.md specifies, byte by byte.
#[test]
fn the_version_digest_is_the_documented_one() {
    let mut input = Vec::new();
    for (name, dtype, shape, bytes) in [("a", "F32", vec![1u64], 4u64), ("b.c", "BF16", vec![2, 3], 12)] {
        input.extend((name.len() as u64).to_le_bytes());
        input.extend(name.as_bytes());
        input.extend((dtype.len() as u64).to_le_bytes());
        input.extend(dtype.as_bytes());
        input.extend((shape.len() as u64).to_le_bytes());
        shape.iter().for_each(|dim| input.extend(dim.to_le_bytes()));
        input.extend(bytes.to_le_bytes());
        let content = digest(&DATA[..usize::try_from(bytes).unwrap()]);
        input.extend(u64::from_str_radix(&content, 16).unwrap().to_le_bytes());
    }
    let tensors: [(&str, Dtype, &[usize], &[u8]); 2] = [
        ("b.c", Dtype::BF16, &[2, 3], &DATA[..12]),
        ("a", Dtype::F32, &[1], &DATA[..4]),
    ];
    assert_eq!(version_digest(tensors), digest(&input));
}

#[test]
fn the_version_digest_changes_with_every_part_of_a_tensor() {
    let one = |name, dtype, shape: &[usize], data: &[u8]| version_digest([(name, dtype, shape, data)]);
    let base = one("w", Dtype::F32, &[2, 2], &[1; 16]);
    assert_ne!(base, one("v", Dtype::F32, &[2, 2], &[1; 16]));
    assert_ne!(base, one("w", Dtype::I32, &[2, 2], &[1; 16]));
    assert_ne!(base, one("w", Dtype::F32, &[4], &[1; 16]));
    assert_ne!(base, one("w", Dtype::F32, &[2, 2], &[2; 16]));
    assert_ne!(base, version_digest([]));
}

// ---- folders ----

#[test]
fn sharding_changes_neither_content_nor_version_digest() {
    let mut digests = Vec::new();
    for (limit, files) in [(u64::MAX, 1), (132, 1), (131, 2), (80, 2), (64, 3), (1, 4)] {
        let directory = tempfile::tempdir().unwrap();
        let written = write(directory.path(), limit);
        assert_eq!(written.shards.len(), files, "limit {limit}");
        let checkpoint = Checkpoint::open(directory.path()).unwrap();
        for tensor in tensors() {
            let view = checkpoint.tensor(tensor.name).unwrap();
            assert_eq!(
                (view.dtype, view.shape, view.data),
                (tensor.dtype, tensor.shape, tensor.data)
            );
        }
        assert_eq!(
            checkpoint.names().collect::<Vec<_>>(),
            ["a", "lm_head.weight", "model.embed.weight", "model.norm.weight"]
        );
        assert_eq!(checkpoint.version_digest().unwrap(), written.digest);
        digests.push(written.digest);
    }
    digests.dedup();
    assert_eq!(digests.len(), 1);
}

#[test]
fn shards_are_named_and_indexed_as_in_a_hugging_face_folder() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), 64);
    let shard = |number| format!("model-0000{number}-of-00003.safetensors");
    assert_eq!(
        names(directory.path()),
        [shard(1), shard(2), shard(3), INDEX_FILE.to_owned()]
    );
    let index: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.path().join(INDEX_FILE)).unwrap()).unwrap();
    assert_eq!(index["metadata"]["total_size"], 132);
    assert_eq!(index["weight_map"]["lm_head.weight"], shard(2));
    let first = Checkpoint::open(directory.path()).unwrap();
    assert_eq!(first.files()[0].metadata()["format"], "pt");
}

#[test]
fn weights_of_an_earlier_write_do_not_shadow_the_new_ones() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("model-card.safetensors"), b"not ours").unwrap();
    write(directory.path(), u64::MAX);
    write(directory.path(), 64);
    assert!(!directory.path().join(SINGLE_FILE).exists());
    write(directory.path(), u64::MAX);
    assert_eq!(names(directory.path()), ["model-card.safetensors", SINGLE_FILE]);
}

#[test]
fn a_missing_or_damaged_shard_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let written = write(directory.path(), 64);
    let shard = directory.path().join(&written.shards[1].file);
    let whole = fs::read(&shard).unwrap();
    fs::write(&shard, &whole[..whole.len() - 1]).unwrap();
    let error = Checkpoint::open(directory.path()).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_FORMAT");
    assert!(error.to_string().contains(&written.shards[1].file), "{error}");
    fs::copy(directory.path().join(&written.shards[0].file), &shard).unwrap();
    assert_eq!(
        Checkpoint::open(directory.path()).unwrap_err().code(),
        "PRL_WEIGHTS_TENSOR"
    );
    fs::remove_file(&shard).unwrap();
    assert_eq!(Checkpoint::open(directory.path()).unwrap_err().code(), "PRL_WEIGHTS_IO");
}

#[test]
fn an_index_cannot_lead_out_of_its_directory() {
    for file in [
        "../model.safetensors",
        "/etc/model.safetensors",
        "..",
        "",
        "a/b.safetensors",
        "a\\b.safetensors",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let index = serde_json::json!({ "weight_map": { "a": file } });
        fs::write(directory.path().join(INDEX_FILE), index.to_string()).unwrap();
        let error = Checkpoint::open(directory.path()).unwrap_err();
        assert!(error.to_string().contains("no plain file name"), "{error}");
    }
}

#[test]
fn malformed_indexes_and_empty_folders_are_errors() {
    for text in [
        "",
        "[]",
        "{}",
        r#"{"weight_map":[]}"#,
        r#"{"weight_map":{}}"#,
        r#"{"weight_map":{"a":1}}"#,
    ] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(INDEX_FILE), text).unwrap();
        let error = Checkpoint::open(directory.path()).unwrap_err();
        assert_eq!(error.code(), "PRL_WEIGHTS_FORMAT");
        assert!(error.to_string().contains(INDEX_FILE), "{error}");
    }
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(Checkpoint::open(empty.path()).unwrap_err().code(), "PRL_WEIGHTS_IO");
}

#[test]
fn a_tensor_given_twice_is_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let twice = [tensors(), tensors()].concat();
    let error = write_checkpoint(directory.path(), &twice, 64).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_TENSOR");
    assert_eq!(names(directory.path()), Vec::<String>::new());
}

// ---- manifests ----

fn manifest(written: WrittenCheckpoint) -> Manifest {
    Manifest {
        format: MANIFEST_FORMAT.to_owned(),
        version: 3,
        digest: written.digest,
        base: None,
        encoding: Encoding::Full,
        shards: written.shards,
        files: None,
        canary: Some(Canary {
            token_ids: vec![1, 2, 3, 4],
            logprobs: vec![0.0, -0.1, -1.000_000_1, -f32::MIN_POSITIVE],
            isa: "avx2".to_owned(),
            dtype: "float32".to_owned(),
        }),
    }
}

#[test]
fn a_manifest_survives_the_file_bit_for_bit() {
    let directory = tempfile::tempdir().unwrap();
    let written = manifest(write(directory.path(), 64));
    write_manifest(directory.path(), &written).unwrap();
    let read = read_manifest(directory.path()).unwrap();
    assert_eq!(read, written);
    let bits = |manifest: &Manifest| {
        manifest
            .canary
            .as_ref()
            .unwrap()
            .logprobs
            .iter()
            .map(|value| value.to_bits())
            .collect::<Vec<_>>()
    };
    assert_eq!(bits(&read), bits(&written));
    read.verify_shards(directory.path()).unwrap();
    read.verify_version(directory.path()).unwrap();
}

#[test]
fn every_float_of_a_canary_survives_json() {
    let directory = tempfile::tempdir().unwrap();
    let mut manifest = manifest(write(directory.path(), u64::MAX));
    let logprobs: Vec<f32> = (0..20_000u32)
        .map(|number| -f32::from_bits(number.wrapping_mul(2_654_435_769) >> 1))
        .filter(|value| value.is_finite())
        .collect();
    let canary = manifest.canary.as_mut().unwrap();
    canary.token_ids = vec![0; logprobs.len()];
    canary.logprobs = logprobs.clone();
    write_manifest(directory.path(), &manifest).unwrap();
    let read = read_manifest(directory.path()).unwrap().canary.unwrap().logprobs;
    assert!(
        read.iter()
            .zip(&logprobs)
            .all(|(left, right)| left.to_bits() == right.to_bits())
    );
}

#[test]
fn a_damaged_shard_is_found_by_its_digest_and_a_short_one_by_its_length() {
    let directory = tempfile::tempdir().unwrap();
    let manifest = manifest(write(directory.path(), u64::MAX));
    write_manifest(directory.path(), &manifest).unwrap();
    let path = directory.path().join(SINGLE_FILE);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = manifest.verify_shards(directory.path()).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_DIGEST");
    assert!(error.to_string().contains(SINGLE_FILE), "{error}");
    assert_eq!(
        manifest.verify_version(directory.path()).unwrap_err().code(),
        "PRL_WEIGHTS_DIGEST"
    );
    fs::write(&path, &bytes[1..]).unwrap();
    assert_eq!(
        manifest.verify_shards(directory.path()).unwrap_err().code(),
        "PRL_WEIGHTS_MANIFEST"
    );
}

#[test]
fn a_directory_without_a_manifest_is_no_version() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), u64::MAX);
    let error = read_manifest(directory.path()).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_MANIFEST");
    assert!(error.to_string().contains("no finished version"), "{error}");
}

#[test]
fn manifests_that_contradict_themselves_are_neither_written_nor_read() {
    let directory = tempfile::tempdir().unwrap();
    let good = manifest(write(directory.path(), 64));
    let spoil = |change: &dyn Fn(&mut Manifest)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad
    };
    let cases: Vec<(Manifest, &str)> = vec![
        (spoil(&|bad| bad.format = "other".to_owned()), "format"),
        (spoil(&|bad| bad.encoding = Encoding::Sparse), "needs a base"),
        (
            spoil(&|bad| {
                bad.encoding = Encoding::Sparse;
                bad.base = Some(BaseVersion {
                    version: 3,
                    digest: good.digest.clone(),
                });
            }),
            "cannot apply",
        ),
        (spoil(&|bad| bad.version = 1 << 53), "versions end"),
        (spoil(&|bad| bad.digest = "0".to_owned()), "no digest"),
        (
            spoil(&|bad| bad.shards[0].digest = good.digest.to_uppercase() + "x"),
            "no digest",
        ),
        (spoil(&|bad| bad.shards.clear()), "no shards"),
        (
            spoil(&|bad| bad.shards[0].file = "../x".to_owned()),
            "no plain file name",
        ),
        (spoil(&|bad| bad.shards[0].file = bad.shards[1].file.clone()), "twice"),
        (
            spoil(&|bad| {
                bad.base = Some(BaseVersion {
                    version: 2,
                    digest: good.digest.clone(),
                })
            }),
            "no base",
        ),
        (
            spoil(&|bad| bad.canary.as_mut().unwrap().logprobs.truncate(3)),
            "4 tokens and 3",
        ),
        (spoil(&|bad| bad.canary.as_mut().unwrap().logprobs[0] = f32::NAN), "NaN"),
    ];
    for (bad, reason) in cases {
        let error = write_manifest(directory.path(), &bad).unwrap_err();
        assert_eq!(error.code(), "PRL_WEIGHTS_MANIFEST");
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
        assert!(!directory.path().join(MANIFEST_FILE).exists());
        fs::write(directory.path().join(MANIFEST_FILE), serde_json::to_vec(&bad).unwrap()).unwrap();
        assert_eq!(
            read_manifest(directory.path()).unwrap_err().code(),
            "PRL_WEIGHTS_MANIFEST"
        );
        fs::remove_file(directory.path().join(MANIFEST_FILE)).unwrap();
    }
    let short = spoil(&|bad| bad.shards[0].bytes -= 1);
    assert!(
        write_manifest(directory.path(), &short)
            .unwrap_err()
            .to_string()
            .contains("bytes, expected")
    );
}

#[test]
fn unknown_keys_and_encodings_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    write_manifest(directory.path(), &manifest(write(directory.path(), u64::MAX))).unwrap();
    let path = directory.path().join(MANIFEST_FILE);
    let text = fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("\"full\"", "\"dense\""),
        ("\"version\": 3", "\"version\": 3, \"later\": 1"),
        ("{", "["),
    ] {
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        assert_eq!(
            read_manifest(directory.path()).unwrap_err().code(),
            "PRL_WEIGHTS_MANIFEST"
        );
    }
}

fn companion(file: &str, text: &str) -> Shard {
    Shard {
        file: file.to_owned(),
        bytes: text.len() as u64,
        digest: digest(text.as_bytes()),
    }
}

#[test]
fn a_changed_missing_or_added_file_beside_the_weights_has_a_name() {
    const FILES: [(&str, &str); 2] = [("config.json", "{\"rope_theta\": 1e4}"), ("tokenizer.json", "{}")];
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let mut written = manifest(write(directory.path(), 64));
    let restore = || {
        FILES
            .iter()
            .for_each(|(name, text)| fs::write(path(name), text).unwrap())
    };
    restore();
    let files = companion_files(directory.path(), &written.shards).unwrap();
    assert_eq!(
        files,
        FILES.map(|(name, text)| companion(name, text)),
        "the index of the shards is none of them"
    );
    written.files = Some(files);
    write_manifest(directory.path(), &written).unwrap();
    let read = read_manifest(directory.path()).unwrap();
    assert_eq!(read, written);
    let check = || {
        read.verify_files(directory.path())
            .and_then(|()| read.refuse_unlisted(directory.path()))
    };
    check().unwrap();
    type Change<'a> = (&'a str, &'a dyn Fn(), &'a str, &'a str);
    let changes: [Change<'_>; 4] = [
        (
            "another rotary base",
            &|| fs::write(path("config.json"), "{\"rope_theta\": 2e4}").unwrap(),
            "PRL_WEIGHTS_DIGEST",
            "config.json",
        ),
        (
            "garbage",
            &|| fs::write(path("config.json"), "?").unwrap(),
            "PRL_WEIGHTS_MANIFEST",
            "config.json",
        ),
        (
            "no tokenizer",
            &|| fs::remove_file(path("tokenizer.json")).unwrap(),
            "PRL_WEIGHTS_IO",
            "tokenizer.json",
        ),
        (
            "a template that was not there",
            &|| fs::write(path("chat_template.jinja"), "x").unwrap(),
            "PRL_WEIGHTS_MANIFEST",
            "chat_template.jinja",
        ),
    ];
    for (what, change, code, name) in changes {
        change();
        let error = check().expect_err(what);
        assert_eq!(error.code(), code, "{what}");
        assert!(error.to_string().contains(name), "{what}: {error}");
        let _ = fs::remove_file(path("chat_template.jinja"));
        restore();
        check().unwrap();
    }
    fs::write(path(".hidden"), "").unwrap();
    check().unwrap();
}

#[test]
fn a_manifest_without_files_is_read_as_before_and_one_with_wrong_ones_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut written = manifest(write(directory.path(), u64::MAX));
    write_manifest(directory.path(), &written).unwrap();
    let text = fs::read_to_string(directory.path().join(MANIFEST_FILE)).unwrap();
    assert!(!text.contains("files"), "{text}");
    let read = read_manifest(directory.path()).unwrap();
    assert_eq!(read.files, None);
    fs::write(directory.path().join("config.json"), "?").unwrap();
    read.verify_files(directory.path()).unwrap();
    read.refuse_unlisted(directory.path()).unwrap();
    let shard = written.shards[0].file.clone();
    for (file, digest) in [
        ("../config.json", None),
        (&shard, None),
        ("config.json", Some("nonsense")),
    ] {
        let mut wrong = companion(file, "{}");
        wrong.digest = digest.map_or(wrong.digest, str::to_owned);
        written.files = Some(vec![wrong]);
        assert_eq!(
            write_manifest(directory.path(), &written).unwrap_err().code(),
            "PRL_WEIGHTS_MANIFEST",
            "{file}"
        );
    }
}
