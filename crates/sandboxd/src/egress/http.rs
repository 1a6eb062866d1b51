//! An HTTP/1.1 proxy: CONNECT for any protocol, and plain requests in absolute form. Each request is checked
//! separately.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::policy::Destination;
use super::reach::{Reach, Refusal};
use super::{GREETING, relay};

const MAX_HEAD_BYTES: usize = 64 << 10;
const HTTP_PORT: u16 = 80;
/// Headers that are meant for one connection only, never for the next one (RFC 9110, 7.6.1).
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

type Body = BoxBody<Bytes, hyper::Error>;
/// The tunnel that a connection becomes, set by an accepted CONNECT.
type Tunnel = Arc<Mutex<Option<(OnUpgrade, TcpStream)>>>;

/// Serves one program to the end of its connection.
pub(crate) async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, reach: Reach) {
    let tunnel = Tunnel::default();
    let service = service_fn(|request| {
        let (reach, tunnel) = (reach.clone(), Arc::clone(&tunnel));
        async move { Ok::<_, Infallible>(answer(request, reach, &tunnel).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(GREETING)
        .max_buf_size(MAX_HEAD_BYTES)
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        return tracing::debug!(%error, "a box's HTTP connection broke");
    }
    let accepted = tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((upgrade, target)) = accepted {
        match upgrade.await {
            Ok(upgraded) => relay(TokioIo::new(upgraded), target).await,
            Err(error) => tracing::debug!(%error, "a tunnel was not begun"),
        }
    }
}

async fn answer(mut request: Request<Incoming>, reach: Reach, tunnel: &Tunnel) -> Response<Body> {
    let connect = request.method() == Method::CONNECT;
    let destination = match destination(request.uri(), connect) {
        Ok(destination) => destination,
        Err(wrong) => return say(StatusCode::BAD_REQUEST, &wrong),
    };
    let target = match reach.connect(destination).await {
        Ok(target) => target,
        Err(refusal) => {
            tracing::debug!(%refusal, "refused a box's request");
            let status = match refusal {
                Refusal::NotAllowed(_) | Refusal::Private(_) => StatusCode::FORBIDDEN,
                Refusal::Unknown(..) | Refusal::Unreachable(..) => StatusCode::BAD_GATEWAY,
            };
            return say(status, &refusal.to_string());
        }
    };
    if connect {
        let upgrade = hyper::upgrade::on(&mut request);
        *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some((upgrade, target));
        return Response::new(Full::default().map_err(|never| match never {}).boxed());
    }
    pass_on(request, target).await.unwrap_or_else(|error| {
        let text = format!("the server did not answer in HTTP: {error}");
        say(StatusCode::BAD_GATEWAY, &text)
    })
}

/// The destination in the request line: `host:port` of CONNECT, else `http://host[:port]/...`.
fn destination(uri: &Uri, connect: bool) -> Result<Destination, String> {
    let authority = uri
        .authority()
        .ok_or_else(|| "this is a proxy: a request names its host in the request line".to_owned())?;
    if authority.as_str().contains('@') {
        return Err("a request line holds no credentials".to_owned());
    }
    match uri.scheme_str() {
        None if connect => Destination::parse(authority.as_str(), None),
        Some("http") if !connect => Destination::parse(authority.as_str(), Some(HTTP_PORT)),
        _ => Err("only CONNECT and http:// are served".to_owned()),
    }
}

/// Sends the request in origin form and passes the answer back as it arrives.
async fn pass_on(mut request: Request<Incoming>, target: TcpStream) -> Result<Response<Body>, hyper::Error> {
    let uri = std::mem::take(request.uri_mut());
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    strip(request.headers_mut());
    if let Ok(host) = HeaderValue::from_str(authority) {
        request.headers_mut().insert(header::HOST, host);
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse().unwrap_or_default();
    *request.version_mut() = Version::HTTP_11;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(target)).await?;
    // Ends with the request: when the sender and the answer's body are gone, or either side fails.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a server's connection broke");
        }
    });
    let mut response = sender.send_request(request).await?;
    strip(response.headers_mut());
    *response.version_mut() = Version::HTTP_11;
    Ok(response.map(BodyExt::boxed))
}

/// Removes the headers that are meant for one connection only, also those that `Connection` names. Each side has its
/// own framing.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

fn say(status: StatusCode, text: &str) -> Response<Body> {
    let body = Full::from(format!("prl sandbox: {text}\n")).map_err(|never| match never {});
    let mut response = Response::new(body.boxed());
    *response.status_mut() = status;
    response
}
