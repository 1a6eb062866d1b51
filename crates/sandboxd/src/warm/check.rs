//! Checks from outside, before any program runs, that zygotes have given up every right that no program may have.

use std::fs;

use prl_sandbox_guest::defence::Defence;
use prl_sandbox_guest::filter;
use prl_sandbox_guest::init;

use crate::sandbox::Sandbox;

/// Checks the zygote that waits in a sandbox to become its only program. The error says which right is wrong.
pub(super) fn check(sandbox: &Sandbox) -> Result<(), String> {
    let unseen = |error: std::io::Error| format!("a zygote cannot be looked at: {error}");
    let children = init::children(sandbox.init.pid().map_err(unseen)?);
    let [zygote] = children[..] else {
        return Err(format!(
            "a sandbox with one zygote has {} processes",
            children.len() + 1
        ));
    };
    let status = fs::read_to_string(format!("/proc/{zygote}/status")).map_err(unseen)?;
    let own = fs::read_to_string("/proc/self/status").map_err(unseen)?;
    let filters = filters_of(&own) + filter::build().map_err(unseen)?.len();
    match shortcoming(&status, sandbox.uid.number, filters) {
        None => Ok(()),
        Some(line) => Err(format!("a zygote keeps what no program may have: {line}")),
    }
}

/// How many filters a process has. In a container that includes the daemon's, which every process below it has.
fn filters_of(status: &str) -> usize {
    value(status, "Seccomp_filters").map_or(0, |number| number.parse().unwrap_or(0))
}

fn value<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = status.lines();
    lines
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

/// The first line of a process's status that differs from what it must be. `user`: the user that the process must have.
/// User 0 is not checked, because it is another user in the daemon's view. `filters`: the number of filters of the
/// daemon and of programs.
fn shortcoming(status: &str, user: u32, filters: usize) -> Option<String> {
    let ids = [user.to_string().as_str(); 4].join("\t");
    let mut wanted = vec![];
    if Defence::Privileges.stands() {
        if user > 0 {
            wanted.extend([("Uid", ids.clone()), ("Gid", ids), ("Groups", String::new())]);
        }
        let none = || "0".repeat(16);
        wanted.extend(["CapInh", "CapPrm", "CapEff", "CapAmb"].map(|name| (name, none())));
        if Defence::Capabilities.stands() {
            wanted.push(("CapBnd", none()));
        }
    }
    if Defence::NoNewPrivileges.stands() {
        wanted.push(("NoNewPrivs", "1".to_owned()));
        if Defence::Filter.stands() {
            wanted.extend([("Seccomp", "2".to_owned()), ("Seccomp_filters", filters.to_string())]);
        }
    }
    wanted.into_iter().find_map(|(name, wanted)| match value(status, name) {
        // Older kernels do not count filters.
        None if name == "Seccomp_filters" => None,
        Some(found) if found == wanted => None,
        found => Some(format!("{name} is {}, not {wanted:?}", found.unwrap_or("not there"))),
    })
}

#[cfg(test)]
mod tests {
    use super::{filters_of, shortcoming};

    const STATUS: &str = "Name:\tpython3\nUid:\t7\t7\t7\t7\nGid:\t7\t7\t7\t7\nGroups:\t \nCapInh:\t0000000000000000\n\
        CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n\
        NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t4\n";

    #[test]
    fn nothing_may_be_kept() {
        assert_eq!(shortcoming(STATUS, 7, 4), None);
        for (from, to) in [
            ("Uid:\t7\t7\t7\t7", "Uid:\t7\t7\t0\t7"),
            ("Gid:\t7", "Gid:\t0"),
            ("Groups:\t ", "Groups:\t0 4 "),
            ("CapInh:\t00", "CapInh:\t01"),
            ("CapPrm:\t0000000000000000", "CapPrm:\t0000000000000400"),
            ("CapEff:\t0000000000000000", "CapEff:\t000001ffffffffff"),
            ("CapBnd:\t0000000000000000", "CapBnd:\t0000000000200000"),
            ("CapAmb:\t00", "CapAmb:\t10"),
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("Seccomp:\t2", "Seccomp:\t0"),
            ("Seccomp_filters:\t4", "Seccomp_filters:\t3"),
            ("CapEff:", "CapOff:"),
        ] {
            let worse = STATUS.replace(from, to);
            assert_ne!(worse, STATUS, "{from}");
            assert!(shortcoming(&worse, 7, 4).is_some(), "{to}");
        }
        assert_eq!(shortcoming(&STATUS.replace("Seccomp_filters:\t4\n", ""), 7, 4), None);
        assert!(shortcoming("", 7, 4).is_some());
        assert_eq!(
            (filters_of(STATUS), filters_of("Seccomp:\t0\n"), filters_of("")),
            (4, 0, 0)
        );
        let rootless = STATUS.replace("Uid:\t7\t7\t7\t7", "Uid:\t1000\t1000\t1000\t1000");
        assert_eq!(shortcoming(&rootless, 0, 4), None);
    }
}
