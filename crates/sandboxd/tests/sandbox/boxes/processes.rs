//! Processes that outlive the call that started them.

use std::error::Error;
use std::time::Duration;

use prl_sandbox_proto::process_event::Event;
use prl_sandbox_proto::{
    AttachRequest, BoxRequest, Cause, ExecRequest, InputRequest, Pty, ResizeRequest, RunOnceResult, SignalRequest,
    StartRequest,
};
use tonic::Code;

use super::{Boxes, boxes, exec, in_every_tier, shell, small};
use crate::support::{Daemon, Outcome, cause, describe, text};

fn start(process: &str, argv: &[&str]) -> StartRequest {
    StartRequest {
        exec: Some(exec("one", argv)),
        process: process.to_owned(),
        ..StartRequest::default()
    }
}

fn attach(process: &str, stdout_from: u64) -> AttachRequest {
    AttachRequest {
        r#box: "one".to_owned(),
        process: process.to_owned(),
        stdout_from,
        stderr_from: 0,
    }
}

struct Seen {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// The number of bytes that were dropped.
    gaps: u64,
    result: RunOnceResult,
}

/// Reads to the end, pausing between chunks.
async fn follow(boxes: &Boxes, request: AttachRequest, pause: Duration) -> Result<Seen, Box<dyn Error>> {
    let (mut out_at, mut err_at) = (request.stdout_from, request.stderr_from);
    let mut events = boxes.clone().attach(request).await?.into_inner();
    let mut seen = Seen {
        stdout: Vec::new(),
        stderr: Vec::new(),
        gaps: 0,
        result: RunOnceResult::default(),
    };
    while let Some(event) = events.message().await? {
        match event.event.ok_or("an empty event")? {
            Event::Stdout(chunk) => {
                seen.gaps += chunk.offset - out_at;
                out_at = chunk.offset + chunk.data.len() as u64;
                seen.stdout.extend(chunk.data);
            }
            Event::Stderr(chunk) => {
                seen.gaps += chunk.offset - err_at;
                err_at = chunk.offset + chunk.data.len() as u64;
                seen.stderr.extend(chunk.data);
            }
            Event::Ended(result) => {
                seen.result = result;
                return Ok(seen);
            }
            Event::Alive(_) => {}
        }
        tokio::time::sleep(pause).await;
    }
    Err("the stream ended without a result".into())
}

async fn made(daemon: &Daemon) -> Result<Boxes, Box<dyn Error>> {
    let mut client = boxes(daemon).await?;
    client.create(small("one")).await?;
    Ok(client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_fed_watched_and_found_again() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = made(&daemon).await?;
    let line = "while read line; do echo \"got $line\"; done; echo done >&2; exit 3";
    let request = StartRequest {
        keep_stdin: true,
        ..start("p", &["bash", "-c", line])
    };
    let process = client.start(request.clone()).await?.into_inner();
    assert!(process.running && process.pid > 1, "{process:?}");
    let same = client.start(request.clone()).await?.into_inner();
    assert_eq!(same.pid, process.pid);
    let other = StartRequest {
        keep_stdin: false,
        ..request
    };
    let refused = client.start(other).await.err().ok_or("an id was taken twice")?;
    assert_eq!(refused.code(), Code::AlreadyExists);
    let input = |offset: u64, text: &str, end: bool| InputRequest {
        r#box: "one".to_owned(),
        process: "p".to_owned(),
        offset,
        data: text.as_bytes().to_vec().into(),
        end,
    };
    assert_eq!(client.input(input(0, "a\nb\n", false)).await?.into_inner().accepted, 4);
    // The input is sent again, as after a lost reply, with more behind it.
    assert_eq!(
        client.input(input(0, "a\nb\nc\n", false)).await?.into_inner().accepted,
        6
    );
    let early = client
        .input(input(9, "x", false))
        .await
        .err()
        .ok_or("input with a hole was accepted")?;
    assert_eq!(early.code(), Code::InvalidArgument);
    let watching = tokio::spawn({
        let client = client.clone();
        async move {
            follow(&client, attach("p", 0), Duration::ZERO)
                .await
                .map_err(|error| error.to_string())
        }
    });
    client.input(input(6, "d", true)).await?;
    let seen = watching.await??;
    assert_eq!(String::from_utf8_lossy(&seen.stdout), "got a\ngot b\ngot c\n");
    assert_eq!(String::from_utf8_lossy(&seen.stderr), "done\n");
    assert_eq!((cause(&seen.result), seen.result.exit_code), (Cause::Exited, Some(3)));
    let late = follow(&client, attach("p", 6), Duration::ZERO).await?;
    assert_eq!(String::from_utf8_lossy(&late.stdout), "got b\ngot c\n");
    let listed = client
        .list_processes(BoxRequest {
            r#box: "one".to_owned(),
        })
        .await?
        .into_inner();
    assert_eq!(listed.processes.len(), 1);
    assert!(!listed.processes[0].running);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_loses_nothing_or_learns_how_much() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = made(&daemon).await?;
    let bytes = 6 << 20;
    let line = format!("yes 0123456 | head -c {bytes}");
    let lossless = StartRequest {
        lossless: true,
        ..start("whole", &["bash", "-c", &line])
    };
    client.start(lossless).await?;
    client.start(start("late", &["bash", "-c", &line])).await?;
    // This process ends without a reader. The other one, which had the same time, does not.
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        let request = BoxRequest {
            r#box: "one".to_owned(),
        };
        let listed = client.list_processes(request).await?.into_inner().processes;
        let runs = |id: &str| listed.iter().any(|one| one.process == id && one.running);
        assert!(runs("whole"), "it did not wait for its reader");
        if !runs("late") {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "it waits for a reader");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let whole = follow(&client, attach("whole", 0), Duration::from_millis(1)).await?;
    assert_eq!((whole.stdout.len(), whole.gaps), (bytes, 0));
    assert!(whole.stdout.chunks(8).all(|chunk| chunk == b"0123456\n"));
    let late = follow(&client, attach("late", 0), Duration::ZERO).await?;
    assert_eq!(late.stdout.len() as u64 + late.gaps, bytes as u64);
    assert!(late.gaps > 0 && late.stdout.len() >= 1 << 20);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_one() -> Outcome {
    in_every_tier(async |daemon| {
        let mut client = made(&daemon).await?;
        let line =
            "test -t 0 && test -t 1 && tty && stty size; trap 'stty size' WINCH; read -r x; echo \"<$x>\"; sleep 9";
        let request = StartRequest {
            pty: Some(Pty { rows: 30, columns: 100 }),
            keep_stdin: true,
            ..start("t", &["bash", "-c", line])
        };
        client.start(request).await?;
        let mut events = client.attach(attach("t", 0)).await?.into_inner();
        let mut screen = String::new();
        let (mut resized, mut typed, mut interrupted) = (false, 0, false);
        let result = loop {
            let event = events.message().await?.ok_or("the stream ended early")?;
            match event.event {
                Some(Event::Stdout(chunk)) => screen.push_str(&String::from_utf8_lossy(&chunk.data)),
                Some(Event::Ended(result)) => break result,
                other => return Err(format!("{other:?}").into()),
            }
            let mut type_in = async |text: &'static str| {
                let request = InputRequest {
                    r#box: "one".to_owned(),
                    process: "t".to_owned(),
                    offset: typed,
                    data: text.as_bytes().into(),
                    end: false,
                };
                typed += text.len() as u64;
                client.input(request).await
            };
            if screen.contains("30 100") && !resized {
                resized = true;
                type_in("hello\r").await?;
            } else if screen.contains("<hello>") && !interrupted {
                interrupted = true;
                let resize = ResizeRequest {
                    r#box: "one".to_owned(),
                    process: "t".to_owned(),
                    pty: Some(Pty { rows: 31, columns: 101 }),
                };
                client.resize_pty(resize).await?;
                let mut type_in = client.clone();
                type_in
                    .input(InputRequest {
                        r#box: "one".to_owned(),
                        process: "t".to_owned(),
                        offset: typed,
                        data: b"\x03".to_vec().into(),
                        end: false,
                    })
                    .await?;
            }
        };
        assert!(screen.contains("/dev/pts/"), "{screen}");
        assert_eq!(
            (cause(&result), result.signal),
            (Cause::Signaled, Some(2)),
            "{screen}{}",
            describe(&result)
        );
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn terminals_are_bounded_and_a_program_without_one_gets_an_error() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = made(&daemon).await?;
    let all = "import os, time\ntry:\n  while True: os.open('/dev/ptmx', os.O_RDWR)\nexcept OSError as e: print(e.errno, flush=True)\ntime.sleep(60)";
    client.start(start("all", &["python3", "-c", all])).await?;
    let mut events = client.attach(attach("all", 0)).await?.into_inner();
    // Once it has printed something, it has all terminals.
    events.message().await?.ok_or("the stream ended early")?;
    let request = StartRequest {
        pty: Some(Pty { rows: 30, columns: 100 }),
        ..start("none", &["true"])
    };
    client.start(request).await?;
    let result = follow(&client, attach("none", 0), Duration::ZERO).await?.result;
    assert_eq!(
        (cause(&result), result.exit_code),
        (Cause::Exited, Some(126)),
        "{}",
        describe(&result)
    );
    assert!(result.reason.contains("terminals of the sandbox"), "{}", result.reason);
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_reaches_the_process_and_a_kill_its_whole_tree() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = made(&daemon).await?;
    let signal = |process: &str, signal: u32| SignalRequest {
        r#box: "one".to_owned(),
        process: process.to_owned(),
        signal,
    };
    let line = "trap 'echo term; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    client.start(start("polite", &["bash", "-c", line])).await?;
    client
        .start(start(
            "stubborn",
            &["bash", "-c", "setsid sleep 77 & disown; trap '' TERM; sleep 77"],
        ))
        .await?;
    let mut events = client.attach(attach("polite", 0)).await?.into_inner();
    events.message().await?;
    client.signal_process(signal("polite", 15)).await?;
    let seen = follow(&client, attach("polite", 0), Duration::ZERO).await?;
    assert_eq!(String::from_utf8_lossy(&seen.stdout), "ready\nterm\n");
    assert_eq!(seen.result.exit_code, Some(5));
    client.signal_process(signal("stubborn", 9)).await?;
    let seen = follow(&client, attach("stubborn", 0), Duration::ZERO).await?;
    assert_eq!((cause(&seen.result), seen.result.signal), (Cause::Signaled, Some(9)));
    // The processes of its tree die a moment later.
    for _ in 0..100 {
        let left = shell(&client, "one", "grep -l 77 /proc/[0-9]*/cmdline | grep -v $$ | wc -l").await?;
        if text(&left.stdout).trim() == "0" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let left = shell(&client, "one", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").await?;
    assert!(!text(&left.stdout).contains("sleep 77"), "{}", describe(&left));
    let missing = client
        .signal_process(signal("nobody", 9))
        .await
        .err()
        .ok_or("signalled a process that does not exist")?;
    assert_eq!(missing.code(), Code::NotFound);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_started_process_are_taken_from_the_request() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    let mut request = small("one");
    request.limits = request.limits.map(|limits| prl_sandbox_proto::Limits {
        wall_ms: Some(300),
        ..limits
    });
    client.create(request).await?;
    client
        .start(start("long", &["bash", "-c", "sleep 1; echo through"]))
        .await?;
    let mut bounded = start("bounded", &["sleep", "9"]);
    bounded.exec = bounded.exec.map(|exec| ExecRequest {
        limits: Some(prl_sandbox_proto::Limits {
            wall_ms: Some(300),
            ..prl_sandbox_proto::Limits::default()
        }),
        ..exec
    });
    client.start(bounded).await?;
    let missing = client.start(start("missing", &["no-such-program"])).await?.into_inner();
    assert!(!missing.running);
    let seen = follow(&client, attach("missing", 0), Duration::ZERO).await?;
    assert_eq!(seen.result.exit_code, Some(127), "{}", describe(&seen.result));
    let seen = follow(&client, attach("bounded", 0), Duration::ZERO).await?;
    assert_eq!(cause(&seen.result), Cause::WallTimeout, "{}", describe(&seen.result));
    let seen = follow(&client, attach("long", 0), Duration::ZERO).await?;
    assert_eq!(String::from_utf8_lossy(&seen.stdout), "through\n");
    Ok(())
}
