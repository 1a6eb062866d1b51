//! Commands in a held box: several at once, each with a separate end.

use std::time::{Duration, Instant};

use prl_sandbox_proto::{Cause, ExecRequest, Limits};
use tonic::Code;

use super::{Boxes, boxes, exec, shell, small};
use crate::support::{Daemon, Outcome, cause, describe, text};

async fn made(daemon: &Daemon, id: &str) -> Result<Boxes, Box<dyn std::error::Error>> {
    let mut client = boxes(daemon).await?;
    client.create(small(id)).await?;
    Ok(client)
}

#[tokio::test(flavor = "multi_thread")]
async fn execs_of_one_box_run_side_by_side_and_die_alone() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let client = made(&daemon, "one").await?;
    let limited = |wall_ms: u64, line: &str| {
        let limits = Some(Limits {
            wall_ms: Some(wall_ms),
            ..Limits::default()
        });
        ExecRequest {
            limits,
            ..exec("one", &["bash", "-c", line])
        }
    };
    // It leaves the session and its parent, and still belongs to its exec.
    let runaway = "setsid bash -c '(sleep 30; :) & disown; sleep 30' & disown; sleep 30";
    let mut a = client.clone();
    let runaway = tokio::spawn(async move { a.exec(limited(500, runaway)).await });
    let mut b = client.clone();
    let request = limited(5000, "sleep 1.5; echo unhurt");
    let steady = tokio::spawn(async move { b.exec(request).await });
    let result = runaway.await??.into_inner();
    assert_eq!(cause(&result), Cause::WallTimeout, "{}", describe(&result));
    assert_eq!(result.signal, Some(9));
    let line = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done | grep '^sleep' | sort | uniq -c";
    let left = shell(&client, "one", line).await?;
    let left = text(&left.stdout);
    assert!(left.contains("1 sleep 1.5") && !left.contains("sleep 30"), "{left}");
    let result = steady.await??.into_inner();
    assert_eq!(text(&result.stdout), "unhurt\n", "{}", describe(&result));
    Ok(())
}

/// Programs that end in every way: name, command, limits, and the cause of the end.
fn ends() -> [(&'static str, Vec<&'static str>, Limits, Cause); 9] {
    let bomb = "f() { f | f & }; f; sleep 30";
    let hog = "x = []\nwhile True: x.append(bytearray(1 << 20))";
    [
        ("exit", vec!["bash", "-c", "exit 137"], Limits::default(), Cause::Exited),
        (
            "signal",
            vec!["bash", "-c", "kill -TERM $$"],
            Limits::default(),
            Cause::Signaled,
        ),
        ("missing", vec!["no-such-program"], Limits::default(), Cause::Exited),
        (
            "cpu",
            vec!["bash", "-c", "while :; do :; done"],
            Limits {
                cpu_ms: Some(300),
                ..Limits::default()
            },
            Cause::CpuTimeout,
        ),
        (
            "wall",
            vec!["sleep", "9"],
            Limits {
                wall_ms: Some(200),
                ..Limits::default()
            },
            Cause::WallTimeout,
        ),
        (
            "flood",
            vec!["bash", "-c", "yes"],
            Limits {
                output_kill_bytes: Some(1 << 20),
                ..Limits::default()
            },
            Cause::OutputLimit,
        ),
        (
            "bomb",
            vec!["bash", "-c", bomb],
            Limits {
                wall_ms: Some(4000),
                ..Limits::default()
            },
            Cause::Pids,
        ),
        (
            "hog",
            vec!["python3", "-I", "-S", "-c", hog],
            Limits::default(),
            Cause::Oom,
        ),
        (
            "filter",
            vec!["python3", "-I", "-S", "-c", "import os; os.kill(os.getpid(), 31)"],
            Limits::default(),
            Cause::Signaled,
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_end_has_its_true_cause() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    if !daemon.is_full() {
        crate::support::skip("no limits of a whole process tree here");
        return Ok(());
    }
    let client = made(&daemon, "one").await?;
    for (name, argv, limits, wanted) in ends() {
        let began = Instant::now();
        let request = ExecRequest {
            limits: Some(limits),
            ..exec("one", &argv)
        };
        let result = client.clone().exec(request).await?.into_inner();
        assert_eq!(cause(&result), wanted, "{name}: {}", describe(&result));
        assert!(
            began.elapsed() < Duration::from_secs(12),
            "{name} took {:?}",
            began.elapsed()
        );
        let after = shell(&client, "one", "echo fine").await?;
        assert_eq!(text(&after.stdout), "fine\n", "after {name}: {}", describe(&after));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_exec_does_not_pay_for_the_cpu_time_of_another() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let client = made(&daemon, "one").await?;
    let limits = |cpu_ms| Limits {
        cpu_ms: Some(cpu_ms),
        ..Limits::default()
    };
    let mut spinner = client.clone();
    let spinning = tokio::spawn(async move {
        let request = ExecRequest {
            limits: Some(limits(1500)),
            ..exec("one", &["bash", "-c", "while :; do :; done"])
        };
        spinner.exec(request).await
    });
    let request = ExecRequest {
        limits: Some(limits(300)),
        ..exec("one", &["bash", "-c", "sleep 1; echo done"])
    };
    let idle = client.clone().exec(request).await?.into_inner();
    assert_eq!(cause(&idle), Cause::Exited, "{}", describe(&idle));
    let spun = spinning.await??.into_inner();
    assert_eq!(cause(&spun), Cause::CpuTimeout, "{}", describe(&spun));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exec_cannot_change_settings_of_its_box() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let client = made(&daemon, "one").await?;
    let request = ExecRequest {
        limits: Some(Limits {
            memory_bytes: Some(1 << 30),
            ..Limits::default()
        }),
        ..exec("one", &["true"])
    };
    let refused = client
        .clone()
        .exec(request)
        .await
        .err()
        .ok_or("an exec raised its box's memory")?;
    assert_eq!(refused.code(), Code::InvalidArgument);
    let nobody = ExecRequest {
        user: "nobody".to_owned(),
        ..exec(
            "one",
            &["bash", "-c", "touch /work/x 2>/dev/null || touch /tmp/x && id -u"],
        )
    };
    let owner = shell(&client, "one", "id -u; ls /work").await?;
    let second = client.clone().exec(nobody).await?.into_inner();
    assert_eq!(cause(&second), Cause::Exited, "{}", describe(&second));
    assert_ne!(text(&second.stdout), text(&owner.stdout), "{}", describe(&second));
    let kept = ExecRequest {
        idempotency_key: "k".to_owned(),
        ..exec("one", &["bash", "-c", "echo $RANDOM$RANDOM$RANDOM"])
    };
    let first = client.clone().exec(kept.clone()).await?.into_inner();
    let again = client.clone().exec(kept).await?.into_inner();
    assert!(again.replayed && !first.replayed);
    assert_eq!(text(&first.stdout), text(&again.stdout));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_hangs_up_takes_the_exec_with_it() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let client = made(&daemon, "one").await?;
    let mut leaving = client.clone();
    let call = tokio::spawn(async move { leaving.exec(exec("one", &["sleep", "7"])).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    call.abort();
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let seen = shell(&client, "one", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").await?;
        if !text(&seen.stdout).contains("sleep 7") {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("still there: {}", describe(&seen)).into());
        }
    }
}
