//! The proxy over plain sockets of this machine, against a server that repeats the requests it gets.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::{Egress, Policy, Reach, Service};
use crate::accept::PAUSE;
use crate::accept::tests::Said;

const PATIENCE: Duration = Duration::from_secs(10);

fn listener() -> (std::net::TcpListener, SocketAddr) {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let address = listener.local_addr().expect("address");
    (listener, address)
}

/// A proxy with these rules, and its address.
fn proxy(allow: &[String]) -> (Egress, SocketAddr) {
    let (socket, address) = listener();
    let mut egress = Egress::default();
    let policy = Policy::parse(allow).expect("rules");
    let port = egress
        .proxy(socket.into(), Reach::new(Arc::new(policy)))
        .expect("serve");
    assert_eq!(port, address.port());
    (egress, address)
}

/// Answers each request head with `answer` followed by the head itself, and keeps the connection.
async fn server(answer: &'static str) -> SocketAddr {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("bind");
    let address = server.local_addr().expect("address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = server.accept().await {
            tokio::spawn(async move {
                let mut got = Vec::new();
                while let Ok(1..) = stream.read_buf(&mut got).await {
                    if got.ends_with(b"\r\n\r\n") || got.ends_with(b"END") {
                        let echo = std::mem::take(&mut got);
                        let head = answer.replace("LENGTH", &echo.len().to_string());
                        stream.write_all(head.as_bytes()).await.expect("answer");
                        stream.write_all(&echo).await.expect("answer");
                    }
                }
            });
        }
    });
    address
}

const HTTP: &str =
    "HTTP/1.1 200 OK\r\nContent-Length: LENGTH\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\n\r\n";

/// Sends bytes, closes its side, and reads to the end.
async fn exchange(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).await.expect("connect");
    stream.write_all(bytes).await.expect("send");
    stream.shutdown().await.expect("end");
    let mut got = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut got))
        .await
        .expect("an answer")
        .expect("read");
    got
}

async fn ask(to: SocketAddr, text: &str) -> String {
    String::from_utf8_lossy(&exchange(to, text.as_bytes()).await).into_owned()
}

#[tokio::test]
async fn a_tunnel_leads_where_it_is_allowed_and_nowhere_else() {
    let server = server("").await;
    let (_egress, proxy) = proxy(&[server.to_string(), format!("localhost:{}", server.port())]);
    for host in [server.to_string(), format!("localhost:{}", server.port())] {
        let answer = ask(
            proxy,
            &format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\nhelloEND"),
        )
        .await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with("helloEND"), "{answer}");
    }
    for (host, status) in [
        (format!("127.0.0.1:{}", server.port() ^ 1), 403),
        (format!("[::ffff:127.0.0.2]:{}", server.port()), 403),
        (format!("localhost.:{}", server.port() ^ 1), 403),
        ("2130706433:80".to_owned(), 400),
        ("127.0.0.1".to_owned(), 400),
        (format!("user@127.0.0.1:{}", server.port()), 400),
    ] {
        let answer = ask(proxy, &format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {answer}");
    }
}

#[tokio::test]
async fn a_name_that_leads_home_is_refused() {
    let server = server("").await;
    let (_egress, proxy) = proxy(&[format!("localhost:{}", server.port())]);
    let answer = ask(proxy, &format!("CONNECT localhost:{} HTTP/1.1\r\n\r\n", server.port())).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[tokio::test]
async fn plain_requests_are_checked_one_by_one() {
    let server = server(HTTP).await;
    let (_egress, proxy) = proxy(&[server.to_string()]);
    let request = |host: &str, path: &str, more: &str| {
        format!(
            "GET http://{host}{path} HTTP/1.1\r\nHost: elsewhere\r\nProxy-Authorization: x\r\nX-Own: 1\r\n{more}\r\n"
        )
    };
    let host = server.to_string();
    let both = request(&host, "/a?b=c", "")
        + &request("127.0.0.1:1", "/", "")
        + &request(&host, "", "Connection: close, X-Own\r\n");
    let answer = ask(proxy, &both).await;
    let parts: Vec<&str> = answer.split("HTTP/1.1 ").collect();
    assert_eq!(parts.len(), 4, "{answer}");
    assert!(
        parts[1].starts_with("200") && !parts[1].to_lowercase().contains("x-secret"),
        "{answer}"
    );
    assert!(answer.contains("GET /a?b=c HTTP/1.1\r\n"), "{answer}");
    assert!(
        answer.contains(&format!("host: {host}\r\n")) && !answer.contains("elsewhere"),
        "{answer}"
    );
    assert!(!answer.to_lowercase().contains("proxy-authorization"), "{answer}");
    assert!(answer.contains("HTTP/1.1 403"), "{answer}");
    assert_eq!(
        answer.matches("x-own").count() + answer.matches("X-Own").count(),
        1,
        "{answer}"
    );
    for wrong in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET https://127.0.0.1:1/ HTTP/1.1\r\n\r\n",
    ] {
        let answer = ask(proxy, wrong).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
}

#[tokio::test]
async fn socks_obeys_the_same_rules() {
    let server = server("").await;
    let (_egress, proxy) = proxy(&[server.to_string(), format!("localhost:{}", server.port())]);
    let greeting = [5, 1, 0];
    let by_address = |port: u16| {
        let mut bytes = vec![5, 1, 0, 1, 127, 0, 0, 1];
        bytes.extend(port.to_be_bytes());
        bytes
    };
    let by_name = |name: &str, port: u16| {
        let mut bytes = vec![5, 1, 0, 3, u8::try_from(name.len()).expect("short")];
        bytes.extend(name.as_bytes());
        bytes.extend(port.to_be_bytes());
        bytes
    };
    let port = server.port();
    for request in [by_address(port), by_name("localhost", port), by_name("127.0.0.1", port)] {
        let answer = exchange(proxy, &[&greeting[..], &request, b"helloEND"].concat()).await;
        assert_eq!(&answer[..4], [5, 0, 5, 0], "{answer:?}");
        assert!(answer.ends_with(b"helloEND"), "{answer:?}");
    }
    let mut bind = by_address(port);
    bind[1] = 2;
    let mut strange = by_address(port);
    strange[3] = 9;
    for (request, code) in [
        (by_address(port ^ 1), 2),
        (by_name("elsewhere.example", port), 2),
        (by_name("a\0b", port), 2),
        (bind, 7),
        (strange, 8),
    ] {
        let answer = exchange(proxy, &[&greeting[..], &request].concat()).await;
        assert_eq!(&answer[..4], [5, 0, 5, code], "{answer:?}");
    }
    assert_eq!(exchange(proxy, &[5, 1, 2]).await, [5, 0xFF]);
}

#[tokio::test]
async fn a_forward_reaches_one_service_and_ends_with_its_box() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("service.sock");
    let service = tokio::net::UnixListener::bind(&path).expect("bind");
    let (socket, address) = listener();
    let mut egress = Egress::default();
    let to = Service::parse(&format!("unix:{}", path.display())).expect("service");
    egress.forward(socket.into(), to).expect("serve");
    let mut stream = TcpStream::connect(address).await.expect("connect");
    stream.write_all(b"ping").await.expect("send");
    let (mut served, _) = timeout(PATIENCE, service.accept())
        .await
        .expect("in time")
        .expect("accept");
    let mut got = [0; 4];
    served.read_exact(&mut got).await.expect("read");
    assert_eq!(&got, b"ping");
    drop(egress);
    let mut rest = Vec::new();
    let ended = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("in time");
    assert!(rest.is_empty(), "{ended:?}");
    assert!(timeout(PATIENCE, served.read_to_end(&mut rest)).await.is_ok());
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn services_are_read() {
    for wrong in ["", "host", "unix:relative", "unix:", "host:0"] {
        assert!(Service::parse(wrong).is_err(), "{wrong}");
    }
    assert!(matches!(Service::parse("db.internal:5432"), Ok(Service::Tcp(_))));
}

/// Every accept fails, as when the daemon has no descriptors left.
#[tokio::test]
async fn a_listener_that_accepts_nothing_is_spoken_of_once() {
    let (said, _guard) = Said::listen();
    // SAFETY: numbers; a new socket that does not listen.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    assert!(socket >= 0);
    // SAFETY: new and ours.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut egress = Egress::default();
    let reach = Reach::new(Arc::new(Policy::default()));
    egress.proxy(socket, reach).expect("serve");
    tokio::time::sleep(10 * PAUSE).await;
    let lines = said.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("a box's programs"), "{lines:?}");
}
