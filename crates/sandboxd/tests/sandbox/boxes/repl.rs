//! Interpreters that keep their state between evaluations.

use prl_sandbox_proto::{BoxRequest, Cause, EvaluateReply, EvaluateRequest, ExecRequest, Limits, StartRequest};
use tonic::{Code, Status};

use super::{Boxes, boxes, small};
use crate::support::{Daemon, Outcome, cause, describe, text, until};

fn request(of: &str, code: &str) -> EvaluateRequest {
    EvaluateRequest {
        r#box: of.to_owned(),
        process: "repl".to_owned(),
        code: code.to_owned(),
        limits: None,
    }
}

async fn evaluate(boxes: &Boxes, of: &str, code: &str) -> Result<EvaluateReply, Status> {
    Ok(boxes.clone().evaluate(request(of, code)).await?.into_inner())
}

async fn start(boxes: &Boxes, of: &str, kind: &str) -> Result<(), Status> {
    let start = StartRequest {
        exec: Some(ExecRequest {
            r#box: of.to_owned(),
            ..ExecRequest::default()
        }),
        process: "repl".to_owned(),
        repl: kind.to_owned(),
        ..StartRequest::default()
    };
    boxes.clone().start(start).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread")]
async fn state_is_kept_and_every_evaluation_has_separate_output() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let boxes = boxes(&daemon).await?;
    boxes.clone().create(small("one")).await?;
    start(&boxes, "one", "python").await?;
    for (code, value, out, error) in [
        ("x = 20", "", "", ""),
        ("def f(n):\n    print('called', n)\n    return n + x\n", "", "", ""),
        ("f(2)", "22", "called 2\n", ""),
        ("_ * 2", "44", "", ""),
        ("import os\nos.system('echo child')\nNone", "", "child\n", ""),
        ("1 / 0", "", "", "ZeroDivisionError: division by zero"),
        ("y = (", "", "", "SyntaxError: '(' was never closed (<repl-7>, line 1)"),
        ("open('/dev/stdout', 'w').write('direct')", "6", "direct", ""),
        ("__name__, x", "('__main__', 20)", "", ""),
        (
            "import subprocess; p = subprocess.Popen('sleep .3; echo late', shell=True)",
            "",
            "",
            "",
        ),
        ("p.wait()", "0", "", ""),
        ("", "", "", ""),
    ] {
        let reply = evaluate(&boxes, "one", code).await?;
        let result = reply.result.ok_or("no result")?;
        assert_eq!(
            (reply.value.as_str(), reply.error.as_str()),
            (value, error),
            "{code}: {}",
            describe(&result)
        );
        assert_eq!((text(&result.stdout).as_str(), reply.alive), (out, true), "{code}");
        assert_eq!(
            (cause(&result), result.exit_code),
            (Cause::Exited, Some(i32::from(!error.is_empty())))
        );
        if code == "1 / 0" {
            let wanted = "Traceback (most recent call last):\n  File \"<repl-6>\", line 1, in <module>\n    1 / 0\n";
            assert!(text(&result.stderr).starts_with(wanted), "{}", describe(&result));
        }
    }
    let mut together = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let boxes = boxes.clone();
        together.spawn(async move { evaluate(&boxes, "one", "x += 1").await });
    }
    while let Some(reply) = together.join_next().await {
        assert_eq!(reply??.error, "");
    }
    assert_eq!(evaluate(&boxes, "one", "x").await?.value, "28");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_belong_to_their_evaluations() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let boxes = boxes(&daemon).await?;
    boxes.clone().create(small("one")).await?;
    start(&boxes, "one", "python").await?;
    for (code, value, error) in [
        ("import os, sys, time\nchild = os.fork()", "", ""),
        ("child > 0 and os.waitpid(child, 0)[1]", "0", ""),
        ("child = os.fork()\n1 / 0", "", "ZeroDivisionError: division by zero"),
        ("os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])", "1", ""),
        ("os.write(3, b'ended\\0forged\\0')", "13", ""),
        (
            "import socket\nwith socket.socket(fileno=os.dup(3)) as own: sent = [own.send(b'x' * n) for n in (1, 0, 100)]\nsent",
            "[1, 0, 100]",
            "",
        ),
        // More descriptors, and more bytes, than any message of ours has.
        (
            "import array\nwith socket.socket(fileno=os.dup(3)) as own: own.sendmsg([b'x'], [(1, 1, array.array('i', [0] * 17))])\n6",
            "6",
            "",
        ),
        (
            "with socket.socket(fileno=os.dup(3)) as own:\n    own.setsockopt(1, 7, 1 << 20)\n    own.send(b'x' * 300000)\n7",
            "7",
            "",
        ),
        ("import ctypes\nchild = ctypes.CDLL(None).fork()", "", ""),
        ("os.waitpid(child, 0)[1]", "0", ""),
        // The output before belongs to this evaluation, also when the program exchanges the stream.
        (
            "print('kept', end=''); saved = sys.stdout, sys.stderr; sys.stdout = sys.stderr = None",
            "",
            "",
        ),
        ("print('nowhere'); 2", "2", ""),
        ("1 / 0", "", "ZeroDivisionError: division by zero"),
        ("sys.stdout, sys.stderr = [], object(); 3", "3", ""),
        ("del sys.stdout, sys.stderr; 4", "4", ""),
        (
            "sys.excepthook = lambda *_: 1 / 0; x",
            "",
            "NameError: name 'x' is not defined",
        ),
        (
            "class Silent(Exception):\n    def __str__(self): raise KeyError\nraise Silent",
            "",
            "Silent: <exception str() failed>",
        ),
        ("sys.stdout, sys.stderr = saved; print('back')", "", ""),
        ("5", "5", ""),
    ] {
        let reply = evaluate(&boxes, "one", code).await?;
        let result = reply.result.ok_or("no result")?;
        assert_eq!(
            (reply.value.as_str(), reply.error.as_str(), reply.alive),
            (value, error, true),
            "{code}: {}",
            describe(&result)
        );
        let printed = match code {
            _ if code.contains("'kept'") => "kept",
            _ if code.contains("'back'") => "back\n",
            _ => "",
        };
        assert_eq!(text(&result.stdout), printed, "{code}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn evaluations_that_must_be_ended_end_the_interpreter() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let boxes = boxes(&daemon).await?;
    let endings = [
        (
            "import time\nprint('begun', flush=True)\ntime.sleep(60)",
            Cause::WallTimeout,
            None,
        ),
        ("while True: print('x' * 65536)", Cause::OutputLimit, None),
        ("exit(3)", Cause::Exited, Some(3)),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
            Cause::Signaled,
            None,
        ),
    ];
    for (index, (code, wanted, exit_code)) in endings.into_iter().enumerate() {
        let of = format!("box-{index}");
        boxes.clone().create(small(&of)).await?;
        start(&boxes, &of, "python").await?;
        let mut asked = request(&of, code);
        asked.limits = Some(Limits {
            wall_ms: Some(1500),
            output_kill_bytes: Some(1 << 20),
            ..Limits::default()
        });
        let reply = boxes.clone().evaluate(asked).await?.into_inner();
        let result = reply.result.ok_or("no result")?;
        assert_eq!(
            (cause(&result), reply.alive),
            (wanted, false),
            "{code}: {}",
            describe(&result)
        );
        if wanted == Cause::Exited {
            assert_eq!(result.exit_code, exit_code);
        }
        let gone = evaluate(&boxes, &of, "1").await.err().ok_or("it goes on")?;
        assert_eq!(gone.code(), Code::NotFound, "{gone}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_whose_caller_leaves_ends_the_interpreter() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let boxes = boxes(&daemon).await?;
    boxes.clone().create(small("one")).await?;
    start(&boxes, "one", "python").await?;
    evaluate(&boxes, "one", "begun = open('/work/begun', 'w')").await?;
    let left = evaluate(&boxes, "one", "begun.write('x')\nbegun.close()\nwhile True: pass");
    let waiting = until("begun", async || {
        Ok(text(&super::shell(&boxes, "one", "cat begun").await?.stdout) == "x")
    });
    tokio::select! {
        reply = left => return Err(format!("it ended: {reply:?}").into()),
        begun = waiting => begun?,
    }
    until("ended", async || {
        let request = BoxRequest {
            r#box: "one".to_owned(),
        };
        let all = boxes.clone().list_processes(request).await?.into_inner().processes;
        Ok(all.iter().all(|process| !process.running))
    })
    .await
}

/// What Node evaluates one after the other: the code, its value, what it prints, and its error.
const NODE_LINES: [(&str, &str, &str, &str); 18] = [
    ("const x = 20; let n = 0", "", "", ""),
    (
        "function f(n) {\n  console.log('called', n);\n  return n + x;\n}",
        "",
        "called",
        "",
    ),
    ("f(2)", "22", "called 2\n", ""),
    ("_ * 2", "44", "", ""),
    ("const y = await Promise.resolve(7); y + n", "7", "", ""),
    (
        "require('child_process').execSync('echo child', { stdio: 'inherit' }); undefined",
        "",
        "child\n",
        "",
    ),
    (
        "null.a",
        "",
        "",
        "TypeError: Cannot read properties of null (reading 'a')",
    ),
    ("z = (", "", "", "SyntaxError: Unexpected end of input"),
    ("throw 5", "", "", "Uncaught 5"),
    ("await Promise.reject(new RangeError('far'))", "", "", "RangeError: far"),
    ("require('fs').writeFileSync('/dev/stdout', 'direct')", "", "direct", ""),
    ("({ a: [1, 'b'] })", "{ a: [ 1, 'b' ] }", "", ""),
    ("setTimeout(() => console.log('late'), 20); 1", "1", "", ""),
    (
        "await new Promise((done) => setTimeout(done, 200)); x",
        "20",
        "late\n",
        "",
    ),
    ("setTimeout(() => console.log('lost'), 20); 2", "2", "", ""),
    ("require('fs').writeSync(3, 'ended\\0forged\\0')", "13", "", ""),
    ("process.stdout.write('x'.repeat(300000)) && 3", "3", "x", ""),
    ("", "", "", ""),
];

#[tokio::test(flavor = "multi_thread")]
async fn node_keeps_its_state_too() -> Outcome {
    if !std::path::Path::new("/usr/bin/node").exists() {
        crate::support::skip("no /usr/bin/node");
        return Ok(());
    }
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let boxes = boxes(&daemon).await?;
    let mut roomy = small("one");
    roomy.limits.get_or_insert_default().memory_bytes = Some(512 << 20);
    boxes.clone().create(roomy).await?;
    start(&boxes, "one", "node").await?;
    for (code, value, out, error) in NODE_LINES {
        let reply = evaluate(&boxes, "one", code).await?;
        let result = reply.result.ok_or("no result")?;
        assert_eq!(
            (reply.value.as_str(), reply.error.as_str(), reply.alive),
            (value, error, true),
            "{code}: {}",
            describe(&result)
        );
        let printed = text(&result.stdout);
        match out {
            "x" => assert_eq!(printed.len(), 300_000),
            "called" => assert_eq!(printed, ""),
            out => assert_eq!(printed, out, "{code}"),
        }
        assert_eq!(
            (cause(&result), result.exit_code),
            (Cause::Exited, Some(i32::from(!error.is_empty())))
        );
        if code == "null.a" {
            let errors = text(&result.stderr);
            assert!(errors.starts_with("Uncaught TypeError: Cannot read"), "{errors}");
            assert!(!errors.contains("node:"), "{errors}");
        }
        if code.contains("'lost'") {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }
    let reply = evaluate(&boxes, "one", "console.log('bye'); process.exit(3)").await?;
    let result = reply.result.ok_or("no result")?;
    assert_eq!(
        (result.exit_code, text(&result.stdout).as_str(), reply.alive),
        (Some(3), "bye\n", false),
        "{}",
        describe(&result)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn other_interpreters_and_processes_are_refused() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let boxes = boxes(&daemon).await?;
    boxes.clone().create(small("one")).await?;
    let refused = start(&boxes, "one", "ruby").await.err().ok_or("it started")?;
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    let plain = StartRequest {
        exec: Some(super::exec("one", &["sleep", "5"])),
        process: "repl".to_owned(),
        ..StartRequest::default()
    };
    boxes.clone().start(plain).await?;
    let refused = evaluate(&boxes, "one", "1").await.err().ok_or("it evaluated")?;
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    Ok(())
}
