//! Limits by cgroup v2: here as far as this machine has it, and in machines with it that are booted for this purpose.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prl_sandbox_proto::{CapabilitiesRequest, Cause, RunOnceRequest};

use crate::support::{Client, Daemon, Outcome, cause, command, describe, running, settles, skip, tight, until};

/// The path of a Linux that runs as a program (Debian: package user-mode-linux).
const KERNEL: &str = "PRL_TEST_UML";
/// In such a machine: the controllers of v2.
const EXPECTED: &str = "PRL_TEST_V2_CONTROLLERS";
const BOOT_DEADLINE: Duration = Duration::from_secs(200);

/// The controllers that this daemon uses by v2.
async fn by_v2(client: &Client) -> Result<Vec<String>, Box<dyn Error>> {
    let reported = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
    let v2 = reported
        .facilities
        .iter()
        .filter(|one| one.available && one.detail.starts_with("v2, "));
    Ok(v2
        .filter_map(|one| Some(one.name.strip_prefix("cgroup.")?.to_owned()))
        .collect())
}

fn python(code: &str) -> RunOnceRequest {
    command(&["/usr/bin/python3", "-I", "-S", "-c", code])
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_by_v2() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "1", "--cpus", "0.5"])? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    let v2 = by_v2(&client).await?;
    if let Ok(expected) = std::env::var(EXPECTED) {
        assert!(
            daemon.is_full() && expected.split(',').all(|name| v2.iter().any(|one| one == name)),
            "{expected} are not all among {v2:?}: {}",
            daemon.announced
        );
    }
    let has = |name: &str| v2.iter().any(|one| one == name);
    if !["memory", "pids", "cpu"].into_iter().any(has) {
        skip(&format!(
            "no controller is in cgroup v2 here; {KERNEL} boots a machine where they are"
        ));
        return daemon.stop();
    }
    let mut run = async |request: RunOnceRequest| client.run_once(request).await.map(|answer| answer.into_inner());
    if has("pids") {
        let fork = "import os, time\nwhile True:\n try:\n  if os.fork() == 0: time.sleep(100)\n except OSError: pass";
        let bomb = run(python(fork)).await?;
        assert_eq!(cause(&bomb), Cause::Pids, "{}", describe(&bomb));
        let some = run(python(
            "import os\nfor _ in range(5): os.fork() or os._exit(0)\nos.wait()",
        ))
        .await?;
        let seen = some.usage.unwrap_or_default().processes;
        assert!(seen.is_none_or(|seen| (2..=7).contains(&seen)), "{seen:?} processes");
    }
    if has("memory") {
        let bomb = run(python("x = []\nwhile True: x.append(bytearray(1 << 20))")).await?;
        assert_eq!(cause(&bomb), Cause::Oom, "{}", describe(&bomb));
        let limit = tight().memory_bytes.unwrap_or_default();
        let peak = bomb.usage.unwrap_or_default().peak_memory_bytes.unwrap_or_default();
        assert!((limit / 2..=limit).contains(&peak), "{peak} of {limit} bytes");
        let files = run(command(&[
            "bash",
            "-c",
            "head -c 8M /dev/zero > f; exec 3< f; cat <&3 | wc -c",
        ]))
        .await?;
        let peak = files.usage.unwrap_or_default().peak_memory_bytes.unwrap_or_default();
        assert!(
            peak > 8 << 20,
            "files in memory are counted: {peak}\n{}",
            describe(&files)
        );
    }
    if has("cpu") {
        let spin = "import time\nend = time.monotonic() + 3\nwhile time.monotonic() < end: pass";
        let spun = run(python(spin)).await?;
        let used = spun.usage.unwrap_or_default().cpu_ms.unwrap_or_default();
        // Half a processor, and some periods of tolerance, which an emulated machine needs.
        let given = spun.timings.unwrap_or_default().run_ms / 2.0 + 500.0;
        assert!(
            (1.0..given).contains(&used),
            "{used} of {given} ms\n{}",
            describe(&spun)
        );
        let mut endless = python("while True: pass");
        let limits = endless.limits.get_or_insert_default();
        (limits.cpu_ms, limits.wall_ms) = (Some(300), Some(60_000));
        let cut = run(endless).await?;
        assert_eq!(cause(&cut), Cause::CpuTimeout, "{}", describe(&cut));
    }
    let pid = daemon.pid();
    daemon.stop()?;
    settles(pid, |found| found.is_empty()).await
}

/// When a daemon and its spawner were killed together, the next daemon removes their groups and the children of
/// programs in them.
#[tokio::test(flavor = "multi_thread")]
async fn groups_of_the_killed_are_removed() -> Outcome {
    let Some(mut daemon) = Daemon::start(&["--park", "2"])? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("no cgroups can be made here");
        return daemon.stop();
    }
    let mut client = daemon.client().await?;
    let mut load = client.clone();
    let hung = tokio::spawn(async move { load.run_once(command(&["bash", "-c", "sleep 100 & sleep 100"])).await });
    until("running", async || Ok(running(&mut client).await? == 1)).await?;
    let spawner = crate::support::census::spawner(daemon.pid())?;
    let stop = |pid: u32, signal: i32| {
        // SAFETY: a process that this test's daemon started.
        unsafe { libc::kill(pid.cast_signed(), signal) }
    };
    stop(spawner, libc::SIGSTOP);
    daemon.kill()?;
    stop(spawner, libc::SIGKILL);
    assert!(hung.await?.is_err(), "an answer of a daemon that is dead");
    let Some(next) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    settles(daemon.pid(), |found| found.is_empty()).await?;
    next.stop()
}

/// A group of other processes that was not delegated: the daemon works without v2 there, and stays in its group.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_not_ours_is_left_as_it_was() -> Outcome {
    let Some(shared) = shared() else {
        skip("no group with controllers of v2 can be made here");
        return Ok(());
    };
    let entrance = shared.join("cgroup.procs");
    let mut neighbour = Command::new("sleep").arg("1000").spawn()?;
    std::fs::write(&entrance, neighbour.id().to_string())?;
    let inside = format!("echo $$ > {} && exec \"$0\" \"$@\"", entrance.display());
    let directory = tempfile::tempdir()?;
    let mut daemon = Command::new("sh")
        .args([
            "-c",
            &inside,
            env!("CARGO_BIN_EXE_prl-sandboxd"),
            "--park",
            "0",
            "--socket",
        ])
        .arg(directory.path().join("sandboxd.sock"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut announced = String::new();
    BufReader::new(daemon.stdout.take().ok_or("no standard output")?).read_line(&mut announced)?;
    let members = std::fs::read_to_string(&entrance);
    let place = std::fs::read_to_string(format!("/proc/{}/cgroup", daemon.id()));
    let leaf = shared.join("prl-sandboxd-self").exists();
    daemon.kill()?;
    daemon.wait()?;
    neighbour.kill()?;
    neighbour.wait()?;
    until("empty", async || Ok(std::fs::remove_dir(&shared).is_ok())).await?;
    let members = members?;
    for pid in [daemon.id(), neighbour.id()] {
        assert!(
            members.lines().any(|one| one == pid.to_string()),
            "{pid} is not among {members}: {place:?}"
        );
    }
    assert!(!leaf, "an empty group is left");
    assert!(announced.contains("\"isolation\":\"rootless\""), "{announced}");
    Ok(())
}

/// A new group below this process's group, with the controllers that the daemon wants; `None` where v2 has none or they
/// cannot be handed down.
fn shared() -> Option<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
    let own = Path::new(mount.split(' ').nth(1)?).join(own);
    let handed = |name: &str| std::fs::write(own.join("cgroup.subtree_control"), name).is_ok();
    if ["+memory", "+pids", "+cpu"].map(handed) == [false; 3] {
        return None;
    }
    let shared = own.join(format!("shared-{}", std::process::id()));
    std::fs::create_dir(&shared).ok()?;
    Some(shared)
}

/// A machine: the mounts, the group of its processes, and the controllers of v2.
struct Machine {
    name: &'static str,
    groups: &'static str,
    v2: &'static str,
    /// The tests of this module for this machine, and how many there are.
    tests: (&'static str, usize),
}

const LIMITS: &str = "cgroup_v2::limits cgroup_v2::groups_of";
const MOUNT_V2: &str = "mount -t cgroup2 none /sys/fs/cgroup";
const MACHINES: [Machine; 4] = [
    Machine {
        name: "v2 alone",
        groups: "",
        v2: "memory,pids,cpu,weight",
        tests: ("cgroup_v2::limits cgroup_v2::groups_of cgroup_v2::a_group", 3),
    },
    Machine {
        name: "pids in v1, the others in v2",
        groups: "umount /sys/fs/cgroup; mount -t tmpfs none /sys/fs/cgroup; cd /sys/fs/cgroup; mkdir pids unified
                 mount -t cgroup -o pids none pids; mount -t cgroup2 none unified; cd /",
        v2: "memory,cpu,weight",
        tests: (LIMITS, 2),
    },
    Machine {
        name: "a delegated group with neighbours",
        groups: "mkdir -p /sys/fs/cgroup/a/b; echo +memory +pids +cpu > /sys/fs/cgroup/cgroup.subtree_control
                 echo +memory +pids +cpu > /sys/fs/cgroup/a/cgroup.subtree_control
                 echo $$ > /sys/fs/cgroup/a/b/cgroup.procs; sleep 1000 &
                 python3 -c 'import os; os.setxattr(\"/sys/fs/cgroup/a/b\", \"trusted.delegate\", b\"1\")'",
        v2: "memory,pids,cpu,weight",
        tests: (LIMITS, 2),
    },
    Machine {
        name: "a container's root group with neighbours",
        groups: "mkdir -p /sys/fs/cgroup/c; echo +memory +pids +cpu > /sys/fs/cgroup/cgroup.subtree_control
                 echo $$ > /sys/fs/cgroup/c/cgroup.procs; sleep 1000 &
                 inside='unshare -C -m bash -c'; enter='umount /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; '",
        v2: "memory,pids,cpu,weight",
        tests: (LIMITS, 2),
    },
];

/// Boots each machine with this one's files, and runs the other tests of this module there.
#[test]
fn in_machines_that_have_v2() -> Outcome {
    let Some(kernel) = std::env::var_os(KERNEL) else {
        skip(&format!("{KERNEL} names no linux.uml"));
        return Ok(());
    };
    for machine in &MACHINES {
        let said = boot(Path::new(&kernel), machine)?;
        assert!(
            said.contains("ended with 0")
                && said.contains(&format!("{} passed", machine.tests.1))
                && !said.contains("skipped:"),
            "{}:\n{said}",
            machine.name
        );
    }
    Ok(())
}

/// The output of the machine.
fn boot(kernel: &Path, machine: &Machine) -> Result<String, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let init = directory.path().join("init");
    let tests = std::env::current_exe()?;
    let Machine {
        groups,
        v2,
        tests: (wanted, _),
        ..
    } = machine;
    let script = format!(
        "#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/run
mount -t proc none /proc; mount -t sysfs none /sys; mount -t tmpfs none /run; mount -t tmpfs none /mnt
mkdir -p /dev/pts /dev/shm; mount -t devpts none /dev/pts; mount -t tmpfs none /dev/shm
{MOUNT_V2}
{groups}
export {EXPECTED}={v2} {SLOWNESS}=4
${{inside:-bash -c}} \"$enter'{tests}' --test-threads 1 {wanted} --nocapture\"
echo ended with $?
echo o > /proc/sysrq-trigger; sleep 10
",
        tests = tests.display(),
        SLOWNESS = crate::support::SLOWNESS,
    );
    std::fs::write(&init, script)?;
    std::fs::set_permissions(&init, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let log = directory.path().join("log");
    let output = std::fs::File::create(&log)?;
    let mut child = Command::new(kernel)
        .args(["mem=1G", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"])
        .args(["con=null", "con0=fd:0,fd:1"])
        .arg(format!("init={}", init.display()))
        .arg(format!("uml_dir={}", directory.path().display()))
        .env("TMPDIR", directory.path())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let deadline = Instant::now() + BOOT_DEADLINE;
    while child.try_wait()?.is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill()?;
    child.wait()?;
    Ok(String::from_utf8_lossy(&std::fs::read(log)?).into_owned())
}
