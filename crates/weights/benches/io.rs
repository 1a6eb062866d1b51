//! Reading and writing weights beside the reference implementation, and digests beside a copy of the same bytes.
//!
//! The reference writes without syncing and without digests; ours syncs file and directory and digests file and data.
//! `safetensors+fsync` adds the syncing to the reference, not the digests.

use std::collections::HashMap;
use std::fs::File;

use memmap2::Mmap;
use prl_weights::{
    Dtype, Hasher, SafetensorsFile, TensorToWrite, WriteOptions, digest, parse, to_bytes, version_digest,
    write_safetensors,
};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

#[path = "support/report.rs"]
mod report;

use report::{report, shortest};

const ROUNDS: usize = 7;
const LAYERS: usize = 64;
const SHAPE: [usize; 2] = [512, 1024];
const HEADER_TENSORS: usize = 20_000;

fn main() {
    let data: Vec<u8> = (0..SHAPE[0] * SHAPE[1])
        .flat_map(|value| (value as f32).to_le_bytes())
        .collect();
    let names: Vec<String> = (0..LAYERS)
        .map(|layer| format!("model.layers.{layer}.mlp.up_proj.weight"))
        .collect();
    let tensors: Vec<_> = names
        .iter()
        .map(|name| TensorToWrite {
            name,
            dtype: Dtype::F32,
            shape: &SHAPE,
            data: &data,
        })
        .collect();
    let views = || -> Vec<(&str, TensorView<'_>)> {
        let view = |name| {
            let view = TensorView::new(safetensors::Dtype::F32, SHAPE.to_vec(), &data);
            (name, view.expect("shape and data agree"))
        };
        names.iter().map(|name| view(name.as_str())).collect()
    };
    let gigabytes = (LAYERS * data.len()) as f64 / 1e9;

    let ours = shortest(ROUNDS, || to_bytes(&tensors, &[], WriteOptions::default()));
    let theirs = shortest(ROUNDS, || safetensors::serialize(views(), None));
    report(
        "weights-encode",
        "GB/s",
        gigabytes / ours,
        &[("safetensors", gigabytes / theirs)],
    );

    let directory = tempfile::tempdir().expect("a temporary directory");
    let (own, reference) = (directory.path().join("own"), directory.path().join("reference"));
    let ours = shortest(ROUNDS, || {
        write_safetensors(&own, &tensors, &[], WriteOptions::default()).expect("written")
    });
    let theirs = shortest(ROUNDS, || {
        safetensors::serialize_to_file(views(), None, &reference).expect("written");
    });
    let synced = shortest(ROUNDS, || {
        safetensors::serialize_to_file(views(), None, &reference).expect("written");
        for path in [reference.as_path(), directory.path()] {
            File::open(path).and_then(|file| file.sync_all()).expect("synced");
        }
    });
    let rivals = [
        ("safetensors+fsync", gigabytes / synced),
        ("safetensors (no fsync)", gigabytes / theirs),
    ];
    report("weights-write-durable", "GB/s", gigabytes / ours, &rivals);

    let ours = shortest(ROUNDS, || {
        let file = SafetensorsFile::open(&own).expect("a valid file");
        names
            .iter()
            .map(|name| {
                file.tensor(name)
                    .expect("it is there")
                    .data
                    .iter()
                    .map(|&byte| u64::from(byte))
                    .sum::<u64>()
            })
            .sum::<u64>()
    });
    let theirs = shortest(ROUNDS, || {
        let file = File::open(&own).expect("it is there");
        // SAFETY: nobody else knows the file, so nobody truncates it.
        let map = unsafe { Mmap::map(&file) }.expect("mapped");
        let file = SafeTensors::deserialize(&map).expect("a valid file");
        names
            .iter()
            .map(|name| {
                file.tensor(name)
                    .expect("it is there")
                    .data()
                    .iter()
                    .map(|&byte| u64::from(byte))
                    .sum::<u64>()
            })
            .sum::<u64>()
    });
    report(
        "weights-read",
        "GB/s",
        gigabytes / ours,
        &[("safetensors", gigabytes / theirs)],
    );

    headers();
    digests(&data);
}

/// Parsing a header of many tensors, as a large mixture of experts has.
fn headers() {
    let names: Vec<String> = (0..HEADER_TENSORS)
        .map(|expert| format!("model.layers.7.mlp.experts.{expert}.up_proj.weight"))
        .collect();
    let tensors: Vec<_> = names
        .iter()
        .map(|name| TensorToWrite {
            name,
            dtype: Dtype::BF16,
            shape: &[2, 2],
            data: &[0; 8],
        })
        .collect();
    let bytes = to_bytes(&tensors, &[], WriteOptions::default()).expect("valid tensors");
    let thousands = HEADER_TENSORS as f64 / 1e3;
    let ours = shortest(ROUNDS, || parse(&bytes).expect("a valid file"));
    let theirs = shortest(ROUNDS, || SafeTensors::deserialize(&bytes).expect("a valid file"));
    let typed = shortest(ROUNDS, || {
        let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))).expect("a length");
        serde_json::from_slice::<HashMap<String, serde_json::Value>>(&bytes[8..8 + length]).expect("JSON")
    });
    let rivals = [
        ("safetensors", thousands / theirs),
        ("serde_json values alone", thousands / typed),
    ];
    report("weights-header", "ktensors/s", thousands / ours, &rivals);
}

fn digests(data: &[u8]) {
    let many = data.repeat(32);
    let gigabytes = many.len() as f64 / 1e9;
    let mut target = many.clone();
    let copy = shortest(ROUNDS, || target.copy_from_slice(std::hint::black_box(&many)));
    let rivals = [("memcpy", gigabytes / copy)];
    report(
        "weights-digest",
        "GB/s",
        gigabytes / shortest(ROUNDS, || digest(&many)),
        &rivals,
    );
    let streamed = shortest(ROUNDS, || {
        let mut hasher = Hasher::new();
        many.chunks(1 << 18).for_each(|chunk| hasher.update(chunk));
        hasher.finish()
    });
    report("weights-digest-streamed", "GB/s", gigabytes / streamed, &rivals);
    let version = shortest(ROUNDS, || {
        version_digest([("w", Dtype::U8, &[many.len()][..], &many[..])])
    });
    report("weights-version-digest", "GB/s", gigabytes / version, &rivals);
}
