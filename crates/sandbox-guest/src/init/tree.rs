//! The processes of one exec, found by walking down from its leader.
//!
//! The leader is a subreaper, so orphans of its programs stay below it: the parent of each process shows its tree
//! exactly.

use std::collections::{HashMap, HashSet};
use std::fs;

/// One line of /proc/<pid>/stat.
struct Process {
    pid: libc::pid_t,
    parent: libc::pid_t,
    /// It has ended and is not reaped yet.
    dead: bool,
    /// The CPU time of the process and of the children that it waited for.
    ticks: u64,
}

/// In at most this many rounds new processes are looked for before the killing begins.
const STOP_ROUNDS: usize = 50;

/// Kills every process below `leader`. They are stopped first: a stopped process cannot fork and still counts against
/// the limit. So even a fork bomb soon has no process left that forks.
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

/// Our processes, which stay from one exec to the next.
#[derive(Default)]
pub(super) struct Kin {
    /// Children of this process that fork others.
    pub(super) nurseries: Vec<libc::pid_t>,
    /// Children of nurseries that wait for a program.
    pub(super) waiting: Vec<libc::pid_t>,
    /// A nursery is forking one more, whose pid is not known yet.
    pub(super) unborn: bool,
}

impl Kin {
    /// Whether a child of a nursery is one of our processes.
    fn has_borne(&self, pid: libc::pid_t) -> bool {
        self.unborn || self.waiting.contains(&pid)
    }

    fn includes(&self, process: &Process) -> bool {
        let borne = || self.nurseries.contains(&process.parent);
        // A dead child of a nursery does nothing any more; the nursery reaps it.
        self.nurseries.contains(&process.pid) || (borne() && (process.dead || self.has_borne(process.pid)))
    }
}

/// Whether only kin is left, as far as a quick look can show. A process that has lost its parent is a child of this
/// process, also when dead until it is reaped here. The children of a nursery are known.
pub(super) fn alone(kin: &Kin) -> bool {
    let all = |parent, known: &dyn Fn(&libc::pid_t) -> bool| {
        listed_children(parent).is_some_and(|children| children.iter().all(known))
    };
    all(own_pid(), &|child| kin.nurseries.contains(child))
        && kin
            .nurseries
            .iter()
            .all(|nursery| all(*nursery, &|child| kin.has_borne(*child)))
}

/// Kills and reaps every process of this namespace except this one and its kin.
pub(super) fn kill_strangers(kin: &Kin) {
    let own = own_pid();
    let strangers = || -> Vec<libc::pid_t> {
        let all = processes().into_iter();
        all.filter(|process| process.pid != own && !kin.includes(process))
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
            // SAFETY: no status is wanted. A process with another parent becomes a child of this process when that
            // parent is dead.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        }
    }
}

fn own_pid() -> libc::pid_t {
    // SAFETY: reads an attribute of this process.
    unsafe { libc::getpid() }
}

/// The children of a process that has one thread. `None` where the kernel has no such list, or when the process is
/// gone.
fn listed_children(parent: libc::pid_t) -> Option<Vec<libc::pid_t>> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_whitespace().map(|pid| pid.parse().ok()).collect()
}

fn signal(pids: &[libc::pid_t], number: libc::c_int) {
    for pid in pids {
        // SAFETY: a process of this namespace. It may have ended meanwhile.
        unsafe { libc::kill(*pid, number) };
    }
}

/// The processes whose parent this is.
pub fn children(parent: libc::pid_t) -> Vec<libc::pid_t> {
    let all = processes();
    let found = all.iter().filter(|process| process.parent == parent);
    found.map(|process| process.pid).collect()
}

/// The CPU time that the tree has used, in microseconds.
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
        // Each entry is taken out, so that no parent is looked at twice.
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

/// The name is in parentheses and may contain any character, also parentheses.
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
        dead: *fields.first()? == "Z",
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
        assert_eq!((process.parent, process.ticks, process.dead), (3, 100, false));
        let process = parse(8, "8 (b) Z 3 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5").expect("a whole line");
        assert!(process.dead);
    }

    fn process(pid: libc::pid_t, parent: libc::pid_t) -> Process {
        Process {
            pid,
            parent,
            dead: false,
            ticks: 0,
        }
    }

    #[test]
    fn only_registered_processes_are_kin() {
        let mut kin = Kin {
            nurseries: vec![2],
            waiting: vec![3],
            unborn: false,
        };
        let dead = |process| Process { dead: true, ..process };
        for (of, wanted) in [
            (process(2, 1), true),
            (process(3, 2), true),
            (process(4, 2), false),
            (process(5, 1), false),
            (process(3, 1), false),
            (dead(process(4, 2)), true),
            (dead(process(5, 1)), false),
        ] {
            assert_eq!(kin.includes(&of), wanted, "{} below {}", of.pid, of.parent);
        }
        kin.unborn = true;
        assert!(kin.includes(&process(4, 2)), "it may be the one that is being born");
        assert!(!kin.includes(&process(5, 1)));
    }

    #[test]
    fn a_tree_is_everything_below_its_leader() {
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
