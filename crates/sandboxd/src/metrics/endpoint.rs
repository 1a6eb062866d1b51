//! `GET /metrics` over HTTP/1.1, on a separate socket that serves nothing else.
//!
//! It asks for no token, since the page contains nothing about callers, and it listens on the loopback unless another
//! address is given. The number of connections is bounded: further ones are closed at once. Each has one request and a
//! few seconds for everything.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::page::{CONTENT_TYPE as PAGE_TYPE, Page};
use crate::accept::Failures;
use crate::counts::COUNTS;
use crate::error::SandboxError;
use crate::state::DaemonState;

const MOST_CONNECTIONS: usize = 16;
/// From the accept to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_HEADER_BYTES: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
static FAILURES: Failures = Failures::new("readers of metrics");
/// How often the delay of the executor is measured.
const LAG_EVERY: Duration = Duration::from_millis(250);

/// Answers until it is dropped.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// With the port that the system has chosen.
    pub(crate) address: SocketAddr,
    _tasks: JoinSet<Infallible>,
}

impl Endpoint {
    /// # Errors
    /// `Serve` when the address cannot be listened on.
    pub(crate) async fn open(wanted: SocketAddr, state: &Arc<DaemonState>) -> Result<Self, SandboxError> {
        let failed = |source| SandboxError::Serve {
            action: format!("listen on {wanted} for --metrics-address"),
            source,
        };
        let listener = TcpListener::bind(wanted).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(answer_all(listener, Arc::new(Page::new(state))));
        tasks.spawn(measure_lag());
        Ok(Self { address, _tasks: tasks })
    }
}

async fn answer_all(listener: TcpListener, page: Arc<Page>) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                FAILURES.pause(&error).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        if connections.len() >= MOST_CONNECTIONS {
            tracing::debug!("a connection for metrics was refused: too many");
            continue;
        }
        let page = Arc::clone(&page);
        connections.spawn(async move {
            if let Err(error) = answer(stream, &page).await {
                tracing::debug!(%error, "a connection for metrics ended early");
            }
        });
    }
}

/// Answers the one request of a connection.
async fn answer(stream: TcpStream, page: &Page) -> io::Result<()> {
    let service = service_fn(async |request| Ok::<_, Infallible>(reply(&request, page)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        .max_buf_size(MOST_HEADER_BYTES)
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let answered = timeout(PATIENCE, connection).await;
    answered.map_err(io::Error::from)?.map_err(io::Error::other)
}

fn reply<B>(request: &Request<B>, page: &Page) -> Response<Full<Bytes>> {
    let plain = |status: StatusCode, text: &'static str| {
        let mut reply = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
        *reply.status_mut() = status;
        reply
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        reply
    };
    if request.uri().path() != "/metrics" {
        return plain(StatusCode::NOT_FOUND, "GET /metrics\n");
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut reply = plain(StatusCode::METHOD_NOT_ALLOWED, "GET /metrics\n");
        reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return reply;
    }
    match page.text() {
        Ok(text) => {
            let mut reply = Response::new(Full::new(Bytes::from(text)));
            reply
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static(PAGE_TYPE));
            reply
        }
        Err(error) => {
            tracing::error!(%error, "cannot write the page of metrics");
            plain(StatusCode::INTERNAL_SERVER_ERROR, "the page cannot be written\n")
        }
    }
}

async fn measure_lag() -> Infallible {
    loop {
        let due = Instant::now() + LAG_EVERY;
        sleep_until(due).await;
        COUNTS.late(due.elapsed());
    }
}
