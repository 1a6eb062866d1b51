//! What this daemon can enforce here, found by doing it and by reading what is mounted.

use prl_sandbox_proto::{Cause, Facility, Isolation};

use crate::cgroup::{Layout, Version};
use crate::sys::readable;

/// See the module. Made once, when the first sandbox has been set up.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) isolation: Isolation,
    pub(crate) cgroups: &'static str,
    pub(crate) facilities: Vec<Facility>,
    pub(crate) unobservable: Vec<Cause>,
    /// Whether CPU time is accounted for the whole tree.
    pub(crate) counts_cpu: bool,
}

/// Reports on a machine where a sandbox could be set up with every namespace and the filter.
pub(crate) fn probe(rootless: bool, layout: &Layout) -> Probe {
    let mut facilities = Vec::new();
    for name in ["mount", "pid", "net", "ipc", "uts", "cgroup"] {
        facilities.push(facility(&format!("namespaces.{name}"), true, "used for every sandbox"));
    }
    let user = if rootless {
        "used once, around all sandboxes: their users are one user of the machine"
    } else {
        "not used: as root each sandbox has a user of its own"
    };
    facilities.push(facility("namespaces.user", true, user));
    facilities.push(facility("seccomp", true, "used for every program"));
    facilities.push(facility("landlock", false, "not used by this version"));
    facilities.push(facility("kvm", readable(c"/dev/kvm"), "not used by this version"));
    for (name, place) in [("memory", &layout.memory), ("pids", &layout.pids), ("cpu", &layout.cpu)] {
        let detail = match place {
            Some((Version::V1, path)) => format!("v1, {}", path.display()),
            Some((Version::V2, path)) => format!("v2, {}", path.display()),
            None => {
                let reason = layout.missing.iter().find(|(missing, _)| *missing == name);
                let reason = reason.map_or("", |(_, reason)| reason.as_str());
                format!("{reason}; run as root or delegate a cgroup with this controller")
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
    Probe {
        isolation: if whole { Isolation::Full } else { Isolation::Rootless },
        cgroups: layout.mounted,
        facilities,
        unobservable,
        counts_cpu: layout.cpu.is_some(),
    }
}

impl Probe {
    /// What is not there, for an error.
    pub(crate) fn missing(&self) -> String {
        let missing: Vec<_> = self
            .facilities
            .iter()
            .filter(|facility| !facility.available && facility.name.starts_with("cgroup."))
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
