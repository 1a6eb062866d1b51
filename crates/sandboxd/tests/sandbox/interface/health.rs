//! `grpc.health.v1` on TCP: the only service that answers without a token.

use std::time::Duration;

use prl_sandbox_proto::health::HealthCheckRequest;
use prl_sandbox_proto::health::health_check_response::ServingStatus;
use prl_sandbox_proto::health::health_client::HealthClient;
use prl_sandbox_proto::{ERROR_CODE_KEY, LOAD_KEY};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::interface::fuzz::Raw;
use crate::support::{Daemon, Outcome, channel, command, running, tcp, until};

fn of(service: &str) -> HealthCheckRequest {
    HealthCheckRequest {
        service: service.to_owned(),
    }
}

/// A daemon on TCP with a token, and a connection to it.
async fn on_tcp() -> Result<Option<(Daemon, Channel)>, Box<dyn std::error::Error>> {
    let Some((daemon, address)) = tcp::start("secret\n", &["--park", "0", "--drain-ms", "3000"])? else {
        return Ok(None);
    };
    let channel = Channel::from_shared(format!("http://{address}"))?.connect().await?;
    Ok(Some((daemon, channel)))
}

#[tokio::test(flavor = "multi_thread")]
async fn health_needs_no_token_and_everything_else_does() -> Outcome {
    let Some((_daemon, channel)) = on_tcp().await? else {
        return Ok(());
    };
    let mut health = HealthClient::new(channel.clone());
    for service in ["", "prl.sandbox.v1.Sandboxes", "prl.sandbox.v1.Boxes"] {
        let reply = health.check(of(service)).await?;
        assert_eq!(reply.get_ref().status(), ServingStatus::Serving);
        assert!(
            !reply.metadata().contains_key(LOAD_KEY),
            "one bit and no more: {reply:?}"
        );
    }
    let unknown = health
        .check(of("grpc.health.v1.Other"))
        .await
        .err()
        .ok_or("it is known")?;
    assert_eq!(unknown.code(), Code::NotFound);
    let mut watched = health.watch(of("other")).await?.into_inner();
    let answer = watched.message().await?.ok_or("nothing")?;
    assert_eq!(answer.status(), ServingStatus::ServiceUnknown);

    // Methods that exist and methods that do not are refused in the same way.
    let mut refusals: Vec<(Code, String, Option<String>)> = Vec::new();
    for path in [
        "/prl.sandbox.v1.Sandboxes/Health",
        "/prl.sandbox.v1.Sandboxes/RunOnce",
        "/prl.sandbox.v1.Sandboxes/Capabilities",
        "/prl.sandbox.v1.Boxes/List",
        "/prl.sandbox.v1.Boxes/NoSuchMethod",
        "/no.such.Service/Method",
        "/grpc.health.v1.Healthy/Check",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    ] {
        let mut grpc = tonic::client::Grpc::new(channel.clone());
        grpc.ready().await?;
        let answer: Result<tonic::Response<_>, Status> = grpc.unary(Request::new(Vec::new()), path.parse()?, Raw).await;
        let status = answer.err().ok_or_else(|| format!("{path} was answered"))?;
        assert!(!status.metadata().contains_key(LOAD_KEY), "{path}: {status:?}");
        let code = status
            .metadata()
            .get(ERROR_CODE_KEY)
            .and_then(|code| code.to_str().ok());
        refusals.push((status.code(), status.message().to_owned(), code.map(str::to_owned)));
    }
    refusals.dedup();
    let [(code, _, name)] = &refusals[..] else {
        return Err(format!("the refusals differ: {refusals:?}").into());
    };
    assert_eq!(
        (*code, name.as_deref()),
        (Code::Unauthenticated, Some("PRL_SANDBOX_UNAUTHENTICATED"))
    );

    // A question that is longer than any name is not read.
    let long = health
        .check(of(&"x".repeat(1 << 16)))
        .await
        .err()
        .ok_or("it was read")?;
    assert_eq!(long.code(), Code::OutOfRange);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_reports_that_the_daemon_drains() -> Outcome {
    let Some((daemon, channel_tcp)) = on_tcp().await? else {
        return Ok(());
    };
    let mut health = HealthClient::new(channel_tcp);
    let mut watched = [
        health.watch(of("")).await?.into_inner(),
        HealthClient::new(channel(&daemon.socket).await?)
            .watch(of(""))
            .await?
            .into_inner(),
    ];
    for stream in &mut watched {
        let answer = stream.message().await?.ok_or("nothing")?;
        assert_eq!(answer.status(), ServingStatus::Serving);
    }
    // A run keeps the daemon waiting, so that there is time between draining and the end.
    let mut client = daemon.client().await?;
    let mut caller = client.clone();
    let run = tokio::spawn(async move { caller.run_once(command(&["sleep", "1"])).await });
    until("running", async || Ok(running(&mut client).await? == 1)).await?;
    let stopping = tokio::task::spawn_blocking(move || daemon.stop().map_err(|error| error.to_string()));
    for stream in &mut watched {
        let answer = tokio::time::timeout(Duration::from_secs(2), stream.message()).await??;
        assert_eq!(answer.ok_or("nothing")?.status(), ServingStatus::NotServing);
    }
    // The program that ran meanwhile still gets its answer.
    run.await??;
    Ok(stopping.await??)
}
