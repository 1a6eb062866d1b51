//! Forwards by the caller: programs in a held box reach services that only the box's caller can reach.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prl_sandbox_client::{Client, ConnectOptions, SandboxBox};
use prl_sandbox_proto::forward::By;
use prl_sandbox_proto::{BoxRequest, CreateRequest, Forward, Limits, Network, Piece, RunOnceRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::time::timeout;
use tonic::Code;

use super::{Outcome, Result, a_box, connect, exec, never, run, stdout, tcp, unix};
use crate::boxes::boxes;
use crate::support::{Daemon, describe};

const PATIENCE: Duration = Duration::from_secs(60);
/// Connects to its argument's port so often at a time, sends drawn bytes in drawn chunks and ends its side. What comes back has to
/// be the same, each byte turned over, and then `!`.
const CROWD: &str = r"
import random, socket, sys, threading
def one(seed, wrong):
    draw = random.Random(seed)
    data = draw.randbytes(draw.choice([0, 1, 5000, 700_000]))
    s = socket.create_connection(('127.0.0.1', 8700), 30)
    s.settimeout(60)
    got = bytearray()
    def read():
        while chunk := s.recv(draw.choice([1, 4096, 1 << 20])): got.extend(chunk)
    reader = threading.Thread(target=read)
    reader.start()
    at = 0
    while at < len(data):
        size = draw.choice([1, 100, 30_000, 300_000])
        s.sendall(data[at:at + size])
        at += size
    s.shutdown(socket.SHUT_WR)
    reader.join()
    if bytes(got) != bytes(255 - b for b in data) + b'!': wrong.append((seed, len(data), len(got)))
wrong = []
threads = [threading.Thread(target=one, args=(seed, wrong)) for seed in range(int(sys.argv[1]))]
for t in threads: t.start()
for t in threads: t.join()
print('wrong', wrong)
";

fn by_caller(id: &str, to: &str) -> CreateRequest {
    CreateRequest {
        network: Some(network(to)),
        limits: Some(Limits {
            wall_ms: Some(60_000),
            cpu_ms: Some(60_000),
            processes: Some(300),
            ..Limits::default()
        }),
        ..a_box(id)
    }
}

fn network(to: &str) -> Network {
    Network {
        forward: vec![Forward {
            listen: 8700,
            to: to.to_owned(),
            by: By::Caller.into(),
        }],
        ..Network::default()
    }
}

/// A daemon on TCP, which opens nothing of its machine for anybody, and a client.
async fn remote() -> Result<Option<(Daemon, Client)>> {
    let Some((daemon, _)) = crate::support::tcp::start("ann:secret\nben:other\n", &["--park", "0"])? else {
        return Ok(None);
    };
    let client = connect(&[tcp(&daemon)?], token("secret")).await?;
    Ok(Some((daemon, client)))
}

fn token(token: &str) -> ConnectOptions {
    ConnectOptions {
        token: Some(token.to_owned()),
        ..ConnectOptions::default()
    }
}

/// Turns every byte over, and says `!` after the end of the other side. Counts the connections that go on.
async fn turn_over(mut stream: TcpStream, now: Arc<AtomicUsize>) -> io::Result<()> {
    now.fetch_add(1, Ordering::Relaxed);
    let mut buffer = vec![0; 50_000];
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            break;
        }
        let turned: Vec<u8> = buffer[..length].iter().map(|byte| 255 - byte).collect();
        stream.write_all(&turned).await?;
    }
    stream.write_all(b"!").await?;
    stream.shutdown().await?;
    now.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}

async fn python(held: &SandboxBox, code: &str, arguments: &[&str], key: &str) -> Result<String> {
    let command = [&["python3", "-c", code][..], arguments].concat();
    let outcome = held.exec(exec(&command, key), &never()).await?;
    let result = outcome.result.clone();
    assert_eq!(result.exit_code, Some(0), "{}", describe(&result));
    Ok(stdout(&outcome))
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_carry_the_same_bytes_both_ways() -> Outcome {
    let Some((daemon, client)) = remote().await? else {
        return Ok(());
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let to = listener.local_addr()?.to_string();
    let now = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&now);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(turn_over(stream, Arc::clone(&counted)));
        }
    });
    let held = client.create(by_caller("crowd", &to)).await?;
    // More than there may be at a time: the others wait for a place.
    assert_eq!(python(&held, CROWD, &["100"], "1").await?, "wrong []\n");
    // Places are given back.
    assert_eq!(python(&held, CROWD, &["40"], "2").await?, "wrong []\n");
    assert_eq!(now.load(Ordering::Relaxed), 0, "each one came to its end");
    held.close().await?;
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_side_ends_separately_and_a_break_is_no_end() -> Outcome {
    let Some((daemon, client)) = remote().await? else {
        return Ok(());
    };
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("service.sock");
    let listener = UnixListener::bind(&path)?;
    let held = client
        .create(by_caller("halves", &format!("unix:{}", path.display())))
        .await?;
    let service = tokio::spawn(async move {
        let (mut first, _) = listener.accept().await?;
        first.write_all(b"bye").await?;
        first.shutdown().await?;
        let mut late = Vec::new();
        first.read_to_end(&mut late).await?;
        // The second one is dropped with unread bytes, which is a reset.
        let (mut second, _) = listener.accept().await?;
        second.write_all(b"half").await?;
        let mut one = [0];
        second.read_exact(&mut one).await?;
        io::Result::Ok(late)
    });
    let code = "import socket, time
s = socket.create_connection(('127.0.0.1', 8700))
got = b''
while c := s.recv(99): got += c
s.sendall(b'after your end')
s.close()
print(got)
s = socket.create_connection(('127.0.0.1', 8700))
print(s.recv(4))
s.sendall(b'xyz')
try: print(s.recv(9))
except ConnectionResetError: print('reset')
try: print(socket.create_connection(('127.0.0.1', 8700)).recv(9))
except ConnectionResetError: print('reset')";
    let said = python(&held, code, &[], "1").await?;
    assert_eq!(said, "b'bye'\nb'half'\nreset\nreset\n");
    assert_eq!(timeout(PATIENCE, service).await???, b"after your end");
    daemon.stop()
}

/// A program that says when it is connected, and how its connection ended.
/// Connects, sends a byte and waits for the end. A reset may reach any of its calls: the connection
/// may break before the program has sent its byte.
const WAITER: &str = "import socket
try:
  s = socket.create_connection(('127.0.0.1', 8700))
  s.sendall(b'x')
  print('ended', s.recv(9), flush=True)
except (ConnectionResetError, ConnectionAbortedError): print('reset', flush=True)";

#[tokio::test(flavor = "multi_thread")]
async fn connections_end_with_the_callers_handle_and_with_the_box() -> Outcome {
    let Some((daemon, client)) = remote().await? else {
        return Ok(());
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let to = listener.local_addr()?.to_string();
    for id in ["dropped", "closed"] {
        let request = CreateRequest {
            lease_ms: Some(30_000),
            ..by_caller(id, &to)
        };
        let held = client.create(request).await?;
        let other = connect(&[tcp(&daemon)?], token("secret")).await?.open(id).await?;
        let waiting = tokio::spawn({
            let other = other.clone();
            async move { other.exec(exec(&["python3", "-c", WAITER], "1"), &never()).await }
        });
        let (mut stream, _) = timeout(PATIENCE, listener.accept()).await??;
        let mut byte = [0];
        stream.read_exact(&mut byte).await?;
        if id == "dropped" {
            drop(held);
            assert_eq!(stdout(&timeout(PATIENCE, waiting).await???), "reset\n");
        } else {
            held.close().await?;
            let ended = timeout(PATIENCE, waiting).await??;
            let went_on = ended.is_ok_and(|outcome| outcome.result.exit_code.is_some());
            assert!(!went_on, "its program ended with the box");
        }
        // The service sees an end or a reset.
        let mut rest = Vec::new();
        let ended = timeout(PATIENCE, stream.read_to_end(&mut rest)).await?;
        assert!(rest.is_empty(), "{ended:?}");
    }
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_held_box_has_a_caller() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let client = connect(&[unix(&daemon)], ConnectOptions::default()).await?;
    let request = RunOnceRequest {
        network: Some(network("")),
        ..run(&["true"], "key")
    };
    let refused = client.run_once(request, &never()).await.expect_err("a run");
    assert_eq!(refused.code(), "PRL_SANDBOX_REQUEST");
    assert!(
        refused.to_string().contains("port 8700 by the caller needs a held box"),
        "{refused}"
    );
    let wrong = client.create(by_caller("wrong", "nowhere")).await.expect_err("no port");
    assert!(wrong.to_string().contains("port 8700 leads to \"nowhere\""), "{wrong}");
    let without = client.create(a_box("without")).await?;
    let asked = boxes(&daemon)
        .await?
        .accept(BoxRequest {
            r#box: "without".to_owned(),
        })
        .await;
    assert_eq!(asked.expect_err("no forward").code(), Code::InvalidArgument);
    without.close().await?;
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_caller_takes_over_and_a_stranger_gets_nothing() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut raw = boxes(&daemon).await?;
    raw.create(by_caller("raw", "")).await?;
    let named = || BoxRequest {
        r#box: "raw".to_owned(),
    };
    let mut early = raw.accept(named()).await?.into_inner();
    let mut late = raw.accept(named()).await?.into_inner();
    let ended = timeout(PATIENCE, early.message()).await?;
    assert_eq!(ended.expect_err("taken over").code(), Code::AlreadyExists);
    let waiting = tokio::spawn({
        let raw = raw.clone();
        async move {
            let request = crate::boxes::exec("raw", &["python3", "-c", WAITER]);
            raw.clone().exec(request).await
        }
    });
    let arrival = timeout(PATIENCE, late.message()).await??.ok_or("no arrival")?;
    assert_eq!(arrival.listen, 8700);
    let piece = |connection, id: &str| Piece {
        r#box: id.to_owned(),
        connection,
        ..Piece::default()
    };
    for (first, code) in [
        (piece(arrival.connection + 1, "raw"), Code::NotFound),
        (piece(arrival.connection, "other"), Code::NotFound),
    ] {
        let refused = raw.carry(tokio_stream::iter([first])).await;
        assert_eq!(refused.expect_err("refused").code(), code);
    }
    // Once it is taken it is no more there, and a taker that leaves at once breaks it.
    let taken = raw
        .carry(tokio_stream::iter([piece(arrival.connection, "raw")]))
        .await?;
    let again = raw.carry(tokio_stream::iter([piece(arrival.connection, "raw")])).await;
    assert_eq!(again.expect_err("taken").code(), Code::NotFound);
    drop(taken);
    let result = timeout(PATIENCE, waiting).await???.into_inner();
    assert_eq!(crate::support::text(&result.stdout), "reset\n", "{}", describe(&result));
    daemon.stop()
}
