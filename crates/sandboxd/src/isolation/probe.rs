//! Finds the limits that this daemon can enforce here, by trying them and by reading the mounts.

use prl_sandbox_guest::landlock;
use prl_sandbox_guest::process;
use prl_sandbox_guest::sys::readable;
use prl_sandbox_proto::{Cause, Facility, Isolation};

use super::tier::{Chosen, Tier};
use crate::cgroup::{Layout, Version};

/// The reason for the tier where the only user of a user namespace is root outside.
const ROOT_AFTER_ALL: &str = "programs are the daemon's own user, which is root: they can read files of the machine's system \
     directories that only root may read, such as /etc/shadow; start the daemon as another user, or as root with namespaces";

/// See the module. It is made once, when the first sandbox was set up.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) isolation: Isolation,
    pub(crate) cgroups: &'static str,
    pub(crate) facilities: Vec<Facility>,
    pub(crate) unobservable: Vec<Cause>,
    /// Whether CPU time is counted for the whole tree.
    pub(crate) counts_cpu: bool,
    /// The limits that are set per process or user, because there is no better way.
    pub(crate) alone: Alone,
}

/// See `Probe::alone`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alone {
    pub(crate) memory: bool,
    pub(crate) processes: bool,
    pub(crate) files: bool,
}

/// Reports on a machine where a sandbox could be set up in this tier.
pub(crate) fn probe(chosen: &Chosen, layout: &Layout) -> Probe {
    // SAFETY: reads a process attribute.
    let as_root = chosen.tier == Tier::Rootless && unsafe { libc::geteuid() } == 0;
    let mut facilities = match chosen.tier {
        Tier::Process => without_namespaces(),
        Tier::Namespaces | Tier::Rootless => with_namespaces(chosen.tier == Tier::Rootless),
    };
    if as_root {
        facilities.push(facility("tier.users", false, ROOT_AFTER_ALL));
    }
    for (tier, reason) in &chosen.refused {
        let how = match tier {
            Tier::Namespaces => {
                "needs root with CAP_SYS_ADMIN and CAP_NET_ADMIN, and a container's seccomp and AppArmor profile out of the way"
            }
            Tier::Rootless => {
                "needs user namespaces: user.max_user_namespaces > 0, kernel.apparmor_restrict_unprivileged_userns = 0, \
                 and a container's seccomp profile that allows unshare and mount"
            }
            Tier::Process => "needs Linux 6.12 with Landlock, and not to be root without CHOWN, SETUID and such",
        };
        let name = format!("tier.{}", format!("{tier:?}").to_lowercase());
        facilities.push(facility(&name, false, &format!("{reason}; {how}")));
    }
    facilities.push(facility("kvm", readable(c"/dev/kvm"), "not used by this version"));
    for (name, place) in [
        ("memory", &layout.memory),
        ("pids", &layout.pids),
        ("cpu", &layout.cpu),
        ("weight", &layout.weight),
    ] {
        let detail = match place {
            Some((Version::V1, path)) => format!("v1, {}", path.display()),
            Some((Version::V2, path)) => format!("v2, {}", path.display()),
            None => {
                let reason = layout.missing.iter().find(|(missing, _)| *missing == name);
                reason.map_or(String::new(), |(_, reason)| reason.clone())
            }
        };
        facilities.push(Facility {
            name: format!("cgroup.{name}"),
            available: place.is_some(),
            detail,
        });
    }
    if let Some((_, path, cpus)) = &layout.quota {
        let detail = format!("{cpus} processors' worth for each sandbox, {}", path.display());
        facilities.push(facility("cgroup.quota", true, &detail));
    }
    let mut unobservable = Vec::new();
    if layout.memory.is_none() {
        unobservable.push(Cause::Oom);
    }
    if layout.pids.is_none() {
        unobservable.push(Cause::Pids);
    }
    let whole = layout.memory.is_some() && layout.pids.is_some() && layout.cpu.is_some();
    let process = chosen.tier == Tier::Process;
    Probe {
        isolation: match process {
            true => Isolation::Process,
            false if whole && !as_root => Isolation::Full,
            false => Isolation::Rootless,
        },
        alone: Alone {
            memory: process && layout.memory.is_none(),
            processes: process && layout.pids.is_none() && process::may_change_users(),
            files: process,
        },
        cgroups: layout.mounted,
        facilities,
        unobservable,
        counts_cpu: layout.cpu.is_some(),
    }
}

fn with_namespaces(rootless: bool) -> Vec<Facility> {
    let kinds = ["mount", "pid", "net", "ipc", "uts", "cgroup"];
    let mut facilities: Vec<Facility> = kinds
        .map(|name| facility(&format!("namespaces.{name}"), true, "used for every sandbox"))
        .into();
    let user = if rootless {
        "used once, around all sandboxes: their users are one user of the machine"
    } else {
        "not used: as root each sandbox has a separate user"
    };
    facilities.push(facility("namespaces.user", true, user));
    facilities.push(facility("seccomp", true, "used for every program"));
    let landlock = match landlock::abi() {
        0 => "not in this kernel; the root is read-only without it".to_owned(),
        abi => format!("version {abi}, a second lock on the files of every one-shot run"),
    };
    facilities.push(facility("landlock", landlock::abi() > 0, &landlock));
    facilities
}

fn without_namespaces() -> Vec<Facility> {
    let abi = landlock::abi();
    let user = if process::may_change_users() {
        "each sandbox has a separate user"
    } else {
        "all sandboxes are the daemon's own user, and change no permissions or times of files by path; run as root with \
         the capabilities CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETPCAP and SETUID for separate users"
    };
    vec![
        facility(
            "landlock",
            true,
            &format!("version {abi}, keeps files, signals and abstract sockets"),
        ),
        facility(
            "seccomp",
            true,
            "used for every program; no sockets, no shared memory with a name",
        ),
        facility("users", process::may_change_users(), user),
        facility("network", false, "none, not even a loopback; needs a network namespace"),
        facility(
            "proc",
            false,
            "the machine's, its entries closed; needs a pid namespace",
        ),
        facility(
            "limits.memory",
            false,
            "private memory of each process, unless cgroup.memory counts",
        ),
        facility("limits.disk", false, "size of each file; needs a mount namespace"),
        facility(
            "files",
            true,
            "by callers, with the rights of the box's user; snapshots of /work and /tmp too",
        ),
        facility("terminals", true, "of the machine; each belongs to one box"),
        facility("images", false, "need a mount namespace"),
        facility("tests", true, "every case runs on a copy of the request's files"),
        facility("runtime.warm", false, "zygotes enter namespaces; programs are executed"),
    ]
}

impl Probe {
    /// The missing facilities, for an error or the log.
    pub(crate) fn missing(&self) -> String {
        let missing: Vec<_> = self
            .facilities
            .iter()
            .filter(|facility| {
                !facility.available && ["cgroup.", "tier."].iter().any(|part| facility.name.starts_with(part))
            })
            .map(|facility| format!("{}: {}", facility.name, facility.detail))
            .collect();
        missing.join("; ")
    }
}

fn facility(name: &str, available: bool, detail: &str) -> Facility {
    Facility {
        name: name.to_owned(),
        available,
        detail: detail.to_owned(),
    }
}
