//! Held boxes with a warm interpreter: their execs behave as in any other box, but start sooner.

use std::error::Error;
use std::time::{Duration, Instant};

use prl_sandbox_proto::process_event::Event;
use prl_sandbox_proto::{
    AttachRequest, Cause, CreateRequest, EvaluateRequest, ExecRequest, Limits, Pty, RunOnceResult, StartRequest,
};
use tonic::Code;

use super::{PROGRAMS, kill_templates, outward, warm};
use crate::boxes::{Boxes, boxes, exec, shell, small};
use crate::support::{Daemon, Outcome, cause, describe, settles, text};

const WARM: [&str; 4] = ["--park", "2", "--warm", "python=1"];

/// A box for Python.
pub(super) fn python(id: &str) -> CreateRequest {
    CreateRequest {
        runtime: "python".to_owned(),
        ..small(id)
    }
}

/// A daemon with one such box, `one`.
async fn made() -> Result<Option<(Daemon, Boxes)>, Box<dyn Error>> {
    let Some((daemon, _)) = warm(&WARM).await? else {
        return Ok(None);
    };
    let client = boxes(&daemon).await?;
    let made = client.clone().create(python("one")).await?.into_inner();
    assert_eq!(made.runtime, "python");
    Ok(Some((daemon, client)))
}

pub(super) async fn run(client: &Boxes, request: ExecRequest) -> Result<RunOnceResult, Box<dyn Error>> {
    Ok(client.clone().exec(request).await?.into_inner())
}

fn code(code: &str) -> ExecRequest {
    exec("one", &["python3", "-c", code])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_as_one_that_is_executed() -> Outcome {
    let Some((_daemon, client)) = made().await? else {
        return Ok(());
    };
    let mut wrong = Vec::new();
    for (name, source) in PROGRAMS {
        let on = |runtime: &str| {
            let mut request = exec("one", &["python3", "-c", source, "first", "second"]);
            request.runtime = runtime.to_owned();
            request.stdin = b"1\n2\n3\n".as_slice().into();
            request.env = [("TZ", "Asia/Tokyo"), ("A_NUMBER", "1")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
            request
        };
        let tidy = shell(&client, "one", "rm -rf /work/* /tmp/* /dev/shm/*");
        let (cold, _) = (run(&client, on("exec")).await?, tidy.await?);
        let tidy = shell(&client, "one", "rm -rf /work/* /tmp/* /dev/shm/*");
        let (warm, _) = (run(&client, on("")).await?, tidy.await?);
        if (warm.runtime.as_str(), cold.runtime.as_str()) != ("python", "exec") {
            wrong.push(format!("{name}: ran on {} and {}", warm.runtime, cold.runtime));
        } else if outward(&warm) != outward(&cold) {
            wrong.push(format!(
                "---- {name}\non a zygote:\n{}\nexecuted:\n{}",
                outward(&warm),
                outward(&cold)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        PROGRAMS.len(),
        wrong.join("\n")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_end_has_its_true_cause() -> Outcome {
    let Some((daemon, client)) = made().await? else {
        return Ok(());
    };
    if !daemon.is_full() {
        return Ok(());
    }
    for (source, wanted) in [
        ("raise SystemExit(137)", Cause::Exited),
        ("import os; os.kill(os.getpid(), 15)", Cause::Signaled),
        ("import os; os.kill(os.getpid(), 31)", Cause::Signaled),
        ("while True: pass", Cause::CpuTimeout),
        ("import time; time.sleep(60)", Cause::WallTimeout),
        (
            "import subprocess; subprocess.run('setsid sleep 33 & sleep 33', shell=True)",
            Cause::WallTimeout,
        ),
        ("x = b'x' * (1 << 30)", Cause::Oom),
        (
            "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
            Cause::Pids,
        ),
        ("while True: print('x' * 65536)", Cause::OutputLimit),
    ] {
        let mut request = code(source);
        request.limits = Some(match wanted {
            Cause::WallTimeout => Limits {
                wall_ms: Some(1500),
                ..Limits::default()
            },
            Cause::CpuTimeout => Limits {
                cpu_ms: Some(700),
                ..Limits::default()
            },
            _ => Limits {
                output_kill_bytes: Some(1 << 20),
                ..Limits::default()
            },
        });
        let began = Instant::now();
        let result = run(&client, request).await?;
        assert_eq!(
            (cause(&result), result.runtime.as_str()),
            (wanted, "python"),
            "{source}: {}",
            describe(&result)
        );
        assert!(began.elapsed() < Duration::from_secs(12), "{source}");
        let after = run(&client, code("print('fine')")).await?;
        assert_eq!(
            (text(&after.stdout).as_str(), after.runtime.as_str()),
            ("fine\n", "python"),
            "after {source}: {}",
            describe(&after)
        );
    }
    let left = shell(
        &client,
        "one",
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 3[3]'",
    )
    .await?;
    assert_eq!(text(&left.stdout), "0\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_background_processes_stay_and_nothing_else_does() -> Outcome {
    let Some((_daemon, client)) = made().await? else {
        return Ok(());
    };
    let first = "import sys, os, builtins, subprocess, json\n\
        builtins.mark = json.mark = os.environ['MARK'] = 'x'; sys.path.append('/mark')\n\
        open('kept', 'w').write('here'); os.makedirs('deep/down')\n\
        subprocess.Popen(['sleep', '44'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)";
    assert_eq!(run(&client, code(first)).await?.exit_code, Some(0));
    let look = "import sys, os, builtins, json\n\
        print(open('/work/kept').read(), os.getcwd(), os.environ['NAME'], sys.argv[1:], sys.stdin.read(),\n\
        hasattr(builtins, 'mark'), hasattr(json, 'mark'), 'MARK' in os.environ, '/mark' in sys.path,\n\
        os.getuid() == os.stat('/work').st_uid, sorted(map(int, os.listdir('/proc/self/fd')))[:4])\n\
        print(os.popen('cat /proc/[0-9]*/cmdline | tr \"\\\\0\" \" \" | grep -c \"sleep 4[4]\"').read())";
    let request = ExecRequest {
        cwd: "deep/down".to_owned(),
        env: [("NAME".to_owned(), "value".to_owned())].into(),
        stdin: b"input".as_slice().into(),
        ..exec("one", &["python3", "-c", look, "a", "b"])
    };
    let result = run(&client, request).await?;
    assert_eq!(result.runtime, "python", "{}", describe(&result));
    assert_eq!(
        text(&result.stdout),
        "here /work/deep/down value ['a', 'b'] input False False False False True [0, 1, 2, 3]\n1\n\n",
        "{}",
        describe(&result)
    );
    let script = run(&client, exec("one", &["bash", "-c", "echo 'print(__file__)' > s.py"])).await?;
    assert_eq!(script.runtime, "exec");
    let script = run(&client, exec("one", &["python3", "s.py"])).await?;
    assert_eq!(
        (text(&script.stdout).as_str(), script.runtime.as_str()),
        ("/work/s.py\n", "python")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_and_one_after_the_other() -> Outcome {
    let Some((_daemon, client)) = made().await? else {
        return Ok(());
    };
    let mut together = tokio::task::JoinSet::new();
    for number in 0..16_u32 {
        let client = client.clone();
        together.spawn(async move {
            let mut results = Vec::new();
            for round in 0..4 {
                let request = code(&format!("print({number} * 100 + {round})"));
                results.push(client.clone().exec(request).await.map(tonic::Response::into_inner));
            }
            (number, results)
        });
    }
    while let Some(done) = together.join_next().await {
        let (number, results) = done?;
        for (round, result) in results.into_iter().enumerate() {
            let result = result?;
            let wanted = format!("{}\n", number * 100 + u32::try_from(round)?);
            assert_eq!(text(&result.stdout), wanted, "{}", describe(&result));
            assert_eq!(result.runtime, "python");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn started_processes_and_interpreters_are_warm_and_terminals_are_not() -> Outcome {
    let Some((_daemon, client)) = made().await? else {
        return Ok(());
    };
    let start = |process: &str, source: &str| StartRequest {
        exec: Some(code(source)),
        process: process.to_owned(),
        ..StartRequest::default()
    };
    let ended = async |process: &str| -> Result<(String, RunOnceResult), Box<dyn Error>> {
        let request = AttachRequest {
            r#box: "one".to_owned(),
            process: process.to_owned(),
            ..AttachRequest::default()
        };
        let mut events = client.clone().attach(request).await?.into_inner();
        let mut output = String::new();
        while let Some(event) = events.message().await? {
            match event.event.ok_or("an empty event")? {
                Event::Stdout(chunk) => output.push_str(&String::from_utf8_lossy(&chunk.data)),
                Event::Ended(result) => return Ok((output, result)),
                _ => {}
            }
        }
        Err("no end".into())
    };
    client.clone().start(start("p", "print('begun'); exit(4)")).await?;
    let (output, result) = ended("p").await?;
    assert_eq!(
        (output.as_str(), result.exit_code, result.runtime.as_str()),
        ("begun\n", Some(4), "python")
    );
    let terminal = StartRequest {
        pty: Some(Pty { rows: 24, columns: 80 }),
        ..start("t", "import os; print(os.isatty(0))")
    };
    client.clone().start(terminal.clone()).await?;
    let (output, result) = ended("t").await?;
    assert_eq!((output.trim(), result.runtime.as_str()), ("True", "exec"));
    let mut insisting = terminal;
    insisting.process = "u".to_owned();
    insisting.exec.get_or_insert_default().runtime = "python".to_owned();
    let refused = client.clone().start(insisting).await.err().ok_or("it started")?;
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    let repl = StartRequest {
        exec: Some(exec("one", &[])),
        process: "repl".to_owned(),
        repl: "python".to_owned(),
        ..StartRequest::default()
    };
    client.clone().start(repl).await?;
    for (source, value) in [
        ("import os, math; x = 20", ""),
        ("x + int(math.sqrt(4))", "22"),
        ("print(__name__)", ""),
    ] {
        let request = EvaluateRequest {
            r#box: "one".to_owned(),
            process: "repl".to_owned(),
            code: source.to_owned(),
            limits: None,
        };
        let reply = client.clone().evaluate(request).await?.into_inner();
        assert_eq!((reply.value.as_str(), reply.error.as_str()), (value, ""), "{source}");
        assert_eq!(reply.result.ok_or("no result")?.runtime, "python");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_choose_the_runtime() -> Outcome {
    let Some((_daemon, client)) = made().await? else {
        return Ok(());
    };
    client.clone().create(small("plain")).await?;
    let on = |of: &str, runtime: &str, argv: &[&str]| ExecRequest {
        runtime: runtime.to_owned(),
        ..exec(of, argv)
    };
    let program = ["python3", "-c", "print(1)"];
    for (request, wanted) in [
        (on("one", "", &program), "python"),
        (on("one", "exec", &program), "exec"),
        (on("one", "", &["true"]), "exec"),
        (on("one", "", &["python3", "-u", "-c", "print(1)"]), "exec"),
        (on("plain", "", &program), "exec"),
        (on("plain", "python", &program), "python"),
    ] {
        let result = run(&client, request.clone()).await?;
        assert_eq!(
            (result.runtime.as_str(), result.exit_code),
            (wanted, Some(0)),
            "{request:?}"
        );
    }
    let nobody = ExecRequest {
        user: "nobody".to_owned(),
        ..code("import os; print(os.getuid() == os.stat('/work').st_uid)")
    };
    if _daemon.is_root() && _daemon.is_full() {
        let result = run(&client, nobody).await?;
        assert_eq!(
            (text(&result.stdout).as_str(), result.runtime.as_str()),
            ("False\n", "exec")
        );
    }
    for (request, wanted) in [
        (on("one", "python", &["true"]), Code::FailedPrecondition),
        (on("one", "ruby", &program), Code::InvalidArgument),
    ] {
        let refused = client.clone().exec(request).await.err().ok_or("it ran")?;
        assert_eq!(refused.code(), wanted, "{refused}");
    }
    let mut other = python("other");
    other.runtime = "ruby".to_owned();
    let refused = client.clone().create(other).await.err().ok_or("it was made")?;
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    let Some(cold) = Daemon::start(&["--park", "1", "--warm", "python=0"])? else {
        return Ok(());
    };
    let refused = boxes(&cold).await?.create(python("one")).await.err();
    assert_eq!(refused.ok_or("it was made")?.code(), Code::FailedPrecondition);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_template_costs_no_exec_and_boxes_end_with_their_zygotes() -> Outcome {
    let Some((mut daemon, client)) = made().await? else {
        return Ok(());
    };
    for _ in 0..2 {
        kill_templates(daemon.pid())?;
        for _ in 0..4 {
            let result = run(&client, code("print(1)")).await?;
            assert_eq!(
                (cause(&result), text(&result.stdout).as_str()),
                (Cause::Exited, "1\n"),
                "{}",
                describe(&result)
            );
        }
        tokio::time::sleep(Duration::from_millis(1200)).await;
        run(&client, code("print(1)")).await?;
        let result = run(&client, code("print(1)")).await?;
        assert_eq!(result.runtime, "python", "{}", describe(&result));
    }
    daemon.kill()?;
    settles(daemon.pid(), std::collections::BTreeSet::is_empty).await
}
