//! Starting, listening and stopping.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prl_sandbox_proto::sandboxes_server::SandboxesServer;
use prl_sandbox_proto::{ERROR_CODE_KEY, MAX_MESSAGE_BYTES};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::metadata::MetadataValue;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Status};

use crate::cgroup::{self, Layout};
use crate::error::SandboxError;
use crate::factory::{Factory, FactoryOptions};
use crate::keys::Keys;
use crate::options::Options;
use crate::plan::isolation_name;
use crate::pool::Pool;
use crate::probe::{Probe, probe};
use crate::queue::Queue;
use crate::service::{Service, Shop};

/// How long runs may go on when the daemon is told to stop.
const DRAIN: Duration = Duration::from_secs(5);
/// How often the end of the runs is looked for.
const DRAIN_POLL: Duration = Duration::from_millis(10);
/// How long the last answers may take to leave.
const CLOSE: Duration = Duration::from_millis(250);
const MAX_STREAMS: u32 = 4096;

/// Serves until told to stop, then ends every sandbox.
pub(crate) async fn serve(options: Options) -> Result<(), SandboxError> {
    let token = token(&options)?;
    let directory = cgroup::own_directory();
    // SAFETY: reads a process attribute.
    let rootless = options.rootless || unsafe { libc::geteuid() } != 0;
    let layout = Arc::new(Layout::establish(&directory));
    let removed = cgroup::remove_leftovers(&layout.directories());
    if removed > 0 {
        tracing::warn!(removed, "removed what an earlier daemon left");
    }
    let started = start(&options, rootless, &layout).await;
    let (factory, pool, probe) = match started {
        Ok(started) => started,
        Err(error) => {
            remove_own(&layout);
            return Err(error);
        }
    };
    let isolation = probe.isolation;
    let shop = Arc::new(Shop {
        pool: Arc::clone(&pool),
        queue: Queue::new(options.max_running, options.max_queued),
        probe,
        instance: instance(&directory),
        max_running: options.max_running,
        max_queued: options.max_queued,
        draining: AtomicBool::new(false),
        keys: Keys::default(),
        completed: AtomicU64::new(0),
    });
    let served = listen(&options, token, &shop, &factory, isolation_name(isolation)).await;
    pool.close().await;
    // Sandboxes that still run end with the spawner, which ends when its socket closes.
    drop((shop, pool));
    remove_own(&layout);
    served
}

async fn start(
    options: &Options,
    rootless: bool,
    layout: &Arc<Layout>,
) -> Result<(Arc<Factory>, Arc<Pool>, Probe), SandboxError> {
    let factory_options = FactoryOptions {
        rootless,
        readable: options.readable.clone(),
    };
    let factory = Arc::new(Factory::start(&factory_options, Arc::clone(layout))?);
    // The probe is one whole set-up: what it needs and does not find is an error here, not at the first run.
    factory.make().await?.destroy().await;
    let pool = Pool::new(Arc::clone(&factory), options.park);
    Ok((factory, pool, probe(rootless, layout)))
}

/// Empty by now, unless runs were cut off: the spawner or the next start removes those.
fn remove_own(layout: &Layout) {
    for directory in layout.directories() {
        if let Err(error) = fs::remove_dir(&directory) {
            tracing::debug!(%error, path = %directory.display(), "cgroup directory left to the spawner");
        }
    }
}

/// Different for every daemon that ever ran here.
fn instance(directory: &str) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    format!("{directory}-{now:x}")
}

fn token(options: &Options) -> Result<Option<String>, SandboxError> {
    let token = match &options.token_file {
        Some(path) => Some(fs::read_to_string(path).map_err(|source| SandboxError::Serve {
            action: format!("read the token file {}", path.display()),
            source,
        })?),
        None => std::env::var("PRL_SANDBOX_TOKEN").ok(),
    };
    let token = token.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if options.listen.is_some() && token.is_none() {
        return Err(SandboxError::Usage(
            "--listen needs --token-file or PRL_SANDBOX_TOKEN".to_owned(),
        ));
    }
    Ok(token)
}

/// Lets a call pass when it carries the token. Takes as long whatever is wrong with it.
fn admit(request: Request<()>, token: &str) -> Result<Request<()>, Status> {
    let given = request
        .metadata()
        .get("authorization")
        .map(|value| value.as_bytes())
        .unwrap_or_default();
    let given = given.strip_prefix(b"Bearer ").unwrap_or_default();
    let differing = given
        .iter()
        .zip(token.as_bytes().iter().cycle())
        .fold(0, |bits, (a, b)| bits | (a ^ b));
    if differing == 0 && given.len() == token.len() {
        return Ok(request);
    }
    let mut status = Status::unauthenticated("a bearer token is needed");
    status.metadata_mut().insert(
        ERROR_CODE_KEY,
        MetadataValue::from_static("PRL_SANDBOX_UNAUTHENTICATED"),
    );
    Err(status)
}

async fn listen(
    options: &Options,
    token: Option<String>,
    shop: &Arc<Shop>,
    factory: &Factory,
    isolation: &str,
) -> Result<(), SandboxError> {
    let (stop, stopped) = watch::channel(false);
    let service = SandboxesServer::new(Service(Arc::clone(shop)))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let until = |mut stopped: watch::Receiver<bool>| async move {
        // An error means that the sender is gone, which is the end too.
        let _end = stopped.wait_for(|stopped| *stopped).await;
    };
    let builder = || {
        Server::builder()
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(16 << 20)
            .max_frame_size(1 << 20)
            .tcp_nodelay(true)
            .http2_keepalive_interval(Some(Duration::from_secs(30)))
    };
    let failed = |action: String| move |source| SandboxError::Serve { action, source };
    let mut servers = tokio::task::JoinSet::new();
    let mut address = None;
    if let Some(path) = &options.socket {
        let listener = bind(path)
            .await
            .map_err(failed(format!("listen on {}", path.display())))?;
        let server = builder().add_service(service.clone());
        servers.spawn(server.serve_with_incoming_shutdown(UnixListenerStream::new(listener), until(stopped.clone())));
    }
    if let (Some(wanted), Some(token)) = (options.listen, token) {
        let listener = TcpListener::bind(wanted)
            .await
            .map_err(failed(format!("listen on {wanted}")))?;
        address = Some(listener.local_addr().map_err(failed("name the address".to_owned()))?);
        let guarded = tonic::service::interceptor::InterceptedService::new(service.clone(), move |request| {
            admit(request, &token)
        });
        let server = builder().add_service(guarded);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        servers.spawn(server.serve_with_incoming_shutdown(incoming, until(stopped.clone())));
    }
    announce(options, address, shop, isolation).map_err(failed("announce itself".to_owned()))?;
    let ended = wait_for_stop(options.stop_with_stdin, factory).await;
    shop.draining.store(true, Ordering::Relaxed);
    shop.queue.close();
    stop.send_replace(true);
    let runs_end = async {
        while shop.queue.running() > 0 {
            tokio::time::sleep(DRAIN_POLL).await;
        }
    };
    if tokio::time::timeout(DRAIN, runs_end).await.is_err() {
        tracing::warn!("runs were cut off after {} s", DRAIN.as_secs());
    }
    // Idle connections that their clients keep open need not be waited for.
    let closed = async { while servers.join_next().await.is_some() {} };
    if tokio::time::timeout(CLOSE, closed).await.is_err() {
        tracing::debug!("clients keep their connections open");
    }
    if let Some(path) = &options.socket {
        // Somebody else may have taken it already.
        let _gone = fs::remove_file(path);
    }
    ended
}

/// Returns when the daemon is to stop; an error when it must, because the spawner is gone.
async fn wait_for_stop(with_stdin: bool, factory: &Factory) -> Result<(), SandboxError> {
    let failed = |source| SandboxError::Serve {
        action: "wait for signals".to_owned(),
        source,
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let spawner = factory.watch().map_err(failed)?;
    let starter_gone = async {
        if !with_stdin {
            return std::future::pending().await;
        }
        let mut buffer = [0; 256];
        let mut stdin = tokio::io::stdin();
        while stdin.read(&mut buffer).await.is_ok_and(|length| length > 0) {}
    };
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        () = starter_gone => Ok(()),
        ended = spawner => {
            drop(ended);
            Err(SandboxError::Spawner("it ended; every sandbox ended with it".to_owned()))
        }
    }
}

/// Takes the socket's path, from a dead daemon if need be.
async fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if UnixStream::connect(path).await.is_ok() {
                return Err(error);
            }
            fs::remove_file(path)?;
        }
        Ok(listener) => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
            return Ok(listener);
        }
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// One line for whoever started us.
fn announce(options: &Options, address: Option<std::net::SocketAddr>, shop: &Shop, isolation: &str) -> io::Result<()> {
    let text = |value: Option<String>| value.map_or("null".to_owned(), |value| format!("{value:?}"));
    let socket = options
        .socket
        .clone()
        .map(|path: PathBuf| path.to_string_lossy().into_owned());
    let line = format!(
        "{{\"pid\":{},\"socket\":{},\"address\":{},\"instance_id\":{:?},\"isolation\":{isolation:?}}}\n",
        std::process::id(),
        text(socket),
        text(address.map(|address| address.to_string())),
        shop.instance,
    );
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}
