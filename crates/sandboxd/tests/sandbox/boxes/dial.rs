//! Connections to ports on a box's loopback.

use std::error::Error;
use std::time::Duration;

use prl_sandbox_proto::{Chunk, CloseRequest, DialRequest};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use super::{Boxes, boxes, shell, small};
use crate::support::{Daemon, Outcome, describe, text};

const PATIENCE: Duration = Duration::from_secs(20);
/// Sends hello and, after the end of its input, the input in upper case; `stay` makes it wait.
const SERVER: &str = r#"cat > server.py <<'PY'
import socket, threading, time
listener = socket.create_server(('127.0.0.1', 8000))
print('up', flush=True)
def serve(s):
    s.sendall(b'hello ')
    got = b''
    while chunk := s.recv(65536): got += chunk
    if got == b'stay': time.sleep(60)
    s.sendall(got.upper()); s.close()
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PY
setsid python3 server.py > log 2>&1 & until grep -q up log; do sleep 0.01; done"#;
/// Prints how its only connection ended.
const WAITER: &str = r#"cat > waiter.py <<'PY'
import socket
listener = socket.create_server(('127.0.0.1', 8000))
print('up', flush=True)
s, _ = listener.accept()
try: print('ended', s.recv(9) + s.recv(9), flush=True)
except OSError as e: print('ended', e, flush=True)
PY
setsid python3 waiter.py > log 2>&1 & until grep -q up log; do sleep 0.01; done"#;

struct Line {
    outgoing: mpsc::Sender<DialRequest>,
    incoming: Streaming<Chunk>,
}

async fn dial(boxes: &Boxes, id: &str, port: u32, data: &[u8]) -> Result<Line, Status> {
    let (outgoing, requests) = mpsc::channel(4);
    let first = DialRequest {
        r#box: id.to_owned(),
        port,
        data: data.to_vec().into(),
    };
    outgoing.send(first).await.map_err(|_| Status::internal("no room"))?;
    let incoming = boxes.clone().dial(ReceiverStream::new(requests)).await?.into_inner();
    Ok(Line { outgoing, incoming })
}

impl Line {
    async fn say(&self, data: &[u8]) -> Outcome {
        let message = DialRequest {
            data: data.to_vec().into(),
            ..DialRequest::default()
        };
        Ok(self.outgoing.send(message).await?)
    }

    /// Ends its side and reads the other to its end.
    async fn rest(self) -> Result<Vec<u8>, Box<dyn Error>> {
        let Self { outgoing, mut incoming } = self;
        drop(outgoing);
        let mut got = Vec::new();
        while let Some(chunk) = timeout(PATIENCE, incoming.message()).await?? {
            got.extend_from_slice(&chunk.data);
        }
        Ok(got)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_in_a_box_is_reached_by_its_port() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    client.create(small("one")).await?;
    client.create(small("two")).await?;
    shell(&client, "one", SERVER).await?;

    let line = dial(&client, "one", 8000, b"first ").await?;
    line.say(b"second").await?;
    assert_eq!(line.rest().await?, b"hello FIRST SECOND");

    let big = vec![b'a'; 2 << 20];
    let line = dial(&client, "one", 8000, b"").await?;
    line.say(&big).await?;
    let got = line.rest().await?;
    assert_eq!(got.len(), 6 + big.len());
    assert!(got[6..].iter().all(|byte| *byte == b'A'));

    for (id, port, code) in [
        ("one", 8001, Code::FailedPrecondition),
        ("two", 8000, Code::FailedPrecondition),
        ("three", 8000, Code::NotFound),
        ("one", 0, Code::InvalidArgument),
        ("one", 65_536 + 8000, Code::InvalidArgument),
    ] {
        let refused = dial(&client, id, port, b"").await;
        let status = refused.err().ok_or("it was connected")?;
        assert_eq!(status.code(), code, "{id} {port}: {status}");
    }

    let line = dial(&client, "one", 8000, b"stay").await?;
    let ended = tokio::spawn(async move { line.rest().await.map_err(|error| error.to_string()) });
    let close = CloseRequest {
        ids: vec!["one".to_owned()],
        ..CloseRequest::default()
    };
    client.close(close).await?;
    let got = timeout(PATIENCE, ended).await??;
    assert!(got.is_err() || got == Ok(b"hello ".to_vec()), "{got:?}");
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_hangs_up_closes_the_connection() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    client.create(small("one")).await?;
    shell(&client, "one", WAITER).await?;
    let line = dial(&client, "one", 8000, b"x").await?;
    drop(line);
    let seen = shell(&client, "one", "until grep ended log; do sleep 0.01; done").await?;
    assert!(text(&seen.stdout).starts_with("ended"), "{}", describe(&seen));
    daemon.stop()
}
