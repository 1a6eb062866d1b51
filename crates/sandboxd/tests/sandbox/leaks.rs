//! After many runs of every kind the daemon has the same resources as before.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_sandbox_proto::{CapabilitiesRequest, Cause, HealthRequest, RunOnceRequest};

use crate::cases::{attacks, ordinary};
use crate::support::census::{Census, flat, resident_kib};
use crate::support::ground::Ground;
use crate::support::{Daemon, Outcome, cause, command, skip, until};

/// How many of each kind: plain ones, and those with a warm Python.
const PARKED: u32 = 4;
const AT_ONCE: usize = 12;

/// How many runs: 10,000 with PRL_TEST_LONG.
fn count() -> usize {
    if std::env::var_os("PRL_TEST_LONG").is_some() {
        10_000
    } else {
        500
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_after_many_runs() -> Outcome {
    let directory = tempfile::tempdir()?;
    let temporary = directory.path().to_string_lossy().into_owned();
    let warm = format!("python={PARKED}");
    let arguments = ["--max-running", "12", "--park", &PARKED.to_string(), "--warm", &warm];
    let Some(daemon) = Daemon::start_with(&arguments, &[("TMPDIR", &temporary)])? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("bombs are run only where the whole tree is limited");
        return Ok(());
    }
    let client = daemon.client().await?;
    let capabilities = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
    let has_python = !capabilities.runtimes.is_empty();
    let parked = if has_python { 2 * PARKED } else { PARKED };
    let quiet = async || {
        until("quiet", async || {
            let health = client.clone().health(HealthRequest {}).await?.into_inner();
            Ok(health.running == 0 && health.queued == 0 && health.parked == parked)
        })
        .await
    };
    let ground = Ground::lay()?;
    let requests: Arc<Vec<RunOnceRequest>> = Arc::new(mixture(&ground, has_python));
    let rounds = async |from: usize, to: usize| -> Outcome {
        let mut running = tokio::task::JoinSet::new();
        for turn in from..to {
            if running.len() >= AT_ONCE
                && let Some(done) = running.join_next().await
            {
                done?;
            }
            let mut client = client.clone();
            let request = requests[turn % requests.len()].clone();
            running.spawn(async move {
                // Every seventh caller hangs up.
                let patience = Duration::from_millis(if turn % 7 == 0 { 20 } else { 60_000 });
                if let Ok(answer) = tokio::time::timeout(patience, client.run_once(request)).await {
                    let result = answer.expect("an answer").into_inner();
                    assert_ne!(cause(&result), Cause::Infra, "{}", result.reason);
                }
            });
        }
        while let Some(done) = running.join_next().await {
            done?;
        }
        Ok(())
    };
    let all = count();
    // Memory that is allocated once and kept is allocated by then.
    rounds(0, all / 5).await?;
    quiet().await?;
    let (before, memory) = (Census::settled(daemon.pid()).await?, resident_kib(daemon.pid()));
    rounds(all / 5, all).await?;
    quiet().await?;
    before.returns(daemon.pid()).await?;
    let now = resident_kib(daemon.pid());
    assert!(flat(memory, now), "memory grew from {memory} to {now} KiB");
    assert_eq!(std::fs::read_dir(directory.path())?.count(), 0, "temporary files");
    daemon.stop()
}

#[test]
fn it_may_open_all_files_that_it_is_allowed() -> Outcome {
    let directory = tempfile::tempdir()?;
    let few = "ulimit -Sn 200; exec \"$0\" \"$@\"";
    let mut daemon = Command::new("sh")
        .args(["-c", few, env!("CARGO_BIN_EXE_prl-sandboxd"), "--park", "0", "--socket"])
        .arg(directory.path().join("sandboxd.sock"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().ok_or("no standard output")?).read_line(&mut line)?;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", daemon.id()));
    daemon.kill()?;
    daemon.wait()?;
    if line.is_empty() {
        skip("this machine cannot make sandboxes");
        return Ok(());
    }
    let limits = limits?;
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let [soft, hard, ..] = files.ok_or("no such limit")?.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err("not two numbers".into());
    };
    assert_eq!(soft, hard);
    Ok(())
}

#[test]
fn a_lasting_want_of_descriptors_is_named_and_said_seldom() -> Outcome {
    let directory = tempfile::tempdir()?;
    let few = "ulimit -n 100; exec \"$0\" \"$@\"";
    let log = directory.path().join("log");
    let mut daemon = Command::new("sh")
        .args([
            "-c",
            few,
            env!("CARGO_BIN_EXE_prl-sandboxd"),
            "--park",
            "60",
            "--socket",
        ])
        .arg(directory.path().join("sandboxd.sock"))
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&log)?)
        .spawn()?;
    let began = Instant::now();
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().ok_or("no standard output")?).read_line(&mut line)?;
    // The daemon tries several times.
    std::thread::sleep(Duration::from_secs(3));
    daemon.kill()?;
    daemon.wait()?;
    let said = std::fs::read_to_string(log)?;
    if line.is_empty() {
        skip(&format!("this machine cannot make sandboxes: {said}"));
        return Ok(());
    }
    assert!(
        said.contains("Too many open files") && !said.contains("is gone"),
        "{said}"
    );
    let most = 2 + began.elapsed().as_secs() / 10;
    // Lines about groups of others, which other tests leave, are not counted.
    let lines = said.lines().filter(|line| line.contains("Too many open files")).count();
    assert!(lines as u64 <= most, "{lines} lines:\n{said}");
    Ok(())
}

/// Mostly short runs, and now and then each hostile and each ordinary program.
fn mixture(ground: &Ground, has_python: bool) -> Vec<RunOnceRequest> {
    let cases: Vec<_> = attacks::all().chain(ordinary::all()).collect();
    let warm = cases
        .iter()
        .filter(|_| has_python)
        .filter_map(|case| case.on_warm_python(ground));
    let programs = cases.iter().map(|case| case.request(ground)).chain(warm);
    let short = [
        command(&["/bin/true"]),
        command(&["sh", "-c", "echo x; (setsid sleep 30 &)"]),
        command(&["python3", "-c", "print(1)"]),
        RunOnceRequest {
            collect: vec!["*".to_owned()],
            ..command(&["sh", "-c", "head -c 100000 /dev/urandom > f"])
        },
    ];
    programs
        .flat_map(|program| [program].into_iter().chain(short.clone()))
        .collect()
}
