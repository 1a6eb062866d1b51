//! Sandboxes one after the other in the same control groups: none is told of another's life.

use std::fs;

use prl_sandbox_proto::{Cause, Limit, Limits, RunOnceRequest};

use crate::support::{Daemon, Outcome, cause, census, command, skip, tell, text};

const MIB: u64 = 1 << 20;
/// What an interpreter that prints a number takes at most.
const LITTLE: u64 = 16 * MIB;
const ROUNDS: usize = 4;

/// A program, with the least memory that it is told to have used, how it ends and which limit it meets.
struct Life {
    program: &'static str,
    least: u64,
    processes: u64,
    cause: Cause,
    limit: Option<Limit>,
}

const LIVES: [Life; 4] = [
    Life {
        program: "b = bytearray(b'x' * (60 << 20)); print(1)",
        least: 60 * MIB,
        processes: 1,
        cause: Cause::Exited,
        limit: None,
    },
    Life {
        program: "b = [bytearray(b'x' * MIB) for MIB in [1 << 20] * 400]",
        least: 60 * MIB,
        processes: 1,
        cause: Cause::Oom,
        limit: Some(Limit::Memory),
    },
    Life {
        program: "import os\nif os.fork() == 0:\n  os._exit(0)\nos.wait(); print(1)",
        least: 0,
        processes: 2,
        cause: Cause::Exited,
        limit: None,
    },
    Life {
        program: "import os, time\ntry:\n  for i in range(200):\n    if os.fork() == 0:\n      time.sleep(9)\nexcept OSError:\n  print(1)",
        least: 0,
        processes: 64,
        cause: Cause::Exited,
        limit: Some(Limit::Processes),
    },
];

fn request(program: &str) -> RunOnceRequest {
    RunOnceRequest {
        limits: Some(Limits {
            memory_bytes: Some(200 * MIB),
            processes: Some(64),
            ..Limits::default()
        }),
        ..command(&["python3", "-c", program])
    }
}

async fn one_after_the_other(arguments: &[&str]) -> Outcome {
    let Some(daemon) = Daemon::start(&[&["--max-running", "1", "--park", "1"], arguments].concat())? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("limits of the whole tree need cgroups");
        return daemon.stop();
    }
    let mut client = daemon.client().await?;
    for life in LIVES.iter().cycle().take(ROUNDS * LIVES.len()) {
        let long = client.run_once(request(life.program)).await?.into_inner();
        assert_eq!(cause(&long), life.cause, "{}", tell(&long));
        assert_eq!(long.limits_hit().next(), life.limit, "{}", tell(&long));
        let used = long.usage.unwrap_or_default();
        assert!(used.peak_memory_bytes.is_none_or(|peak| peak >= life.least), "{used:?}");
        assert!(used.processes.is_none_or(|peak| peak >= life.processes), "{used:?}");
        // As many as are made and parked at a time may lie between two that share groups.
        for _ in 0..3 {
            let short = client.run_once(request("print(1)")).await?.into_inner();
            assert_eq!(text(&short.stdout), "1\n", "{}", tell(&short));
            assert_eq!(short.limits_hit().next(), None, "{}", tell(&short));
            let used = short.usage.unwrap_or_default();
            assert!(
                used.peak_memory_bytes.is_none_or(|peak| peak < LITTLE),
                "{used:?} after {}",
                life.program
            );
            assert!(
                used.processes.is_none_or(|peak| peak == 1),
                "{used:?} after {}",
                life.program
            );
            assert!(
                used.cpu_ms.is_none_or(|used| used < 500.0),
                "{used:?} after {}",
                life.program
            );
        }
    }
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn executed_programs_are_told_of_themselves() -> Outcome {
    one_after_the_other(&["--warm", "python=0"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn warm_programs_are_told_of_themselves() -> Outcome {
    one_after_the_other(&["--warm", "python=1"]).await
}

/// Of a process, as `proc_pid_stat(5)` has it.
fn session(pid: u32) -> std::io::Result<Option<u32>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    Ok(after_name.split(' ').nth(3).and_then(|number| number.parse().ok()))
}

/// Where the kernel shares the processors out by session, one that only now and then wants them would wait for those that
/// sandboxes are made with.
#[test]
fn who_makes_sandboxes_is_in_a_session_of_its_own() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let spawner = census::spawner(daemon.pid())?;
    assert_eq!(session(spawner)?, Some(spawner));
    assert_ne!(session(daemon.pid())?, Some(spawner));
    daemon.stop()
}
