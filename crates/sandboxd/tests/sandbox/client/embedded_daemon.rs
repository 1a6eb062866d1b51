//! The client's own daemon is killed: its boxes and runs are reported as lost, and the next daemon takes its place.

use std::time::{Duration, Instant};

use prl_sandbox_client::{Client, DaemonOptions, EmbeddedDaemon};
use prl_sandbox_proto::Cause;

use super::{Outcome, Result, a_box, exec, never, run, stdout};
use crate::support::{SETTLE, settles, skip, slowness};

/// `None` where no sandbox can be made.
async fn own() -> Result<Option<Client>> {
    let options = DaemonOptions {
        binary: env!("CARGO_BIN_EXE_prl-sandboxd").into(),
        args: ["--park", "1"].map(str::to_owned).into(),
        start_timeout: None,
    };
    match EmbeddedDaemon::start(options).await {
        Ok(daemon) => Ok(Some(Client::embedded(daemon).await?)),
        Err(error) if error.to_string().contains("PRL_SANDBOX_SETUP") => {
            skip("this machine cannot make sandboxes");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn kill(client: &Client) -> Result<u32> {
    let pid = client.daemon_pid().ok_or("no daemon")?;
    // SAFETY: a child of this process, whose end the client waits for: the number is its own until then.
    unsafe { libc::kill(i32::try_from(pid)?, libc::SIGKILL) };
    Ok(pid)
}

/// Waits until this many runs go on.
async fn busy(client: &Client, runs: u32) -> Outcome {
    let deadline = Instant::now() + SETTLE * slowness();
    while client.health().await?.iter().all(|(_, health)| health.running < runs) {
        if Instant::now() > deadline {
            return Err("they do not begin".into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_takes_the_place_of_one_that_was_killed() -> Outcome {
    let Some(client) = own().await? else { return Ok(()) };
    let held = client.create(a_box("held")).await?;
    let mut known = vec![client.daemon_pid()];
    for round in 0..2 {
        let sleeps: Vec<_> = (0..3)
            .map(|number| {
                let (client, key) = (client.clone(), format!("sleep-{round}-{number}"));
                tokio::spawn(async move { client.run_once(run(&["sleep", "60"], &key), &never()).await })
            })
            .collect();
        busy(&client, 3).await?;
        let killed = kill(&client)?;
        for sleeping in sleeps {
            let outcome = sleeping.await??;
            assert_eq!(outcome.result.error_code, "PRL_SANDBOX_DAEMON_EXITED", "{outcome:?}");
            assert!(outcome.result.reason.contains("SIGKILL"), "{outcome:?}");
        }
        // All at once: they share one daemon.
        let after: Vec<_> = (0..8)
            .map(|number| {
                let (client, key) = (client.clone(), format!("echo-{round}-{number}"));
                tokio::spawn(async move { client.run_once(run(&["echo", "well"], &key), &never()).await })
            })
            .collect();
        for running in after {
            let outcome = running.await??;
            assert_eq!(
                (outcome.result.cause(), stdout(&outcome).as_str()),
                (Cause::Exited, "well\n"),
                "{outcome:?}"
            );
        }
        assert!(!known.contains(&client.daemon_pid()), "{known:?}");
        known.push(client.daemon_pid());
        // Processes outside groups may belong to other daemons.
        settles(killed, |found| found.iter().all(|trace| trace.starts_with("process "))).await?;
    }
    // Boxes of the first daemon are reported as lost, also to callers that ask only now.
    let lost = held.exec(exec(&["true"], "late"), &never()).await?;
    assert_eq!(lost.result.cause(), Cause::Infra, "{lost:?}");
    assert!(
        ["DAEMON_EXITED", "DAEMON_RESTARTED", "BOX_ENDED"]
            .iter()
            .any(|name| lost.result.error_code.ends_with(name)),
        "{lost:?}"
    );
    let error = held.stat("x").await.err().ok_or("a file of a lost box")?;
    assert_eq!(error.code(), lost.result.error_code);
    held.close().await?;
    client.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_keeps_dying_is_not_started_for_ever() -> Outcome {
    let Some(client) = own().await? else { return Ok(()) };
    let (mut starts, mut last) = (0, None);
    // More often than the daemon is started again.
    for turn in 0..40 {
        let outcome = client
            .run_once(run(&["true"], &format!("turn-{turn}")), &never())
            .await?;
        match outcome.result.cause() {
            Cause::Exited => {
                starts += 1;
                kill(&client)?;
            }
            _ => last = Some(outcome.result),
        }
        if last
            .as_ref()
            .is_some_and(|last| last.reason.contains("is not for another"))
        {
            break;
        }
    }
    let last = last.ok_or_else(|| format!("it was started {starts} times"))?;
    assert_eq!(last.error_code, "PRL_SANDBOX_DAEMON_EXITED", "{last:?}");
    assert!(last.reason.contains("is not for another"), "{last:?}");
    assert!((2..=7).contains(&starts), "{starts}");
    let asked = Instant::now();
    let refused = client.health().await.err().ok_or("it answers")?;
    assert_eq!(refused.code(), "PRL_SANDBOX_UNREACHABLE");
    assert!(asked.elapsed() < SETTLE * slowness(), "it is said at once");
    client.close().await;
    Ok(())
}
