//! Many tests of one program in one sandbox: each case runs alone on a clean layer and is reported as it ended.

mod apart;
mod layers;
mod memory;

use std::time::Duration;

use prl_sandbox_proto::run_tests_event::Event;
use prl_sandbox_proto::{
    CancelRequest, Cause, InputFile, Limits, RunOnceRequest, RunOnceResult, RunTestsEnd, RunTestsRequest, TestCase,
};
use tokio_stream::StreamExt;

use crate::support::{Client, Daemon, Outcome, cause, command, describe, settles, skip, text, tight, until};

pub(crate) type Failure = Box<dyn std::error::Error>;

/// All events of one stream.
#[derive(Debug, Default)]
pub(crate) struct TestsResult {
    pub(crate) build: Option<RunOnceResult>,
    pub(crate) cases: Vec<RunOnceResult>,
    pub(crate) end: Option<RunTestsEnd>,
}

impl TestsResult {
    pub(crate) fn outputs(&self) -> Vec<String> {
        self.cases.iter().map(|case| text(&case.stdout)).collect()
    }

    fn causes(&self) -> Vec<Cause> {
        self.cases.iter().map(cause).collect()
    }
}

pub(crate) async fn judge(client: &Client, request: RunTestsRequest) -> Result<TestsResult, Failure> {
    let judged = judge_to_the_end(client, request).await?;
    let end = judged.end.as_ref().ok_or("the stream has no end")?;
    assert_eq!(end.error_code, "", "{end:?}");
    Ok(judged)
}

/// Reads the stream to its end, whatever the end is.
async fn judge_to_the_end(client: &Client, request: RunTestsRequest) -> Result<TestsResult, Failure> {
    let mut stream = client.clone().run_tests(request).await?.into_inner();
    let mut judged = TestsResult::default();
    while let Some(event) = stream.next().await {
        match event?.event.ok_or("an empty event")? {
            Event::Build(result) => judged.build = Some(result),
            Event::Case(case) => {
                assert_eq!(case.index as usize, judged.cases.len(), "order");
                judged.cases.push(case.result.ok_or("no result")?);
            }
            Event::End(end) => judged.end = Some(end),
        }
    }
    let end = judged.end.as_ref().ok_or("the stream has no end")?;
    assert_eq!(end.completed as usize, judged.cases.len());
    Ok(judged)
}

pub(crate) fn tests(request: RunOnceRequest, inputs: &[&str]) -> RunTestsRequest {
    let case = |input: &&str| TestCase {
        stdin: input.as_bytes().to_vec().into(),
        args: Vec::new(),
    };
    RunTestsRequest {
        request: Some(request),
        cases: inputs.iter().map(case).collect(),
        ..RunTestsRequest::default()
    }
}

fn file(path: &str, content: &str) -> InputFile {
    InputFile {
        path: path.to_owned(),
        content: content.as_bytes().to_vec().into(),
        mode: 0,
    }
}

/// The runtimes: a warm interpreter where there is one, and execution.
const RUNTIMES: [(&str, &[&str]); 2] = [
    ("python", &["--park", "1", "--warm", "python=1"]),
    ("exec", &["--park", "1"]),
];

/// Runs a test on every runtime that the machine has.
async fn on_each(act: impl AsyncFn(&str, &Client) -> Outcome) -> Outcome {
    on_each_with(&[], act).await
}

/// Runs it with further arguments of the daemon.
async fn on_each_with(more: &[&str], act: impl AsyncFn(&str, &Client) -> Outcome) -> Outcome {
    for (runtime, arguments) in RUNTIMES {
        let Some(daemon) = Daemon::start(&[arguments, more].concat())? else {
            continue;
        };
        let client = daemon.client().await?;
        let warm = client
            .clone()
            .capabilities(prl_sandbox_proto::CapabilitiesRequest {})
            .await?;
        if runtime == "python" && warm.into_inner().runtimes.is_empty() {
            skip("no warm Python");
            continue;
        }
        act(runtime, &client).await?;
        let pid = daemon.pid();
        drop(client);
        daemon.stop()?;
        settles(pid, std::collections::BTreeSet::is_empty).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_case_gets_its_input_and_its_arguments() -> Outcome {
    on_each(async |runtime, client| {
        let program = "import sys\nprint(int(input()) * 2, sys.argv[1:])\nif sys.argv[-1] == 'fail': 1 / 0";
        let mut request = tests(command(&["python3", "-c", program, "all"]), &["1", "2", "x", "4"]);
        request.cases[3].args = vec!["own".to_owned(), "fail".to_owned()];
        let judged = judge(client, request.clone()).await?;
        assert_eq!(
            judged.outputs(),
            ["2 ['all']\n", "4 ['all']\n", "", "8 ['all', 'own', 'fail']\n"]
        );
        let codes: Vec<_> = judged.cases.iter().map(|case| case.exit_code).collect();
        assert_eq!(codes, [Some(0), Some(0), Some(1), Some(1)]);
        for case in &judged.cases {
            assert_eq!(case.runtime, runtime);
        }
        request.stop_on_failure = true;
        assert_eq!(judge(client, request).await?.cases.len(), 3);
        let none = judge(client, tests(command(&["python3", "-c", "pass"]), &[])).await?;
        assert!(none.cases.is_empty());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_case_begins_with_the_files_and_the_build() -> Outcome {
    on_each(async |_, client| {
        let program = "import os\n\
            for d in ('/work', '/work/sub', '/tmp', '/dev/shm', '/run'): print(d, sorted(os.listdir(d)))\n\
            print(open('/work/made').read(), open('/work/in').read())\n\
            for d in ('/work', '/work/sub', '/tmp', '/dev/shm', '/run'): open(d + '/mark', 'w').write('x')\n\
            open('/work/made', 'a').write('spoilt'); os.remove('/work/in'); os.rename('/work/sub/a', '/work/sub/b')\n\
            os.chmod('/work/tool', 0o600)";
        let mut run = command(&["python3", "-c", program]);
        run.files = vec![file("in", "given"), file("sub/a", ""), file("tool", "")];
        run.collect = vec!["sub/*".to_owned()];
        let mut request = tests(run, &["", "", ""]);
        request.build = [
            "sh",
            "-c",
            "echo built > made; touch /tmp/of-build; echo done; sleep 100 &",
        ]
        .map(str::to_owned)
        .into();
        let judged = judge(client, request).await?;
        let build = judged.build.as_ref().ok_or("no build")?;
        assert_eq!(
            (text(&build.stdout).as_str(), build.exit_code),
            ("done\n", Some(0)),
            "{}",
            describe(build)
        );
        let first = &judged.outputs()[0];
        assert!(
            first.contains("/tmp ['of-build']") && first.contains("built\n given"),
            "{}",
            describe(&judged.cases[0])
        );
        assert!(first.contains("/dev/shm []\n/run []"), "{first}");
        for (output, case) in judged.outputs().iter().zip(&judged.cases) {
            assert_eq!(output, first, "{}", describe(case));
            let collected: Vec<_> = case.files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(collected, ["sub/b", "sub/mark"]);
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_namespaces_every_case_has_a_copy_of_the_first_state() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1", "--tier", "process"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    // Prints the files that it finds, spoils them all, fills the disk when it is asked to, and leaves a process that
    // would spoil the next case.
    let line = "read kind; find . $TMPDIR -type f | sed \"s#$TMPDIR#T#\" | sort | tr '\\n' ' '; cat made in $TMPDIR/of-build; echo $1; \
                echo spoilt >> made; rm -r in sub $TMPDIR/*; touch mark $TMPDIR/mark; chmod 700 tool; mkdir -p out; echo $kind > out/kind; \
                (setsid sh -c 'trap \"\" HUP TERM; while :; do touch spoiler; sleep 0.01; done' &) > /dev/null 2>&1; \
                [ $kind != fill ] || head -c 20000000 /dev/zero > large; [ $kind != die ] || kill -9 $$";
    let mut run = command(&["bash", "-c", line, "bash"]);
    run.files = vec![file("in", "given\n"), file("sub/a", "a"), file("tool", "")];
    run.collect = vec!["out/*".to_owned()];
    let mut request = tests(run, &["one\n", "fill\n", "die\n", "last\n"]);
    for (number, case) in request.cases.iter_mut().enumerate() {
        case.args = vec![format!("argument {number}")];
    }
    let build = "echo built > made; chmod 555 tool; echo tmp > $TMPDIR/of-build; echo done; sleep 100 &";
    request.build = ["bash", "-c", build].map(str::to_owned).into();
    let judged = judge(&client, request).await?;
    let built = judged.build.as_ref().ok_or("no build")?;
    assert_eq!(
        (text(&built.stdout).as_str(), built.exit_code),
        ("done\n", Some(0)),
        "{}",
        describe(built)
    );
    let found = "./in ./made ./sub/a ./tool T/of-build built\ngiven\ntmp\n";
    let kinds = ["one", "fill", "die", "last"];
    assert_eq!(judged.cases.len(), kinds.len());
    for (number, (kind, case)) in kinds.iter().zip(&judged.cases).enumerate() {
        assert_eq!(
            text(&case.stdout),
            format!("{found}argument {number}\n"),
            "{}",
            describe(case)
        );
        let wanted = if *kind == "die" { Cause::Signaled } else { Cause::Exited };
        assert_eq!(cause(case), wanted, "{}", describe(case));
        let collected: Vec<_> = case
            .files
            .iter()
            .map(|file| (file.path.as_str(), &file.content[..]))
            .collect();
        assert_eq!(collected, [("out/kind", format!("{kind}\n").as_bytes())]);
    }
    let filled = &judged.cases[1];
    assert!(text(&filled.stderr).contains("File size limit"), "{}", describe(filled));
    // The files that all cases begin with are within the limits of each case.
    let mut run = command(&["true"]);
    run.limits = Some(Limits {
        disk_bytes: Some(1 << 20),
        ..tight()
    });
    let mut request = tests(run, &[""]);
    let build = "for i in 1 2 3; do head -c 500000 /dev/zero > $i; done";
    request.build = ["bash", "-c", build].map(str::to_owned).into();
    let judged = judge(&client, request).await?;
    assert_eq!(judged.causes(), [Cause::DiskFull], "{}", describe(&judged.cases[0]));
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compiled_program_is_built_once() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    if !std::path::Path::new("/usr/bin/gcc").exists() {
        skip("no gcc");
        return Ok(());
    }
    let mut run = command(&["./program"]);
    run.files = vec![file(
        "main.c",
        "#include <stdio.h>\nint main(void) { int x; scanf(\"%d\", &x); printf(\"%d\\n\", x + 1); return x == 3; }\n",
    )];
    let mut request = tests(run, &["1", "2", "3"]);
    request.build = ["gcc", "-O1", "-o", "program", "main.c"].map(str::to_owned).into();
    request.build_limits = Some(Limits {
        wall_ms: Some(60_000),
        cpu_ms: Some(60_000),
        ..Limits::default()
    });
    let judged = judge(&client, request.clone()).await?;
    assert_eq!(judged.outputs(), ["2\n", "3\n", "4\n"]);
    assert_eq!(judged.cases[2].exit_code, Some(1));
    if let Some(run) = &mut request.request {
        run.files = vec![file("main.c", "int main(void) { return nothing; }\n")];
    }
    let broken = judge(&client, request).await?;
    let build = broken.build.ok_or("no build")?;
    assert_eq!(build.exit_code, Some(1));
    assert!(text(&build.stderr).contains("nothing"), "{}", describe(&build));
    assert!(broken.cases.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_case_hurts_no_other() -> Outcome {
    on_each(async |_, client| {
        let program = "import os, sys, time, signal\nkind = input()\n\
            if kind == 'spin':\n    while True: pass\n\
            if kind == 'memory': x = b'x' * (1 << 30)\n\
            if kind == 'output':\n    while True: print('x' * 65536)\n\
            if kind == 'forks':\n    while True:\n        try: os.fork()\n        except OSError: pass\n\
            if kind == 'disk':\n    try: open('f', 'wb').write(bytes(1 << 25))\n    except OSError as e: print(e.strerror)\n\
            if kind == 'leave':\n    for _ in range(5):\n        if not os.fork():\n            os.setsid()\n            if not os.fork(): time.sleep(100)\n            os._exit(0)\n\
            if kind == 'kill':\n    os.kill(-1, signal.SIGKILL)\n    for pid in set(range(1, 200)) - {os.getpid()}:\n        try: os.kill(pid, 9)\n        except OSError: pass\n\
            if kind == 'look': print(sorted(p for p in os.listdir('/proc') if p.isdigit() and p != str(os.getpid())))\n\
            print('end')";
        let mut run = command(&["python3", "-c", program]);
        run.limits = Some(Limits { cpu_ms: Some(1000), wall_ms: Some(10_000), ..tight() });
        let kinds = ["look", "spin", "memory", "output", "forks", "disk", "leave", "kill", "look"];
        let judged = judge(client, tests(run, &kinds)).await?;
        let wanted = [
            Cause::Exited,
            Cause::CpuTimeout,
            Cause::Oom,
            Cause::OutputLimit,
            Cause::Pids,
            Cause::Exited,
            Cause::Exited,
            Cause::Exited,
            Cause::Exited,
        ];
        for ((kind, wanted), case) in kinds.iter().zip(wanted).zip(&judged.cases) {
            assert_eq!(cause(case), wanted, "{kind}: {}", describe(case));
        }
        let outputs = judged.outputs();
        assert_eq!(outputs[0], "[]\nend\n");
        assert_eq!(outputs[5], "No space left on device\nend\n");
        assert_eq!(outputs[8], outputs[0]);
        assert_eq!(judged.causes().len(), kinds.len());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_stream_ends_everything() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0", "--warm", "python=1"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    let request = tests(
        command(&["python3", "-c", "import time\nprint(1)\ntime.sleep(int(input()))"]),
        &["0", "60", "0"],
    );
    let mut stream = client.clone().run_tests(request).await?.into_inner();
    let first = stream.next().await.ok_or("nothing")??;
    assert!(matches!(first.event, Some(Event::Case(_))));
    drop(stream);
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let health = client
            .clone()
            .health(prl_sandbox_proto::HealthRequest {})
            .await?
            .into_inner();
        if health.running == 0 {
            return Ok(());
        }
        assert!(std::time::Instant::now() < deadline, "still running");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_with_a_key_are_begun_once_and_can_be_cancelled_by_it() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1", "--warm", "python=0"])? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    let keyed = |key: &str, line: &str| {
        let mut request = command(&["sh", "-c", line]);
        request.idempotency_key = key.to_owned();
        tests(request, &["", ""])
    };
    let first = judge(&client, keyed("k", "echo ran")).await?;
    assert_eq!(first.outputs(), ["ran\n", "ran\n"]);
    let mut again = client.clone().run_tests(keyed("k", "echo ran")).await?.into_inner();
    let Some(Event::End(end)) = again.next().await.ok_or("no event")??.event else {
        return Err("they were run again".into());
    };
    assert_eq!(
        (end.completed, end.error_code.as_str()),
        (0, "PRL_SANDBOX_RESULT_EXPIRED")
    );
    assert!(again.next().await.is_none());
    let other = client.clone().run_tests(keyed("k", "echo other")).await;
    assert!(other.is_err_and(|status| status.code() == tonic::Code::InvalidArgument));
    let long = client.clone();
    let long = tokio::spawn(async move {
        judge_to_the_end(&long, keyed("l", "sleep 4"))
            .await
            .map_err(|error| error.to_string())
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let cancel = CancelRequest {
        idempotency_key: "l".to_owned(),
        ..CancelRequest::default()
    };
    assert!(client.clone().cancel(cancel.clone()).await?.into_inner().found);
    let judged = long.await??;
    let causes = judged.causes();
    assert!(
        causes.first().is_none_or(|first| *first == Cause::Cancelled),
        "{causes:?}"
    );
    assert_eq!(
        judged.end.map(|end| end.error_code).as_deref(),
        Some("PRL_SANDBOX_CANCELLED")
    );
    until("over for its key too", async || {
        Ok(!client.clone().cancel(cancel.clone()).await?.into_inner().found)
    })
    .await
}
