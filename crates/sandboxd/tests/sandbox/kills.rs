//! kill -9 of each kind of process under load: every answer is true, and nothing is left behind.

use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use prl_sandbox_proto::{CapabilitiesRequest, Cause, HealthRequest, RunOnceResult};

use crate::interface::metrics::{of, page};
use crate::run_tests::{judge, tests};
use crate::support::census::{Census, Process, children, spawner, tree};
use crate::support::load::Load;
use crate::support::{Client, Daemon, Outcome, cause, command, connect, describe, running, settles, skip, text, until};

const LANES: usize = 12;
/// How many answers there are before the load is well under way.
const UNDER_WAY: usize = 40;
/// How long a spawner may take for an answer.
const HANGS: Duration = Duration::from_secs(20);

fn kill(pid: u32, signal: i32) {
    // SAFETY: a process that this test's daemon started.
    unsafe { libc::kill(libc::pid_t::try_from(pid).unwrap_or(0), signal) };
}

async fn under_way(load: &Load) -> Outcome {
    until("under way", async || {
        Ok(load.tally.right.load(Ordering::Relaxed) >= UNDER_WAY)
    })
    .await
}

async fn quiet(client: &Client, parked: u32) -> Outcome {
    until("quiet", async || {
        let health = client.clone().health(HealthRequest {}).await?.into_inner();
        Ok(health.running == 0 && health.parked == parked)
    })
    .await
}

fn check_reported_ends(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong answers:\n{}", wrong.len(), wrong.join("\n"));
}

/// Makes one short run, which must be answered in time.
async fn answered(client: &Client, argv: &[&str]) -> Result<RunOnceResult, Box<dyn Error>> {
    let call = async { client.clone().run_once(command(argv)).await };
    Ok(tokio::time::timeout(Duration::from_secs(40), call).await??.into_inner())
}

/// A daemon whose sandboxes differ visibly from other processes of the machine.
fn start(arguments: &[&str]) -> Result<Option<Daemon>, Box<dyn Error>> {
    let Some(daemon) = Daemon::start(arguments)? else {
        return Ok(None);
    };
    if !daemon.is_full() {
        skip("without separate groups and users, sandboxes look like other processes");
        return Ok(None);
    }
    Ok(Some(daemon))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon() -> Outcome {
    let Some(mut daemon) = start(&["--max-running", "8", "--park", "4"])? else {
        return Ok(());
    };
    let load = Load::start(&daemon.client().await?, LANES);
    under_way(&load).await?;
    let below = tree(daemon.pid());
    assert!(below.len() > 4, "{below:?}");
    daemon.kill()?;
    let tally = std::sync::Arc::clone(&load.tally);
    check_reported_ends(&load.end().await);
    assert_eq!(tally.lost.load(Ordering::Relaxed), LANES, "{tally:?}");
    settles(daemon.pid(), |found| found.is_empty()).await?;
    let alive = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") S "));
    until("all gone", async || Ok(!below.iter().any(|process| alive(process.pid)))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_between_an_order_and_its_answer() -> Outcome {
    let Some(mut daemon) = start(&["--max-running", "8", "--park", "4"])? else {
        return Ok(());
    };
    let load = Load::start(&daemon.client().await?, LANES);
    under_way(&load).await?;
    let spawner = spawner(daemon.pid())?;
    // First the order gets no answer. Then it is answered, but the daemon never reads the answer.
    let pause = Duration::from_millis(200);
    kill(spawner, libc::SIGSTOP);
    tokio::time::sleep(pause).await;
    kill(daemon.pid(), libc::SIGSTOP);
    kill(spawner, libc::SIGCONT);
    tokio::time::sleep(pause).await;
    daemon.kill()?;
    check_reported_ends(&load.end().await);
    settles(daemon.pid(), |found| found.is_empty()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_spawner() -> Outcome {
    let Some(mut daemon) = start(&["--max-running", "8", "--park", "4"])? else {
        return Ok(());
    };
    let load = Load::start(&daemon.client().await?, LANES);
    under_way(&load).await?;
    kill(spawner(daemon.pid())?, libc::SIGKILL);
    let status = daemon.ended().await?;
    assert_eq!(status.code(), Some(1), "it must say that it failed");
    check_reported_ends(&load.end().await);
    settles(daemon.pid(), |found| found.is_empty()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_spawner_that_stands_still() -> Outcome {
    let Some(mut daemon) = start(&["--park", "1"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    quiet(&client, 1).await?;
    kill(spawner(daemon.pid())?, libc::SIGSTOP);
    let runs = (0..3).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.clone().run_once(command(&["true"])).await })
    });
    let runs: Vec<_> = runs.collect();
    tokio::time::sleep(HANGS).await;
    let status = daemon.ended().await?;
    assert_eq!(status.code(), Some(1), "it must say that it failed");
    let mut ended = 0;
    for run in runs {
        // The parked sandbox has run its program; the others name the spawner, or their connection is gone.
        if let Ok(answer) = run.await? {
            let result = answer.into_inner();
            let lost = cause(&result) == Cause::Infra && result.error_code == "PRL_SANDBOX_SPAWNER";
            assert!(lost || cause(&result) == Cause::Exited, "{}", describe(&result));
            ended += usize::from(!lost);
        }
    }
    assert!(ended <= 1, "{ended} ran without a spawner");
    settles(daemon.pid(), |found| found.is_empty()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn daemon_and_spawner_together() -> Outcome {
    let Some(mut daemon) = start(&["--park", "3"])? else {
        return Ok(());
    };
    let load = Load::start(&daemon.client().await?, LANES);
    under_way(&load).await?;
    let spawner = spawner(daemon.pid())?;
    kill(spawner, libc::SIGSTOP);
    daemon.kill()?;
    kill(spawner, libc::SIGKILL);
    check_reported_ends(&load.end().await);
    settles(daemon.pid(), |found| {
        found.iter().all(|trace| !trace.starts_with("process"))
    })
    .await?;
    let Some(next) = start(&["--park", "0"])? else {
        return Ok(());
    };
    settles(daemon.pid(), |found| found.is_empty()).await?;
    next.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn inits() -> Outcome {
    let Some(daemon) = start(&["--max-running", "8", "--park", "3"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    quiet(&client, 3).await?;
    let before = Census::settled(daemon.pid()).await?;
    let load = Load::start(&client, LANES);
    let spawner = spawner(daemon.pid())?;
    let mut killed = 0;
    let deadline = Instant::now() + Duration::from_secs(30);
    while killed < 30 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
        // An init that runs a program has a child.
        let all = tree(daemon.pid());
        let busy = |init: &&crate::support::census::Process| all.iter().any(|process| process.parent == init.pid);
        if let Some(init) = all.iter().filter(|process| process.parent == spawner).find(busy) {
            kill(init.pid, libc::SIGKILL);
            killed += 1;
        }
    }
    let tally = std::sync::Arc::clone(&load.tally);
    check_reported_ends(&load.end().await);
    // Some were ending anyway.
    let infra = tally.infra.load(Ordering::Relaxed);
    assert!((5..=killed).contains(&infra), "{killed} killed: {tally:?}");
    assert_eq!(tally.lost.load(Ordering::Relaxed), 0);
    let result = answered(&client, &["echo", "well"]).await?;
    assert_eq!(
        (cause(&result), text(&result.stdout).as_str()),
        (Cause::Exited, "well\n"),
        "{}",
        describe(&result)
    );
    quiet(&client, 3).await?;
    before.returns(daemon.pid()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_inits() -> Outcome {
    let Some(daemon) = start(&["--max-running", "8", "--park", "4"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    quiet(&client, 4).await?;
    let before = Census::settled(daemon.pid()).await?;
    assert_eq!(kill_all_inits(&daemon).await?, 4);
    for _ in 0..8 {
        run_well(&client, &["echo", "well"], "exec").await?;
    }
    quiet(&client, 4).await?;
    before.returns(daemon.pid()).await
}

/// Kills the inits of all sandboxes and waits for their end. Returns how many there were.
async fn kill_all_inits(daemon: &Daemon) -> Result<usize, Box<dyn Error>> {
    let spawner = spawner(daemon.pid())?;
    let is_init = |process: &Process| !process.name.starts_with("python");
    let inits: Vec<_> = children(daemon.pid(), spawner).into_iter().filter(is_init).collect();
    for init in &inits {
        kill(init.pid, libc::SIGKILL);
    }
    until("dead", async || {
        let left = children(daemon.pid(), spawner);
        Ok(!left.iter().any(|process| inits.contains(process)))
    })
    .await?;
    Ok(inits.len())
}

/// A sandbox that died before it was given out must not change a result.
async fn run_well(client: &Client, argv: &[&str], runtime: &str) -> Outcome {
    let result = answered(client, argv).await?;
    assert_eq!(
        (cause(&result), text(&result.stdout).as_str(), result.runtime.as_str()),
        (Cause::Exited, "well\n", runtime),
        "{}",
        describe(&result)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_inits_of_warm_runtimes() -> Outcome {
    let arguments = ["--park", "2", "--warm", "python=2", "--metrics-address", "0"];
    let Some(daemon) = start(&arguments)? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    let capabilities = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
    if capabilities.runtimes.is_empty() {
        skip("no warm Python");
        return Ok(());
    }
    let pid = daemon.pid();
    let print = ["python3", "-c", "print('well')"];
    // Under a key nothing is begun again.
    let judged = async |key: &str| {
        let mut request = tests(command(&print), &[""; 8]);
        request.request.get_or_insert_default().idempotency_key = key.to_owned();
        let judged = judge(&client, request).await?;
        assert_eq!(judged.outputs(), ["well\n"; 8]);
        Outcome::Ok(())
    };
    let all_parked = async || {
        quiet(&client, 4).await?;
        until("nurseries", async || {
            let name = "prl_sandbox_parked_for_tests{runtime=\"python\"}";
            Ok(of(&page(&daemon).await?.0, name) == 2.0)
        })
        .await
    };
    // From now on nurseries are parked too.
    judged("first").await?;
    for key in ["second", "third"] {
        all_parked().await?;
        assert_eq!(kill_all_inits(&daemon).await?, 6);
        judged(key).await?;
        for _ in 0..4 {
            run_well(&client, &print, "python").await?;
            run_well(&client, &["echo", "well"], "exec").await?;
        }
    }
    all_parked().await?;
    daemon.stop()?;
    settles(pid, |found| found.is_empty()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client() -> Outcome {
    let Some(daemon) = start(&["--max-running", "8", "--park", "2"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    quiet(&client, 2).await?;
    let before = Census::settled(daemon.pid()).await?;
    let mut caller = Command::new(std::env::current_exe()?)
        .args(["--ignored", "--exact", "kills::as_a_client"])
        .env("PRL_TEST_SOCKET", &daemon.socket)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    until("busy", async || Ok(running(&mut client.clone()).await? == 8)).await?;
    caller.kill()?;
    caller.wait()?;
    quiet(&client, 2).await?;
    before.returns(daemon.pid()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_template_interpreter() -> Outcome {
    let Some(daemon) = start(&["--max-running", "8", "--park", "2", "--warm", "python=3"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    let capabilities = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
    if capabilities.runtimes.is_empty() {
        skip("no warm Python");
        return Ok(());
    }
    quiet(&client, 5).await?;
    let before = Census::settled(daemon.pid()).await?;
    let load = Load::start(&client, LANES);
    for _ in 0..3 {
        let spawner = spawner(daemon.pid())?;
        let template = until_some("a template", || {
            let below = children(daemon.pid(), spawner);
            below.into_iter().find(|process| process.name.starts_with("python"))
        })
        .await?;
        kill(template.pid, libc::SIGKILL);
        for _ in 0..10 {
            let result = answered(&client, &["python3", "-c", "print(6 * 7)"]).await?;
            let fine = cause(&result) == Cause::Infra || text(&result.stdout) == "42\n";
            assert!(fine, "{}", describe(&result));
        }
    }
    check_reported_ends(&load.end().await);
    // The template is started again, after a pause.
    until("warm again", async || {
        Ok(answered(&client, &["python3", "-c", "print(6 * 7)"]).await?.runtime == "python")
    })
    .await?;
    quiet(&client, 5).await?;
    before.returns(daemon.pid()).await
}

async fn until_some<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> Result<T, Box<dyn Error>> {
    let mut some = None;
    until(what, async || {
        some = found();
        Ok(some.is_some())
    })
    .await?;
    Ok(some.ok_or("nothing")?)
}

/// `the_client` runs this in a separate process.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a role, not a test"]
async fn as_a_client() -> Outcome {
    let socket = std::env::var("PRL_TEST_SOCKET")?;
    let client = connect(socket.as_ref()).await?;
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let mut client = client.clone();
        runs.spawn(async move {
            client
                .run_once(command(&["sh", "-c", "setsid sleep 4 & sleep 4"]))
                .await
        });
    }
    while runs.join_next().await.is_some() {}
    Ok(())
}

#[test]
fn a_daemon_may_be_ended_as_soon_as_it_has_spoken() -> Outcome {
    for _ in 0..8 {
        let Some(daemon) = Daemon::start(&[])? else {
            return Ok(());
        };
        daemon.stop()?;
    }
    Ok(())
}
