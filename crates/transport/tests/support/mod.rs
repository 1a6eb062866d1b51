//! Helpers of this crate's tests: deadlines that suit a test, nodes, batches, version directories, and a proxy with faults.

#![allow(unreachable_pub, dead_code, reason = "each test binary uses some of it")]

pub mod proxy;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prl_transport::{Address, Credentials, Times, Wanted, WeightNode};
use prl_weights::{
    BaseVersion, Dtype, Encoding, MANIFEST_FORMAT, Manifest, Shard, TensorToWrite, WriteOptions, digest,
    write_manifest, write_safetensors,
};

/// With these deadlines faults are noticed at once.
pub const QUICK: Times = Times {
    connect: Duration::from_millis(500),
    stall: Duration::from_millis(300),
    durable: Duration::from_secs(5),
    pause: Duration::from_millis(2),
    longest_pause: Duration::from_millis(20),
    patience: Duration::from_secs(20),
};

/// A node that notices faults at once.
pub fn node(root: impl Into<PathBuf>) -> WeightNode {
    WeightNode::new(root, Credentials::default(), QUICK)
}

/// The address of a node for one that pulls from it.
pub fn to(address: SocketAddr) -> Address {
    address.to_string().parse().expect("an address")
}

/// A request for exactly this version.
pub fn version(version: u64) -> Wanted {
    Wanted {
        version: Some(version),
        ..Wanted::default()
    }
}

/// How often a property is tried.
pub fn cases() -> u32 {
    if std::env::var_os("PRL_TEST_LONG").is_some() {
        400
    } else {
        24
    }
}

/// Pseudo-random bytes, the same for the same seed.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// The path of the batch of (step, rank) below a spool or an inbox.
pub fn batch_path(root: &Path, step: u64, rank: u32) -> PathBuf {
    root.join(format!("step_{step}"))
        .join(format!("rank_{rank}.safetensors"))
}

/// Writes the batch of (attempt, step, rank) with about `length` bytes and returns its bytes.
pub fn write_batch(root: &Path, (attempt, step, rank): (u32, u64, u32), length: usize, seed: u64) -> Vec<u8> {
    let path = batch_path(root, step, rank);
    fs::create_dir_all(path.parent().expect("a parent")).expect("the folder of a step");
    let data = noise(length, seed);
    let tensor = TensorToWrite {
        name: "loss_mask",
        dtype: Dtype::from_name("U8").expect("a dtype"),
        shape: &[length],
        data: &data,
    };
    let metadata = [
        ("run_id", "run".to_owned()),
        ("attempt", attempt.to_string()),
        ("step", step.to_string()),
        ("rank", rank.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value));
    write_safetensors(&path, &[tensor], &metadata, WriteOptions::default()).expect("a batch");
    fs::read(&path).expect("what was written")
}

/// Publishes a full version of `shards` files of `length` bytes each below `root`; returns the contents of its files by name.
pub fn publish(root: &Path, version: u64, shards: usize, length: usize, seed: u64) -> BTreeMap<String, Vec<u8>> {
    publish_on(root, (version, None), shards, length, seed)
}

/// Publishes a version: sparse when it has a base, else full.
pub fn publish_on(
    root: &Path,
    (version, base): (u64, Option<u64>),
    shards: usize,
    length: usize,
    seed: u64,
) -> BTreeMap<String, Vec<u8>> {
    let directory = root.join(format!("step_{version}"));
    fs::create_dir_all(&directory).expect("a folder");
    let mut described = Vec::new();
    for index in 0..shards {
        let file = format!("model-{index}.safetensors");
        let bytes = noise(length, seed * 1000 + index as u64);
        fs::write(directory.join(&file), &bytes).expect("a shard");
        described.push(Shard {
            file,
            bytes: length as u64,
            digest: digest(&bytes),
        });
    }
    fs::write(directory.join("config.json"), format!("{{\"seed\": {seed}}}")).expect("a config");
    fs::write(directory.join("empty.txt"), "").expect("an empty file");
    let manifest = Manifest {
        format: MANIFEST_FORMAT.to_owned(),
        version,
        digest: version_name(version, seed),
        base: base.map(|base| BaseVersion {
            version: base,
            digest: version_name(base, seed),
        }),
        encoding: if base.is_some() {
            Encoding::Sparse
        } else {
            Encoding::Full
        },
        shards: described,
        files: None,
        canary: None,
    };
    write_manifest(&directory, &manifest).expect("a manifest");
    contents(&directory)
}

/// A substitute for a version digest; the transport does not read weights.
pub fn version_name(version: u64, seed: u64) -> String {
    digest(format!("{version} {seed}").as_bytes())
}

/// Every file of a version by name: hidden ones are no part of it.
pub fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(directory)
        .expect("a folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let bytes = fs::read(entry.path()).expect("a file");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .filter(|(name, _)| !name.starts_with('.'))
        .collect()
}
