//! Sandboxes that use the same control groups one after the other: the results of one show nothing of another.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use prl_sandbox_proto::{CapabilitiesRequest, Cause, Limit, Limits, RunOnceRequest};

use crate::support::{Daemon, Outcome, cause, census, command, describe, skip, text, until};

const MIB: u64 = 1 << 20;
/// The most memory that an interpreter uses to print a number.
const LITTLE: u64 = 16 * MIB;
const ROUNDS: usize = 4;

/// A program, with the least memory that its result must report, how it ends and which limit it reaches.
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
        assert_eq!(cause(&long), life.cause, "{}", describe(&long));
        assert_eq!(long.limits_hit().next(), life.limit, "{}", describe(&long));
        let used = long.usage.unwrap_or_default();
        assert!(used.peak_memory_bytes.is_none_or(|peak| peak >= life.least), "{used:?}");
        assert!(used.processes.is_none_or(|peak| peak >= life.processes), "{used:?}");
        // Between two that share groups there may be as many others as are made and parked at a time.
        for _ in 0..3 {
            let short = client.run_once(request("print(1)")).await?.into_inner();
            assert_eq!(text(&short.stdout), "1\n", "{}", describe(&short));
            assert_eq!(short.limits_hit().next(), None, "{}", describe(&short));
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
async fn executed_programs_are_measured_separately() -> Outcome {
    one_after_the_other(&["--warm", "python=0"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn warm_programs_are_measured_separately() -> Outcome {
    one_after_the_other(&["--warm", "python=1"]).await
}

/// Runs a function on one processor, with all that it starts.
fn on_one_processor<T>(act: impl FnOnce() -> T) -> std::io::Result<T> {
    // SAFETY: both sets are plain data of the given size; 0 is this thread.
    unsafe {
        let mut before: libc::cpu_set_t = std::mem::zeroed();
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        let mut done = libc::sched_getaffinity(0, size, &raw mut before);
        let first = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &before));
        libc::CPU_SET(first.unwrap_or(0), &mut one);
        done |= libc::sched_setaffinity(0, size, &raw const one);
        let result = act();
        done |= libc::sched_setaffinity(0, size, &raw const before);
        if done == 0 {
            Ok(result)
        } else {
            Err(std::io::Error::last_os_error())
        }
    }
}

/// The version of the interface that shares processor time by weight, and the daemon's directory there.
async fn place_of_weight(daemon: &Daemon) -> Result<Option<(String, PathBuf)>, Box<dyn Error>> {
    let reported = daemon
        .client()
        .await?
        .capabilities(CapabilitiesRequest {})
        .await?
        .into_inner();
    let facility = reported.facilities.into_iter().find(|one| one.name == "cgroup.weight");
    let facility = facility.ok_or("it is not reported")?;
    let Some((version, directory)) = facility.detail.split_once(", ").filter(|_| facility.available) else {
        skip(&facility.detail);
        return Ok(None);
    };
    let own = format!("/prl-sandboxd-{}-", daemon.pid());
    assert!(directory.contains(&own), "{directory}");
    Ok(Some((version.to_owned(), directory.into())))
}

/// The weight that is written there, and the right one: beside processes half of the weight of one on each processor,
/// beside groups that of one group.
fn weight(version: &str, directory: &Path, processors: u64) -> Result<[String; 2], Box<dyn Error>> {
    let own = directory.parent().ok_or("no parent")?;
    let (file, ordinary, is_root) = match version {
        "v1" => ("cpu.shares", 1024, own.join("release_agent").exists()),
        "v2" => ("cpu.weight", 100, !own.join("cgroup.events").exists()),
        other => return Err(format!("cgroup {other}").into()),
    };
    let by_session = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|on| on.trim() == "1");
    let beside_groups = if is_root { by_session } else { version == "v2" };
    let wanted = if beside_groups {
        ordinary
    } else {
        ordinary * processors / 2
    };
    let written = fs::read_to_string(directory.join(file))?;
    Ok([written.trim().to_owned(), wanted.to_string()])
}

#[tokio::test]
async fn all_sandboxes_together_have_their_weight() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1"])? else {
        return Ok(());
    };
    let Some((version, directory)) = place_of_weight(&daemon).await? else {
        return daemon.stop();
    };
    let processors = std::thread::available_parallelism()?.get() as u64;
    let [written, wanted] = weight(&version, &directory, processors)?;
    assert_eq!(written, wanted, "{}", directory.display());
    daemon.stop()?;
    // The weight of a new group may be the same by chance. A daemon with one processor, beside processes, writes half
    // of it.
    let own = directory.parent().ok_or("no parent")?;
    let below = own.join(format!("prl-test-{}", std::process::id()));
    if version != "v1" || fs::create_dir(&below).is_err() {
        skip("a daemon is put in a separate group on v1 only");
        return Ok(());
    }
    fs::write(below.join("tasks"), "0")?;
    let started = on_one_processor(|| Daemon::start(&["--park", "1"]));
    fs::write(own.join("tasks"), "0")?;
    let daemon = started??.ok_or("it does not start there")?;
    let (version, directory) = place_of_weight(&daemon).await?.ok_or("no weight there")?;
    assert_eq!(directory.parent(), Some(below.as_path()));
    let reported = weight(&version, &directory, 1)?;
    daemon.stop()?;
    // Its spawner stays in the group for another moment.
    until("empty", async || Ok(fs::remove_dir(&below).is_ok())).await?;
    assert_eq!(reported, ["512"; 2]);
    Ok(())
}

/// The session of a process, from `proc_pid_stat(5)`.
fn session(pid: u32) -> std::io::Result<Option<u32>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    Ok(after_name.split(' ').nth(3).and_then(|number| number.parse().ok()))
}

/// Where the kernel shares the processors by session, a process that needs them only now and then would otherwise wait
/// for those that make sandboxes.
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
