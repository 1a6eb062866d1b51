//! The interface itself: keys, cancelling, queueing, tokens, wrong requests, and what is left of a killed daemon.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Daemon, Outcome, cause, command, describe, running, skip, tcp, text, until};
use prl_sandbox_proto::sandboxes_client::SandboxesClient;
use prl_sandbox_proto::{
    CancelRequest, CapabilitiesRequest, Cause, ERROR_CODE_KEY, HealthRequest, InputFile, Isolation, RETRY_AFTER_KEY,
    RunOnceRequest,
};
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_executed_once_and_its_result_kept() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    let request = RunOnceRequest {
        idempotency_key: "k".to_owned(),
        ..command(&["sh", "-c", "sleep 0.2; cat /proc/sys/kernel/random/uuid"])
    };
    let mut together = tokio::task::JoinSet::new();
    for _ in 0..5 {
        let (mut client, request) = (client.clone(), request.clone());
        together.spawn(async move { client.run_once(request).await });
    }
    let mut outputs = Vec::new();
    let mut fresh = 0;
    while let Some(result) = together.join_next().await {
        let result = result??.into_inner();
        fresh += u32::from(!result.replayed);
        outputs.push(text(&result.stdout));
    }
    let mut client = client;
    let again = client.run_once(request.clone()).await?.into_inner();
    outputs.push(text(&again.stdout));
    assert!(again.replayed && outputs[0].len() > 30, "{outputs:?}");
    assert_eq!(fresh, 1);
    outputs.dedup();
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    let other = RunOnceRequest {
        command: vec!["true".to_owned()],
        ..request.clone()
    };
    let refused = client
        .run_once(other)
        .await
        .err()
        .ok_or("the key was given to another request")?;
    assert_eq!(refused.code(), Code::InvalidArgument);
    let elsewhere = RunOnceRequest {
        idempotency_key: "other".to_owned(),
        instance_id: "gone".to_owned(),
        ..request
    };
    let result = client.run_once(elsewhere).await?.into_inner();
    assert_eq!(
        (cause(&result), result.error_code.as_str()),
        (Cause::Infra, "PRL_SANDBOX_DAEMON_RESTARTED")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_and_hanging_up_kill_the_run() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    let sleeper = command(&["sleep", "4"]);
    let keyed = RunOnceRequest {
        idempotency_key: "k".to_owned(),
        ..sleeper.clone()
    };
    let run = tokio::spawn({
        let mut client = client.clone();
        async move { client.run_once(keyed).await }
    });
    let began = Instant::now();
    until("running", async || Ok(running(&mut client.clone()).await? == 1)).await?;
    let cancel = CancelRequest {
        idempotency_key: "k".to_owned(),
        r#box: String::new(),
    };
    assert!(client.cancel(cancel.clone()).await?.into_inner().found);
    let result = run.await??.into_inner();
    assert_eq!(cause(&result), Cause::Cancelled, "{}", describe(&result));
    assert!(!client.cancel(cancel).await?.into_inner().found, "it has ended");

    let run = tokio::spawn({
        let mut client = client.clone();
        async move { client.run_once(sleeper).await }
    });
    until("running", async || Ok(running(&mut client.clone()).await? == 1)).await?;
    run.abort();
    until("idle", async || Ok(running(&mut client.clone()).await? == 0)).await?;
    assert!(began.elapsed() < Duration::from_secs(4), "the runs were waited for");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_with_advice_and_a_patient_run_is_served() -> Outcome {
    let Some(daemon) = Daemon::start(&["--max-running", "1", "--max-queued", "1", "--park", "1"])? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    let other = client.clone();
    let spawn = |request: RunOnceRequest| {
        let mut client = other.clone();
        tokio::spawn(async move { client.run_once(request).await })
    };
    let first = spawn(command(&["sleep", "0.6"]));
    until("running", async || Ok(running(&mut client.clone()).await? == 1)).await?;
    let hasty = RunOnceRequest {
        queue_ms: Some(50),
        ..command(&["true"])
    };
    let refused = client.run_once(hasty).await.err().ok_or("not refused")?;
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let second = spawn(command(&["echo", "patient"]));
    until("queued", async || {
        Ok(client.clone().health(HealthRequest {}).await?.into_inner().queued == 1)
    })
    .await?;
    let refused = client.run_once(command(&["true"])).await.err().ok_or("not refused")?;
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(
        refused
            .metadata()
            .get(ERROR_CODE_KEY)
            .and_then(|value| value.to_str().ok()),
        Some("PRL_SANDBOX_OVERLOADED")
    );
    let advice = refused
        .metadata()
        .get(RETRY_AFTER_KEY)
        .and_then(|value| value.to_str().ok())
        .ok_or("no advice")?;
    assert!(advice.parse::<u64>()? > 0);
    assert_eq!(cause(&first.await??.into_inner()), Cause::Exited);
    let second = second.await??.into_inner();
    assert_eq!(text(&second.stdout), "patient\n");
    assert!(
        second.timings.unwrap_or_default().queue_ms > 100.0,
        "{:?}",
        second.timings
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_are_refused_by_name() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    let file = |path: &str| {
        vec![InputFile {
            path: path.to_owned(),
            content: b"x".as_slice().into(),
            mode: 0,
        }]
    };
    let base = || command(&["true"]);
    let with = |change: &dyn Fn(&mut RunOnceRequest)| {
        let mut request = base();
        change(&mut request);
        request
    };
    for (request, needle) in [
        (with(&|request| request.command.clear()), "command is empty"),
        (with(&|request| request.command = vec!["a\0b".to_owned()]), "NUL"),
        (with(&|request| request.files = file("../x")), "../x"),
        (with(&|request| request.files = file("/etc/x")), "/etc/x"),
        (with(&|request| request.files = file("a/../x")), "a/../x"),
        (with(&|request| request.files = file("")), "file path"),
        (with(&|request| request.files = file("a\0")), "file path"),
        (with(&|request| request.cwd = "../up".to_owned()), "../up"),
        (
            with(&|request| request.env = [("A=B".to_owned(), String::new())].into()),
            "A=B",
        ),
        (
            with(&|request| request.limits.get_or_insert_default().wall_ms = Some(0)),
            "wall_ms",
        ),
        (
            with(&|request| request.limits.get_or_insert_default().memory_bytes = Some(1)),
            "memory_bytes",
        ),
        (
            with(&|request| request.idempotency_key = "k".repeat(1000)),
            "idempotency_key",
        ),
    ] {
        let status = client
            .run_once(request)
            .await
            .err()
            .ok_or_else(|| format!("{needle} was accepted"))?;
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!(status.message().contains(needle), "{needle}: {status}");
    }
    let huge = RunOnceRequest {
        stdin: vec![0; 170 << 20].into(),
        ..base()
    };
    assert!(
        client.run_once(huge).await.is_err(),
        "an oversized message was accepted"
    );
    assert_eq!(
        cause(&client.run_once(base()).await?.into_inner()),
        Cause::Exited,
        "the daemon still works"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tcp_needs_the_token() -> Outcome {
    let Some((daemon, address)) = tcp::start("secret\n", &["--park", "0"])? else {
        return Ok(());
    };
    let mut client = SandboxesClient::connect(format!("http://{address}")).await?;
    for given in [
        None,
        Some("Bearer "),
        Some("Bearer secre"),
        Some("Bearer secret2"),
        Some("secret"),
        Some("Bearer secretsecret"),
    ] {
        let mut request = tonic::Request::new(HealthRequest {});
        if let Some(given) = given {
            request.metadata_mut().insert("authorization", given.parse()?);
        }
        let status = client
            .health(request)
            .await
            .err()
            .ok_or_else(|| format!("{given:?} was accepted"))?;
        assert_eq!(status.code(), Code::Unauthenticated);
    }
    let mut request = tonic::Request::new(HealthRequest {});
    request.metadata_mut().insert("authorization", "Bearer secret".parse()?);
    assert!(client.health(request).await?.into_inner().serving);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&daemon.socket)?.permissions());
    assert_eq!(mode & 0o777, 0o600);
    Ok(())
}

#[test]
fn a_token_that_programs_could_read_is_none() -> Outcome {
    // Below a directory that boxes are shown. Temporary ones would be covered by the directories of the boxes.
    let shown = tempfile::tempdir_in("/srv");
    let Ok(shown) = shown else {
        skip("nothing can be written where programs could see it");
        return Ok(());
    };
    let open = |path: &Path, mode| std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode));
    let token = shown.path().join("token");
    std::fs::write(&token, "secret")?;
    open(shown.path(), 0o755)?;
    let (shown, file) = (shown.path().to_string_lossy(), token.to_string_lossy());
    let arguments = ["--park", "0", "--readable", &shown, "--token-file", &file];
    for (mode, rootless) in [(0o644, false), (0o400, true), (0o400, false)] {
        open(&token, mode)?;
        let more: &[&str] = if rootless { &["--rootless"] } else { &[] };
        match Daemon::start(&[&arguments, more].concat()) {
            Ok(Some(daemon)) => {
                assert!(
                    mode == 0o400 && !rootless && daemon.is_root(),
                    "{mode:o}, rootless {rootless}"
                );
                daemon.stop()?;
            }
            Ok(None) => return Ok(()),
            Err(error) => {
                let said = error.to_string();
                assert!(
                    said.contains("PRL_SANDBOX_USAGE") && said.contains("could read"),
                    "{said}"
                );
                assert!(mode == 0o644 || rootless, "{said}");
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rootless_daemon_names_missing_defences_and_fails_closed() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0", "--rootless"])? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    let report = client.capabilities(CapabilitiesRequest {}).await?.into_inner();
    assert!(
        report
            .facilities
            .iter()
            .any(|facility| facility.name == "namespaces.pid" && facility.available)
    );
    let result = client
        .run_once(command(&[
            "sh",
            "-c",
            "grep -E 'Cap(Eff|Bnd)|NoNew|Seccomp:' /proc/self/status; cat /etc/shadow; ls /proc/1/fd",
        ]))
        .await?
        .into_inner();
    let out = text(&result.stdout);
    assert!(
        out.contains("CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"),
        "{}",
        describe(&result)
    );
    if out.contains("root:") {
        // No user namespace protects root's files from a program that is root outside.
        assert_eq!(report.isolation(), Isolation::Rootless);
        assert_eq!(daemon.announced["isolation"], "rootless");
        assert_eq!(result.isolation(), Isolation::Rootless);
    }
    let full = RunOnceRequest {
        min_isolation: Isolation::Full.into(),
        ..command(&["true"])
    };
    let answer = client.run_once(full).await;
    if report.isolation() == Isolation::Full {
        assert_eq!(cause(&answer?.into_inner()), Cause::Exited);
    } else {
        let status = answer.err().ok_or("weaker isolation than asked for")?;
        assert_eq!(status.code(), Code::FailedPrecondition);
        let missing = if daemon.is_root() { "tier.users" } else { "cgroup." };
        assert!(status.message().contains(missing), "{status}");
    }
    Ok(())
}

#[test]
fn a_daemon_without_an_address_says_how_to_start_it() -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_prl-sandboxd"))
        .stdin(Stdio::null())
        .output()?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("[PRL_SANDBOX_USAGE]"));
    Ok(())
}

#[tokio::test]
async fn a_quota_rations_processor_time() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1", "--cpus", "0.25"])? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("no cgroup can be limited here");
        return daemon.stop();
    }
    let mut client = daemon.client().await?;
    let spin = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass";
    let result = client
        .run_once(command(&["/usr/bin/python3", "-c", spin]))
        .await?
        .into_inner();
    assert_eq!(cause(&result), Cause::Exited, "{}", describe(&result));
    let used = result.usage.and_then(|usage| usage.cpu_ms).unwrap_or_default();
    // A quarter of the second, including the start of the interpreter and one period of tolerance at either end.
    assert!((1.0..500.0).contains(&used), "{used} ms of a second were used");
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_keeps_keys_across_the_death_of_the_daemon() -> Outcome {
    let directory = tempfile::tempdir()?;
    let journal = directory.path().join("journal").to_string_lossy().into_owned();
    let start = || Daemon::start(&["--park", "1", "--warm", "python=0", "--journal", &journal]);
    let Some(mut first) = start()? else { return Ok(()) };
    let keyed = |key: &str| RunOnceRequest {
        idempotency_key: key.to_owned(),
        ..command(&["echo", "ran"])
    };
    let ran = first.client().await?.run_once(keyed("k")).await?.into_inner();
    assert_eq!(text(&ran.stdout), "ran\n", "{}", describe(&ran));
    assert!(
        start().is_err_and(|error| error.to_string().contains("journal")),
        "two daemons have one journal"
    );
    first.kill()?;
    let Some(second) = start()? else { return Ok(()) };
    let mut client = second.client().await?;
    let again = client.run_once(keyed("k")).await?.into_inner();
    assert_eq!(
        (cause(&again), again.error_code.as_str(), text(&again.stdout).as_str()),
        (Cause::Infra, "PRL_SANDBOX_DAEMON_RESTARTED", ""),
        "{}",
        describe(&again)
    );
    let other = client.run_once(keyed("l")).await?.into_inner();
    assert_eq!(text(&other.stdout), "ran\n", "{}", describe(&other));
    Ok(())
}
