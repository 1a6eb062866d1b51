//! The page for Prometheus: it is there and well formed, its numbers follow the events, and bad callers do not harm it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::time::{Duration, Instant};

use prl_sandbox_proto::run_tests_event::Event;
use prl_sandbox_proto::{
    Cause, CloseRequest, CreateRequest, InputFile, Limits, RunOnceRequest, RunTestsRequest, TestCase,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::boxes::{boxes, shell, small};
use crate::support::census::kill_inits;
use crate::support::{Daemon, Outcome, cause, command, describe, skip, tcp, tight, until};
use crate::zygote::{kill_templates, warm};

/// Values by name with labels.
type Values = BTreeMap<String, f64>;

fn address(daemon: &Daemon) -> Result<String, Box<dyn Error>> {
    Ok(daemon.announced["metrics"]
        .as_str()
        .ok_or("no address of metrics")?
        .to_owned())
}

/// Sends a request and returns all bytes until the other side closes.
async fn say(address: &str, request: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await??;
    Ok(String::from_utf8(answer)?)
}

pub(crate) async fn page(daemon: &Daemon) -> Result<(Values, String), Box<dyn Error>> {
    let answer = say(&address(daemon)?, "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no body")?;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(
        head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{head}"
    );
    Ok((parse(body)?, body.to_owned()))
}

/// Reads OpenMetrics text as strictly as its specification: families in one piece with a type before their samples,
/// samples with the suffixes of their type, counters and buckets that are counts, and the end mark at the end.
fn parse(text: &str) -> Result<Values, Box<dyn Error>> {
    let body = text.strip_suffix("# EOF\n").ok_or("no end")?;
    let mut families = HashSet::new();
    let (mut family, mut kind) = (String::new(), String::new());
    let mut values = Values::new();
    for line in body.lines() {
        let wrong = |what: &str| format!("{what}: {line:?}");
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (word, name, rest) = (words.next(), words.next(), words.next());
            let (name, rest) = (
                name.ok_or_else(|| wrong("no name"))?,
                rest.ok_or_else(|| wrong("no text"))?,
            );
            match word {
                Some("HELP") => assert!(families.insert(name.to_owned()), "{}", wrong("a family in two pieces")),
                Some("TYPE") => {
                    let known = ["counter", "gauge", "histogram", "info"].contains(&rest);
                    assert!(known && families.contains(name), "{}", wrong("a type of nothing"));
                    (family, kind) = (name.to_owned(), rest.to_owned());
                }
                _ => return Err(wrong("neither help nor type").into()),
            }
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').ok_or_else(|| wrong("no value"))?;
        let value: f64 = value.parse()?;
        let (name, labels) = match sample.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').ok_or_else(|| wrong("open labels"))?),
            None => (sample, ""),
        };
        let plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_';
        assert!(name.chars().all(plain), "{}", wrong("a name"));
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (key, value) = label.split_once("=\"").ok_or_else(|| wrong("a label"))?;
            assert!(key.chars().all(plain) && value.ends_with('"'), "{}", wrong("a label"));
        }
        let suffix = name
            .strip_prefix(&family)
            .ok_or_else(|| wrong("outside of its family"))?;
        let suffixes: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "histogram" => &["_sum", "_count", "_bucket"],
            "info" => &["_info"],
            _ => &[""],
        };
        assert!(suffixes.contains(&suffix), "{}", wrong("a suffix"));
        assert!(value.is_finite() && value >= 0.0, "{}", wrong("a value"));
        assert!(values.insert(sample.to_owned(), value).is_none(), "{}", wrong("twice"));
    }
    for (name, count) in &values {
        if let Some(histogram) = name.strip_suffix("_count") {
            let all = values.get(&format!("{histogram}_bucket{{le=\"+Inf\"}}"));
            assert_eq!(all, Some(count), "{histogram}: its last bucket has all");
        }
    }
    Ok(values)
}

pub(crate) fn of(values: &Values, name: &str) -> f64 {
    values.get(name).copied().unwrap_or(f64::NAN)
}

fn ended(values: &Values, cause: Cause) -> f64 {
    of(
        values,
        &format!("prl_sandbox_runs_total{{cause=\"{}\"}}", cause.as_str_name()),
    )
}

/// A shell program, under limits that most of these programs reach at once.
fn program(line: &str) -> RunOnceRequest {
    let limits = Limits {
        wall_ms: Some(1500),
        cpu_ms: Some(300),
        processes: Some(16),
        memory_bytes: Some(64 << 20),
        disk_bytes: Some(4 << 20),
        output_kill_bytes: Some(1 << 20),
        ..tight()
    };
    RunOnceRequest {
        limits: Some(limits),
        ..command(&["bash", "-c", line])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_end_is_counted_under_its_cause() -> Outcome {
    let Some(daemon) = Daemon::start(&["--metrics-address", "0", "--park", "2"])? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    let other_daemon = RunOnceRequest {
        instance_id: "another".to_owned(),
        ..program("true")
    };
    let mut too_large = program("true");
    too_large.files = vec![InputFile {
        path: "x".to_owned(),
        content: vec![1; 8 << 20].into(),
        mode: 0,
    }];
    let mut greedy = program("tail /dev/zero");
    greedy.limits.get_or_insert_default().cpu_ms = Some(10_000);
    // Beside other tests it may take long to use up its CPU time.
    let mut busy = program("while :; do :; done");
    busy.limits.get_or_insert_default().wall_ms = Some(60_000);
    let mut programs = vec![
        (Cause::Exited, program("exit 137")),
        (Cause::Signaled, program("kill -9 $$")),
        (Cause::WallTimeout, program("sleep 60")),
        (Cause::OutputLimit, program("yes")),
        (Cause::DiskFull, too_large),
        (Cause::Infra, other_daemon),
    ];
    if daemon.is_full() {
        programs.extend([
            (Cause::CpuTimeout, busy),
            (Cause::Oom, greedy),
            (Cause::Pids, program("while :; do sleep 60 & done")),
        ]);
    }
    let (mut before, _) = page(&daemon).await?;
    for (wanted, request) in programs {
        let result = client.run_once(request).await?.into_inner();
        assert_eq!(cause(&result), wanted, "{}", describe(&result));
        let (after, _) = page(&daemon).await?;
        for number in 1..=i32::from(Cause::Infra) {
            let one = Cause::try_from(number)?;
            let more = ended(&after, one) - ended(&before, one);
            assert_eq!(more, f64::from(u8::from(one == wanted)), "{one:?} after {wanted:?}");
        }
        before = after;
    }
    assert_eq!(
        of(
            &before,
            "prl_sandbox_errors_total{code=\"PRL_SANDBOX_DAEMON_RESTARTED\"}"
        ),
        1.0
    );
    // A caller hangs up.
    let mut caller = client.clone();
    let waiting = tokio::spawn(async move { caller.run_once(command(&["sleep", "60"])).await });
    until("running", async || {
        Ok(of(&page(&daemon).await?.0, "prl_sandbox_running") == 1.0)
    })
    .await?;
    waiting.abort();
    until("cancelled", async || {
        let (values, _) = page(&daemon).await?;
        Ok(ended(&values, Cause::Cancelled) == 1.0 && of(&values, "prl_sandbox_running") == 0.0)
    })
    .await?;
    // Each case of a request for tests counts as an end, and the bytes of their output are counted exactly.
    let (before, _) = page(&daemon).await?;
    let cases = vec![TestCase::default(); 3];
    let request = RunTestsRequest {
        request: Some(command(&["printf", "12345"])),
        cases,
        ..RunTestsRequest::default()
    };
    let mut events = client.run_tests(request).await?.into_inner();
    while events.message().await?.is_some() {}
    let (after, _) = page(&daemon).await?;
    assert_eq!(ended(&after, Cause::Exited) - ended(&before, Cause::Exited), 3.0);
    let bytes = "prl_sandbox_output_bytes_total";
    assert_eq!(of(&after, bytes) - of(&before, bytes), 15.0);
    Ok(())
}

/// Sends three runs to a daemon that runs one at a time and lets one wait.
async fn one_waits_and_one_is_refused(daemon: &Daemon) -> Outcome {
    let runs = daemon.client().await?;
    let calls: Vec<_> = (0..2)
        .map(|_| {
            let mut caller = runs.clone();
            tokio::spawn(async move { caller.run_once(command(&["sleep", "1"])).await })
        })
        .collect();
    until("queued", async || {
        Ok(of(&page(daemon).await?.0, "prl_sandbox_queued") == 1.0)
    })
    .await?;
    assert!(runs.clone().run_once(command(&["true"])).await.is_err());
    for call in calls {
        call.await??;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn boxes_births_and_waits_are_counted_and_no_metric_names_a_caller() -> Outcome {
    let arguments = [
        "--metrics-address",
        "0",
        "--park",
        "2",
        "--max-running",
        "1",
        "--max-queued",
        "1",
    ];
    let Some(daemon) = Daemon::start(&arguments)? else {
        return Ok(());
    };
    until("parked", async || {
        Ok(of(&page(&daemon).await?.0, "prl_sandbox_parked{runtime=\"exec\"}") == 2.0)
    })
    .await?;
    let mut client = boxes(&daemon).await?;
    let request = CreateRequest {
        labels: HashMap::from([("secretlabel".to_owned(), "secretvalue".to_owned())]),
        ..small("secretbox")
    };
    client.create(request).await?;
    client
        .create(CreateRequest {
            lease_ms: Some(1000),
            ..small("leased")
        })
        .await?;
    shell(&client, "secretbox", "echo secretoutput").await?;
    let (values, text) = page(&daemon).await?;
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(of(&values, "prl_sandbox_held"), 2.0);
    client
        .close(CloseRequest {
            ids: vec!["secretbox".to_owned()],
            ..CloseRequest::default()
        })
        .await?;
    until("ended", async || {
        let (values, _) = page(&daemon).await?;
        let by = |reason: &str| {
            of(
                &values,
                &format!("prl_sandbox_boxes_ended_total{{reason=\"{reason}\"}}"),
            )
        };
        Ok(by("closed") == 1.0 && by("lease") == 1.0 && of(&values, "prl_sandbox_held") == 0.0)
    })
    .await?;

    one_waits_and_one_is_refused(&daemon).await?;
    let (values, _) = page(&daemon).await?;
    assert_eq!(
        of(&values, "prl_sandbox_errors_total{code=\"PRL_SANDBOX_OVERLOADED\"}"),
        1.0
    );
    let waited = of(&values, "prl_sandbox_queue_wait_seconds_sum");
    assert!(waited > 0.5, "{waited} s");
    assert_eq!(of(&values, "prl_sandbox_setup_seconds_count"), 2.0);
    assert!(of(&values, "prl_sandbox_birth_seconds_count") >= 4.0);
    assert_eq!(of(&values, "prl_sandbox_births_failed_total{kind=\"sandbox\"}"), 0.0);
    until("measured", async || {
        Ok(of(&page(&daemon).await?.0, "prl_sandbox_executor_lag_seconds_count") > 0.0)
    })
    .await?;
    for name in [
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_start_time_seconds",
        "prl_sandbox_tasks",
    ] {
        assert!(of(&values, name) > 0.0, "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_dies_is_seen_to_be_started_again() -> Outcome {
    let Some((daemon, mut client)) = warm(&["--metrics-address", "0", "--warm", "python=1"]).await? else {
        return Ok(());
    };
    let (before, _) = page(&daemon).await?;
    assert_eq!(of(&before, "prl_sandbox_template_restarts_total"), 0.0);
    assert!(of(&before, "prl_sandbox_zygote_birth_seconds_count") >= 1.0);
    assert_eq!(kill_templates(daemon.pid())?, 1);
    until("started again", async || {
        client.run_once(command(&["python3", "-c", "pass"])).await?;
        let (values, _) = page(&daemon).await?;
        let failed = of(&values, "prl_sandbox_births_failed_total{kind=\"zygote\"}");
        Ok(of(&values, "prl_sandbox_template_restarts_total") == 1.0 && failed >= 1.0)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_parked_for_tests_are_counted_separately() -> Outcome {
    let Some((daemon, mut client)) = warm(&["--metrics-address", "0", "--warm", "python=2"]).await? else {
        return Ok(());
    };
    let name = "prl_sandbox_parked_for_tests{runtime=\"python\"}";
    assert_eq!(of(&page(&daemon).await?.0, name), 0.0, "no caller asked for any");
    let request = RunTestsRequest {
        request: Some(command(&["python3", "-c", "pass"])),
        cases: vec![TestCase::default()],
        ..RunTestsRequest::default()
    };
    let mut events = client.run_tests(request).await?.into_inner();
    while events.message().await?.is_some() {}
    until("parked", async || {
        let (values, _) = page(&daemon).await?;
        Ok(of(&values, name) == 2.0 && of(&values, "prl_sandbox_parked{runtime=\"python\"}") == 2.0)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_case_that_loses_its_sandbox_is_counted() -> Outcome {
    let Some(daemon) = Daemon::start(&["--metrics-address", "0", "--park", "0"])? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("the test needs a separate init for each sandbox");
        return Ok(());
    }
    // Under a key it is not run again.
    let request = RunOnceRequest {
        idempotency_key: "a-key".to_owned(),
        ..command(&["sleep", "1000"])
    };
    let request = RunTestsRequest {
        request: Some(request),
        cases: vec![TestCase::default()],
        ..RunTestsRequest::default()
    };
    let mut events = daemon.client().await?.run_tests(request).await?.into_inner();
    kill_inits(daemon.pid(), "sleep").await?;
    let mut received = Vec::new();
    while let Some(event) = events.message().await? {
        received.extend(event.event);
    }
    let [Event::End(end)] = &received[..] else {
        panic!("{received:?}");
    };
    let (values, _) = page(&daemon).await?;
    let errors = format!("prl_sandbox_errors_total{{code=\"{}\"}}", end.error_code);
    assert_eq!(
        (of(&values, &errors), ended(&values, Cause::Infra)),
        (1.0, 1.0),
        "{end:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_callers_are_refused_and_cost_little() -> Outcome {
    let Some(daemon) = Daemon::start(&["--metrics-address", "127.0.0.1:0", "--park", "0"])? else {
        return Ok(());
    };
    let address = address(&daemon)?;
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    for (request, status) in [
        ("POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n", "405"),
        ("GET / HTTP/1.1\r\nhost: x\r\n\r\n", "404"),
        ("GET /metrics/../x HTTP/1.1\r\nhost: x\r\n\r\n", "404"),
        (
            "GET /prl.sandbox.v1.Sandboxes/Health HTTP/1.1\r\nhost: x\r\n\r\n",
            "404",
        ),
        ("nonsense\r\n\r\n", "400"),
    ] {
        let answer = say(&address, request).await?;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {answer}"
        );
        assert!(!answer.contains("prl_sandbox_runs"), "{request}: {answer}");
    }
    // The page is not served over HTTP/2, which the daemon's calls use.
    let answer = say(&address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
    assert!(
        !answer.starts_with("HTTP/1.1 200 ") && !answer.contains("prl_sandbox"),
        "{answer}"
    );
    let long = format!(
        "GET /metrics HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
        "y".repeat(64 << 10)
    );
    let refused = say(&address, &long).await;
    assert!(refused.is_err() || refused.is_ok_and(|answer| !answer.starts_with("HTTP/1.1 200 ")));
    // Further requests on one connection are not read.
    let twice = "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2);
    assert_eq!(say(&address, &twice).await?.matches("HTTP/1.1 200 ").count(), 1);

    // Sixteen silent connections take every place, and lose it after ten seconds.
    let began = Instant::now();
    let mut silent = Vec::new();
    for _ in 0..16 {
        let mut stream = TcpStream::connect(&address).await?;
        stream.write_all(b"GET /metr").await?;
        silent.push(stream);
    }
    until("full", async || {
        let refused = say(&address, "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await;
        Ok(refused.map_or(true, |answer| answer.is_empty()))
    })
    .await?;
    // Meanwhile the daemon works.
    let run = daemon.client().await?.run_once(command(&["true"])).await?.into_inner();
    assert_eq!(cause(&run), Cause::Exited, "{}", describe(&run));
    for mut stream in silent {
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut rest)).await?;
        assert!(closed.is_err() || !rest.starts_with(b"HTTP/1.1 200 "));
    }
    assert!(began.elapsed() >= Duration::from_secs(5), "they had no time");
    page(&daemon).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_none_unless_it_is_asked_for_and_not_where_calls_are_made() -> Outcome {
    let Some((daemon, calls)) = tcp::start("secret\n", &["--park", "0"])? else {
        return Ok(());
    };
    assert!(daemon.announced["metrics"].is_null(), "{}", daemon.announced);
    let answer = say(&calls, "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(answer.is_err() || answer.is_ok_and(|answer| !answer.contains("prl_sandbox")));
    Ok(())
}
