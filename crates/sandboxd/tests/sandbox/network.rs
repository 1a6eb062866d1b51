//! Ways out that a request asks for: the proxy and forwards. There are no others.

use prl_sandbox_proto::network::Mode;
use prl_sandbox_proto::{Cause, Forward, Network, RunOnceRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

use crate::boxes::{boxes, shell, small};
use crate::support::{Daemon, Outcome, cause, command, describe, tcp, text};

/// Answers every connection with one HTTP response that says `machine`, whatever the request is.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nmachine";

async fn answer<S: AsyncReadExt + AsyncWriteExt + Unpin>(mut stream: S) {
    let mut got = [0; 4096];
    // A client that leaves early fails the test elsewhere.
    let _read = stream.read(&mut got).await;
    let _written = stream.write_all(ANSWER).await;
}

async fn server() -> std::io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    Ok(port)
}

fn python(code: &str, network: Network) -> RunOnceRequest {
    RunOnceRequest {
        network: Some(network),
        ..command(&["/usr/bin/python3", "-c", code])
    }
}

fn allow(names: &[String]) -> Network {
    Network {
        mode: Mode::Allow.into(),
        allow: names.to_vec(),
        forward: Vec::new(),
    }
}

fn forward(to: &[(u32, String)]) -> Network {
    Network {
        forward: to
            .iter()
            .map(|(listen, to)| Forward {
                listen: *listen,
                to: to.clone(),
                ..Forward::default()
            })
            .collect(),
        ..Network::default()
    }
}

#[tokio::test]
async fn the_proxy_leads_where_it_is_allowed_and_nothing_else_leads_anywhere() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let (open, closed) = (server().await?, server().await?);
    let mut client = daemon.client().await?;
    let code = format!(
        r"
import os, socket, urllib.request
def ask(url):
    try: return urllib.request.urlopen(url, timeout=5).read().decode()
    except urllib.error.HTTPError as e: return e.code
    except OSError as e: return type(e).__name__
os.environ['no_proxy'] = os.environ['NO_PROXY'] = ''
print(ask('http://127.0.0.1:{open}/'), ask('http://127.0.0.1:{closed}/'), ask('http://[::1]:{open}/'))
host, port = os.environ['ALL_PROXY'].removeprefix('http://').split(':')
def socks(to):
    s = socket.create_connection((host, int(port)), 5)
    s.sendall(b'\x05\x01\x00' + b'\x05\x01\x00\x01' + bytes([127, 0, 0, 1]) + to.to_bytes(2, 'big') + b'GET / HTTP/1.0\r\n\r\n')
    got = b''
    while chunk := s.recv(999): got += chunk
    return got[3], got[-7:]
print(socks({open}), socks({closed})[0])
for target in [('127.0.0.1', {open}), ('1.1.1.1', 80)]:
    try: socket.create_connection(target, 2); print('reached')
    except OSError as e: print(e.strerror)
try: socket.getaddrinfo('example.com', 80); print('resolved')
except OSError: print('no names')
"
    );
    let request = python(
        &code,
        allow(&[format!("127.0.0.1:{open}"), "elsewhere.example".to_owned()]),
    );
    let result = client.run_once(request).await?.into_inner();
    assert_eq!(cause(&result), Cause::Exited, "{}", describe(&result));
    let wanted = "machine 403 403\n(0, b'machine') 2\nConnection refused\nNetwork is unreachable\nno names\n";
    assert_eq!(text(&result.stdout), wanted, "{}", describe(&result));
    daemon.stop()
}

#[tokio::test]
async fn forwards_reach_one_service_each() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("service.sock");
    let listener = UnixListener::bind(&path)?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    let port = server().await?;
    let code = "
import urllib.request
for port in (80, 5432):
    print(urllib.request.urlopen(f'http://127.0.0.1:{port}/', timeout=5).read().decode())
import os; print('HTTP_PROXY' in os.environ)";
    let network = forward(&[
        (80, format!("unix:{}", path.display())),
        (5432, format!("127.0.0.1:{port}")),
    ]);
    let mut client = daemon.client().await?;
    let result = client.run_once(python(code, network)).await?.into_inner();
    assert_eq!(
        text(&result.stdout),
        "machine\nmachine\nFalse\n",
        "{}",
        describe(&result)
    );
    daemon.stop()
}

#[tokio::test]
async fn on_tcp_only_destinations_of_the_operator_are_opened() -> Outcome {
    let port = server().await?;
    let granted = format!("127.0.0.1:{port}");
    let Some((daemon, _)) = tcp::start("secret", &["--park", "1", "--allow-forward", &granted])? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    for (network, fine) in [
        (forward(&[(1, granted.clone())]), true),
        (allow(&[granted.clone(), "box.test".to_owned()]), true),
        (forward(&[(1, "127.0.0.1:1".to_owned())]), false),
        (allow(&["169.254.169.254:80".to_owned()]), false),
        (forward(&[(0, granted.clone())]), false),
        (allow(&["a b".to_owned()]), false),
    ] {
        let answer = client.run_once(python("print(1)", network.clone())).await;
        match answer {
            Ok(_) => assert!(fine, "{network:?} was accepted"),
            Err(status) => {
                assert!(!fine, "{network:?}: {status}");
                assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status}");
            }
        }
    }
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_box_keeps_its_ways_out() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let port = server().await?;
    let mut network = allow(&[format!("127.0.0.1:{port}")]);
    network.forward = forward(&[(70, format!("127.0.0.1:{port}"))]).forward;
    let request = prl_sandbox_proto::CreateRequest {
        network: Some(network),
        ..small("out")
    };
    let client = boxes(&daemon).await?;
    client.clone().create(request).await?;
    let line = format!(
        "no_proxy= NO_PROXY= python3 -c \"from urllib.request import *; print(urlopen('http://127.0.0.1:{port}').read())\""
    );
    for line in [line.as_str(), "exec 3<>/dev/tcp/127.0.0.1/70; echo >&3; tail -c 7 <&3"] {
        for _ in 0..2 {
            let result = shell(&client, "out", line).await?;
            assert!(text(&result.stdout).contains("machine"), "{}", describe(&result));
        }
    }
    daemon.stop()
}
