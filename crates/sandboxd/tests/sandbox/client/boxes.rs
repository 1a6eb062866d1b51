//! Held boxes through the client: leases, processes over broken connections, directories, ports.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use prl_sandbox_client::{Client, ConnectOptions, ProcessEvent, SandboxBox};
use prl_sandbox_proto::{Cause, CreateRequest, StartRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::{Outcome, Result, a_box, connect, exec, never, stdout, unix};
use crate::support::Daemon;

async fn held() -> Result<Option<(Daemon, Client, SandboxBox)>> {
    let Some(daemon) = Daemon::start(&[])? else {
        return Ok(None);
    };
    let client = connect(&[unix(&daemon)], ConnectOptions::default()).await?;
    let held = client.create(a_box("held")).await?;
    Ok(Some((daemon, client, held)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_renewed_while_held_and_ends_without_a_holder() -> Outcome {
    let Some(daemon) = Daemon::start(&[])? else {
        return Ok(());
    };
    let client = connect(&[unix(&daemon)], ConnectOptions::default()).await?;
    let request = CreateRequest {
        lease_ms: Some(600),
        ..a_box("leased")
    };
    let held = client.create(request).await?;
    sleep(Duration::from_millis(2000)).await;
    assert_eq!(client.list(HashMap::new()).await?.len(), 1, "it was renewed");
    drop(held);
    let began = Instant::now();
    while !client.list(HashMap::new()).await?.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(10), "it stays");
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_goes_in_and_comes_out_whole() -> Outcome {
    let Some((_daemon, _client, held)) = held().await? else {
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("deep/empty"))?;
    let large: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    fs::write(source.join("deep/large.bin"), &large)?;
    fs::write(source.join("grün.txt"), "text")?;
    std::os::unix::fs::symlink("grün.txt", source.join("link"))?;
    held.upload_directory(&source, "in").await?;
    let sum = held
        .exec(
            exec(
                &[
                    "sh",
                    "-c",
                    "cat in/link; wc -c < in/deep/large.bin; ls -d in/deep/empty",
                ],
                "1",
            ),
            &never(),
        )
        .await?;
    assert_eq!(stdout(&sum), "text3000000\nin/deep/empty\n");
    held.exec(
        exec(
            &[
                "sh",
                "-c",
                "ln -s /etc/passwd in/out; ln -s ../../.. in/up; mkfifo in/pipe",
            ],
            "2",
        ),
        &never(),
    )
    .await?;
    let target = folder.path().join("target");
    let unpacked = held.download_directory("in", &target, 10 << 20).await?;
    assert_eq!(fs::read(target.join("deep/large.bin"))?, large);
    assert_eq!(fs::read_to_string(target.join("link"))?, "text");
    assert!(target.join("deep/empty").is_dir());
    for outside in ["out", "up", "pipe"] {
        assert!(fs::symlink_metadata(target.join(outside)).is_err(), "{outside}");
    }
    assert!(
        unpacked.left_out.iter().any(|path| path.ends_with("out")),
        "{unpacked:?}"
    );
    let exists = held.download_directory("in", &target, 10 << 20).await;
    assert_eq!(exists.expect_err("it is there").code(), "PRL_SANDBOX_LOCAL_FILE");
    let small = held.download_directory("in", &folder.path().join("small"), 1000).await;
    assert_eq!(small.expect_err("more than that").code(), "PRL_SANDBOX_TOO_LARGE");
    let nowhere = held.upload_directory(&folder.path().join("nowhere"), "x").await;
    assert_eq!(nowhere.expect_err("no such folder").code(), "PRL_SANDBOX_LOCAL_FILE");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_followed_from_any_position_to_the_end() -> Outcome {
    let Some((_daemon, _client, held)) = held().await? else {
        return Ok(());
    };
    let request = StartRequest {
        exec: Some(exec(&["sh", "-c", "seq 1 20000; echo error >&2; exit 3"], "p")),
        process: "p".to_owned(),
        lossless: true,
        ..StartRequest::default()
    };
    let process = held.start(request.clone()).await?;
    assert_eq!(
        held.start(request).await?.info().pid,
        process.info().pid,
        "the same process"
    );
    let expected: String = (1..=20000).map(|i| format!("{i}\n")).collect();
    let (mut seen, mut errors) = (Vec::new(), Vec::new());
    let mut output = process.output(0, 0);
    while let Some(event) = output.next().await? {
        match event {
            ProcessEvent::Stdout { offset, data } => {
                assert_eq!(offset, seen.len() as u64);
                seen.extend_from_slice(&data);
            }
            ProcessEvent::Stderr { data, .. } => errors.extend_from_slice(&data),
            ProcessEvent::Ended(outcome) => assert_eq!(outcome.result.exit_code, Some(3)),
        }
    }
    assert!(
        seen == expected.as_bytes(),
        "{} of {} bytes",
        seen.len(),
        expected.len()
    );
    assert_eq!(errors, b"error\n");
    Ok(())
}

/// The answer to `message` on a new connection, whose sending side is closed behind it.
async fn echo(address: SocketAddr, message: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let (mut read, mut write) = stream.split();
    let sending = async {
        let _closed = write.write_all(message).await;
        let _closed = write.shutdown().await;
    };
    let mut echoed = Vec::new();
    let (_, received) = tokio::join!(sending, read.read_to_end(&mut echoed));
    received.map(|_| echoed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_of_the_box_is_reached_both_ways_and_closed_with_its_handle() -> Outcome {
    let Some((_daemon, _client, held)) = held().await? else {
        return Ok(());
    };
    let code = "import socket
s = socket.create_server(('127.0.0.1', 4000))
while True:
    c, _ = s.accept()
    while True:
        d = c.recv(65536)
        if not d: break
        c.sendall(d.upper())
    c.sendall(b'!')
    c.close()";
    let request = StartRequest {
        exec: Some(exec(&["python3", "-c", code], "s")),
        process: "s".to_owned(),
        ..StartRequest::default()
    };
    held.start(request).await?;
    let forward = held.forward_port(4000)?;
    let began = Instant::now();
    let echoed = loop {
        assert!(began.elapsed() < Duration::from_secs(8), "nothing comes back");
        // As long as no program listens in the box, connections are reset; `connect` may already notice that.
        if let Ok(echoed) = echo(forward.address(), &vec![b'x'; 300_000]).await
            && !echoed.is_empty()
        {
            break echoed;
        }
        sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(
        echoed.len(),
        300_001,
        "the end of our side arrived, and theirs came back"
    );
    assert!(echoed[..300_000].iter().all(|&byte| byte == b'X'));
    let address = forward.address();
    drop(forward);
    sleep(Duration::from_millis(200)).await;
    assert!(TcpStream::connect(address).await.is_err());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_client_closes_its_boxes() -> Outcome {
    let Some((daemon, client, held)) = held().await? else {
        return Ok(());
    };
    client.close().await;
    assert!(held.exec(exec(&["true"], "k"), &never()).await.is_err());
    let other = connect(&[unix(&daemon)], ConnectOptions::default()).await?;
    assert!(other.list(HashMap::new()).await?.is_empty());
    let again = other.create(a_box("held")).await.expect_err("the id was used");
    assert_eq!(again.code(), "PRL_SANDBOX_BOX_ENDED");
    let outcome = other
        .create(a_box("held-2"))
        .await?
        .exec(exec(&["true"], "k"), &never())
        .await?;
    assert_eq!(outcome.result.cause(), Cause::Exited);
    Ok(())
}
