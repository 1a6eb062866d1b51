//! The tables of hostile and ordinary programs in the weaker tiers. A program that a tier cannot stop, or stops with
//! other words than the table's, is skipped by name with the reason.

use std::collections::BTreeMap;

use prl_sandbox_proto::CapabilitiesRequest;

use crate::cases::Defence::{By, Layers};
use crate::cases::{Case, attacks, ordinary};
use crate::programs::failures;
use crate::support::ground::Ground;
use crate::support::{Daemon, Outcome, command, settles, skip, text};

const ONE_USER: &str = "without root there is one user: the guest is whom init is, and owns what the box has";
const ROOT_AFTER_ALL: &str = "the daemon's own user, if that is root, may do what permission bits allow root";
const MACHINES_FILES: &str = "files lie in the machine's own file systems";
const NO_PROC: &str = "proc is out of reach";
const NO_SOCKETS: &str = "there are no sockets, terminals or names for shared memory";
const LANDLOCK: &str = "Landlock refuses it with another errno";
const PER_PROCESS: &str = "memory is limited per process";

fn rootless(case: &Case) -> Option<&'static str> {
    match case.name {
        "password file" | "links of proc" | "file of root changed" | "kernel settings" => Some(ROOT_AFTER_ALL),
        "kill init" | "files of another owner" | "giving files away" | "becoming root" => Some(ONE_USER),
        _ if matches!(case.defence, By("other-processes")) => Some(ONE_USER),
        _ => None,
    }
}

fn process(case: &Case) -> Option<&'static str> {
    let by_defence = match case.defence {
        By("layer-bytes" | "layer-inodes" | "collect-bytes" | "no-set-user-id" | "no-devices")
        | Layers("own layer" | "own devices" | "a sandbox is used once") => Some(MACHINES_FILES),
        By(
            "other-processes" | "masked-proc" | "oom-score" | "default-signals" | "cgroup-namespace"
            | "no-new-privileges",
        )
        | Layers("own proc, own root" | "own mount namespace" | "own root view" | "the kernel: root only") => {
            Some(NO_PROC)
        }
        By("network-namespace") | Layers("network namespace without a route" | "the kernel, filter") => {
            Some(NO_SOCKETS)
        }
        By("read-only") | Layers("the root view" | "other mount, protected links") => Some(LANDLOCK),
        By("memory") => Some(PER_PROCESS),
        By("host-name") => Some("the host's name is the machine's"),
        _ => None,
    };
    let by_name = || match case.name {
        "kill everybody" => Some("a program that kills everything reaches only itself and gets no error"),
        "device files" => Some(LANDLOCK),
        "capabilities" | "lists of IPC objects" | "processes see each other" => Some(NO_PROC),
        "environment" | "script with arguments" | "user and groups" => Some(MACHINES_FILES),
        "loopback shut down"
        | "another address"
        | "a port of the system"
        | "typing into a console"
        | "line discipline of a terminal"
        | "socket collected"
        | "message queues with a name"
        | "multiprocessing pool"
        | "shared memory"
        | "semaphores and queues"
        | "process pool executor"
        | "sockets on the own loopback"
        | "sockets over IPv6"
        | "Unix sockets"
        | "HTTP server and client"
        | "pseudo-terminals"
        | "multiprocessing manager"
        | "multiprocessing by spawn"
        | "multiprocessing by fork server"
        | "asyncio server and client"
        | "datagrams on the own loopback"
        | "name of the own loopback"
        | "node with a server"
        | "terminals"
        | "memory by buffers of the network" => Some(NO_SOCKETS),
        "dies of the file size signal" => Some("each file has a size limit there, whose signal this is"),
        _ => None,
    };
    by_defence.or_else(by_name)
}

async fn run_all(tier: &[&str], refused: fn(&Case) -> Option<&'static str>, at_least: usize) -> Outcome {
    let arguments = [&["--max-running", "6", "--park", "3", "--warm", "python=0"], tier].concat();
    let Some(daemon) = Daemon::start(&arguments)? else {
        return Ok(());
    };
    let client = daemon.client().await?;
    let report = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
    let is_limited = |name| report.facilities.iter().any(|one| one.name == name && one.available);
    if !["cgroup.memory", "cgroup.pids", "cgroup.cpu"]
        .into_iter()
        .all(is_limited)
        && !tier.contains(&"process")
    {
        skip("bombs need limits of the whole tree");
        return Ok(());
    }
    let ground = Ground::lay()?;
    let mut skipped: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut cases = Vec::new();
    for case in attacks::all().chain(ordinary::all()) {
        match refused(case) {
            Some(reason) => skipped.entry(reason).or_default().push(case.name),
            None => cases.push(case),
        }
    }
    for (reason, names) in skipped {
        skip(&format!("{reason}: {}", names.join(", ")));
    }
    assert!(cases.len() >= at_least, "only {} cases are left", cases.len());
    let failed = failures(&client, cases.into_iter().map(|case| (case, case.request(&ground)))).await?;
    drop(client);
    let pid = daemon.pid();
    daemon.stop()?;
    settles(pid, |found| found.is_empty()).await?;
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_rights() -> Outcome {
    run_all(&["--rootless"], rootless, 230).await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_namespaces() -> Outcome {
    run_all(&["--tier", "process"], process, 160).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_guest_writes_the_machines_settings() -> Outcome {
    for tier in [&["--rootless"][..], &["--tier", "process"], &[]] {
        let Some(daemon) = Daemon::start(&[&["--park", "1", "--warm", "python=0"], tier].concat())? else {
            continue;
        };
        let line = "for p in kernel/core_pattern vm/overcommit_memory kernel/hostname kernel/modprobe; do \
                    (exec 3>> /proc/sys/$p) 2> /dev/null && echo $p; done; echo tried";
        let result = daemon.client().await?.run_once(command(&["bash", "-c", line])).await?;
        assert_eq!(text(&result.get_ref().stdout), "tried\n", "{tier:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn python_is_warm_without_rights_too() -> Outcome {
    let Some(daemon) = Daemon::start(&["--rootless", "--park", "1", "--warm", "python=1"])? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    let reported = client.capabilities(CapabilitiesRequest {}).await?.into_inner();
    assert!(!reported.runtimes.is_empty(), "{:?}", reported.facilities);
    let look = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith(('CapEff', 'Seccomp:', 'NoNew'))])";
    let result = client.run_once(command(&["python3", "-c", look])).await?.into_inner();
    assert_eq!(
        (text(&result.stdout).as_str(), result.runtime.as_str()),
        ("['0000000000000000', '1', '2']\n", "python")
    );
    Ok(())
}
