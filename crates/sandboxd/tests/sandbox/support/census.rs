//! The resources of the machine that a daemon and everything below it use.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};

use super::{traces, until};

/// How long two censuses may differ.
const SETTLE: Duration = Duration::from_secs(15);
/// Longer than the daemon keeps unused groups.
const KEPT: Duration = Duration::from_millis(1200);
/// How much memory an allocator may keep.
const MEMORY_SLACK_KIB: u64 = 24 << 10;

/// Ended inits that the spawner may not have looked at yet.
const MOST_ENDED: usize = 64;

/// One process below the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) name: String,
}

/// The daemon and all its descendants, parents first.
pub(crate) fn tree(daemon: u32) -> Vec<Process> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else {
            continue;
        };
        let parent = rest.split_whitespace().nth(1).and_then(|text| text.parse().ok());
        all.push(Process {
            pid,
            parent: parent.unwrap_or(0),
            name: name.to_owned(),
        });
    }
    let mut tree: Vec<Process> = all.iter().filter(|process| process.pid == daemon).cloned().collect();
    let mut next = 0;
    while let Some(above) = tree.get(next).map(|process| process.pid) {
        tree.extend(all.iter().filter(|process| process.parent == above).cloned());
        next += 1;
    }
    tree
}

/// The children of a process in the daemon's tree.
pub(crate) fn children(daemon: u32, of: u32) -> Vec<Process> {
    let mut below = tree(daemon);
    below.retain(|process| process.parent == of);
    below
}

/// The daemon's only child.
pub(crate) fn spawner(daemon: u32) -> Result<u32, Box<dyn Error>> {
    match children(daemon, daemon).as_slice() {
        [spawner] => Ok(spawner.pid),
        other => Err(format!("not one child: {other:?}").into()),
    }
}

/// Waits until a program of this name runs, and kills the inits of all sandboxes. For machines with one init per
/// sandbox.
pub(crate) async fn kill_inits(daemon: u32, program: &str) -> Result<(), Box<dyn Error>> {
    until("a program runs", async || {
        Ok(tree(daemon).iter().any(|process| process.name == program))
    })
    .await?;
    for init in children(daemon, spawner(daemon)?) {
        // SAFETY: numbers; the process is an init of this test's daemon.
        unsafe { libc::kill(init.pid.cast_signed(), libc::SIGKILL) };
    }
    Ok(())
}

/// Everything that must be the same as before when nothing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Census {
    /// How many processes have each name.
    processes: BTreeMap<String, usize>,
    /// Open descriptors of the daemon and of the spawner.
    descriptors: Vec<usize>,
    /// Mounts that each of them sees.
    mounts: Vec<usize>,
    groups: usize,
    /// The number of different namespaces of all kinds in the tree.
    namespaces: usize,
}

impl Census {
    pub(crate) fn take(daemon: u32) -> Self {
        let tree = tree(daemon);
        let mut processes = BTreeMap::new();
        let mut namespaces = std::collections::BTreeSet::new();
        for process in &tree {
            *processes.entry(process.name.clone()).or_insert(0) += 1;
            for entry in fs::read_dir(format!("/proc/{}/ns", process.pid))
                .into_iter()
                .flatten()
                .flatten()
            {
                namespaces.extend(fs::read_link(entry.path()));
            }
        }
        let above: Vec<u32> = tree
            .iter()
            .filter(|process| process.pid == daemon || process.parent == daemon)
            .map(|process| process.pid)
            .collect();
        Self {
            processes,
            descriptors: above.iter().map(|pid| descriptors(*pid)).collect(),
            mounts: above
                .iter()
                .map(|pid| fs::read_to_string(format!("/proc/{pid}/mountinfo")).map_or(0, |text| text.lines().count()))
                .collect(),
            groups: traces(daemon)
                .iter()
                .filter(|trace| trace.starts_with("group "))
                .count(),
            namespaces: namespaces.len(),
        }
    }

    /// The census once nothing changes any more: unused groups are kept for a moment.
    pub(crate) async fn settled(daemon: u32) -> Result<Self, Box<dyn Error>> {
        let deadline = Instant::now() + SETTLE;
        let mut last = Self::take(daemon);
        loop {
            tokio::time::sleep(KEPT).await;
            let now = Self::take(daemon);
            if now == last {
                return Ok(now);
            }
            if Instant::now() > deadline {
                return Err(format!("it never comes to rest: was {last:#?}\nis {now:#?}").into());
            }
            last = now;
        }
    }

    /// Waits until the census is the same again.
    pub(crate) async fn returns(&self, daemon: u32) -> Result<(), Box<dyn Error>> {
        let deadline = Instant::now() + SETTLE;
        loop {
            let now = Self::take(daemon);
            if now == *self {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("was {self:#?}\nis {now:#?}\n{:#?}", traces(daemon)).into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// How many descriptors a process holds open. The spawner forgets ended inits little by little: theirs do not count, up
/// to a bound.
fn descriptors(pid: u32) -> usize {
    let mut ended = 0;
    let mut others = 0;
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let info = fs::read_to_string(entry.path()).unwrap_or_default();
        if info
            .lines()
            .any(|line| line.starts_with("Pid:") && line.ends_with("-1"))
        {
            ended += 1;
        } else {
            others += 1;
        }
    }
    others + if ended > MOST_ENDED { ended } else { 0 }
}

/// Resident memory of the daemon and the spawner, in KiB.
pub(crate) fn resident_kib(daemon: u32) -> u64 {
    tree(daemon)
        .iter()
        .filter(|process| process.pid == daemon || process.parent == daemon)
        .filter_map(|process| fs::read_to_string(format!("/proc/{}/status", process.pid)).ok())
        .filter_map(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim();
            line.trim_end_matches("kB").trim().parse::<u64>().ok()
        })
        .sum()
}

/// Whether memory grew by no more than an allocator may keep.
pub(crate) fn flat(before_kib: u64, after_kib: u64) -> bool {
    after_kib <= before_kib + MEMORY_SLACK_KIB
}
