//! Several lanes for one request for tests: only the time differs from that of one lane, and under load there is one
//! lane.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use prl_sandbox_proto::run_tests_event::Event;
use prl_sandbox_proto::{HealthRequest, RunOnceResult, RunTestsEnd, RunTestsRequest};
use tokio_stream::StreamExt;

use crate::run_tests::{Failure, judge, tests};
use crate::support::census::{spawner, tree};
use crate::support::{Client, Daemon, Outcome, command, describe, running, settles, skip, text, until};

/// Reads how long it takes and how it ends, prints which sandbox it is in, and leaves a file that no other case may
/// find.
const PROGRAM: &str = "import os, sys, time\n\
    number, seconds, code = input().split()\n\
    print(number, os.readlink('/proc/self/ns/pid'), sorted(os.listdir('/work')))\n\
    open('/work/mark', 'w').write(number)\n\
    sys.stdout.flush()\n\
    time.sleep(float(seconds))\n\
    sys.exit(int(code))";

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

async fn daemon(more: &[&str]) -> Result<Option<(Daemon, Client)>, Failure> {
    let arguments = [&["--park", "4", "--warm", "python=4"], more].concat();
    let Some(daemon) = Daemon::start(&arguments)? else {
        return Ok(None);
    };
    let client = daemon.client().await?;
    let wanted = 4;
    until("parked", async || {
        Ok(client.clone().health(HealthRequest {}).await?.into_inner().parked >= wanted)
    })
    .await?;
    Ok(Some((daemon, client)))
}

fn requested(runtime: &str, cases: &[String]) -> RunTestsRequest {
    let mut run = command(&["python3", "-c", PROGRAM]);
    run.runtime = runtime.to_owned();
    let inputs: Vec<&str> = cases.iter().map(String::as_str).collect();
    tests(run, &inputs)
}

/// Judges the cases and returns the sandboxes that they ran in.
async fn sandboxes(client: &Client, request: RunTestsRequest) -> Result<BTreeSet<String>, Failure> {
    let count = request.cases.len();
    let judged = judge(client, request).await?;
    assert_eq!(judged.cases.len(), count);
    let mut sandboxes = BTreeSet::new();
    for (number, (output, case)) in judged.outputs().iter().zip(&judged.cases).enumerate() {
        let mut words = output.splitn(3, ' ');
        assert_eq!(words.next(), Some(number.to_string().as_str()), "{}", describe(case));
        sandboxes.insert(words.next().ok_or("no sandbox")?.to_owned());
        assert_eq!(words.next(), Some("[]\n"), "{}", describe(case));
        assert_eq!(case.exit_code, Some(0), "{}", describe(case));
    }
    Ok(sandboxes)
}

async fn leaves_nothing(daemon: Daemon, client: Client) -> Outcome {
    until("idle", async || Ok(running(&mut client.clone()).await? == 0)).await?;
    let pid = daemon.pid();
    drop(client);
    daemon.stop()?;
    settles(pid, BTreeSet::is_empty).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_daemon_has_several_lanes_and_reports_in_order() -> Outcome {
    let Some((daemon, client)) = daemon(&[]).await? else {
        return Ok(());
    };
    // The later ones of each four end first.
    let cases: Vec<String> = (0..16).map(|n| format!("{n} 0.{:02} 0", 3 * (3 - n % 4))).collect();
    for runtime in ["exec", ""] {
        let seen = sandboxes(&client, requested(runtime, &cases)).await?;
        let wanted = if daemon.is_full() { cores().min(4) } else { 1 };
        assert!(seen.len() <= cores().min(4), "{seen:?}");
        assert!(seen.len() >= wanted.min(2), "{seen:?}");
        let few = sandboxes(&client, requested(runtime, &cases[..7])).await?;
        assert_eq!(few.len(), 1, "too few for two");
        until("idle", async || Ok(running(&mut client.clone()).await? == 0)).await?;
    }
    leaves_nothing(daemon, client).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_has_work_has_one() -> Outcome {
    let cases: Vec<String> = (0..16).map(|n| format!("{n} 0.01 0")).collect();
    let Some((one_slot, client)) = daemon(&["--max-running", "1"]).await? else {
        return Ok(());
    };
    assert_eq!(
        sandboxes(&client, requested("", &cases)).await?.len(),
        1,
        "no second slot"
    );
    drop(client);
    one_slot.stop()?;
    let Some((daemon, client)) = daemon(&[]).await? else {
        return Ok(());
    };
    let busy: Vec<_> = (0..cores())
        .map(|_| {
            let mut client = client.clone();
            tokio::spawn(async move { client.run_once(command(&["sleep", "20"])).await.map(drop) })
        })
        .collect();
    until("busy", async || {
        Ok(running(&mut client.clone()).await? as usize == cores())
    })
    .await?;
    assert_eq!(
        sandboxes(&client, requested("", &cases)).await?.len(),
        1,
        "no idle core"
    );
    for call in busy {
        call.abort();
    }
    until("idle", async || Ok(running(&mut client.clone()).await? == 0)).await?;
    drop(client);
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_reported_after_the_first_failed_case() -> Outcome {
    let Some((daemon, client)) = daemon(&[]).await? else {
        return Ok(());
    };
    // The third is over before the first two; the others never end by themselves.
    let mut cases = vec!["0 1 0".to_owned(), "1 0.5 0".to_owned(), "2 0 7".to_owned()];
    cases.extend((3..16).map(|n| format!("{n} 60 0")));
    let mut request = requested("", &cases);
    request.stop_on_failure = true;
    let began = Instant::now();
    let judged = judge(&client, request).await?;
    let codes: Vec<_> = judged.cases.iter().map(|case| case.exit_code).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(7)], "{:?}", judged.outputs());
    assert!(began.elapsed() < Duration::from_secs(30), "they were waited for");
    until("idle", async || Ok(running(&mut client.clone()).await? == 0)).await?;
    drop(client);
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_end_when_the_caller_leaves() -> Outcome {
    let Some((daemon, client)) = daemon(&[]).await? else {
        return Ok(());
    };
    let cases: Vec<String> = (0..16)
        .map(|n| format!("{n} {} 0", if n == 0 { 0 } else { 60 }))
        .collect();
    let mut stream = client.clone().run_tests(requested("", &cases)).await?.into_inner();
    let first = stream.next().await.ok_or("nothing")??;
    assert!(matches!(first.event, Some(Event::Case(_))));
    drop(stream);
    leaves_nothing(daemon, client).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_case_of_a_killed_sandbox_runs_again_once_or_has_no_result() -> Outcome {
    let Some((daemon, client)) = daemon(&[]).await? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("the test needs a separate init for each sandbox");
        return Ok(());
    }
    let patient = |key: &str| {
        let cases: Vec<String> = (0..8).map(|n| format!("{n} 1 0")).collect();
        let mut request = requested("exec", &cases);
        request.request.get_or_insert_default().idempotency_key = key.to_owned();
        request
    };
    for (key, again, whole) in [("", false, true), ("", true, false), ("a-key", false, false)] {
        let (judged, end) = run_while_inits_die(&daemon, &client, patient(key), again).await?;
        assert_eq!(end.completed as usize, judged.len());
        assert_eq!(
            (judged.len() == 8, end.error_code.is_empty()),
            (whole, whole),
            "{key:?}, {again}: {end:?}"
        );
        for (number, case) in judged.iter().enumerate() {
            assert_eq!(case.exit_code, Some(0), "{}", describe(case));
            assert!(
                text(&case.stdout).starts_with(&format!("{number} ")),
                "{}",
                describe(case)
            );
        }
        until("idle", async || Ok(running(&mut client.clone()).await? == 0)).await?;
    }
    leaves_nothing(daemon, client).await
}

/// The inits of sandboxes in which a case runs.
fn inits_with_cases(daemon: u32) -> Result<BTreeSet<u32>, Failure> {
    let (all, spawner) = (tree(daemon), spawner(daemon)?);
    let parent = |pid: u32| all.iter().find(|one| one.pid == pid).map_or(0, |one| one.parent);
    let mut inits = BTreeSet::new();
    for process in &all {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains("number, seconds, code") {
            let mut above = process.pid;
            while above > 0 && parent(above) != spawner {
                above = parent(above);
            }
            inits.insert(above);
        }
    }
    inits.remove(&0);
    Ok(inits)
}

/// Kills the sandboxes in which cases of this request run, once, or repeatedly with `again`. Returns the results that
/// arrived.
async fn run_while_inits_die(
    daemon: &Daemon,
    client: &Client,
    request: RunTestsRequest,
    again: bool,
) -> Result<(Vec<RunOnceResult>, RunTestsEnd), Failure> {
    let mut stream = client.clone().run_tests(request).await?.into_inner();
    let kill = || -> Result<bool, Failure> {
        let inits = inits_with_cases(daemon.pid())?;
        for init in &inits {
            // SAFETY: numbers; the process is an init of this test's daemon.
            unsafe { libc::kill(init.cast_signed(), libc::SIGKILL) };
        }
        Ok(!inits.is_empty())
    };
    until("a case runs", async || kill()).await?;
    let mut judged = Vec::new();
    loop {
        let event = tokio::select! {
            event = stream.next() => event.ok_or("no end")??,
            () = tokio::time::sleep(Duration::from_millis(20)), if again => {
                kill()?;
                continue;
            }
        };
        match event.event.ok_or("an empty event")? {
            Event::Case(case) => judged.push(case.result.ok_or("no result")?),
            Event::End(end) => return Ok((judged, end)),
            Event::Build(_) => {}
        }
    }
}
