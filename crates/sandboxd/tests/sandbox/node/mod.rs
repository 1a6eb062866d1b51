//! Parked Nodes: programs see no difference, and every run has a new one.

pub(crate) mod life;
mod programs;

use prl_sandbox_proto::{CapabilitiesRequest, InputFile, RunOnceRequest, RunOnceResult};
use tonic::Code;

use crate::support::{Client, Daemon, Outcome, command, describe, skip};
use programs::{MODULES, PROGRAMS};

const PARKED: [&str; 4] = ["--park", "2", "--warm", "node=2"];
/// A daemon with parked Nodes; `None` where the machine can have none.
async fn warm() -> Result<Option<(Daemon, Client)>, Box<dyn std::error::Error>> {
    let Some(daemon) = Daemon::start(&PARKED)? else {
        return Ok(None);
    };
    let mut client = daemon.client().await?;
    let capabilities = client.capabilities(CapabilitiesRequest {}).await?.into_inner();
    let facility = capabilities.facilities.iter().find(|one| one.name == "runtime.node");
    let facility = facility.ok_or("no word on Node")?;
    if !facility.available {
        assert!(
            !std::path::Path::new("/usr/bin/node").exists(),
            "there is a Node, and yet: {}",
            facility.detail
        );
        skip(&facility.detail);
        return Ok(None);
    }
    Ok(Some((daemon, client)))
}

/// A command with limits that are large enough for Node.
fn node(argv: &[&str]) -> RunOnceRequest {
    let mut request = command(argv);
    if let Some(limits) = &mut request.limits {
        (limits.memory_bytes, limits.processes) = (Some(512 << 20), Some(64));
    }
    request.stdin = b"1\n2\n3\n".as_slice().into();
    request
}

fn file(path: &str, content: &str) -> InputFile {
    InputFile {
        path: path.to_owned(),
        content: content.as_bytes().to_vec().into(),
        mode: 0,
    }
}

async fn run(client: &Client, request: RunOnceRequest) -> Result<RunOnceResult, Box<dyn std::error::Error>> {
    Ok(client.clone().run_once(request).await?.into_inner())
}

/// Fails when the result of a request on a parked Node differs from that of an executed one.
async fn difference(client: &Client, name: &str, request: RunOnceRequest) -> Result<(), String> {
    let on = |runtime: &str| {
        let mut request = request.clone();
        request.runtime = runtime.to_owned();
        run(client, request)
    };
    let failed = |error: Box<dyn std::error::Error>| format!("{name}: {error}");
    let (warm, cold) = (on("node").await.map_err(failed)?, on("exec").await.map_err(failed)?);
    if warm.runtime != "node" || cold.runtime != "exec" {
        return Err(format!("{name}: ran on {} and {}", warm.runtime, cold.runtime));
    }
    // Warnings contain the pid, and tests their duration.
    let outward = |result: &RunOnceResult| {
        describe(result)
            .lines()
            .filter(|line| !line.contains("duration_ms"))
            .map(|line| match line.split_once("(node:") {
                Some((head, tail)) => head.to_owned() + tail.trim_start_matches(|letter: char| letter.is_ascii_digit()),
                None => line.to_owned(),
            })
            .collect::<Vec<_>>()
            .join("\n")
    };
    let (warm, cold) = (outward(&warm), outward(&cold));
    if warm == cold {
        return Ok(());
    }
    Err(format!("---- {name}\non a parked Node:\n{warm}\nexecuted:\n{cold}"))
}

/// Compares many requests, several at a time.
async fn compare(client: &Client, requests: Vec<(String, RunOnceRequest)>) {
    let mut running = tokio::task::JoinSet::new();
    let (mut wrong, count) = (Vec::new(), requests.len());
    for (name, request) in requests {
        if running.len() >= 4
            && let Some(done) = running.join_next().await
        {
            wrong.extend(done.expect("no panic"));
        }
        let client = client.clone();
        running.spawn(async move { difference(&client, &name, request).await.err() });
    }
    while let Some(done) = running.join_next().await {
        wrong.extend(done.expect("no panic"));
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_on_a_parked_node_is_as_code_that_is_executed() -> Outcome {
    let Some((_daemon, client)) = warm().await? else {
        return Ok(());
    };
    let requests = PROGRAMS.iter().map(|(name, code)| {
        let mut request = node(&["node", "-e", code, "first", "--second"]);
        request.env = [("A_NUMBER".to_owned(), "1".to_owned())].into();
        (format!("{name}, as code"), request)
    });
    compare(&client, requests.collect()).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_on_a_parked_node_is_as_one_that_is_executed() -> Outcome {
    let Some((_daemon, client)) = warm().await? else {
        return Ok(());
    };
    let mut requests: Vec<_> = PROGRAMS
        .iter()
        .map(|(name, code)| {
            let mut request = node(&["node", "main.js", "--first", "second"]);
            request.files = vec![file("main.js", code)];
            (format!("{name}, as a file"), request)
        })
        .collect();
    let neighbours = [
        file(
            "lib/two.mjs",
            "export const two = 2; export const where = import.meta.url;",
        ),
        file(
            "lib/three.cjs",
            "exports.three = 3; exports.main = require.main === undefined;",
        ),
    ];
    requests.extend(MODULES.iter().map(|(name, code)| {
        let mut request = node(&["node", "main.mjs", "argument"]);
        request.files = [file("main.mjs", code)].into_iter().chain(neighbours.clone()).collect();
        (format!("{name}, as a module"), request)
    }));
    for (path, written) in [
        ("src/main.js", "src/main.js"),
        ("./src/main.js", "src/main.js"),
        ("/work/src/main.js", "src/main.js"),
        ("src/../src//main", "src/main.js"),
        (".", "index.js"),
        ("package", "package/index.js"),
        ("src/main.js/", "src/main.js"),
        ("data.json", "data.json"),
        ("plain", "plain"),
        ("odd name \u{e4}.js", "odd name \u{e4}.js"),
    ] {
        let mut request = node(&["node", path]);
        request.files = vec![
            file(
                written,
                "\n/* 1 */ console.log(__filename, require.main.id, process.argv); null.x",
            ),
            file("src/package.json", "{\"type\":\"commonjs\"}"),
        ];
        requests.push((path.to_owned(), request));
    }
    for (name, package, code) in [
        (
            "a module by its package",
            "{\"type\":\"module\"}",
            "console.log(typeof require, import.meta.url)",
        ),
        (
            "a module by its looks",
            "{}",
            "import fs from 'fs'; console.log(typeof require, typeof fs.readFileSync)",
        ),
        ("a package that is broken", "{", "console.log(1)"),
    ] {
        let mut request = node(&["node", "main.js"]);
        request.files = vec![file("package.json", package), file("main.js", code)];
        requests.push((name.to_owned(), request));
    }
    let mut elsewhere = node(&["node", "main.js"]);
    elsewhere.cwd = "deep/er".to_owned();
    elsewhere.files = vec![file("main.js", "console.log(process.cwd(), __dirname)")];
    requests.push(("another directory".to_owned(), elsewhere));
    compare(&client, requests).await;
    Ok(())
}

/// Commands that only a new Node understands.
const NOT_PARKED: [&[&str]; 14] = [
    &["node", "missing.js"],
    &["node", "--max-old-space-size=64", "main.js"],
    &["node", "--no-warnings", "-e", "1"],
    &["node", "-p", "1 + 1"],
    &["node", "-e", "console.log(1)", "--no-warnings"],
    &["node", "-e"],
    &["node", "-e", "-1"],
    &["node", "--", "main.js"],
    &["node", "--check", "main.js"],
    &["node", "-"],
    &["node"],
    &["node", "-e", "console.log(typeof performance.now())"],
    &["node", "-e", "console.log(process.uptime() < 60)"],
    &["/usr/bin/node", "main.js"],
];

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_no_parked_node_can_run_are_executed() -> Outcome {
    let Some((_daemon, client)) = warm().await? else {
        return Ok(());
    };
    let with = |argv: &[&str], change: fn(&mut RunOnceRequest)| {
        let mut request = node(argv);
        request.files = vec![file("main.js", "console.log(process.execArgv, process.argv)")];
        change(&mut request);
        request
    };
    let mut executed = Vec::new();
    for argv in NOT_PARKED {
        executed.push((argv.join(" "), with(argv, |_| {})));
    }
    let environment = |name: &str, value: &str| {
        let mut request = with(&["node", "main.js"], |_| {});
        request.env = [(name.to_owned(), value.to_owned())].into();
        (format!("{name}={value}"), request)
    };
    executed.extend([
        environment("NODE_OPTIONS", "--no-deprecation"),
        environment("NODE_PATH", "/tmp"),
        environment("TZ", "Asia/Tokyo"),
        environment("LANG", "de_DE.UTF-8"),
        environment("PATH", "/usr/bin"),
        environment("HOME", "/tmp"),
        environment("UV_THREADPOOL_SIZE", "2"),
    ]);
    for (name, change) in [
        (
            "open files",
            (|request| request.limits.get_or_insert_default().open_files = Some(100)) as fn(&mut RunOnceRequest),
        ),
        ("processes", |request| {
            request.limits.get_or_insert_default().processes = Some(16)
        }),
        ("little memory", |request| {
            request.limits.get_or_insert_default().memory_bytes = Some(48 << 20)
        }),
        ("a clock in a file", |request| {
            request.files.push(file("clock.js", "performance.now()"))
        }),
    ] {
        executed.push((name.to_owned(), with(&["node", "main.js"], change)));
    }
    let mut wrong = Vec::new();
    for (name, request) in executed {
        let chosen = run(&client, request.clone()).await?;
        let asked = run(
            &client,
            RunOnceRequest {
                runtime: "exec".to_owned(),
                ..request
            },
        )
        .await?;
        if chosen.runtime != "exec" || describe(&chosen) != describe(&asked) {
            wrong.push(format!(
                "{name}: on {}: {}\nnot {}",
                chosen.runtime,
                describe(&chosen),
                describe(&asked)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for argv in [&["node", "-p", "1"][..], &["python3", "-c", "1"]] {
        let request = RunOnceRequest {
            runtime: "node".to_owned(),
            ..node(argv)
        };
        let refused = client.clone().run_once(request).await.err().ok_or("it ran")?;
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    }
    Ok(())
}
