//! Starting, serving and stopping.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use prl_sandbox_proto::Isolation;

use crate::boxes::{Registry, Snapshots};
use crate::cgroup::{self, Layout};
use crate::error::SandboxError;
use crate::images::Images;
use crate::isolation::{self, Probe, Site, Tier, probe};
use crate::metrics::Endpoint;
use crate::options::Options;
use crate::plan::{PATH, isolation_name};
use crate::pool::{Pool, Warm};
use crate::rpc::Listening;
use crate::runs::keys::Keys;
use crate::runs::queue::Queue;
use crate::sandbox::Factory;
use crate::secrets;
use crate::state::DaemonState;
use crate::tenants::Results;
use crate::warm::{Installation, Maker};

/// How often the daemon looks whether all runs have ended.
const DRAIN_POLL: Duration = Duration::from_millis(10);
/// How long the last answers may take.
const CLOSE: Duration = Duration::from_millis(250);

/// Serves until it is stopped, then ends every sandbox.
pub(crate) async fn serve(mut options: Options) -> Result<(), SandboxError> {
    let path = show_python(&mut options).await?;
    let directory = cgroup::own_directory();
    let layout = Layout::establish(&directory, options.cpus).map_err(|reason| SandboxError::Setup {
        step: "--cpus".to_owned(),
        source: std::io::Error::other(reason),
    })?;
    let layout = Arc::new(layout);
    let removed = cgroup::remove_leftovers(&layout.directories());
    if removed > 0 {
        tracing::warn!(removed, "removed the groups that an earlier daemon left");
    }
    let keys = Keys::open(options.journal.as_deref());
    let images = open_images(&options).await;
    let started = match images {
        Ok(images) => start(&options, &path, &layout, images).await,
        Err(error) => Err(error),
    };
    let (keys, (factory, pool, warm, probe, images)) = match keys.and_then(|keys| Ok((keys, started?))) {
        Ok(started) => started,
        Err(error) => {
            layout.remove();
            return Err(error);
        }
    };
    let isolation = probe.isolation;
    let state = Arc::new(DaemonState {
        pool: Arc::clone(&pool),
        warm,
        path: path.clone(),
        queue: Queue::new(options.max_running, options.max_queued),
        probe,
        grants: options.grants(),
        images,
        instance: instance(&directory),
        max_running: options.max_running,
        max_queued: options.max_queued,
        draining: watch::Sender::new(false),
        keys,
        boxes: Registry::new(options.max_held),
        snapshots: Snapshots::new(options.snapshot_bytes),
        results: Results::new(options.result_bytes),
        completed: AtomicU64::new(0),
    });
    let served = listen(&options, &state, &factory, isolation_name(isolation)).await;
    state.boxes.close().await;
    pool.close().await;
    state.warm.close().await;
    factory.close().await;
    // Sandboxes that still run end with the spawner, which ends when its socket closes.
    drop((state, pool));
    if matches!(served, Err(SandboxError::Spawner(_))) {
        // The spawner is gone, so the daemon itself removes the groups of its sandboxes.
        cgroup::remove_whole(&layout.directories());
    } else {
        layout.remove();
    }
    served
}

/// Adds the directories that boxes must see for their Python. Returns where programs look for programs.
async fn show_python(options: &mut Options) -> Result<String, SandboxError> {
    let Some(python) = &options.python else {
        return Ok(PATH.to_owned());
    };
    let found = Installation::find(python, &options.readable).await;
    let found = found.map_err(|reason| SandboxError::Usage(format!("--python: {reason}")))?;
    options.readable.extend(found.shown);
    Ok(format!("{}:{PATH}", found.directory.display()))
}

/// Unpacking may take long, so it runs outside the runtime's threads.
async fn open_images(options: &Options) -> Result<Images, SandboxError> {
    let (sources, cache) = (options.images.clone(), options.image_cache.clone());
    let opened = tokio::task::spawn_blocking(move || Images::open(&sources, &cache)).await;
    opened.map_err(|error| SandboxError::Protocol(error.to_string()))?
}

async fn start(
    options: &Options,
    path: &str,
    layout: &Arc<Layout>,
    images: Images,
) -> Result<(Arc<Factory>, Arc<Pool>, Warm, Probe, Images), SandboxError> {
    let site = Site {
        work_dir: &options.work_dir,
        readable: &options.readable,
        layout,
        images: &images,
    };
    let chosen = isolation::choose(options.tier, &site).await?;
    let factory = Arc::clone(&chosen.factory);
    secrets::guard(options, factory.has_separate_users())?;
    let warm = match chosen.tier {
        Tier::Process => Warm::none(&options.profiles, "needs namespaces"),
        Tier::Namespaces | Tier::Rootless => Warm::start(&factory, &options.profiles, path).await,
    };
    let pool = Pool::new(Maker::Plain(Arc::clone(&factory)), options.park);
    let probe = probe(&chosen, layout);
    // Without root that is expected, and root without namespaces has a line for each tier already.
    if chosen.tier == Tier::Namespaces && probe.isolation != Isolation::Full {
        tracing::warn!(missing = probe.missing(), "isolation is weaker than it could be");
    }
    Ok((factory, pool, warm, probe, images))
}

/// A name that differs for every daemon that ever ran here.
fn instance(directory: &str) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    format!("{directory}-{now:x}")
}

async fn listen(
    options: &Options,
    state: &Arc<DaemonState>,
    factory: &Factory,
    isolation: &str,
) -> Result<(), SandboxError> {
    let listening = Listening::begin(options, state).await?;
    let metrics = match options.metrics {
        Some(wanted) => Some(Endpoint::open(wanted, state).await?),
        None => None,
    };
    let addresses = [listening.address, metrics.as_ref().map(|metrics| metrics.address)];
    // A starter that has read the announcement may stop the daemon at once.
    let stop = StopSignals::watch()?;
    announce(options, addresses, state, isolation).map_err(|source| SandboxError::Serve {
        action: "announce itself".to_owned(),
        source,
    })?;
    let ended = wait_for_stop(stop, options.stop_with_stdin, factory).await;
    state.draining.send_replace(true);
    state.queue.close();
    listening.refuse();
    let runs_end = async {
        while state.queue.running() > 0 {
            tokio::time::sleep(DRAIN_POLL).await;
        }
    };
    if tokio::time::timeout(options.drain, runs_end).await.is_err() {
        tracing::warn!("runs were cut off after {} ms", options.drain.as_millis());
    }
    listening.end(CLOSE).await;
    if let Some(path) = &options.socket {
        // The file may be gone already.
        let _gone = fs::remove_file(path);
    }
    ended
}

/// SIGTERM and SIGINT, which from then on stop the daemon in order.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn watch() -> Result<Self, SandboxError> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(cannot_wait)?,
            interrupt: signal(SignalKind::interrupt()).map_err(cannot_wait)?,
        })
    }
}

fn cannot_wait(source: io::Error) -> SandboxError {
    SandboxError::Serve {
        action: "wait for signals".to_owned(),
        source,
    }
}

/// Returns when the daemon is to stop; fails when it must stop because the spawner is gone.
async fn wait_for_stop(mut stop: StopSignals, with_stdin: bool, factory: &Factory) -> Result<(), SandboxError> {
    let spawner = factory.watch().map_err(cannot_wait)?;
    let starter_gone = async {
        if !with_stdin {
            return std::future::pending().await;
        }
        let mut buffer = [0; 256];
        let mut stdin = tokio::io::stdin();
        while stdin.read(&mut buffer).await.is_ok_and(|length| length > 0) {}
    };
    tokio::select! {
        _ = stop.terminate.recv() => Ok(()),
        _ = stop.interrupt.recv() => Ok(()),
        () = starter_gone => Ok(()),
        ended = spawner => {
            drop(ended);
            Err(SandboxError::Spawner("it ended; every sandbox ended with it".to_owned()))
        }
    }
}

/// Prints one line for the starter of the daemon.
fn announce(
    options: &Options,
    [address, metrics]: [Option<SocketAddr>; 2],
    state: &DaemonState,
    isolation: &str,
) -> io::Result<()> {
    let text = |value: Option<String>| value.map_or("null".to_owned(), |value| format!("{value:?}"));
    let place = |address: Option<SocketAddr>| text(address.map(|address| address.to_string()));
    let socket = options
        .socket
        .clone()
        .map(|path: PathBuf| path.to_string_lossy().into_owned());
    let line = format!(
        "{{\"pid\":{},\"socket\":{},\"address\":{},\"instance_id\":{:?},\"isolation\":{isolation:?},\"metrics\":{}}}\n",
        std::process::id(),
        text(socket),
        place(address),
        state.instance,
        place(metrics),
    );
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}
