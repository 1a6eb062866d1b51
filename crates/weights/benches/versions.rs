//! Sparse versions and mapped broadcast: how fast they are made, applied and handed out.
//!
//! Weights are bf16 roundings of f32 masters of 0.02 standard deviation; a step moves each master by up to the learning
//! rate, up or down: that changes 1.7 % of them at 1e-6, as in the real run whose sizes `benches/weights-delta.long.bench.mjs` reports. Everything per core
//! is CPU time of one thread, digests included, in GB/s of model bytes; the rival is a copy of the same bytes.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use prl_weights::{
    Checkpoint, Dtype, PublisherOptions, SparseOptions, Staged, TensorToWrite, WeightPublisher, WeightReceiver,
    decode_tensor, digest, encode_tensor, version_directory, write_checkpoint, write_sparse,
};

#[path = "support/report.rs"]
mod report;

use report::{report, shortest, spread};

const ROUNDS: usize = 7;
const ELEMENTS: usize = 1 << 27;
const TENSORS: usize = 32;
const RECEIVERS: usize = 8;

fn main() {
    for (name, lr) in [("1e-6", 1e-6), ("1e-5", 1e-5), ("1e-4", 1e-4)] {
        let (old, new) = versions(lr);
        per_core(name, &old, &new);
        if name == "1e-6" {
            files(&old, &new);
        }
    }
    broadcast();
}

/// Bits of two consecutive versions.
fn versions(lr: f32) -> (Vec<u8>, Vec<u8>) {
    let mut state = 7u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let (mut old, mut new) = (Vec::with_capacity(ELEMENTS * 2), Vec::with_capacity(ELEMENTS * 2));
    for _ in 0..ELEMENTS {
        // A sum of four uniform numbers is near enough to a normal one.
        let master = ((random() + random() + random() + random()) - 2.0) * 0.02 * 1.732;
        let step = lr * (2.0 * random() - 1.0);
        old.extend(rounded(master).to_le_bytes());
        new.extend(rounded(master + step).to_le_bytes());
    }
    (old, new)
}

fn rounded(value: f32) -> u16 {
    let bits = value.to_bits();
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

fn per_core(name: &str, old: &[u8], new: &[u8]) {
    // Only a part of the weights, so that the rounds stay short.
    let (old, new) = (&old[..old.len() / 4], &new[..new.len() / 4]);
    let gigabytes = new.len() as f64 / 1e9;
    let mut data = old.to_vec();
    let copy = shortest_cpu(ROUNDS, || data.copy_from_slice(std::hint::black_box(old)));
    let code = encode_tensor(old, new);
    let encode = shortest_cpu(ROUNDS, || (encode_tensor(old, new), digest(new)));
    let mut decode = f64::INFINITY;
    for _ in 0..ROUNDS {
        data.copy_from_slice(old);
        decode = decode.min(shortest_cpu(1, || {
            decode_tensor(&code, &mut data).expect("our own code");
            digest(&data)
        }));
    }
    assert!(data == new);
    let changed = old.chunks(2).zip(new.chunks(2)).filter(|(old, new)| old != new).count();
    let density = 200.0 * changed as f64 / new.len() as f64;
    report(
        &format!("weights-delta-changed-{name}"),
        "% of the elements",
        density,
        &[],
    );
    let share = 100.0 * code.len() as f64 / new.len() as f64;
    let rivals = [("memcpy", gigabytes / copy)];
    report(
        &format!("weights-delta-encode-{name}"),
        "GB/s per core",
        gigabytes / encode,
        &rivals,
    );
    report(
        &format!("weights-delta-apply-{name}"),
        "GB/s per core",
        gigabytes / decode,
        &rivals,
    );
    report(&format!("weights-delta-share-{name}"), "% of the bytes", share, &[]);
}

/// As [`shortest`], in seconds of this thread's CPU time, which does not depend on other processes. Only Linux has it;
/// elsewhere it is wall time.
fn shortest_cpu<T>(rounds: usize, mut run: impl FnMut() -> T) -> f64 {
    let Some(_) = cpu_seconds() else {
        return shortest(rounds, run);
    };
    let time = |_| {
        let start = cpu_seconds().expect("it was there before");
        std::hint::black_box(run());
        cpu_seconds().expect("it was there before") - start
    };
    (0..rounds).map(time).fold(f64::INFINITY, f64::min)
}

fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

fn tensors<'a>(names: &'a [String], data: &'a [u8], shape: &'a [usize]) -> Vec<TensorToWrite<'a>> {
    let parts = data.chunks(data.len() / names.len());
    let tensor = |(name, data): (&'a String, &'a [u8])| TensorToWrite {
        name: name.as_str(),
        dtype: Dtype::BF16,
        shape,
        data,
    };
    names.iter().zip(parts).map(tensor).collect()
}

/// From files to files, like publisher and receiver, on one thread and on all.
fn files(old: &[u8], new: &[u8]) {
    let gigabytes = new.len() as f64 / 1e9;
    let names: Vec<String> = (0..TENSORS).map(|layer| format!("layers.{layer}")).collect();
    let shape = [ELEMENTS / TENSORS];
    let directory = tempfile::tempdir().expect("a temporary directory");
    let base = directory.path().join("base");
    fs::create_dir(&base).expect("made");
    write_checkpoint(&base, &tensors(&names, old, &shape), u64::MAX).expect("written");
    let base = Checkpoint::open(&base).expect("valid");
    for threads in [1, 0] {
        let options = SparseOptions {
            max_shard_bytes: 1 << 30,
            max_bytes: u64::MAX,
            threads,
        };
        let out = directory.path().join("out");
        fs::create_dir_all(&out).expect("made");
        let seconds = shortest(ROUNDS, || {
            write_sparse(&out, &base, &tensors(&names, new, &shape), options)
        });
        let name = if threads == 1 { "one thread" } else { "all threads" };
        report(
            &format!("weights-delta-encode-files, {name}"),
            "GB/s",
            gigabytes / seconds,
            &[],
        );
    }
    let (root, state) = (directory.path().join("root"), directory.path().join("state"));
    publish(&root, &names, &[old, new], &shape);
    let read = shortest(ROUNDS, || fs::read(base.files()[0].path()).expect("read"));
    for threads in [1, 0] {
        let mut seconds = f64::INFINITY;
        for _ in 0..ROUNDS {
            if state.exists() {
                fs::remove_dir_all(&state).expect("removed");
            }
            let mut receiver = WeightReceiver::open(&root, &state, threads).expect("made");
            seconds = seconds.min(shortest(1, || receiver.receive(1).expect("received")));
        }
        let name = if threads == 1 { "one thread" } else { "all threads" };
        let rivals = [("reading the full version", gigabytes / read)];
        report(
            &format!("weights-delta-receive-files, {name}"),
            "GB/s",
            gigabytes / seconds,
            &rivals,
        );
    }
}

fn publish(root: &Path, names: &[String], versions: &[&[u8]], shape: &[usize]) {
    let options = PublisherOptions {
        keep: 4,
        sparse: true,
        threads: 0,
    };
    let mut publisher = WeightPublisher::open(root, options).expect("made");
    for (version, data) in versions.iter().enumerate() {
        publish_one(&mut publisher, version as u64, &tensors(names, data, shape));
    }
}

fn publish_one(publisher: &mut WeightPublisher, version: u64, tensors: &[TensorToWrite<'_>]) {
    let staged = publisher.stage(version).expect("staged");
    let written = write_checkpoint(&staged, tensors, 1 << 28).expect("written");
    let staged = Staged {
        digest: written.digest,
        shards: written.shards,
    };
    publisher.publish(version, staged, None, false).expect("published");
}

/// The processes that digest the bytes of a version that eight processes of one machine map.
#[derive(Clone, Copy)]
enum Digesting {
    /// The writer; the others find its mark.
    Once,
    /// Every reader.
    Always,
}

/// 1 GB to eight receivers of one machine, which wait for it: from the first byte written to the last receiver that has
/// the weights mapped, verified and their headers checked, beside writing the same bytes once with the same digests.
fn broadcast() {
    let data = vec![3u8; 1 << 30];
    let names: Vec<String> = (0..TENSORS).map(|layer| format!("layers.{layer}")).collect();
    let shape = [data.len() / 2 / TENSORS];
    let tensors = tensors(&names, &data, &shape);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = PublisherOptions {
        keep: 1,
        sparse: false,
        threads: 0,
    };
    let root = directory.path().join("root");
    let mut publisher = WeightPublisher::open(&root, options).expect("made");
    let (mut plain, mut mapped, mut digested) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let mut ratios = Vec::new();
    for round in 0..ROUNDS as u64 {
        let once = directory.path().join("once");
        fs::create_dir(&once).expect("made");
        let write = shortest(1, || write_checkpoint(&once, &tensors, 1 << 28).expect("written"));
        fs::remove_dir_all(&once).expect("removed");
        let mut run = |version, digesting| {
            let (root, start) = (&root, Instant::now());
            thread::scope(|scope| {
                let receivers: Vec<_> = (0..RECEIVERS)
                    .map(|_| {
                        scope.spawn(move || {
                            receive(root, version, digesting);
                            start.elapsed().as_secs_f64()
                        })
                    })
                    .collect();
                publish_one(&mut publisher, version, &tensors);
                let seconds = receivers.into_iter().map(|receiver| receiver.join().expect("received"));
                seconds.fold(0.0, f64::max)
            })
        };
        let once = run(2 * round, Digesting::Once);
        ratios.push(write / once);
        (plain, mapped) = (plain.min(write), mapped.min(once));
        digested = digested.min(run(2 * round + 1, Digesting::Always));
    }
    let gigabytes = data.len() as f64 / 1e9;
    let rivals = [("one write", gigabytes / plain)];
    report("weights-broadcast-mapped", "GB/s", gigabytes / mapped, &rivals);
    spread("weights-broadcast-mapped", "one write", ratios);
    report(
        "weights-broadcast-mapped-always-verified",
        "GB/s",
        gigabytes / digested,
        &rivals,
    );
}

fn receive(root: &Path, version: u64, digesting: Digesting) {
    while !version_directory(root, version).exists() {
        thread::sleep(Duration::from_millis(1));
    }
    let mut receiver = WeightReceiver::open(root, &root.join(".received"), 1).expect("made");
    let received = receiver.receive(version).expect("published");
    match digesting {
        Digesting::Once => received.manifest.verify_shards_once(&received.directory),
        Digesting::Always => received.manifest.verify_shards(&received.directory),
    }
    .expect("as published");
    let weights = Checkpoint::open(&received.directory).expect("valid");
    assert_eq!(weights.names().count(), TENSORS);
}
