//! `RunOnce` end to end over the Unix socket, beside a plain spawn of the same command and bubblewrap, if it is
//! installed.
//!
//! The contenders take turns, one sample at a time, in one run. Each sample checks its output. Our sandboxes have every
//! namespace, limit, filter and counter; bubblewrap has the namespaces; the plain spawn has nothing.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use prl_sandbox_proto::sandboxes_client::SandboxesClient;
use prl_sandbox_proto::{CapabilitiesRequest, Cause, RunOnceRequest};
use serde_json::json;
use tonic::transport::{Channel, Endpoint};

const ROUNDS: usize = 60;
const BURST: usize = 300;
const BURST_AT_ONCE: usize = 16;
const PYTHON: &[&str] = &["/usr/bin/python3", "-c", "print(1)"];
const TRUE: &[&str] = &["/bin/true"];
const BUBBLEWRAP: &[&str] = &[
    "bwrap",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup",
    "--unshare-net",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/usr",
    "/usr",
    "--ro-bind",
    "/etc",
    "/etc",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
];

type Failure = Box<dyn Error + Send + Sync>;
type Client = SandboxesClient<Channel>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stdout, reason = "a bench reports on standard output")]
async fn main() -> Result<(), Failure> {
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let socket = directory.path().join("sandboxd.sock");
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_prl-sandboxd"))
        .arg("--socket")
        .arg(&socket)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().ok_or("no standard output")?).read_line(&mut line)?;
    if line.is_empty() {
        println!("skipped: no sandboxes on this machine");
        return Ok(());
    }
    let channel = Endpoint::from_shared(format!("unix:{}", socket.display()))?
        .connect()
        .await?;
    let mut client = SandboxesClient::new(channel);
    let report = client.capabilities(CapabilitiesRequest {}).await?.into_inner();
    let machine = json!({
        "cores": thread::available_parallelism().map_or(0, usize::from),
        "load1": fs::read_to_string("/proc/loadavg")?.split(' ').next().and_then(|load| load.parse::<f64>().ok()),
        "isolation": report.isolation().as_str_name(),
        "cgroups": report.cgroups,
        "lacks": report.facilities.iter().filter(|one| !one.available).map(|one| &one.name).collect::<Vec<_>>(),
    });
    println!("{machine}");
    let bubblewrap = Command::new("bwrap")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok();
    for (name, argv, output) in [("python", PYTHON, "1\n"), ("true", TRUE, "")] {
        let mut ours = Vec::new();
        let mut plain = Vec::new();
        let mut wrapped = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            run(&mut client, argv, output).await?;
            ours.push(start.elapsed());
            plain.push(spawn(&[], argv, output)?);
            if bubblewrap {
                wrapped.push(spawn(BUBBLEWRAP, argv, output)?);
            }
        }
        for (quantile, percent) in [("p50", 50), ("p99", 99)] {
            let mut rivals = vec![("spawn", millis(&mut plain, percent))];
            if bubblewrap {
                rivals.push(("bubblewrap", millis(&mut wrapped, percent)));
            }
            write(
                &format!("run_once_{name}_{quantile}"),
                ("ms", "lower"),
                millis(&mut ours, percent),
                &rivals,
                &machine,
            )?;
        }
    }
    let ours = burst_ours(&client).await?;
    let mut rivals = vec![("spawn", burst(&[])?)];
    if bubblewrap {
        rivals.push(("bubblewrap", burst(BUBBLEWRAP)?));
    }
    write("run_once_burst", ("runs/s", "higher"), ours, &rivals, &machine)?;
    // SAFETY: our own child, not reaped yet.
    unsafe { libc::kill(i32::try_from(daemon.id())?, libc::SIGTERM) };
    daemon.wait()?;
    Ok(())
}

async fn run(client: &mut Client, argv: &[&str], output: &str) -> Result<(), Failure> {
    let command = argv.iter().map(|text| (*text).to_owned()).collect();
    let result = client
        .run_once(RunOnceRequest {
            command,
            ..RunOnceRequest::default()
        })
        .await?
        .into_inner();
    let right = result.cause() == Cause::Exited
        && result.exit_code == Some(0)
        && result
            .stdout
            .as_ref()
            .is_some_and(|stdout| stdout.head == output.as_bytes());
    if right {
        Ok(())
    } else {
        Err(format!("wrong result: {result:?}").into())
    }
}

fn spawn(prefix: &[&str], argv: &[&str], output: &str) -> Result<Duration, Failure> {
    let start = Instant::now();
    let all: Vec<&str> = prefix.iter().chain(argv).copied().collect();
    let (program, arguments) = all.split_first().ok_or("no command")?;
    let done = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
    let took = start.elapsed();
    if done.status.success() && done.stdout == output.as_bytes() {
        return Ok(took);
    }
    Err(format!(
        "{program} ended with {}: {}",
        done.status,
        String::from_utf8_lossy(&done.stderr)
    )
    .into())
}

async fn burst_ours(client: &Client) -> Result<f64, Failure> {
    let start = Instant::now();
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..BURST_AT_ONCE {
        let mut client = client.clone();
        workers.spawn(async move {
            for _ in (worker..BURST).step_by(BURST_AT_ONCE) {
                run(&mut client, PYTHON, "1\n").await?;
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(done) = workers.join_next().await {
        done??;
    }
    Ok(BURST as f64 / start.elapsed().as_secs_f64())
}

fn burst(prefix: &'static [&'static str]) -> Result<f64, Failure> {
    let start = Instant::now();
    let workers: Vec<_> = (0..BURST_AT_ONCE)
        .map(|worker| {
            thread::spawn(move || {
                (worker..BURST)
                    .step_by(BURST_AT_ONCE)
                    .try_for_each(|_| spawn(prefix, PYTHON, "1\n").map(|_| ()))
                    .map_err(|error| error.to_string())
            })
        })
        .collect();
    for worker in workers {
        worker.join().map_err(|_| "a worker panicked")??;
    }
    Ok(BURST as f64 / start.elapsed().as_secs_f64())
}

/// A percentile in milliseconds; with few samples the 99th is the largest.
fn millis(samples: &mut [Duration], percent: usize) -> f64 {
    samples.sort();
    let index = (samples.len() * percent / 100).min(samples.len().saturating_sub(1));
    samples
        .get(index)
        .map_or(f64::NAN, |sample| sample.as_secs_f64() * 1000.0)
}

/// Prints a figure and writes it; the ratio, to the best rival, is above 1 where ours is better.
#[expect(clippy::print_stdout, reason = "a bench reports on standard output")]
fn write(
    name: &str,
    (unit, better): (&str, &str),
    ours: f64,
    rivals: &[(&str, f64)],
    machine: &serde_json::Value,
) -> Result<(), Failure> {
    let ratio = |value: f64| if better == "lower" { value / ours } else { ours / value };
    let beside: Vec<_> = rivals
        .iter()
        .map(|(rival, value)| format!("{rival} {value:.2} ({:.2}x)", ratio(*value)))
        .collect();
    println!("{name:<24} {ours:>9.2} {unit:<7} {}", beside.join(", "));
    let best = rivals.iter().map(|(_, value)| ratio(*value)).reduce(f64::min);
    let rivals: serde_json::Map<_, _> = rivals
        .iter()
        .map(|(rival, value)| ((*rival).to_owned(), json!(value)))
        .collect();
    let result = json!({
        "name": name, "unit": unit, "better": better, "ours": ours, "rivals": rivals, "ratio": best, "machine": machine,
    });
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/prl-bench");
    fs::create_dir_all(&directory)?;
    fs::write(directory.join(format!("{name}.json")), format!("{result:#}\n"))?;
    Ok(())
}
