//! The processes of one exec, found by walking down from its leader.
//!
//! The leader is a subreaper, so whatever its programs leave behind stays below it: parents name the tree exactly.

use std::collections::{HashMap, HashSet};
use std::fs;

/// One line of /proc/<pid>/stat.
struct Process {
    pid: libc::pid_t,
    parent: libc::pid_t,
    /// Its own and that of the children it waited for.
    ticks: u64,
}

/// Of this process, which has one thread. Not every kernel has it.
const OWN_CHILDREN: &str = "/proc/1/task/1/children";
/// Rounds in which new processes are looked for before killing begins.
const STOP_ROUNDS: usize = 50;

/// Kills every process below `leader`. They are stopped first: one that is stopped cannot fork and still counts against
/// the limit, so that also a bomb has soon nobody left who forks.
pub(super) fn kill(leader: libc::pid_t) {
    let mut stopped = HashSet::new();
    for _ in 0..STOP_ROUNDS {
        let found = below(&processes(), leader);
        let new: Vec<_> = found.into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if new.is_empty() {
            break;
        }
        signal(&new, libc::SIGSTOP);
    }
    signal(&below(&processes(), leader), libc::SIGKILL);
}

/// Whether nobody is left but a nursery and its children, as far as that is easily told: whoever has lost its parent is a
/// child of this process, dead ones too until they are reaped here.
pub(super) fn alone(nursery: libc::pid_t) -> bool {
    fs::read_to_string(OWN_CHILDREN).is_ok_and(|children| children.trim() == nursery.to_string())
}

/// Kills and reaps every process of this namespace but this one, a nursery and that one's children.
pub(super) fn kill_strangers(nursery: libc::pid_t) {
    // SAFETY: reads an attribute of this process.
    let own = unsafe { libc::getpid() };
    let strangers = || -> Vec<libc::pid_t> {
        let all = processes().into_iter();
        all.filter(|process| ![own, nursery].contains(&process.pid) && process.parent != nursery)
            .map(|process| process.pid)
            .collect()
    };
    loop {
        let mut found = strangers();
        if found.is_empty() {
            return;
        }
        for _ in 0..STOP_ROUNDS {
            signal(&found, libc::SIGSTOP);
            let now = strangers();
            let settled = now.iter().all(|pid| found.contains(pid));
            found = now;
            if settled {
                break;
            }
        }
        signal(&found, libc::SIGKILL);
        for pid in found {
            // SAFETY: no status is wanted. Those that have another parent come to this process when that is dead.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        }
    }
}

fn signal(pids: &[libc::pid_t], number: libc::c_int) {
    for pid in pids {
        // SAFETY: a process of this namespace. That it has ended meanwhile is no error.
        unsafe { libc::kill(*pid, number) };
    }
}

/// The processes whose parent this is.
pub(crate) fn children(parent: libc::pid_t) -> Vec<libc::pid_t> {
    let all = processes();
    let found = all.iter().filter(|process| process.parent == parent);
    found.map(|process| process.pid).collect()
}

/// CPU time that the tree has used, in microseconds.
pub(super) fn cpu_us(leader: libc::pid_t) -> u64 {
    let all = processes();
    let mut tree = below(&all, leader);
    tree.push(leader);
    let ticks: u64 = all
        .iter()
        .filter(|process| tree.contains(&process.pid))
        .map(|process| process.ticks)
        .sum();
    // SAFETY: reads a constant of the system.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100);
    ticks * 1_000_000 / per_second.max(1)
}

fn below(all: &[Process], leader: libc::pid_t) -> Vec<libc::pid_t> {
    let mut children: HashMap<libc::pid_t, Vec<libc::pid_t>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = Vec::new();
    let mut next = vec![leader];
    while let Some(parent) = next.pop() {
        // Taken out, so that a parent is never looked at twice.
        for child in children.remove(&parent).unwrap_or_default() {
            found.push(child);
            next.push(child);
        }
    }
    found
}

fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            parse(pid, &fs::read_to_string(entry.path().join("stat")).ok()?)
        })
        .collect()
}

/// The name, in parentheses, may hold anything, also parentheses.
fn parse(pid: libc::pid_t, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = fields
        .get(11..15)?
        .iter()
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        ticks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_forge_a_parent() {
        let stat = "7 (a) S 1 (b)) R 3 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5";
        let process = parse(7, stat).expect("a whole line");
        assert_eq!((process.parent, process.ticks), (3, 100));
    }

    #[test]
    fn a_tree_is_everything_below_its_leader() {
        let process = |pid, parent| Process { pid, parent, ticks: 0 };
        let all = [
            process(2, 1),
            process(3, 2),
            process(4, 3),
            process(5, 1),
            process(6, 5),
            process(7, 2),
        ];
        let mut found = below(&all, 2);
        found.sort_unstable();
        assert_eq!(found, [3, 4, 7]);
    }
}
