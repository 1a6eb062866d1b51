//! Tests of one program whose sandbox is lost.

use prl_sandbox_client::{Client, ConnectOptions, TestEvent};
use prl_sandbox_proto::{Cause, RunTestsRequest, TestCase};

use super::{Outcome, Result, connect, never, run, unix};
use crate::support::{Daemon, census, skip};

/// How a case ended, and why it has no result, if it has none.
async fn killed_once(daemon: &Daemon, client: &Client, key: &str) -> Result<(Option<i32>, Option<String>)> {
    let request = RunTestsRequest {
        request: Some(run(&["sleep", "2"], key)),
        cases: vec![TestCase::default()],
        ..RunTestsRequest::default()
    };
    let mut tests = client.run_tests(request, never())?;
    census::kill_inits(daemon.pid(), "sleep").await?;
    let (mut cause, mut why) = (None, None);
    while let Some(event) = tests.next().await {
        match event? {
            TestEvent::Case { outcome, .. } => cause = Some(outcome.result.cause),
            TestEvent::End(early) => why = early.map(|outcome| outcome.result.error_code),
            TestEvent::Build(_) => {}
        }
    }
    Ok((cause, why))
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_a_key_run_again() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("the test needs a separate init for each sandbox");
        return Ok(());
    }
    let client = connect(&[unix(&daemon)], ConnectOptions::default()).await?;
    assert_eq!(
        killed_once(&daemon, &client, "").await?,
        (Some(Cause::Exited.into()), None)
    );
    let (cause, why) = killed_once(&daemon, &client, "a-key").await?;
    assert!(cause.is_none() && why.is_some(), "{cause:?} {why:?}");
    client.close().await;
    daemon.stop()
}
