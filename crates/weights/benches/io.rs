//! Reading and writing 1 GB of weights beside plain parallel reads and writes of the same bytes and beside Python's
//! safetensors, and headers and digests beside their rivals.
//!
//! Plain means the same number of threads, each with its own file of the same size, no header, no digest, the same syncing. Python
//! is measured, in turns with ours, when `PRL_BENCH_PYTHON` names an interpreter that has torch and safetensors; it neither
//! syncs nor digests. Each way is compared with the same way: copies into new memory, copies into the memory of an earlier copy,
//! maps that are read, maps that are not read. Files are in the temporary directory and in the page cache. `-- read` writes once and
//! measures reading alone.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use prl_weights::{
    Checkpoint, Dtype, Hasher, LoadedWeights, TensorToWrite, WriteOptions, digest, parse, to_bytes, version_digest,
    write_checkpoint,
};
use safetensors::SafeTensors;

#[path = "support/report.rs"]
mod report;

use report::{report, shortest, spread};

const ROUNDS: usize = 9;
const TENSORS: usize = 64;
const SHAPE: [usize; 2] = [8192, 1024];
const SHARDS: usize = 4;
/// Bytes that one processor sums at a time.
const PIECE_BYTES: usize = 1 << 20;
const PLAIN_BYTES: usize = 8 << 20;
const HEADER_TENSORS: usize = 20_000;

fn main() {
    let data: Vec<u8> = (0..TENSORS * SHAPE[0] * SHAPE[1])
        .flat_map(|value| (value as u32).wrapping_mul(2_654_435_769).to_le_bytes()[2..].to_owned())
        .collect();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut python = Python::start(directory.path());
    let is_reading = std::env::args().any(|argument| argument == "read");
    let rounds = if is_reading { 1 } else { ROUNDS };
    writing(&data, directory.path(), rounds, python.as_mut());
    reading(&data, directory.path(), python.as_mut());
    drop(python);
    if is_reading {
        return;
    }
    headers();
    digests(&data[..1 << 28]);
}

/// Python's safetensors with the same weights, in a separate process.
struct Python {
    process: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Python {
    fn start(directory: &Path) -> Option<Self> {
        let interpreter = std::env::var_os("PRL_BENCH_PYTHON")?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/rivals/safetensors_io.py");
        let mut process = Command::new(interpreter)
            .arg(script)
            .arg(directory)
            .args([TENSORS, SHAPE[0], SHAPE[1]].map(|value| value.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python runs");
        let answers = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        Some(Self { process, answers })
    }

    /// Seconds of one action of the script.
    fn run(&mut self, action: &str) -> f64 {
        let stdin = self.process.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{action}").expect("it listens");
        let answer = self.answers.next().expect("an answer").expect("text");
        answer.parse().expect("seconds")
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn writing(data: &[u8], directory: &Path, rounds: usize, mut python: Option<&mut Python>) {
    let gigabytes = data.len() as f64 / 1e9;
    let names: Vec<String> = (0..TENSORS)
        .map(|layer| format!("model.layers.{layer}.weight"))
        .collect();
    let tensors: Vec<_> = names
        .iter()
        .zip(data.chunks(data.len() / TENSORS))
        .map(|(name, data)| TensorToWrite {
            name,
            dtype: Dtype::BF16,
            shape: &SHAPE,
            data,
        })
        .collect();
    let ours = directory.join("ours");
    let plain = directory.join("plain");
    let fresh = |directory: &Path| {
        if directory.exists() {
            fs::remove_dir_all(directory).expect("removed");
        }
        fs::create_dir(directory).expect("made");
    };
    let (mut our_seconds, mut plain_seconds) = (f64::INFINITY, f64::INFINITY);
    let mut ratios = Vec::new();
    let (mut our_cpu, mut plain_cpu) = (0.0, 0.0);
    let mut saved = Vec::new();
    // In turns, because other processes may write to the same disk.
    for _ in 0..rounds {
        fresh(&plain);
        let began = cpu_seconds();
        let theirs = shortest(1, || write_plainly(&plain, data));
        plain_cpu += cpu_seconds() - began;
        fresh(&ours);
        let began = cpu_seconds();
        let ours = shortest(1, || {
            write_checkpoint(&ours, &tensors, (data.len() / SHARDS) as u64).expect("written")
        });
        our_cpu += cpu_seconds() - began;
        ratios.push(theirs / ours);
        (our_seconds, plain_seconds) = (our_seconds.min(ours), plain_seconds.min(theirs));
        saved.extend(python.as_mut().map(|python| python.run("save")));
    }
    let mut rivals = vec![("plain parallel write, synced", gigabytes / plain_seconds)];
    rivals.extend(least(&saved).map(|save| ("Python safetensors (not synced)", gigabytes / save)));
    report("weights-write-1gb", "GB/s", gigabytes / our_seconds, &rivals);
    spread("weights-write-1gb", "plain parallel write, synced", ratios);
    // CPU time does not depend on how busy the machine is; it does not contain the disk's time.
    let written = rounds as f64 * gigabytes;
    report(
        "weights-write-1gb-per-cpu-second",
        "GB",
        written / our_cpu,
        &[("plain parallel write, synced", written / plain_cpu)],
    );
}

/// CPU time of this process so far, in user and kernel mode; Linux counts it in hundredths of a second.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: f64 = fields
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum();
    ticks / 100.0
}

fn write_plainly(directory: &Path, data: &[u8]) {
    thread::scope(|scope| {
        for (number, part) in data.chunks(data.len() / SHARDS).enumerate() {
            scope.spawn(move || {
                let mut file = File::create(directory.join(number.to_string())).expect("created");
                part.chunks(PLAIN_BYTES)
                    .for_each(|chunk| file.write_all(chunk).expect("written"));
                file.sync_all().expect("synced");
            });
        }
    });
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .expect("synced");
}

fn reading(data: &[u8], directory: &Path, mut python: Option<&mut Python>) {
    let gigabytes = data.len() as f64 / 1e9;
    let (ours, plain) = (directory.join("ours"), directory.join("plain"));
    let mut python = |action| python.as_mut().map(|python| python.run(action));
    let [mut copied, mut again, mut plainly, mut touched, mut opened] = [const { Vec::new() }; 5];
    let [mut their_copies, mut theirs_again, mut their_touches, mut their_opens] = [const { Vec::new() }; 4];
    let mut kept = LoadedWeights::read(&ours, SHARDS).expect("read");
    for _ in 0..ROUNDS {
        plainly.push(shortest(1, || read_plainly(&plain, data.len())));
        copied.push(shortest(1, || LoadedWeights::read(&ours, SHARDS).expect("read")));
        their_copies.extend(python("copy"));
        let start = Instant::now();
        kept = kept.read_again(&ours, SHARDS).expect("read");
        again.push(start.elapsed().as_secs_f64());
        theirs_again.extend(python("again"));
        touched.push(shortest(1, || touch(&Checkpoint::open(&ours).expect("valid"))));
        their_touches.extend(python("touch"));
        opened.push(shortest(1, || Checkpoint::open(&ours).expect("valid")));
        their_opens.extend(python("open"));
    }
    let rate = |seconds: &[f64]| least(seconds).map(|seconds| gigabytes / seconds);
    let compare = |name: &str, ours: &[f64], rivals: [(&str, &[f64]); 2]| {
        let measured: Vec<_> = rivals
            .iter()
            .filter_map(|(rival, theirs)| Some((*rival, rate(theirs)?)))
            .collect();
        report(name, "GB/s", rate(ours).expect("rounds"), &measured);
        for (rival, theirs) in rivals.iter().filter(|(_, theirs)| !theirs.is_empty()) {
            spread(
                name,
                rival,
                theirs.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect(),
            );
        }
    };
    let plainly = ("plain parallel read", &plainly[..]);
    compare(
        "weights-read-1gb",
        &copied,
        [plainly, ("Python safetensors, copied", &their_copies)],
    );
    compare(
        "weights-read-1gb-again",
        &again,
        [plainly, ("Python safetensors, into kept tensors", &theirs_again)],
    );
    compare(
        "weights-read-1gb-mapped",
        &touched,
        [plainly, ("Python safetensors, mapped and read", &their_touches)],
    );
    if let (Some(ours), Some(theirs)) = (least(&opened), least(&their_opens)) {
        let rivals = [("Python safetensors, mapped", 1.0 / theirs)];
        report("weights-open-1gb", "per second", 1.0 / ours, &rivals);
    }
}

fn least(seconds: &[f64]) -> Option<f64> {
    seconds.iter().copied().reduce(f64::min)
}

/// A sum over all words of every tensor, shared by all processors in equal pieces, as torch does it.
fn touch(weights: &Checkpoint) -> u64 {
    let pieces: Vec<&[u8]> = weights
        .names()
        .flat_map(|name| weights.tensor(name).expect("there").data.chunks(PIECE_BYTES))
        .collect();
    let sum = |data: &[u8]| {
        let (words, rest) = data.as_chunks::<8>();
        assert!(rest.is_empty(), "whole words");
        words
            .iter()
            .fold(0_u64, |sum, &word| sum.wrapping_add(u64::from_ne_bytes(word)))
    };
    let next = AtomicUsize::new(0);
    let work = || {
        std::iter::from_fn(|| pieces.get(next.fetch_add(1, Ordering::Relaxed)))
            .map(|piece| sum(piece))
            .fold(0_u64, u64::wrapping_add)
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        parts
            .into_iter()
            .fold(0_u64, |sum, part| sum.wrapping_add(part.join().expect("it sums")))
    })
}

fn read_plainly(directory: &Path, length: usize) -> Vec<u8> {
    let mut memory: Vec<u8> = Vec::with_capacity(length);
    let target = memory.spare_capacity_mut();
    thread::scope(|scope| {
        for (number, part) in target.chunks_mut(length / SHARDS).enumerate() {
            scope.spawn(move || {
                let file = File::open(directory.join(number.to_string())).expect("it is there");
                for (index, chunk) in part.chunks_mut(PLAIN_BYTES).enumerate() {
                    // SAFETY: bytes have no invalid values, and they are only written to.
                    let chunk = unsafe { std::slice::from_raw_parts_mut(chunk.as_mut_ptr().cast::<u8>(), chunk.len()) };
                    file.read_exact_at(chunk, (index * PLAIN_BYTES) as u64).expect("read");
                }
            });
        }
    });
    // SAFETY: the threads have filled every byte.
    unsafe { memory.set_len(length) };
    memory
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
    let gigabytes = data.len() as f64 / 1e9;
    let mut target = data.to_vec();
    let copy = shortest(ROUNDS, || {
        target.copy_from_slice(std::hint::black_box(data));
        // A copy that is never read may be left out.
        std::hint::black_box(&mut target);
    });
    let rivals = [("memcpy", gigabytes / copy)];
    report(
        "weights-digest",
        "GB/s",
        gigabytes / shortest(ROUNDS, || digest(data)),
        &rivals,
    );
    let streamed = shortest(ROUNDS, || {
        let mut hasher = Hasher::new();
        data.chunks(1 << 18).for_each(|chunk| hasher.update(chunk));
        hasher.finish()
    });
    report("weights-digest-streamed", "GB/s", gigabytes / streamed, &rivals);
    let version = shortest(ROUNDS, || version_digest([("w", Dtype::U8, &[data.len()][..], data)]));
    report("weights-version-digest", "GB/s", gigabytes / version, &rivals);
}
