//! Sparse versions: writing, applying, refusals.

use std::fs;
use std::path::Path;

use prl_weights::{
    BaseVersion, Checkpoint, Coding, Dtype, Encoding, MANIFEST_FORMAT, Manifest, SparseOptions, SparseVersion,
    TensorToWrite, WeightsError, apply_sparse, decode_tensor, digest_file, encode_tensor, write_checkpoint,
    write_sparse,
};
use proptest::prelude::*;
use tempfile::TempDir;

const OPTIONS: SparseOptions = SparseOptions {
    max_shard_bytes: u64::MAX,
    max_bytes: u64::MAX,
    threads: 0,
};

/// Names, dtypes and shapes: 16-bit tensors of several blocks and of less than one, an empty one, other dtypes.
const LAYOUT: [(&str, Dtype, &[usize]); 6] = [
    ("embed", Dtype::BF16, &[300, 1000]),
    ("norm", Dtype::BF16, &[333]),
    ("router", Dtype::F32, &[50, 7]),
    ("experts", Dtype::F8_E4M3, &[64, 3]),
    ("none", Dtype::BF16, &[0, 8]),
    ("half", Dtype::F16, &[70_000]),
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 >> 33
    }
}

#[derive(Clone)]
struct Model(Vec<Vec<u8>>);

impl Model {
    fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        let data = LAYOUT.iter().map(|(_, dtype, shape)| {
            let bytes = dtype.byte_len(shape).unwrap();
            (0..bytes).map(|_| (random.next() & 0xff) as u8).collect()
        });
        Self(data.collect())
    }

    /// Changes the last place of about one element in `period` of the 16-bit tensors.
    fn train(&self, seed: u64, period: u64) -> Self {
        let mut random = Random(seed);
        let mut next = self.clone();
        for ((_, dtype, _), data) in LAYOUT.iter().zip(&mut next.0) {
            for element in data.chunks_exact_mut(2).filter(|_| dtype.bits() == 16) {
                if random.next().is_multiple_of(period) {
                    let value = u16::from_le_bytes([element[0], element[1]]).wrapping_add(1);
                    element.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        next
    }

    fn tensors(&self) -> Vec<TensorToWrite<'_>> {
        LAYOUT
            .iter()
            .zip(&self.0)
            .map(|(&(name, dtype, shape), data)| TensorToWrite {
                name,
                dtype,
                shape,
                data,
            })
            .collect()
    }

    fn write(&self, directory: &Path, max_shard_bytes: u64) -> String {
        write_checkpoint(directory, &self.tensors(), max_shard_bytes)
            .unwrap()
            .digest
    }
}

/// A base folder and the sparse versions after it, versions counting from 0.
struct Run {
    root: TempDir,
    digests: Vec<String>,
}

impl Run {
    fn new(models: &[Model], max_shard_bytes: u64) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut digests = Vec::new();
        for (version, model) in models.iter().enumerate() {
            let full = root.path().join(format!("full_{version}"));
            fs::create_dir(&full).unwrap();
            digests.push(model.write(&full, max_shard_bytes));
        }
        let run = Self { root, digests };
        for (version, model) in models.iter().enumerate().skip(1) {
            let directory = run.sparse(version);
            fs::create_dir(&directory).unwrap();
            let options = SparseOptions {
                max_shard_bytes,
                ..OPTIONS
            };
            let written = write_sparse(&directory, &run.full(version - 1), &model.tensors(), options)
                .unwrap()
                .unwrap();
            assert_eq!(written.digest, run.digests[version]);
            prl_weights::write_manifest(&directory, &run.manifest(version, written.shards)).unwrap();
        }
        run
    }

    fn full_dir(&self, version: usize) -> std::path::PathBuf {
        self.root.path().join(format!("full_{version}"))
    }

    fn full(&self, version: usize) -> Checkpoint {
        Checkpoint::open(&self.full_dir(version)).unwrap()
    }

    fn sparse(&self, version: usize) -> std::path::PathBuf {
        self.root.path().join(format!("step_{version}"))
    }

    fn manifest(&self, version: usize, shards: Vec<prl_weights::Shard>) -> Manifest {
        Manifest {
            format: MANIFEST_FORMAT.to_owned(),
            version: version as u64,
            digest: self.digests[version].clone(),
            base: Some(BaseVersion {
                version: version as u64 - 1,
                digest: self.digests[version - 1].clone(),
            }),
            encoding: Encoding::Sparse,
            shards,
            files: None,
            canary: None,
        }
    }

    fn open(&self, version: usize) -> Result<SparseVersion, WeightsError> {
        let directory = self.sparse(version);
        SparseVersion::open(&directory, prl_weights::read_manifest(&directory)?)
    }

    fn apply(&self, base: usize, versions: &[usize]) -> Result<TempDir, WeightsError> {
        let chain: Vec<_> = versions.iter().map(|&version| self.open(version).unwrap()).collect();
        let out = tempfile::tempdir().unwrap();
        let written = apply_sparse(&self.full(base), &chain, out.path(), 0)?;
        for shard in &written.shards {
            let (digest, bytes) = digest_file(&out.path().join(&shard.file)).unwrap();
            assert_eq!((&digest, bytes), (&shard.digest, shard.bytes));
        }
        assert_eq!(
            Checkpoint::open(out.path()).unwrap().version_digest().unwrap(),
            written.digest
        );
        Ok(out)
    }
}

fn assert_same_files(left: &Path, right: &Path) {
    let names = |directory: &Path| {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(left), names(right));
    for name in names(left) {
        assert!(
            fs::read(left.join(&name)).unwrap() == fs::read(right.join(&name)).unwrap(),
            "{name:?} differs"
        );
    }
}

fn models(count: u64, period: u64) -> Vec<Model> {
    let mut models = vec![Model::random(1)];
    for step in 1..count {
        models.push(models[models.len() - 1].train(step, period));
    }
    models
}

#[test]
fn a_version_is_restored_byte_for_byte_from_its_base() {
    let mut versions = models(2, 70);
    versions[1].0[2][5] ^= 1;
    let run = Run::new(&versions, u64::MAX);
    let out = run.apply(0, &[1]).unwrap();
    assert_same_files(out.path(), &run.full_dir(1));
    let codings: Vec<_> = run
        .open(1)
        .unwrap()
        .records()
        .map(|record| (record.name.clone(), record.coding))
        .collect();
    let expected = [
        ("embed", Coding::Rice16),
        ("experts", Coding::Same),
        ("half", Coding::Rice16),
        ("none", Coding::Same),
        ("norm", Coding::Rice16),
        ("router", Coding::Whole),
    ];
    assert_eq!(codings, expected.map(|(name, coding)| (name.to_owned(), coding)));
    let bytes: u64 = run
        .open(1)
        .unwrap()
        .manifest()
        .shards
        .iter()
        .map(|shard| shard.bytes)
        .sum();
    assert!(bytes < 20_000, "{bytes} bytes for one change in 70 of 370,000 elements");
}

#[test]
fn a_chain_of_sharded_versions_applies_in_one_pass() {
    let run = Run::new(&models(5, 30), 200_000);
    assert!(run.full(0).files().len() > 1 && run.open(2).unwrap().manifest().shards.len() > 1);
    let out = run.apply(0, &[1, 2, 3, 4]).unwrap();
    assert_same_files(out.path(), &run.full_dir(4));
    let late = run.apply(2, &[3, 4]).unwrap();
    assert_same_files(late.path(), &run.full_dir(4));
}

#[test]
fn an_unchanged_version_has_no_data_and_still_applies() {
    let run = Run::new(&[Model::random(3), Model::random(3)], u64::MAX);
    assert!(
        run.open(1)
            .unwrap()
            .records()
            .all(|record| record.coding == Coding::Same)
    );
    assert_same_files(run.apply(0, &[1]).unwrap().path(), &run.full_dir(1));
}

#[test]
fn weights_that_changed_everywhere_are_stored_whole() {
    let run = Run::new(&[Model::random(1), Model::random(2)], u64::MAX);
    let whole = run
        .open(1)
        .unwrap()
        .records()
        .filter(|record| record.coding == Coding::Whole)
        .count();
    assert_eq!(whole, LAYOUT.len() - 1);
    assert_same_files(run.apply(0, &[1]).unwrap().path(), &run.full_dir(1));
}

#[test]
fn useless_and_impossible_deltas_leave_no_file() {
    let run = Run::new(&models(1, 1), 200_000);
    let out = tempfile::tempdir().unwrap();
    let next = models(2, 3).pop().unwrap();
    let tight = SparseOptions {
        max_shard_bytes: 200_000,
        max_bytes: 60_000,
        threads: 2,
    };
    assert_eq!(
        write_sparse(out.path(), &run.full(0), &next.tensors(), tight).unwrap(),
        None
    );
    let other_names = &next.tensors()[1..];
    assert_eq!(
        write_sparse(out.path(), &run.full(0), other_names, OPTIONS).unwrap(),
        None
    );
    let mut other_shape = next.tensors();
    other_shape[0].shape = &[1000, 300];
    assert_eq!(
        write_sparse(out.path(), &run.full(0), &other_shape, OPTIONS).unwrap(),
        None
    );
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn another_base_is_found_by_the_digest_of_the_result() {
    let run = Run::new(&models(3, 50), u64::MAX);
    let error = run.apply(0, &[2]).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_DIGEST");
    assert!(
        error.to_string().contains("tensor ") && error.to_string().contains("expected"),
        "{error}"
    );
}

#[test]
fn a_chain_with_a_gap_is_refused() {
    let run = Run::new(&models(4, 50), u64::MAX);
    let error = run.apply(0, &[1, 3]).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_BASE");
    assert!(error.to_string().contains("applies to version 2"), "{error}");
}

#[test]
fn damage_is_found_before_anything_is_applied() {
    let run = Run::new(&models(2, 50), u64::MAX);
    let path = run.sparse(1).join("delta.safetensors");
    let bytes = fs::read(&path).unwrap();
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 0x40;
    fs::write(&path, &damaged).unwrap();
    assert_eq!(run.open(1).unwrap_err().code(), "PRL_WEIGHTS_DIGEST");
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(run.open(1).unwrap_err().code(), "PRL_WEIGHTS_MANIFEST");
}

/// A shard whose digest was made to fit its damage is refused or gives the published weights, never others.
#[test]
fn forged_shards_never_give_other_weights() {
    let mut versions = models(2, 50);
    versions[1].0[2][5] ^= 1;
    let run = Run::new(&versions, u64::MAX);
    let base = run.full(0);
    let directory = run.sparse(1);
    let path = directory.join("delta.safetensors");
    let manifest = prl_weights::read_manifest(&directory).unwrap();
    let bytes = fs::read(&path).unwrap();
    let mut random = Random(11);
    let rounds = if std::env::var_os("PRL_TEST_LONG").is_some() {
        5000
    } else {
        300
    };
    let mut refused = 0;
    for _ in 0..rounds {
        let mut forged = bytes.clone();
        for _ in 0..=random.next() % 3 {
            let at = random.next() as usize % forged.len();
            forged[at] ^= 1 << (random.next() % 8);
        }
        if random.next().is_multiple_of(8) {
            forged.truncate(random.next() as usize % bytes.len());
        }
        fs::write(&path, &forged).unwrap();
        let mut manifest = manifest.clone();
        let (digest, length) = digest_file(&path).unwrap();
        manifest.shards[0].digest = digest;
        manifest.shards[0].bytes = length;
        let out = tempfile::tempdir().unwrap();
        let applied = SparseVersion::open(&directory, manifest)
            .and_then(|version| apply_sparse(&base, &[version], out.path(), 1));
        match applied {
            Ok(_) => assert_same_files(out.path(), &run.full_dir(1)),
            Err(error) => {
                assert!(
                    [
                        "PRL_WEIGHTS_FORMAT",
                        "PRL_WEIGHTS_DIGEST",
                        "PRL_WEIGHTS_TENSOR",
                        "PRL_WEIGHTS_MANIFEST"
                    ]
                    .contains(&error.code()),
                    "{error}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused > rounds * 9 / 10, "{refused} of {rounds} refused");
}

proptest! {
    #[test]
    fn tensors_of_any_length_survive(elements in 0usize..200_000, period in 1u64..300, seed in any::<u64>()) {
        let mut random = Random(seed);
        let old: Vec<u8> = (0..elements * 2).map(|_| (random.next() & 0xff) as u8).collect();
        let mut new = old.clone();
        for byte in &mut new {
            if random.next().is_multiple_of(period) {
                *byte = (random.next() & 0xff) as u8;
            }
        }
        let code = encode_tensor(&old, &new);
        let mut data = old;
        decode_tensor(&code, &mut data).unwrap();
        prop_assert!(data == new);
    }
}
