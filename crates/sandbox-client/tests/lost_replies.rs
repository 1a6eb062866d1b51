//! The client with a daemon that drops connections, restarts, refuses or hangs: a server that does so on purpose, over a real
//! Unix socket.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use prl_sandbox_client::{Address, CancellationToken, Client, ClientError, ConnectOptions};
use prl_sandbox_proto::sandboxes_server::{Sandboxes, SandboxesServer};
use prl_sandbox_proto::{
    CancelReply, CancelRequest, CapabilitiesReply, CapabilitiesRequest, Cause, ERROR_CODE_KEY, HealthReply,
    HealthRequest, Output, RETRY_AFTER_KEY, RunOnceRequest, RunOnceResult, RunTestsEvent, RunTestsRequest,
};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio_stream::Empty;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken as Token;
use tonic::{Code, Request, Response, Status};

/// A daemon that keeps results by key. The commands say which fault happens.
#[derive(Default)]
struct Daemon {
    instance: String,
    executions: Arc<AtomicUsize>,
    results: Mutex<HashMap<String, RunOnceResult>>,
    running: Mutex<HashMap<String, Token>>,
    /// Cuts every connection.
    cut: Arc<Mutex<Token>>,
}

#[tonic::async_trait]
impl Sandboxes for Daemon {
    type RunTestsStream = Empty<Result<RunTestsEvent, Status>>;

    async fn run_tests(&self, _: Request<RunTestsRequest>) -> Result<Response<Self::RunTestsStream>, Status> {
        Err(Status::unimplemented("no test asks for it"))
    }

    async fn run_once(&self, request: Request<RunOnceRequest>) -> Result<Response<RunOnceResult>, Status> {
        let RunOnceRequest {
            command,
            idempotency_key: key,
            ..
        } = request.into_inner();
        if let Some(kept) = self.results.lock().expect("no panic").get(&key) {
            let replayed = RunOnceResult {
                replayed: true,
                ..kept.clone()
            };
            return Ok(Response::new(replayed));
        }
        let mark = |code, own: &str| {
            let mut status = Status::new(code, format!("refused: {own}"));
            status
                .metadata_mut()
                .insert(ERROR_CODE_KEY, own.parse().expect("ascii"));
            status
        };
        let mut result = RunOnceResult {
            cause: Cause::Exited.into(),
            exit_code: Some(0),
            stdout: Some(Output {
                head: format!("{command:?}").into(),
                ..Output::default()
            }),
            ..RunOnceResult::default()
        };
        match command[0].as_str() {
            "overloaded" => {
                let mut status = mark(Code::ResourceExhausted, "PRL_SANDBOX_OVERLOADED");
                status.metadata_mut().insert(RETRY_AFTER_KEY, 70.into());
                return Err(status);
            }
            "malformed" => return Err(mark(Code::InvalidArgument, "PRL_SANDBOX_REQUEST")),
            "sleep" => {
                let killed = Token::new();
                self.running
                    .lock()
                    .expect("no panic")
                    .insert(key.clone(), killed.clone());
                killed.cancelled().await;
                result.cause = Cause::Cancelled.into();
                result.exit_code = None;
            }
            _ => {}
        }
        self.executions.fetch_add(1, Ordering::SeqCst);
        self.results.lock().expect("no panic").insert(key, result.clone());
        if command[0] == "lose-reply" {
            self.cut.lock().expect("no panic").cancel();
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        Ok(Response::new(result))
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelReply>, Status> {
        let killed = self
            .running
            .lock()
            .expect("no panic")
            .remove(&request.into_inner().idempotency_key);
        if let Some(killed) = &killed {
            killed.cancel();
        }
        Ok(Response::new(CancelReply {
            found: killed.is_some(),
        }))
    }

    async fn capabilities(&self, _: Request<CapabilitiesRequest>) -> Result<Response<CapabilitiesReply>, Status> {
        Ok(Response::new(CapabilitiesReply::default()))
    }

    async fn health(&self, _: Request<HealthRequest>) -> Result<Response<HealthReply>, Status> {
        Ok(Response::new(HealthReply {
            serving: true,
            instance_id: self.instance.clone(),
            ..HealthReply::default()
        }))
    }
}

/// A server on a separate runtime, so that ending it ends every connection like the death of a process.
struct Server {
    stop: Token,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Serves until it is dropped. A cut ends the present connections; new ones are accepted again.
    fn start(daemon: Daemon, socket: PathBuf) -> Self {
        let stop = Token::new();
        let stopped = stop.clone();
        let cut = Arc::clone(&daemon.cut);
        let service = SandboxesServer::new(daemon);
        let thread = thread::spawn(move || {
            while !stopped.is_cancelled() {
                let token = Token::new();
                *cut.lock().expect("no panic") = token.clone();
                let _ = std::fs::remove_file(&socket);
                let runtime = Runtime::new().expect("a runtime");
                runtime.block_on(async {
                    let listener = UnixListener::bind(&socket).expect("the socket binds");
                    let serving = tonic::transport::Server::builder()
                        .add_service(service.clone())
                        .serve_with_incoming(UnixListenerStream::new(listener));
                    tokio::select! {
                        ended = serving => ended.expect("it serves"),
                        () = token.cancelled() => {}
                        () = stopped.cancelled() => {}
                    }
                });
                runtime.shutdown_background();
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends");
        }
    }
}

struct Bench {
    dir: TempDir,
    executions: Arc<AtomicUsize>,
    server: Option<Server>,
}

impl Bench {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let executions = Arc::new(AtomicUsize::new(0));
        let server = Some(Server::start(daemon("first", &executions), socket(dir.path())));
        Self {
            dir,
            executions,
            server,
        }
    }

    async fn client(&self) -> Client {
        let address = Address::Unix(socket(self.dir.path()));
        for _ in 0..200 {
            if let Ok(client) = Client::connect(vec![address.clone()], ConnectOptions::default()).await {
                return client;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the server does not come up");
    }
}

fn daemon(instance: &str, executions: &Arc<AtomicUsize>) -> Daemon {
    Daemon {
        instance: instance.to_owned(),
        executions: Arc::clone(executions),
        ..Daemon::default()
    }
}

fn socket(dir: &Path) -> PathBuf {
    dir.join("s.sock")
}

fn request(command: &str, key: &str) -> RunOnceRequest {
    RunOnceRequest {
        command: vec![command.to_owned()],
        idempotency_key: key.to_owned(),
        ..RunOnceRequest::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_reply_is_fetched_with_the_same_key_and_nothing_runs_twice() {
    let bench = Bench::start();
    let client = bench.client().await;
    let never = CancellationToken::new();
    let outcome = client
        .run_once(request("lose-reply", "k1"), &never)
        .await
        .expect("no mistake");
    assert_eq!(outcome.result.cause(), Cause::Exited, "{:?}", outcome.result);
    assert!(outcome.result.replayed);
    assert_eq!(bench.executions.load(Ordering::SeqCst), 1);
    let next = client
        .run_once(request("echo", "k2"), &never)
        .await
        .expect("no mistake");
    assert_eq!(next.result.cause(), Cause::Exited);
    assert!(!next.result.replayed);
    assert_eq!(bench.executions.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_was_restarted_is_not_asked_to_run_a_key_again() {
    let mut bench = Bench::start();
    let client = bench.client().await;
    let path = socket(bench.dir.path());
    let executions = Arc::clone(&bench.executions);
    let never = CancellationToken::new();
    let run = async {
        client
            .run_once(request("sleep", "k"), &never)
            .await
            .expect("no mistake")
    };
    let restart = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(bench.server.take());
        Server::start(daemon("second", &executions), path)
    };
    let (outcome, second) = tokio::join!(run, restart);
    assert_eq!(outcome.result.cause(), Cause::Infra);
    assert_eq!(outcome.result.error_code, "PRL_SANDBOX_DAEMON_RESTARTED");
    assert_eq!(bench.executions.load(Ordering::SeqCst), 0);
    // A key that was never sent may run on the new process.
    let next = client
        .run_once(request("echo", "k2"), &never)
        .await
        .expect("no mistake");
    assert_eq!(next.result.cause(), Cause::Exited);
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_stays_away_is_infra() {
    let mut bench = Bench::start();
    let client = bench.client().await;
    let path = socket(bench.dir.path());
    let never = CancellationToken::new();
    let run = async {
        client
            .run_once(request("sleep", "k"), &never)
            .await
            .expect("no mistake")
    };
    let stop = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(bench.server.take());
        std::fs::remove_file(path).expect("the socket was there");
    };
    let (outcome, ()) = tokio::join!(run, stop);
    assert_eq!(outcome.result.cause(), Cause::Infra);
    assert_eq!(outcome.result.error_code, "PRL_SANDBOX_CONNECTION_LOST");
    assert_eq!(outcome.result.exit_code, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn overload_is_a_result_and_a_malformed_request_an_error() {
    let bench = Bench::start();
    let client = bench.client().await;
    let never = CancellationToken::new();
    let overloaded = client
        .run_once(request("overloaded", "k1"), &never)
        .await
        .expect("no mistake");
    assert_eq!(overloaded.result.cause(), Cause::Infra);
    assert_eq!(overloaded.result.error_code, "PRL_SANDBOX_OVERLOADED");
    assert_eq!(overloaded.retry_after, Some(Duration::from_millis(70)));
    let malformed = client.run_once(request("malformed", "k2"), &never).await;
    assert!(matches!(malformed, Err(ClientError::Request(_))), "{malformed:?}");
    let keyless = client.run_once(request("echo", ""), &never).await;
    assert!(matches!(keyless, Err(ClientError::Request(_))), "{keyless:?}");
    assert_eq!(bench.executions.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_kills_the_run_and_returns_its_result() {
    let bench = Bench::start();
    let client = bench.client().await;
    let cancel = CancellationToken::new();
    let run = async {
        client
            .run_once(request("sleep", "k"), &cancel)
            .await
            .expect("no mistake")
    };
    let abort = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(run, abort);
    assert_eq!(outcome.result.cause(), Cause::Cancelled);
    assert!(
        outcome.result.stdout.is_some(),
        "the daemon's result, not one of the client"
    );
    let before = client
        .run_once(request("echo", "k2"), &cancel)
        .await
        .expect("no mistake");
    assert_eq!(before.result.cause(), Cause::Cancelled);
    assert_eq!(bench.executions.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_cancels_running_requests_and_refuses_later_ones() {
    let bench = Bench::start();
    let client = bench.client().await;
    let never = CancellationToken::new();
    let run = async {
        client
            .run_once(request("sleep", "k"), &never)
            .await
            .expect("no mistake")
    };
    let close = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        client.close().await;
    };
    let (outcome, ()) = tokio::join!(run, close);
    assert_eq!(outcome.result.cause(), Cause::Cancelled);
    let after = client.run_once(request("echo", "k2"), &never).await;
    assert!(matches!(after, Err(ClientError::Closed)), "{after:?}");
    assert!(matches!(client.capabilities().await, Err(ClientError::Closed)));
}
