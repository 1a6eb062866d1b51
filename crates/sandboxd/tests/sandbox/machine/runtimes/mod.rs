//! The daemon in containers of docker and of containerd, in the forms of `configs/deploy/README.md`: the tier of each, its
//! limits, and that programs end there as they must.

mod ground;
mod image;
mod programs;

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use prl_sandbox_proto::Isolation;
use prl_sandbox_proto::Isolation::{Full, Process, Rootless};

use crate::support::{Daemon, Outcome, skip, until};
use ground::{Ground, Runtime};
use programs::Report;

/// The seccomp profile of the README, for docker and for `ctr`.
const PROFILE: &str = concat!(
    "seccomp=",
    env!("CARGO_MANIFEST_DIR"),
    "/../../configs/deploy/container/seccomp.json"
);
const PROFILE_OF_CTR: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../configs/deploy/container/seccomp.json"
);
/// The README's line that makes the groups of a container writable.
const REMOUNT: &str = "for c in $(findmnt -nlo TARGET -t cgroup,cgroup2); do mount -o remount,bind,rw $c; done; \
                       exec prl-sandboxd \"$@\"";
/// The tier that needs Linux 6.12.
const SINCE: (u32, u32) = (6, 12);

const AS_USER: &[&str] = &["--user", "1000:1000"];
const CAPABILITIES: &[&str] = &[
    "--cap-add",
    "SYS_ADMIN",
    "--cap-add",
    "NET_ADMIN",
    "--cap-add",
    "SYS_PTRACE",
];
const FILTER: &[&str] = &["--security-opt", PROFILE, "--security-opt", "apparmor=unconfined"];
const PRIVATE: &[&str] = &["--cgroupns", "private"];
const CAPABILITIES_OF_CTR: &[&str] = &[
    "--cap-add",
    "CAP_SYS_ADMIN",
    "--cap-add",
    "CAP_NET_ADMIN",
    "--cap-add",
    "CAP_SYS_PTRACE",
    "--seccomp",
    "--seccomp-profile",
    PROFILE_OF_CTR,
];
const GROUPS_OF_CTR: &[&str] = &["--mount", "type=cgroup,src=cgroup,dst=/sys/fs/cgroup,options=rw"];

/// A way to run the container.
struct Form {
    name: &'static str,
    /// Arguments of the runtime.
    arguments: &'static [&'static [&'static str]],
    /// The shell line that starts the daemon, with the daemon's arguments as its own; `None`: the image's entry point.
    line: Option<&'static str>,
    isolation: Isolation,
}

const DOCKER: [Form; 8] = [
    Form {
        name: "defaults",
        arguments: &[],
        line: None,
        isolation: Process,
    },
    Form {
        name: "defaults, as a user",
        arguments: &[AS_USER],
        line: None,
        isolation: Process,
    },
    Form {
        name: "user namespaces allowed, as a user",
        arguments: &[AS_USER, FILTER, &["--security-opt", "systempaths=unconfined"]],
        line: None,
        isolation: Rootless,
    },
    Form {
        name: "capabilities, groups read-only",
        arguments: &[CAPABILITIES, FILTER],
        line: None,
        isolation: Rootless,
    },
    Form {
        name: "capabilities, groups mounted again",
        arguments: &[CAPABILITIES, FILTER, PRIVATE],
        line: Some(REMOUNT),
        isolation: Full,
    },
    Form {
        name: "capabilities, groups of the machine",
        arguments: &[
            CAPABILITIES,
            FILTER,
            &["--cgroupns", "host", "--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw"],
        ],
        line: None,
        isolation: Full,
    },
    Form {
        name: "capabilities, writable-cgroups",
        arguments: &[
            CAPABILITIES,
            FILTER,
            PRIVATE,
            &["--security-opt", "writable-cgroups=true"],
        ],
        line: None,
        isolation: Full,
    },
    Form {
        name: "privileged",
        arguments: &[&["--privileged"]],
        line: None,
        isolation: Full,
    },
];

const CONTAINERD: [Form; 6] = [
    Form {
        name: "defaults",
        arguments: &[],
        line: None,
        isolation: Process,
    },
    Form {
        name: "the default filter",
        arguments: &[&["--seccomp"]],
        line: None,
        isolation: Process,
    },
    Form {
        name: "privileged in a user namespace, no groups",
        arguments: &[&[
            "--privileged",
            "--uidmap",
            "0:200000:65536",
            "--gidmap",
            "0:200000:65536",
        ]],
        line: None,
        isolation: Rootless,
    },
    Form {
        name: "capabilities, no groups",
        arguments: &[CAPABILITIES_OF_CTR],
        line: None,
        isolation: Rootless,
    },
    Form {
        name: "capabilities, groups writable",
        arguments: &[CAPABILITIES_OF_CTR, GROUPS_OF_CTR],
        line: None,
        isolation: Full,
    },
    Form {
        name: "privileged, groups writable",
        arguments: &[&["--privileged"], GROUPS_OF_CTR],
        line: None,
        isolation: Full,
    },
];

async fn in_forms(runtime: Runtime, forms: &[Form]) -> Outcome {
    let ground = match Ground::start(runtime)? {
        Ok(ground) => ground,
        Err(reason) => {
            skip(&reason);
            return Ok(());
        }
    };
    for (number, form) in forms.iter().enumerate() {
        in_form(&ground, form, &format!("prl-{number}"))
            .await
            .map_err(|error| format!("{:?}, {}: {error}", runtime, form.name))?;
    }
    ground.end()
}

async fn in_form(ground: &Ground, form: &Form, name: &str) -> Outcome {
    let directory = tempfile::tempdir()?;
    // The daemon's user makes its socket there: root, the image's user, or the root of a user namespace.
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o777))?;
    let mut run = ground.run(name, &form.arguments.concat(), directory.path(), form.line);
    run.stdin(Stdio::null());
    let started = match Daemon::start_by(run, directory, &["--park", "1", "--warm", "python=1"]) {
        Err(error) => match cannot_be_had(&error.to_string())? {
            Some(reason) => {
                skip(&format!("{}: {reason}", form.name));
                return Ok(());
            }
            None => return Err(error),
        },
        Ok(started) => started,
    };
    let Some(daemon) = started else {
        if form.isolation == Process && !has_process_tier()? {
            return Ok(());
        }
        return Err("the daemon did not start".into());
    };
    let client = daemon.client().await?;
    let report = Report::of(&client).await?;
    report.is(form.isolation)?;
    programs::refuses_more(&client, form.isolation).await?;
    programs::end_truly(&client, &report).await?;
    drop(client);
    reaps_orphans(ground, name).await?;
    if let Some(log) = ground.logs(name)? {
        let expected = match form.isolation {
            Full => false,
            // Without root nothing stronger is expected.
            Rootless => !form.arguments.contains(&AS_USER),
            _ => true,
        };
        assert_eq!(log.contains("isolation is weaker than it could be"), expected, "{log}");
    }
    daemon.stop()?;
    match ground.containers()?.trim() {
        "" => Ok(()),
        left => Err(format!("containers are left: {left}").into()),
    }
}

/// The first process of a container gets the orphans of what runs there beside the daemon.
async fn reaps_orphans(ground: &Ground, name: &str) -> Outcome {
    let left = ground.exec(name, &["sh", "-c", "(sleep 0.1 &); echo inside"])?;
    assert_eq!(left, "inside\n");
    until("reaped", async || {
        let look = "for p in /proc/[0-9]*; do { read -r l < $p/stat; } 2> /dev/null && echo \"$l\"; done";
        let all = ground.exec(name, &["sh", "-c", look])?;
        assert!(all.contains("(prl-sandboxd)"), "{all}");
        let is_waiting = |line: &str| line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'));
        let sleeping = all.contains("(sleep)");
        Ok(!sleeping && !all.lines().any(is_waiting))
    })
    .await
}

/// Why this machine or its runtime cannot have a form, by the runtime's complaint; `None`: it is another complaint.
fn cannot_be_had(complaint: &str) -> Result<Option<&'static str>, Box<dyn std::error::Error>> {
    if complaint.contains("invalid --security-opt") {
        return Ok(Some("this docker is too old"));
    }
    let number = |path, name| -> Result<String, std::io::Error> {
        let text = std::fs::read_to_string(path)?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        Ok(line.unwrap_or_default().trim().to_owned())
    };
    let held = u64::from_str_radix(&number("/proc/self/status", "CapBnd:")?, 16)?;
    let last: u32 = number("/proc/sys/kernel/cap_last_cap", "")?.parse()?;
    let lacks = held.count_ones() <= last;
    let refused = complaint.contains("unable to apply caps");
    Ok((refused && lacks).then_some("root lacks capabilities on this machine, and docker gives all"))
}

fn has_process_tier() -> Result<bool, Box<dyn std::error::Error>> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(|one: char| !one.is_ascii_digit()).map(str::parse::<u32>);
    let (major, minor) = (
        numbers.next().ok_or("no release")??,
        numbers.next().ok_or("no release")??,
    );
    Ok((major, minor) >= SINCE)
}

#[tokio::test(flavor = "multi_thread")]
async fn in_docker() -> Outcome {
    in_forms(Runtime::Docker, &DOCKER).await
}

#[tokio::test(flavor = "multi_thread")]
async fn in_containerd() -> Outcome {
    in_forms(Runtime::Containerd, &CONTAINERD).await
}
