//! The daemon under the conditions of a container: a filter that is installed from the start, and a user namespace with
//! few numbers.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use prl_sandbox_proto::{CapabilitiesRequest, Cause, ExecRequest, Limit, Limits};

use crate::boxes::{boxes, exec, small};
use crate::support::census::children;
use crate::support::{Daemon, Outcome, cause, command, describe, skip, text, tight, until};

/// The first number of the machine that a container's root gets, and how many numbers there are.
const MAPPED: (u32, u32) = (200_000, 65_536);

/// Installs a filter that allows everything on the process of a command.
fn filtered(command: &mut Command) -> &mut Command {
    let install = || {
        let mut allow = libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: libc::SECCOMP_RET_ALLOW,
        };
        let program = libc::sock_fprog {
            len: 1,
            filter: &raw mut allow,
        };
        // SAFETY: plain numbers, and one instruction that outlives the call.
        let installed = unsafe {
            // A user other than root needs this flag. A container's root runs without it.
            if libc::geteuid() != 0 {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            }
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        match installed {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: two system calls, which allocate no memory.
    unsafe { command.pre_exec(install) }
}

async fn has_warm_python(daemon: &Daemon) -> Outcome {
    let mut client = daemon.client().await?;
    let reported = client.capabilities(CapabilitiesRequest {}).await?.into_inner();
    assert!(!reported.runtimes.is_empty(), "{:?}", reported.facilities);
    let look = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('Seccomp:')])";
    let result = client.run_once(command(&["python3", "-c", look])).await?.into_inner();
    assert_eq!(
        (text(&result.stdout).as_str(), result.runtime.as_str()),
        ("['2']\n", "python")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn python_is_warm_below_a_containers_filter() -> Outcome {
    for tier in [
        &["--park", "1", "--warm", "python=1"][..],
        &["--rootless", "--warm", "python=1"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prl-sandboxd"));
        filtered(&mut command).stdin(Stdio::null());
        let Some(daemon) = Daemon::start_by(command, tempfile::tempdir()?, tier)? else {
            return Ok(());
        };
        if daemon.announced["isolation"] == "process" {
            skip("this machine gives no namespaces");
            return Ok(());
        }
        has_warm_python(&daemon)
            .await
            .map_err(|error| format!("{tier:?}: {error}"))?;
        daemon.stop()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_reaped_where_the_daemon_is_the_first_process() -> Outcome {
    let namespace = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    if !Command::new("unshare")
        .args(namespace)
        .arg("true")
        .output()?
        .status
        .success()
    {
        skip("this machine gives no pid namespace");
        return Ok(());
    }
    let mut unshare = Command::new("unshare");
    unshare
        .args(namespace)
        .arg(env!("CARGO_BIN_EXE_prl-sandboxd"))
        .stdin(Stdio::null());
    let started = Daemon::start_by(unshare, tempfile::tempdir()?, &["--park", "1", "--warm", "python=1"])?;
    let mut daemon = started.ok_or("no sandboxes")?;
    let first = children(daemon.pid(), daemon.pid());
    let first = first.first().ok_or("no first process")?.pid;
    let orphan = ["-c", "(sleep 0.1 &)"];
    let enter = Command::new("nsenter")
        .args(["--target", &first.to_string(), "--pid", "sh"])
        .args(orphan)
        .status()?;
    assert!(enter.success(), "{enter}");
    until("reaped", async || {
        let below = children(daemon.pid(), first);
        assert!(below.iter().any(|one| one.name == "prl-sandboxd"), "{below:?}");
        Ok(below.len() == 1)
    })
    .await?;
    has_warm_python(&daemon).await?;
    // SAFETY: a process of this test's daemon.
    unsafe { libc::kill(first.cast_signed(), libc::SIGTERM) };
    let ended = daemon.ended().await?;
    assert!(ended.success(), "the daemon ended with {ended}");
    Ok(())
}

/// Moves the process of a command into a user namespace, as its root.
fn apart(command: &mut Command) -> std::io::Result<()> {
    let (mut pid, mut tell_pid) = std::io::pipe()?;
    let (mut go, mut tell_go) = std::io::pipe()?;
    // The namespace has no numbers until a process outside maps some.
    std::thread::spawn(move || -> std::io::Result<()> {
        let mut bytes = [0; 4];
        pid.read_exact(&mut bytes)?;
        let (first, number) = MAPPED;
        for kind in ["uid_map", "gid_map"] {
            let map = format!("/proc/{}/{kind}", u32::from_ne_bytes(bytes));
            fs::write(map, format!("0 {first} {number}\n"))?;
        }
        tell_go.write_all(b"x")
    });
    let enter = move || {
        // SAFETY: plain numbers.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        tell_pid.write_all(&std::process::id().to_ne_bytes())?;
        go.read_exact(&mut [0])?;
        // SAFETY: plain numbers.
        match unsafe { libc::setresgid(0, 0, 0) | libc::setresuid(0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: system calls, which allocate no memory.
    unsafe { command.pre_exec(enter) };
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn boxes_have_separate_users_in_a_user_namespace() -> Outcome {
    // SAFETY: reads an attribute of this process.
    if unsafe { libc::geteuid() } != 0 {
        skip("only root gives away numbers");
        return Ok(());
    }
    let proc = [
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        "mount",
        "-t",
        "proc",
        "proc",
        "/proc",
    ];
    if !Command::new("unshare").args(proc).output()?.status.success() {
        skip("this machine gives no proc in a user namespace");
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    chown(directory.path(), Some(MAPPED.0), Some(MAPPED.0))?;
    // The directory of the build may be closed to other users.
    let binary = directory.path().join("daemon");
    fs::copy(env!("CARGO_BIN_EXE_prl-sandboxd"), &binary)?;
    let mut becomes = Command::new(&binary);
    apart(filtered(&mut becomes).stdin(Stdio::null()))?;
    let arguments = ["--park", "1", "--warm", "python=1"];
    let daemon = Daemon::start_by(becomes, directory, &arguments)?.ok_or("no sandboxes")?;
    // The machine's groups do not belong to the daemon there.
    assert_eq!(daemon.announced["isolation"], "rootless");
    has_warm_python(&daemon).await?;
    // The time of the whole tree is not counted there.
    let mut long = command(&["python3", "-c", "while True: pass"]);
    long.limits = Some(Limits {
        cpu_ms: Some(1000),
        ..tight()
    });
    let result = daemon.client().await?.run_once(long).await?.into_inner();
    let reported = (
        cause(&result),
        result.runtime.as_str(),
        result.limits_hit().collect::<Vec<_>>(),
    );
    assert_eq!(
        reported,
        (Cause::CpuTimeout, "python", vec![Limit::Cpu]),
        "{}",
        describe(&result)
    );
    let mut held = boxes(&daemon).await?;
    held.create(small("one")).await?;
    let mut seen = Vec::new();
    for user in ["sandbox", "nobody"] {
        let request = ExecRequest {
            user: user.to_owned(),
            ..exec("one", &["id", "-u"])
        };
        let result = held.exec(request).await?.into_inner();
        seen.push(text(&result.stdout).trim().parse::<u32>()?);
    }
    assert!(seen[0] >= 1000 && seen[0] < seen[1] && seen[1] < 65_534, "{seen:?}");
    daemon.stop()
}
