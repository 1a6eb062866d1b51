//! One version to eight receivers over loopback, beside eight plain TCP streams of the same files.
//!
//! Sender and receivers are in this process, folders in memory (`/dev/shm` where there is one), so neither side waits for a
//! disk. Ours checks every byte on both sides and publishes the version; the plain streams check nothing. Two of them are
//! timed: one writes what arrives to files as ours does, the other throws it away.

#[path = "../../weights/benches/support/report.rs"]
mod report;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use prl_transport::{Address, Credentials, Times, Wanted, WeightNode};
use prl_weights::{Encoding, MANIFEST_FORMAT, Manifest, Shard, digest, write_manifest};
use report::{report, spread};

const RECEIVERS: usize = 8;
const SHARDS: usize = 4;
const SHARD_BYTES: usize = 64 << 20;
const PIECE_BYTES: usize = 1 << 20;
/// A multiple of the number of ways, so that each way is as often the first as the last.
const ROUNDS: usize = 8;

fn main() {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    let dir = tempfile::TempDir::new_in(place).expect("a folder");
    let from = dir.path().join("from");
    let files = publish(&from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let direct = || runtime.block_on(broadcast(&from, dir.path(), usize::MAX));
    let tree = || runtime.block_on(broadcast(&from, dir.path(), 2));
    let to_files = || Cost::of(|| plain(&files, Some(dir.path())));
    let to_nowhere = || Cost::of(|| plain(&files, None));
    let ways: [&dyn Fn() -> Cost; 4] = [&direct, &tree, &to_files, &to_nowhere];
    let rounds: Vec<[Cost; 4]> = (0..ROUNDS)
        .map(|round| {
            let mut costs = ways.map(|_| None);
            for turn in 0..ways.len() {
                let way = (round + turn) % ways.len();
                costs[way] = Some(ways[way]());
                clear(dir.path());
            }
            costs.map(|cost| cost.expect("every way has its turn"))
        })
        .collect();
    let best = |way: usize| {
        let seconds = rounds.iter().map(|round| round[way].wall).fold(f64::MAX, f64::min);
        (RECEIVERS * SHARDS * SHARD_BYTES) as f64 / 1e9 / seconds
    };
    let plain = [
        ("plain streams to files", best(2)),
        ("plain streams to nowhere", best(3)),
    ];
    for (way, name) in [(0, "weights_broadcast_grpc"), (1, "weights_broadcast_grpc_tree")] {
        report(name, "GB/s", best(way), &plain);
        let ratios = |cost: fn(&Cost) -> f64| rounds.iter().map(|round| cost(&round[2]) / cost(&round[way])).collect();
        spread(name, "time of plain streams to files", ratios(|cost| cost.wall));
        spread(
            name,
            "processor time of plain streams to files",
            ratios(|cost| cost.processor),
        );
    }
}

/// Seconds by the clock, and processor time, which can be compared even on a busy machine.
struct Cost {
    wall: f64,
    processor: f64,
}

impl Cost {
    fn of(run: impl FnOnce()) -> Self {
        let begun = Self::begin();
        run();
        begun.end()
    }

    fn begin() -> Begun {
        Begun {
            processor: processor_seconds(),
            start: Instant::now(),
        }
    }
}

struct Begun {
    start: Instant,
    processor: f64,
}

impl Begun {
    fn end(self) -> Cost {
        Cost {
            wall: self.start.elapsed().as_secs_f64(),
            processor: processor_seconds() - self.processor,
        }
    }
}

/// Processor time of this process so far.
fn processor_seconds() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec, which is a local variable.
    let refused = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    assert_eq!(refused, 0, "there is a processor clock");
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn publish(root: &Path) -> Vec<PathBuf> {
    let directory = root.join("step_1");
    fs::create_dir_all(&directory).expect("a folder");
    let mut shards = Vec::new();
    for index in 0..SHARDS {
        let bytes: Vec<u8> = (0..SHARD_BYTES / 8)
            .flat_map(|i| {
                ((i + index * SHARD_BYTES) as u64)
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .to_le_bytes()
            })
            .collect();
        let file = format!("model-{index}.safetensors");
        fs::write(directory.join(&file), &bytes).expect("a shard");
        shards.push(Shard {
            file,
            bytes: bytes.len() as u64,
            digest: digest(&bytes),
        });
    }
    let manifest = Manifest {
        format: MANIFEST_FORMAT.to_owned(),
        version: 1,
        digest: digest(b"weights"),
        base: None,
        encoding: Encoding::Full,
        files: None,
        shards,
        canary: None,
    };
    write_manifest(&directory, &manifest).expect("a manifest");
    (0..SHARDS)
        .map(|index| directory.join(format!("model-{index}.safetensors")))
        .collect()
}

fn clear(dir: &Path) {
    for index in 0..RECEIVERS {
        let _ = fs::remove_dir_all(dir.join(format!("to-{index}")));
    }
}

/// The cost until every receiver has the version; each node is the parent of `fan_out` others. Making and closing the nodes is
/// not in the cost.
async fn broadcast(from: &Path, dir: &Path, fan_out: usize) -> Cost {
    let times = Times {
        stall: Duration::from_secs(60),
        ..Times::default()
    };
    let publisher = WeightNode::new(from, Credentials::default(), times);
    let mut addresses = vec![listening(&publisher).await];
    let mut nodes = Vec::new();
    for index in 0..RECEIVERS {
        let node = WeightNode::new(dir.join(format!("to-{index}")), Credentials::default(), times);
        addresses.push(listening(&node).await);
        nodes.push(Arc::new(node));
    }
    let begun = Cost::begin();
    let mut pulls = tokio::task::JoinSet::new();
    for (index, node) in nodes.iter().map(Arc::clone).enumerate() {
        let source = addresses[index / fan_out].clone();
        pulls.spawn(async move {
            let wanted = Wanted {
                version: Some(1),
                ..Wanted::default()
            };
            node.pull(&wanted, &[source]).await.expect("pulled");
        });
    }
    while let Some(pulled) = pulls.join_next().await {
        pulled.expect("a pull");
    }
    let cost = begun.end();
    for node in nodes {
        node.close().await;
    }
    publisher.close().await;
    cost
}

async fn listening(node: &WeightNode) -> Address {
    let address = node.listen("127.0.0.1:0").await.expect("listens");
    address.to_string().parse().expect("an address")
}

/// One thread per end of each stream.
fn plain(files: &[PathBuf], to: Option<&Path>) {
    thread::scope(|scope| {
        for index in 0..RECEIVERS {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("an address");
            let to = to.map(|to| to.join(format!("to-{index}")));
            scope.spawn(move || {
                let (stream, _) = listener.accept().expect("a connection");
                receive(stream, files.len(), to.as_deref()).expect("received");
            });
            scope.spawn(move || send(TcpStream::connect(address).expect("a connection"), files).expect("sent"));
        }
    });
}

fn send(mut stream: TcpStream, files: &[PathBuf]) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    for path in files {
        let mut file = File::open(path)?;
        loop {
            let count = file.read(&mut piece)?;
            if count == 0 {
                break;
            }
            stream.write_all(&piece[..count])?;
        }
    }
    Ok(())
}

fn receive(mut stream: TcpStream, files: usize, to: Option<&Path>) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    for index in 0..files {
        let mut file = match to {
            Some(to) => {
                fs::create_dir_all(to)?;
                Some(File::create(to.join(index.to_string()))?)
            }
            None => None,
        };
        let mut left = SHARD_BYTES;
        while left > 0 {
            let most = left.min(PIECE_BYTES);
            let count = stream.read(&mut piece[..most])?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(file) = &mut file {
                file.write_all(&piece[..count])?;
            }
            left -= count;
        }
    }
    Ok(())
}
