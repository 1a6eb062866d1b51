//! Several daemons on one machine behind one client: spreading, kill -9, draining, coming back.

use std::collections::{BTreeMap, HashSet};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use prl_sandbox_client::{Client, ConnectOptions, RunOutcome};
use prl_sandbox_proto::{Cause, RunOnceRequest};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Outcome, Result, a_box, connect, exec, never, run, stdout, unix};
use crate::support::Daemon;

/// Starts daemons with two places each.
async fn daemons(count: usize) -> Result<Option<(Vec<Daemon>, Client)>> {
    let mut daemons = Vec::new();
    for _ in 0..count {
        let Some(daemon) = Daemon::start(&["--max-running", "2", "--max-queued", "2", "--park", "1"])? else {
            return Ok(None);
        };
        daemons.push(daemon);
    }
    let addresses: Vec<String> = daemons.iter().map(unix).collect();
    let client = connect(&addresses, ConnectOptions::default()).await?;
    Ok(Some((daemons, client)))
}

fn at_once(client: &Client, requests: Vec<RunOnceRequest>) -> JoinSet<RunOutcome> {
    let mut runs = JoinSet::new();
    for request in requests {
        let client = client.clone();
        runs.spawn(async move { client.run_once(request, &never()).await.expect("no mistake") });
    }
    runs
}

fn sleeps(count: usize, seconds: &str, name: &str) -> Vec<RunOnceRequest> {
    (0..count)
        .map(|i| run(&["sleep", seconds], &format!("{name}-{i}")))
        .collect()
}

/// The number of completed runs, by address.
async fn completed(client: &Client) -> Result<BTreeMap<String, u64>> {
    let health = client.health().await?;
    Ok(health
        .into_iter()
        .map(|(address, health)| (address, health.completed))
        .collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_spread_and_a_full_daemon_is_passed_over() -> Outcome {
    let Some((_daemons, client)) = daemons(3).await? else {
        return Ok(());
    };
    // Nine of twelve places, queues included: one daemon alone has four.
    let runs = at_once(&client, sleeps(9, "2", "spread")).join_all().await;
    for outcome in &runs {
        assert_eq!(outcome.result.cause(), Cause::Exited, "{:?}", outcome.result);
    }
    let by_daemon = completed(&client).await?;
    assert_eq!(by_daemon.values().sum::<u64>(), 9, "{by_daemon:?}");
    assert!(by_daemon.values().all(|&count| count >= 1), "{by_daemon:?}");

    let flood = at_once(&client, sleeps(40, "0.5", "flood")).join_all().await;
    let refused: Vec<_> = flood
        .iter()
        .filter(|outcome| outcome.result.cause() == Cause::Infra)
        .collect();
    assert!(!refused.is_empty() && refused.len() < 40, "{}", refused.len());
    for outcome in refused {
        assert_eq!(outcome.result.error_code, "PRL_SANDBOX_OVERLOADED");
        assert!(outcome.retry_after.is_some());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_makes_only_its_runs_infra() -> Outcome {
    let Some((mut daemons, client)) = daemons(3).await? else {
        return Ok(());
    };
    let runs = at_once(&client, sleeps(6, "2", "killed"));
    sleep(Duration::from_millis(500)).await;
    daemons[0].kill()?;
    let outcomes = runs.join_all().await;
    let infra: Vec<_> = outcomes
        .iter()
        .filter(|outcome| outcome.result.cause() == Cause::Infra)
        .collect();
    assert!(infra.len() <= 4, "what ran and waited there: {outcomes:?}");
    for outcome in &infra {
        assert_eq!(outcome.result.error_code, "PRL_SANDBOX_CONNECTION_LOST");
        assert_eq!(outcome.result.exit_code, None);
    }
    let rest = outcomes.len() - infra.len();
    assert_eq!(
        outcomes.iter().filter(|one| one.result.exit_code == Some(0)).count(),
        rest
    );
    // New work does not wait for dead daemons.
    let began = Instant::now();
    for i in 0..20 {
        let outcome = client.run_once(run(&["true"], &format!("after-{i}")), &never()).await?;
        assert_eq!(outcome.result.cause(), Cause::Exited, "{:?}", outcome.result);
    }
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(client.health().await?.len(), 2);
    Ok(())
}

/// A daemon on a socket path that outlives it.
struct Placed {
    child: Child,
    socket: String,
}

impl Placed {
    fn start(folder: &TempDir, name: &str) -> Result<Self> {
        let socket = folder.path().join(name);
        let child = Command::new(env!("CARGO_BIN_EXE_prl-sandboxd"))
            .arg("--socket")
            .arg(&socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            child,
            socket: format!("unix:{}", socket.display()),
        })
    }

    fn signal(&mut self, signal: i32) -> Outcome {
        // SAFETY: our own child, not reaped yet.
        unsafe { libc::kill(self.child.id() as i32, signal) };
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Waits until that many daemons take work.
async fn serving(client: &Client, count: usize) -> Outcome {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        let health = client.health().await.unwrap_or_default();
        if health.iter().filter(|(_, health)| health.serving).count() == count {
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err(format!("{count} daemons do not come up").into())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_comes_back_gets_work_again() -> Outcome {
    if Daemon::start(&[])?.is_none() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let mut first = Placed::start(&folder, "first")?;
    let second = Placed::start(&folder, "second")?;
    let addresses = [first.socket.clone(), second.socket.clone()];
    let client = loop {
        match connect(&addresses, ConnectOptions::default()).await {
            Ok(client) => break client,
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    };
    serving(&client, 2).await?;
    first.signal(libc::SIGKILL)?;
    // A run that is sent before the client has seen the end of the connection may have been taken: then it is lost, and
    // not sent elsewhere.
    serving(&client, 1).await?;
    for i in 0..10 {
        let outcome = client.run_once(run(&["true"], &format!("alone-{i}")), &never()).await?;
        assert_eq!(outcome.result.cause(), Cause::Exited, "{:?}", outcome.result);
    }
    let again = Placed::start(&folder, "first")?;
    serving(&client, 2).await?;
    let until = Instant::now() + Duration::from_secs(30);
    for i in 0.. {
        client.run_once(run(&["true"], &format!("again-{i}")), &never()).await?;
        if completed(&client)
            .await?
            .get(&again.socket)
            .is_some_and(|&count| count > 0)
        {
            return Ok(());
        }
        if Instant::now() > until {
            break;
        }
    }
    Err("the daemon that came back gets no work".into())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_daemon_finishes_its_runs_and_gets_no_new_ones() -> Outcome {
    let Some((mut daemons, client)) = daemons(2).await? else {
        return Ok(());
    };
    let runs = at_once(&client, sleeps(2, "1", "drain"));
    sleep(Duration::from_millis(400)).await;
    let stopping = daemons.remove(0);
    let stopped = tokio::task::spawn_blocking(move || stopping.stop().map_err(|error| error.to_string()));
    sleep(Duration::from_millis(100)).await;
    let new = at_once(&client, (0..2).map(|i| run(&["true"], &format!("new-{i}"))).collect());
    for outcome in runs.join_all().await.iter().chain(&new.join_all().await) {
        assert_eq!(outcome.result.cause(), Cause::Exited, "{:?}", outcome.result);
    }
    stopped.await??;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn boxes_are_spread_and_stay_where_they_are() -> Outcome {
    let Some((mut daemons, client)) = daemons(2).await? else {
        return Ok(());
    };
    let mut boxes = Vec::new();
    for i in 0..12 {
        let held = client.create(a_box(&format!("box-{i}"))).await?;
        held.exec(exec(&["sh", "-c", &format!("echo {i} > note")], "w"), &never())
            .await?;
        boxes.push(held);
    }
    let listed = client.list([].into()).await?;
    let places: HashSet<&str> = listed.iter().map(|(address, _)| address.as_str()).collect();
    assert_eq!((listed.len(), places.len()), (12, 2));
    for (i, held) in boxes.iter().enumerate() {
        let outcome = held.exec(exec(&["cat", "note"], "r"), &never()).await?;
        assert_eq!(stdout(&outcome), format!("{i}\n"));
    }
    let dead = unix(&daemons[0]);
    let of_the_dead: HashSet<&str> = listed
        .iter()
        .filter(|(address, _)| *address == dead)
        .map(|(_, info)| info.id.as_str())
        .collect();
    daemons[0].kill()?;
    for held in &boxes {
        let outcome = held.exec(exec(&["cat", "note"], "after"), &never()).await?;
        let expected = if of_the_dead.contains(held.id()) {
            Cause::Infra
        } else {
            Cause::Exited
        };
        assert_eq!(outcome.result.cause(), expected, "{}: {:?}", held.id(), outcome.result);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_stands_for_every_address_that_it_has() -> Outcome {
    let Some(daemon) = Daemon::start_with(&["--listen", "127.0.0.1:0"], &[("PRL_SANDBOX_TOKEN", "t")])? else {
        return Ok(());
    };
    let address = super::tcp(&daemon)?;
    let port = address.rsplit(':').next().ok_or("no port")?;
    let options = ConnectOptions {
        token: Some("t".to_owned()),
        ..ConnectOptions::default()
    };
    let client = connect(&[format!("dns:localhost:{port}")], options).await?;
    let outcome = client.run_once(run(&["echo", "by name"], "k"), &never()).await?;
    assert_eq!(stdout(&outcome), "by name\n");
    Ok(())
}
