//! Bytes that no client of ours would send. The daemon answers or closes, serves others meanwhile, and keeps nothing of
//! them afterwards.

use std::error::Error;
use std::io;
use std::time::Duration;

use prl_sandbox_proto::boxes_client::BoxesClient;
use prl_sandbox_proto::{
    Cause, CloseRequest, CreateRequest, DeleteSnapshotRequest, DialRequest, ExecRequest, HealthRequest, InputFile,
    ListRequest, ReadFileRequest, RunTestsRequest, StartRequest, TestCase, WriteFileRequest,
};
use prost::Message;
use prost::bytes::{Buf, BufMut, Bytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Request, Status};

use crate::support::census::{Census, flat, resident_kib};
use crate::support::{Client, Daemon, Outcome, cause, channel, command, connect, text, until};

/// An answer, or a closed connection, must come within this time.
const PATIENCE: Duration = Duration::from_secs(10);

fn rounds(short: usize) -> usize {
    if std::env::var_os("PRL_TEST_LONG").is_some() {
        short * 20
    } else {
        short
    }
}

/// xorshift64*: the same bytes in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap_or(0) % sides.max(1)
    }

    fn byte(&mut self) -> u8 {
        [0, 1, 0x7f, 0x80, 0xff, self.roll(256) as u8][self.roll(6)]
    }

    /// Changes, adds, removes or repeats a few bytes.
    fn mutate(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.roll(4) {
            let at = self.roll(bytes.len());
            match self.roll(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at.min(bytes.len()), self.byte()),
                2 if at < bytes.len() => bytes[at] = self.byte(),
                3 if at < bytes.len() => bytes[at] ^= 1 << self.roll(8),
                _ => {
                    let piece: Vec<u8> = bytes.iter().skip(at).take(self.roll(40)).copied().collect();
                    bytes.extend(piece);
                }
            }
        }
        bytes
    }
}

async fn still_serves(client: &Client) -> Outcome {
    let result = client.clone().run_once(command(&["echo", "well"])).await?.into_inner();
    assert_eq!(
        (cause(&result), text(&result.stdout).as_str()),
        (Cause::Exited, "well\n")
    );
    Ok(())
}

/// Runs `talk` against a daemon, and checks afterwards that the daemon is unharmed.
async fn unharmed(talk: impl AsyncFnOnce(&Daemon, &Client) -> Outcome) -> Outcome {
    let Some(daemon) = Daemon::start(&["--max-running", "4", "--park", "2"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    let quiet = async || {
        until("quiet", async || {
            let health = client.clone().health(HealthRequest {}).await?.into_inner();
            Ok(health.running == 0 && health.held == 0 && health.parked == 2)
        })
        .await
    };
    still_serves(&client).await?;
    quiet().await?;
    let (before, memory) = (Census::settled(daemon.pid()).await?, resident_kib(daemon.pid()));
    talk(&daemon, &client).await?;
    still_serves(&client).await?;
    forget_all(&daemon).await?;
    quiet().await?;
    before.returns(daemon.pid()).await?;
    let now = resident_kib(daemon.pid());
    assert!(flat(memory, now), "memory grew from {memory} to {now} KiB");
    daemon.stop()
}

/// Removes what valid calls have made: boxes and snapshots.
async fn forget_all(daemon: &Daemon) -> Outcome {
    let mut boxes = BoxesClient::new(channel(&daemon.socket).await?);
    let all = boxes.list(ListRequest::default()).await?.into_inner().boxes;
    let ids = all.into_iter().map(|one| one.id).collect();
    let close = CloseRequest {
        ids,
        ..CloseRequest::default()
    };
    boxes.close(close).await?;
    for snapshot in boxes
        .list_snapshots(ListRequest::default())
        .await?
        .into_inner()
        .snapshots
    {
        boxes.delete_snapshot(DeleteSnapshotRequest { id: snapshot.id }).await?;
    }
    Ok(())
}

// ---- messages ----

/// Sends and receives bytes unchanged.
#[derive(Clone, Default)]
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;
    fn encoder(&mut self) -> Self {
        Self
    }
    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;
    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;
    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}

/// Methods that understand the message of a path, more or less.
const OF_PATHS: [&str; 18] = [
    "/prl.sandbox.v1.Boxes/Renew",
    "/prl.sandbox.v1.Boxes/SetLifetime",
    "/prl.sandbox.v1.Boxes/List",
    "/prl.sandbox.v1.Boxes/ListProcesses",
    "/prl.sandbox.v1.Boxes/Attach",
    "/prl.sandbox.v1.Boxes/Input",
    "/prl.sandbox.v1.Boxes/SignalProcess",
    "/prl.sandbox.v1.Boxes/ResizePty",
    "/prl.sandbox.v1.Boxes/Evaluate",
    "/prl.sandbox.v1.Boxes/Stat",
    "/prl.sandbox.v1.Boxes/ListDirectory",
    "/prl.sandbox.v1.Boxes/MakeDirectory",
    "/prl.sandbox.v1.Boxes/Move",
    "/prl.sandbox.v1.Boxes/Remove",
    "/prl.sandbox.v1.Boxes/ReadArchive",
    "/prl.sandbox.v1.Boxes/Snapshot",
    "/prl.sandbox.v1.Boxes/DeleteSnapshot",
    "/prl.sandbox.v1.Boxes/Close",
];

/// Methods, each with a message that it understands. The programs are short, even when the message is changed.
fn messages() -> Vec<(&'static str, Vec<u8>)> {
    let once = prl_sandbox_proto::RunOnceRequest {
        files: vec![InputFile {
            path: "a/b".to_owned(),
            content: b"x".as_slice().into(),
            mode: 0o644,
        }],
        collect: vec!["**".to_owned()],
        env: [("A".to_owned(), "b".to_owned())].into(),
        stdin: b"in".as_slice().into(),
        ..command(&["/bin/true"])
    };
    let tests = RunTestsRequest {
        request: Some(once.clone()),
        cases: vec![TestCase::default(); 3],
        ..RunTestsRequest::default()
    };
    let create = CreateRequest {
        id: "fuzz".to_owned(),
        lease_ms: Some(2000),
        ..CreateRequest::default()
    };
    let exec = ExecRequest {
        r#box: "fuzz".to_owned(),
        command: once.command.clone(),
        ..ExecRequest::default()
    };
    let start = StartRequest {
        exec: Some(exec.clone()),
        process: "p".to_owned(),
        ..StartRequest::default()
    };
    let read = ReadFileRequest {
        r#box: "fuzz".to_owned(),
        path: "a".to_owned(),
        ..ReadFileRequest::default()
    };
    let write = WriteFileRequest {
        r#box: "fuzz".to_owned(),
        path: "a".to_owned(),
        end: true,
        ..WriteFileRequest::default()
    };
    let dial = DialRequest {
        r#box: "fuzz".to_owned(),
        port: 80,
        ..DialRequest::default()
    };
    let path = prl_sandbox_proto::PathRequest {
        r#box: "fuzz".to_owned(),
        path: "a".to_owned(),
    }
    .encode_to_vec();
    let mut all = vec![
        ("/prl.sandbox.v1.Sandboxes/RunOnce", once.encode_to_vec()),
        ("/prl.sandbox.v1.Sandboxes/RunTests", tests.encode_to_vec()),
        ("/prl.sandbox.v1.Sandboxes/Cancel", b"\x0a\x01k".to_vec()),
        ("/prl.sandbox.v1.Sandboxes/Capabilities", Vec::new()),
        ("/prl.sandbox.v1.Sandboxes/Health", Vec::new()),
        ("/prl.sandbox.v1.Boxes/Create", create.encode_to_vec()),
        ("/prl.sandbox.v1.Boxes/Exec", exec.encode_to_vec()),
        ("/prl.sandbox.v1.Boxes/Start", start.encode_to_vec()),
        ("/prl.sandbox.v1.Boxes/ReadFile", read.encode_to_vec()),
        ("/prl.sandbox.v1.Boxes/WriteFile", write.encode_to_vec()),
        ("/prl.sandbox.v1.Boxes/WriteArchive", write.encode_to_vec()),
        ("/prl.sandbox.v1.Boxes/Dial", dial.encode_to_vec()),
        ("/prl.sandbox.v1.Boxes/Accept", b"\x0a\x04fuzz".to_vec()),
        ("/prl.sandbox.v1.Boxes/Carry", b"\x0a\x04fuzz\x10\x01".to_vec()),
        ("/prl.sandbox.v1.Boxes/NoSuchMethod", path.clone()),
        ("/no.such.Service/Method", path.clone()),
    ];
    for method in OF_PATHS {
        all.push((method, path.clone()));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn random_messages_end_no_daemon() -> Outcome {
    unharmed(async |daemon, _| {
        let seeds = messages();
        let mut dice = Dice(7);
        let mut calls = tokio::task::JoinSet::new();
        for round in 0..rounds(600) {
            if calls.len() >= 8
                && let Some(done) = calls.join_next().await
            {
                done??;
            }
            let (method, valid) = &seeds[round % seeds.len()];
            let bytes = if round < seeds.len() {
                valid.clone()
            } else {
                dice.mutate(valid)
            };
            let (method, channel) = (*method, channel(&daemon.socket).await?);
            calls.spawn(async move {
                let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(64 << 20);
                grpc.ready().await.map_err(|error| error.to_string())?;
                let request = Request::new(tokio_stream::iter([bytes]));
                let http_path = method.parse().map_err(|_| method.to_owned())?;
                let answer = async {
                    // Any status is an answer.
                    if let Ok(reply) = grpc.streaming(request, http_path, Raw).await {
                        let mut stream = reply.into_inner();
                        while let Ok(Some(_)) = stream.message().await {}
                    }
                };
                tokio::time::timeout(PATIENCE, answer)
                    .await
                    .map_err(|_| format!("{method} does not answer"))
            });
        }
        while let Some(done) = calls.join_next().await {
            done??;
        }
        Ok(())
    })
    .await
}

// ---- frames ----

/// Records the bytes that a client writes for one run.
async fn recording(daemon: &Daemon) -> Result<Vec<u8>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("between");
    let listener = UnixListener::bind(&path)?;
    let socket = daemon.socket.clone();
    let between = tokio::spawn(async move {
        let (near, _) = listener.accept().await?;
        let (mut from_client, mut to_client) = near.into_split();
        let (mut from_daemon, mut to_daemon) = UnixStream::connect(socket).await?.into_split();
        let back = tokio::spawn(async move { tokio::io::copy(&mut from_daemon, &mut to_client).await });
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            // A client that is dropped with unread bytes resets the connection, which is also its end.
            let length = from_client.read(&mut buffer).await.unwrap_or(0);
            if length == 0 {
                break;
            }
            seen.extend_from_slice(&buffer[..length]);
            to_daemon.write_all(&buffer[..length]).await?;
        }
        back.abort();
        Ok::<_, io::Error>(seen)
    });
    let mut client = connect(&path).await?;
    client.run_once(command(&["/bin/true"])).await?;
    drop(client);
    Ok(between.await??)
}

#[tokio::test(flavor = "multi_thread")]
async fn random_frames_end_no_daemon() -> Outcome {
    unharmed(async |daemon, client| {
        let valid = recording(daemon).await?;
        assert!(valid.starts_with(b"PRI * HTTP/2.0"), "{}", valid.len());
        let mut dice = Dice(11);
        for round in 0..rounds(400) {
            let bytes = match dice.roll(8) {
                0 => (0..dice.roll(3000)).map(|_| dice.byte()).collect(),
                // The preface stays, so that the bytes after it are read as frames.
                1..=5 => [&valid[..24], &dice.mutate(&valid[24..])].concat(),
                _ => dice.mutate(&valid),
            };
            let mut stream = UnixStream::connect(&daemon.socket).await?;
            // The daemon may close before it has read everything.
            let _closed = stream.write_all(&bytes).await;
            if dice.roll(2) == 0 {
                let mut sink = [0; 4096];
                let _silent = tokio::time::timeout(Duration::from_millis(2), stream.read(&mut sink)).await;
            }
            if round % 100 == 0 {
                still_serves(client).await?;
            }
        }
        Ok(())
    })
    .await
}

/// A call that sends its bytes one at a time, calls that are reset at once, and connections that send nothing.
#[tokio::test(flavor = "multi_thread")]
async fn slow_and_hasty_callers() -> Outcome {
    unharmed(async |daemon, client| {
        let valid = recording(daemon).await?;
        let mut silent = Vec::new();
        for _ in 0..200 {
            silent.push(UnixStream::connect(&daemon.socket).await?);
        }
        for stream in &mut silent[..100] {
            stream.write_all(&valid[..valid.len().min(30)]).await?;
        }
        still_serves(client).await?;
        let mut slow = UnixStream::connect(&daemon.socket).await?;
        for byte in &valid {
            slow.write_all(std::slice::from_ref(byte)).await?;
        }
        // These calls have a separate connection, because the daemon ends a connection with too many calls that were
        // reset before they were handled.
        let hasty = daemon.client().await?;
        for _ in 0..rounds(300) {
            let mut client = hasty.clone();
            let call = client.run_once(command(&["sleep", "3"]));
            let _hung_up = tokio::time::timeout(Duration::from_micros(300), call).await;
        }
        still_serves(client).await
    })
    .await
}
