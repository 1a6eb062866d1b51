//! Safetensors headers and files, folders of shards, manifests, sparse versions and their code.

use std::fs;
use std::path::Path;

use prl_fuzz::Target;
use prl_weights::{
    Checkpoint, Dtype, Encoding, MANIFEST_FILE, Manifest, SparseOptions, SparseVersion, TensorToWrite, WeightsError,
    WriteOptions, apply_sparse, decode_tensor, digest, encode_tensor, read_manifest, to_bytes, write_checkpoint,
    write_sparse,
};

use crate::answer;

const HEADER: [&str; 22] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"\":",
    "{}",
    "\"__metadata__\":",
    "\"dtype\":",
    "\"shape\":",
    "\"data_offsets\":",
    "\"F32\"",
    "\"BF16\"",
    "\"U8\"",
    "\"F4\"",
    "\"F6_E2M3\"",
    "[0,0]",
    "[1,1]",
    "[18446744073709551615,2]",
    "\\ud800",
    "\\u0000",
];

fn file() -> Vec<u8> {
    let tensor = |name, dtype, shape, data| TensorToWrite {
        name,
        dtype,
        shape,
        data,
    };
    let tensors = [
        tensor("a", Dtype::F32, &[2, 2][..], &[0; 16][..]),
        tensor("b.weight", Dtype::BF16, &[3], &[1; 6]),
        tensor("scalar", Dtype::U8, &[], &[7]),
        tensor("empty", Dtype::I64, &[0, 5], &[]),
    ];
    let metadata = [("format".to_owned(), "pt".to_owned())];
    to_bytes(&tensors, &metadata, WriteOptions::default()).expect("a file")
}

#[test]
fn safetensors_in_memory() {
    Target::new("safetensors")
        .words(&HEADER)
        .start(file())
        .inputs(15_000)
        .run(|bytes| {
            answer(prl_weights::parse(bytes), |header| {
                let read = header.names().filter(|name| header.tensor(bytes, name).is_ok()).count();
                assert_eq!(
                    read,
                    header.tensors.len(),
                    "a valid header has tensors that cannot be read"
                );
                format!("{} {}", read.min(4), header.metadata.len().min(2))
            })
        });
}

#[test]
fn folders_of_shards() {
    let folder = tempfile::tempdir().expect("folder");
    let tensor = |name| TensorToWrite {
        name,
        dtype: Dtype::F32,
        shape: &[4],
        data: &[0; 16],
    };
    write_checkpoint(folder.path(), &[tensor("a"), tensor("b")], 16).expect("two shards");
    let index = folder.path().join("model.safetensors.index.json");
    let start = fs::read(&index).expect("an index");
    let names = [
        "\"a\":",
        "\"weight_map\":",
        "\"../a\"",
        "\"/etc/passwd\"",
        "\"model-00001-of-00002.safetensors\"",
    ];
    let target = Target::new("shard-index")
        .words(&HEADER)
        .words(&names)
        .start(start)
        .inputs(3000);
    target.run(|bytes| {
        fs::write(&index, bytes).expect("the index");
        answer(Checkpoint::open(folder.path()), |checkpoint| {
            checkpoint.files().len().to_string()
        })
    });
}

fn manifest() -> &'static str {
    r#"{"format":"prl-weights","version":3,"digest":"0123456789abcdef","base":{"version":2,"digest":"0123456789abcdef"},
    "encoding":"sparse","shards":[{"file":"delta.safetensors","bytes":10,"digest":"0123456789abcdef"}],
    "files":[{"file":"config.json","bytes":10,"digest":"0123456789abcdef"}],
    "canary":{"token_ids":[1,2],"logprobs":[0.0,-1.25],"isa":"avx2","dtype":"f32"}}"#
}

#[test]
fn manifests() {
    let words = [
        "\"encoding\":\"full\"",
        "\"encoding\":\"peft\"",
        "\"base\":null",
        "\"canary\":null",
        "\"files\":null",
        "\"shards\":[]",
        "\"logprobs\":[1e999]",
        "\"file\":\"../x\"",
        "\"file\":\"a/b\"",
        "\"adapter_model.safetensors\"",
        "\"adapter_config.json\"",
    ];
    let target = Target::new("weight-manifest")
        .words(&HEADER)
        .words(&words)
        .start(manifest())
        .inputs(10_000);
    target.run(|bytes| {
        answer(Manifest::from_json(bytes, Path::new("manifest.json")), |manifest| {
            let text = serde_json::to_vec(&manifest).expect("text");
            let again =
                Manifest::from_json(&text, Path::new("manifest.json")).expect("what was read can be written and read");
            assert_eq!(again, manifest);
            format!("{:?} {}", manifest.encoding, manifest.canary.is_some())
        })
    });
}

/// A base of two tensors and a sparse version that applies to it.
struct Versions {
    base: tempfile::TempDir,
    sparse: tempfile::TempDir,
    manifest: Manifest,
}

impl Versions {
    fn new() -> Self {
        let folder = || tempfile::tempdir().expect("folder");
        let (base, sparse) = (folder(), folder());
        let old = vec![1u8; 600];
        let mut new = old.clone();
        new[2] = 9;
        new[301] = 3;
        let tensors = |data| {
            let tensor = |name, shape, data| TensorToWrite {
                name,
                dtype: Dtype::BF16,
                shape,
                data,
            };
            [tensor("a", &[300][..], data), tensor("same", &[2], &[5; 4][..])]
        };
        let written = write_checkpoint(base.path(), &tensors(&old), 1 << 20).expect("a base");
        let options = SparseOptions {
            max_shard_bytes: 1 << 20,
            max_bytes: 1 << 20,
            threads: 1,
        };
        let opened = Checkpoint::open(base.path()).expect("the base");
        let delta = write_sparse(sparse.path(), &opened, &tensors(&new), options)
            .expect("changes")
            .expect("few changes");
        let manifest = Manifest {
            format: "prl-weights".to_owned(),
            version: 1,
            digest: delta.digest,
            base: Some(prl_weights::BaseVersion {
                version: 0,
                digest: written.digest,
            }),
            encoding: Encoding::Sparse,
            shards: delta.shards,
            files: None,
            canary: None,
        };
        Self { base, sparse, manifest }
    }

    fn shard(&self) -> std::path::PathBuf {
        self.sparse.path().join(&self.manifest.shards[0].file)
    }

    /// The version whose only shard is `bytes`, with digests that fit, so that more than the first check is reached.
    fn open(&self, bytes: &[u8]) -> Result<SparseVersion, WeightsError> {
        fs::write(self.shard(), bytes).expect("the shard");
        let mut manifest = self.manifest.clone();
        manifest.shards[0].bytes = bytes.len() as u64;
        manifest.shards[0].digest = digest(bytes);
        match SparseVersion::open(self.sparse.path(), manifest.clone()) {
            Err(WeightsError::Digest { found, .. }) => {
                manifest.digest = found;
                SparseVersion::open(self.sparse.path(), manifest)
            }
            other => other,
        }
    }
}

#[test]
fn sparse_versions() {
    let versions = Versions::new();
    let base = Checkpoint::open(versions.base.path()).expect("the base");
    let start = fs::read(versions.shard()).expect("the shard");
    let words = [
        "\\\"coding\\\":\\\"same\\\"",
        "\\\"coding\\\":\\\"whole\\\"",
        "\\\"coding\\\":\\\"rice16\\\"",
        "\\\"shape\\\":[0]",
        "\\\"BF16\\\"",
        "prl-sparse",
    ];
    let target = Target::new("sparse-version")
        .words(&HEADER)
        .words(&words)
        .start(start)
        .inputs(1500)
        // A digest reads files by the MiB.
        .heap(8 << 20, 64);
    target.run(|bytes| {
        answer(versions.open(bytes), |version| {
            let place = tempfile::tempdir().expect("folder");
            answer(apply_sparse(&base, &[version], place.path(), 1), |written| {
                written.shards.len().to_string()
            })
        })
    });
}

#[test]
fn sparse_code() {
    let old = vec![0u8; 70_000];
    let mut new = old.clone();
    for at in [0, 2, 4, 1000, 40_000, 69_998] {
        new[at] = 77;
    }
    let target = Target::new("sparse-code")
        .start(encode_tensor(&old, &new))
        .start(encode_tensor(&old, &old));
    target.inputs(3000).run(|code| {
        let mut data = old.clone();
        let found = decode_tensor(code, &mut data);
        answer(found, |()| format!("{}", data == old))
    });
}

#[test]
fn folders_of_versions() {
    let folder = tempfile::tempdir().expect("folder");
    let target = Target::new("manifest-file").start(manifest()).inputs(500);
    target.run(|bytes| {
        fs::write(folder.path().join(MANIFEST_FILE), bytes).expect("the manifest");
        answer(read_manifest(folder.path()), |manifest| {
            answer(manifest.verify_shards(folder.path()), |()| "whole".to_owned())
        })
    });
}
