//! Hostile bytes from a box's program to the proxy, and hostile rules of a request. `crates/fuzz` says what fails.

use std::future::Future;
use std::sync::Arc;

use prl_fuzz::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Builder;

use super::{Policy, Reach, http, socks};

const BUFFER_BYTES: usize = 64 << 10;

/// The answer to a program that sends these bytes and no more, from a proxy that reaches nothing.
fn answer<F>(bytes: &[u8], serve: impl FnOnce(DuplexStream, Reach) -> F) -> String
where
    F: Future<Output = ()>,
{
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let (mut program, proxy) = duplex(BUFFER_BYTES);
    let reach = Reach::new(Arc::new(Policy::default()));
    runtime.block_on(async {
        let asked = async {
            // The proxy may end the connection before it has all of them.
            let _sent = program.write_all(bytes).await;
            let _ended = program.shutdown().await;
            let mut said = Vec::new();
            let _read = program.read_to_end(&mut said).await;
            said
        };
        let (said, ()) = tokio::join!(asked, serve(proxy, reach));
        let first = said.split(|byte| *byte == b'\n').next().unwrap_or_default();
        String::from_utf8_lossy(first).into_owned()
    })
}

#[test]
fn http_requests_under_fuzz() {
    let words = [
        "CONNECT ",
        "GET ",
        "http://",
        "https://",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        "\r\n\r\n",
        "Host: a\r\n",
        "Connection: close, host\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "ffffffffffffffff\r\n",
        "0\r\n\r\n",
        "Expect: 100-continue\r\n",
        "[::1]:443",
        "a@b",
        ":65536",
    ];
    let target = Target::new("egress-http")
        .words(&words)
        .start("CONNECT box.test:443 HTTP/1.1\r\nHost: box.test:443\r\n\r\n")
        .start("GET http://box.test/simple HTTP/1.1\r\nHost: box.test\r\nConnection: x\r\n\r\n")
        .start("POST http://[::1]/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        .inputs(15_000);
    target.heap(4 << 20, 64).run(|bytes| answer(bytes, http::serve));
}

#[test]
fn socks_requests_under_fuzz() {
    let words = ["\u{5}\u{1}\0", "\u{5}\u{1}\0\u{3}", "\u{4}box.", "\u{1}", "\u{4}"];
    let target = Target::new("egress-socks")
        .words(&words)
        .start(b"\x05\x01\x00\x05\x01\x00\x03\x08box.test\x01\xbb".as_slice())
        .start(b"\x05\x02\x00\x02\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50".as_slice())
        .start([b"\x05\x01\x00\x05\x01\x00\x04".as_slice(), &[0; 15], b"\x01\x00\x50"].concat())
        .inputs(15_000);
    target.heap(1 << 20, 64).run(|bytes| answer(bytes, socks::serve));
}

#[test]
fn rules_under_fuzz() {
    let words = [
        "*.",
        "[::1]",
        "127.0.0.1",
        ":443",
        ":65536",
        "/32",
        "xn--",
        "\n",
        "*",
        ".",
        "::",
    ];
    let target = Target::new("egress-rules")
        .words(&words)
        .start("box.test\n*.github.com:443\n10.0.0.1:5432\n[::1]:80")
        .inputs(15_000);
    target.heap(1 << 20, 256).run(|bytes| {
        let rules: Vec<String> = String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect();
        Policy::parse(&rules).map_or_else(|wrong| wrong, |_| "ok".to_owned())
    });
}
