//! Parked Nodes together with everything else: limits, attacks, leftovers, and which of them are ended and replaced.

use std::collections::BTreeSet;
use std::time::Duration;

use prl_sandbox_proto::{Cause, HealthRequest, RunOnceRequest};

use tonic::Code;

use super::{node, run, warm};
use crate::cases::{Case, attacks};
use crate::support::census::Census;
use crate::support::ground::Ground;
use crate::support::{Daemon, Outcome, cause, describe, settles, skip, text, until};

/// How many are parked: two of both forms, and two plain ones.
const COUNT: u32 = 2 + 2 + 2;

/// Attacks that also count, see or kill the Node above them, and the one whose signal Node ignores when it is passed
/// on.
const TOGETHER: [&str; 5] = [
    "dies of the file size signal",
    "thread bomb that copes",
    "kill everybody",
    "session of somebody else",
    "processes of others",
];

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_on_a_parked_node_and_count_from_its_program() -> Outcome {
    let Some((daemon, client)) = warm().await? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("limits of the whole tree need cgroups");
        return Ok(());
    }
    // They have waited longer than the programs may take.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    for (code, wanted) in [
        ("for (;;);", Cause::CpuTimeout),
        ("setTimeout(() => {}, 60000)", Cause::WallTimeout),
        ("const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))", Cause::Oom),
        (
            "const x = Buffer.alloc(65536, 'x'); for (;;) require('fs').writeSync(1, x)",
            Cause::OutputLimit,
        ),
        (
            "const { spawn } = require('child_process'); setInterval(() => spawn('sleep', ['9']).on('error', () => {}), 0)",
            Cause::Pids,
        ),
        (
            "for (const [p, s] of [[1, 9], [-1, 0]]) try { process.kill(p, s) } catch (e) { console.log(e.code) }",
            Cause::Exited,
        ),
        (
            "require('fs').writeFileSync('/work/x', Buffer.alloc(1 << 25))",
            Cause::Exited,
        ),
        ("console.log(1)", Cause::Exited),
    ] {
        let mut request = node(&["node", "-e", code]);
        if let Some(limits) = &mut request.limits {
            let wall = if wanted == Cause::WallTimeout { 1000 } else { 8000 };
            (limits.wall_ms, limits.cpu_ms) = (Some(wall), Some(1200));
            limits.memory_bytes = Some(256 << 20);
        }
        request.runtime = "node".to_owned();
        let result = run(&client, request).await?;
        assert_eq!(
            (cause(&result), result.runtime.as_str()),
            (wanted, "node"),
            "{code}: {}",
            result.reason
        );
    }
    Ok(())
}

/// The attack, started by a program on a parked Node; `None` where that program takes part in the attack.
pub(crate) fn below(case: &Case, ground: &Ground) -> Option<RunOnceRequest> {
    const PASS_ON: &str = "const [file, ...rest] = process.argv.slice(1); \
        const end = require('child_process').spawnSync(file, rest, { stdio: 'inherit' }); \
        if (end.signal) process.kill(process.pid, end.signal); process.exitCode = end.status ?? 1";
    let mut request = case.request(ground);
    // The attack's processes and memory come on top of those of a Node.
    let limits = request.limits.get_or_insert_default();
    let usual = limits.processes == Some(32) && limits.memory_bytes == Some(128 << 20);
    let way: Vec<String> = ["node", "-e", PASS_ON].map(str::to_owned).into();
    request.command.splice(..0, way);
    request.runtime = "node".to_owned();
    (usual && !TOGETHER.contains(&case.name)).then_some(request)
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_programs_end_so_below_a_parked_node_too() -> Outcome {
    let Some((daemon, client)) = warm().await? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("limits of the whole tree need cgroups");
        return Ok(());
    }
    let ground = Ground::lay()?;
    let requests: Vec<_> = attacks::all()
        .filter_map(|case| Some((case, below(case, &ground)?)))
        .collect();
    let count = requests.len();
    assert!(count > 100, "{count}");
    let failed = crate::programs::failures(&client, requests.into_iter()).await?;
    let pid = daemon.pid();
    drop(client);
    daemon.stop()?;
    settles(pid, BTreeSet::is_empty).await?;
    assert!(
        failed.is_empty(),
        "{} of {count}:\n{}",
        failed.len(),
        failed.join("\n\n")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_run_has_a_separate_node_and_nothing_is_left() -> Outcome {
    let Some((daemon, client)) = warm().await? else {
        return Ok(());
    };
    let quiet = async || {
        until("quiet", async || {
            let health = client.clone().health(HealthRequest {}).await?.into_inner();
            Ok(health.running == 0 && health.parked == COUNT)
        })
        .await
    };
    let dirty = "globalThis.mark = process.env.MARK = 'x'; require('fs').writeFileSync('/work/mark', ''); \
        require('fs').writeFileSync('/tmp/mark', ''); Array.prototype.mark = 1; require.cache.mark = 1; process.umask(0)";
    let look = "console.log(globalThis.mark, process.env.MARK, require('fs').readdirSync('/work'), require('fs').readdirSync('/tmp'), \
        [].mark, require.cache.mark, process.umask()); console.log(Math.random(), crypto.randomUUID(), process.pid)";
    let mut seen = BTreeSet::new();
    let round = async |seen: &mut BTreeSet<String>| -> Outcome {
        for _ in 0..6 {
            let soiled = run(&client, node(&["node", "-e", dirty])).await?;
            assert_eq!(
                (soiled.exit_code, soiled.runtime.as_str()),
                (Some(0), "node"),
                "{}",
                describe(&soiled)
            );
            let result = run(&client, node(&["node", "-e", look])).await?;
            let output = text(&result.stdout);
            let (state, chance) = output.split_once('\n').ok_or_else(|| describe(&result))?;
            assert_eq!(state, "undefined undefined [] [] undefined undefined 18");
            for value in chance.split_whitespace().take(2) {
                assert!(seen.insert(value.to_owned()), "{value} came twice");
            }
        }
        Ok(())
    };
    round(&mut seen).await?;
    quiet().await?;
    if !daemon.is_full() {
        return Ok(());
    }
    let before = Census::settled(daemon.pid()).await?;
    round(&mut seen).await?;
    // Callers that hang up, and one that is refused.
    for _ in 0..6 {
        let call = client.clone();
        let hung_up = async move {
            call.clone()
                .run_once(node(&["node", "-e", "setTimeout(() => {}, 9000)"]))
                .await
        };
        let _late = tokio::time::timeout(Duration::from_millis(30), hung_up).await;
    }
    quiet().await?;
    before.returns(daemon.pid()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_nodes_that_are_killed_are_replaced_and_end_with_the_daemon() -> Outcome {
    let Some((mut daemon, client)) = warm().await? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("without separate users, sandboxes look like other processes");
        return Ok(());
    }
    let parked = async || {
        until("parked", async || {
            Ok(client.clone().health(HealthRequest {}).await?.into_inner().parked == COUNT)
        })
        .await
    };
    parked().await?;
    let waiting = crate::support::census::tree(daemon.pid());
    let waiting: Vec<_> = waiting.iter().filter(|process| process.name == "node").collect();
    assert_eq!(waiting.len(), 4, "{waiting:?}");
    for process in &waiting {
        // SAFETY: a process below this test's daemon.
        unsafe { libc::kill(i32::try_from(process.pid)?, libc::SIGKILL) };
    }
    for turn in 0..6 {
        let result = run(&client, node(&["node", "-e", "console.log(6 * 7)"])).await?;
        // When a Node died while it was parked, the result must say so and must not be a success.
        let fine = cause(&result) == Cause::Infra || text(&result.stdout) == "42\n";
        assert!(
            fine && (turn < 2 || cause(&result) == Cause::Exited),
            "turn {turn}: {}",
            describe(&result)
        );
    }
    parked().await?;
    daemon.kill()?;
    settles(daemon.pid(), BTreeSet::is_empty).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_weaker_tier_has_parked_nodes_or_says_that_it_has_none() -> Outcome {
    let Some((full, _client)) = warm().await? else {
        return Ok(());
    };
    full.stop()?;
    for (tier, parked) in [("rootless", true), ("process", false)] {
        let Some(daemon) = Daemon::start(&["--tier", tier, "--park", "1", "--warm", "node=1"])? else {
            continue;
        };
        let client = daemon.client().await?;
        let request = RunOnceRequest {
            runtime: "node".to_owned(),
            ..node(&["node", "-e", "console.log(process.argv.length)"])
        };
        match client.clone().run_once(request).await {
            Ok(result) => {
                let result = result.into_inner();
                assert!(parked && text(&result.stdout) == "1\n", "{tier}: {}", describe(&result));
            }
            Err(refused) => {
                assert!(
                    !parked && refused.message().contains("needs namespaces"),
                    "{tier}: {refused}"
                );
                assert_eq!(refused.code(), Code::FailedPrecondition);
            }
        }
        drop(client);
        daemon.stop()?;
    }
    Ok(())
}
