//! Callers that do not read their results: memory stays bounded in sum, others are asked to come later, and no result
//! is lost.

use std::time::Duration;

use prl_sandbox_proto::run_tests_event::Event;
use prl_sandbox_proto::sandboxes_client::SandboxesClient;
use prl_sandbox_proto::{
    ERROR_CODE_KEY, HealthRequest, RETRY_AFTER_KEY, RunOnceRequest, RunOnceResult, RunTestsRequest, TestCase,
};
use prost::Message;
use tonic::transport::Endpoint;
use tonic::{Code, Request, Streaming};

use crate::interface::fuzz::Raw;
use crate::support::census::{flat, resident_kib};
use crate::support::{Client, Daemon, Outcome, command, tcp, text, until};

const OUTPUT: usize = 4 << 20;
const KEPT: usize = 32 << 20;
const MAX_RUNNING: usize = 4;
const READERS: usize = 40;

/// A run whose result has this many bytes.
fn long_winded(key: &str) -> RunOnceRequest {
    let mut request = command(&["sh", "-c", &format!("yes {key} | head -c {OUTPUT}")]);
    let limits = request.limits.get_or_insert_default();
    limits.output_bytes = Some(OUTPUT as u64);
    limits.wall_ms = Some(60_000);
    request
}

/// Makes the call, and reads nothing of its result yet.
async fn unread(daemon: &Daemon, request: RunOnceRequest) -> Result<Streaming<prost::bytes::Bytes>, tonic::Status> {
    let lost = |error: tonic::transport::Error| tonic::Status::unavailable(error.to_string());
    let channel = Endpoint::from_shared(format!("unix:{}", daemon.socket.display()))
        .map_err(lost)?
        .initial_stream_window_size(1 << 16)
        .initial_connection_window_size(1 << 16)
        .connect()
        .await
        .map_err(lost)?;
    let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(64 << 20);
    grpc.ready().await.map_err(lost)?;
    let path = "/prl.sandbox.v1.Sandboxes/RunOnce".parse().expect("a path");
    let reply = grpc
        .server_streaming(Request::new(request.encode_to_vec()), path, Raw)
        .await?;
    Ok(reply.into_inner())
}

async fn completed(client: &Client) -> Result<u64, Box<dyn std::error::Error>> {
    Ok(client.clone().health(HealthRequest {}).await?.into_inner().completed)
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_results_make_others_wait_and_never_the_daemon_grow() -> Outcome {
    let (running, kept) = (MAX_RUNNING.to_string(), KEPT.to_string());
    let Some(daemon) = Daemon::start(&["--max-running", &running, "--park", "2", "--result-bytes", &kept])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    // The memory that one such run needs while it runs is included from the beginning.
    client.clone().run_once(long_winded("first")).await?;
    let before = resident_kib(daemon.pid());
    let mut calls = tokio::task::JoinSet::new();
    let daemon = std::sync::Arc::new(daemon);
    for reader in 0..READERS {
        let daemon = std::sync::Arc::clone(&daemon);
        calls.spawn(async move {
            let name = format!("reader-{reader}");
            (name.clone(), unread(&daemon, long_winded(&name)).await)
        });
    }
    // As many as are kept, and those that were running when the bound was reached.
    let most = KEPT / OUTPUT + MAX_RUNNING + 1;
    until("full", async || Ok(completed(&client).await? >= (KEPT / OUTPUT) as u64)).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let done = usize::try_from(completed(&client).await?)?;
    assert!(done <= most + 1, "{done} ended, at most {most} may");
    let hasty = RunOnceRequest {
        queue_ms: Some(300),
        ..command(&["true"])
    };
    let refused = client
        .clone()
        .run_once(hasty)
        .await
        .err()
        .ok_or("begun though there is no room")?;
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    let trailer = |key: &str| {
        refused
            .metadata()
            .get(key)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    assert_eq!(trailer(ERROR_CODE_KEY).as_deref(), Some("PRL_SANDBOX_OVERLOADED"));
    assert!(trailer(RETRY_AFTER_KEY).is_some_and(|after| after != "0"));
    let now = resident_kib(daemon.pid());
    let allowed = before + ((most * OUTPUT) >> 10) as u64;
    assert!(flat(allowed, now), "memory grew from {before} to {now} KiB");
    // Each result that is read makes room for others, until all have arrived.
    let mut right = 0;
    while let Some(call) = calls.join_next().await {
        let (name, reply) = call?;
        let mut reply = reply?;
        let message = reply.message().await?.ok_or("no result")?;
        let result = RunOnceResult::decode(message)?;
        let wanted = format!("{name}\n").repeat(OUTPUT / name.len() + 1);
        assert!(
            text(&result.stdout) == wanted[..OUTPUT],
            "{name}: {} bytes",
            text(&result.stdout).len()
        );
        right += 1;
    }
    assert_eq!(right, READERS);
    client.clone().run_once(command(&["true"])).await?;
    let now = resident_kib(daemon.pid());
    assert!(flat(before, now), "memory went from {before} to {now} KiB");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_who_does_not_read_holds_up_no_other() -> Outcome {
    let kept = KEPT.to_string();
    let arguments = ["--max-running", "4", "--park", "2", "--result-bytes", &kept];
    let Some((daemon, address)) = tcp::start("ann:token-of-ann\nben:token-of-ben\n", &arguments)? else {
        return Ok(());
    };
    let channel = Endpoint::from_shared(format!("http://{address}"))?
        .initial_stream_window_size(1 << 16)
        .initial_connection_window_size(1 << 16)
        .connect()
        .await?;
    let of = |token: &str, request: RunOnceRequest| {
        let mut request = Request::new(request);
        let value = format!("Bearer {token}").parse().expect("a header");
        request.metadata_mut().insert("authorization", value);
        request
    };
    let mut calls = tokio::task::JoinSet::new();
    for reader in 0..READERS {
        let mut grpc = tonic::client::Grpc::new(channel.clone()).max_decoding_message_size(64 << 20);
        let request = of("token-of-ann", long_winded(&format!("reader-{reader}"))).map(|run| run.encode_to_vec());
        calls.spawn(async move {
            grpc.ready().await.expect("a connection");
            let path = "/prl.sandbox.v1.Sandboxes/RunOnce".parse().expect("a path");
            grpc.server_streaming(request, path, Raw).await
        });
    }
    let client = daemon.client().await?;
    until("full", async || {
        Ok(completed(&client).await? >= (KEPT / OUTPUT) as u64 - 1)
    })
    .await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let done = completed(&client).await?;
    assert!(done < READERS as u64, "{done} of hers ended");
    let other = Endpoint::from_shared(format!("http://{address}"))?.connect().await?;
    for turn in 0..4 {
        let hasty = RunOnceRequest {
            queue_ms: Some(3000),
            ..command(&["echo", "his"])
        };
        let result = SandboxesClient::new(other.clone())
            .run_once(of("token-of-ben", hasty))
            .await?;
        assert_eq!(text(&result.get_ref().stdout), "his\n", "turn {turn}");
    }
    let hasty = RunOnceRequest {
        queue_ms: Some(300),
        ..command(&["true"])
    };
    let refused = SandboxesClient::new(other).run_once(of("token-of-ann", hasty)).await;
    assert_eq!(refused.err().map(|status| status.code()), Some(Code::ResourceExhausted));
    calls.shutdown().await;
    drop(channel);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_tests_that_stops_reading_stops_only_its_tests() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "2", "--max-running", "1"])? else {
        return Ok(());
    };
    let cases = 30;
    let request = RunTestsRequest {
        request: Some(long_winded("case")),
        cases: vec![TestCase::default(); cases],
        ..RunTestsRequest::default()
    };
    let channel = Endpoint::from_shared(format!("unix:{}", daemon.socket.display()))?
        .initial_stream_window_size(1 << 16)
        .connect()
        .await?;
    let before = resident_kib(daemon.pid());
    let mut events = SandboxesClient::new(channel)
        .max_decoding_message_size(64 << 20)
        .run_tests(request)
        .await?
        .into_inner();
    // All of them together would be four times the bound.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let now = resident_kib(daemon.pid());
    assert!(flat(before + (48 << 10), now), "memory grew from {before} to {now} KiB");
    // The request no longer has the only slot.
    let another = RunOnceRequest {
        queue_ms: Some(10_000),
        ..command(&["echo", "another"])
    };
    let another = daemon.client().await?.run_once(another).await?.into_inner();
    assert_eq!(text(&another.stdout), "another\n");
    let mut received = 0;
    while let Some(event) = events.message().await? {
        match event.event {
            Some(Event::Case(case)) => {
                let output = case.result.and_then(|result| result.stdout).ok_or("no output")?;
                assert_eq!(output.total, OUTPUT as u64);
                received += 1;
            }
            Some(Event::End(end)) => assert_eq!((end.completed, end.error_code.as_str()), (30, "")),
            other => return Err(format!("{other:?}").into()),
        }
    }
    assert_eq!(received, cases);
    daemon.stop()
}
