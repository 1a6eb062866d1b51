//! Limits and accounting of a whole process tree by cgroups, v2 or v1 or the hybrid of both.
//!
//! Which hierarchy carries memory, pids and cpu is read from what is mounted, controller by controller; a controller
//! that is nowhere writable is missing and reported as such, never replaced by something weaker. All groups of one
//! daemon lie below one directory per hierarchy, `prl-sandboxd-<pid>-<start>`, so that what a killed daemon left can
//! be recognised and removed.

mod layout;
mod leftovers;

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::sys::check;
use layout::weigh;
pub(crate) use layout::{Layout, Version};
pub(crate) use leftovers::{own_directory, remove_leftover_homes, remove_leftovers, remove_tree_at, remove_whole};

/// A group whose processes are dead can stay busy for a moment.
const REMOVE_ATTEMPTS: u32 = 500;
/// Longest file of counters.
const COUNTER_BYTES: usize = 4096;
/// A group that yields has this part of an ordinary one's weight.
const YIELDING: u64 = 10;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// CPU time is rationed over periods of this length: the kernel's default.
const QUOTA_PERIOD_US: u64 = 100_000;

/// What a run may use.
#[derive(Clone, Copy)]
pub(crate) struct GroupLimits {
    /// Memory of the tree, files in memory included.
    pub(crate) memory_bytes: u64,
    /// Processes and threads, init not counted.
    pub(crate) processes: u64,
}

/// What a group has seen. `None`: the controller is missing, or was not asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// Init not counted.
    pub(crate) peak_processes: Option<u64>,
    /// Processes that the kernel killed because the group was out of memory.
    pub(crate) oom_kills: Option<u64>,
    /// Forks and clones that the limit refused.
    pub(crate) refused_forks: Option<u64>,
}

/// The cgroups of one sandbox.
#[derive(Debug)]
pub(crate) struct Group {
    memory: Option<(Version, PathBuf)>,
    pids: Option<(Version, PathBuf)>,
    cpu: Option<(Version, PathBuf)>,
    weight: Option<(Version, PathBuf)>,
    quota: Option<(Version, PathBuf, f64)>,
    directories: Vec<PathBuf>,
    /// It yields the processor to other groups.
    yields: AtomicBool,
}

impl Group {
    /// Makes the groups of one sandbox.
    pub(crate) fn create(layout: &Layout, name: &str) -> io::Result<Self> {
        let place =
            |found: &Option<(Version, PathBuf)>| found.as_ref().map(|(version, parent)| (*version, parent.join(name)));
        let (memory, pids, cpu) = (place(&layout.memory), place(&layout.pids), place(&layout.cpu));
        let weight = place(&layout.weight);
        let quota = layout.quota.as_ref();
        let quota = quota.map(|(version, parent, cpus)| (*version, parent.join(name), *cpus));
        let counted = [&memory, &pids, &cpu, &weight]
            .into_iter()
            .flatten()
            .map(|(_, path)| path);
        let mut directories: Vec<PathBuf> = Vec::new();
        for directory in counted.chain(quota.iter().map(|(_, path, _)| path)) {
            if !directories.contains(directory) {
                if let Err(error) = fs::create_dir(directory) {
                    for made in &directories {
                        // Empty: nothing was attached yet. A failure leaves a directory that the next start removes.
                        let _left = fs::remove_dir(made);
                    }
                    return Err(error);
                }
                directories.push(directory.clone());
            }
        }
        Ok(Self {
            memory,
            pids,
            cpu,
            weight,
            quota,
            directories,
            yields: AtomicBool::new(false),
        })
    }

    /// The files by which a process moves itself into the groups, see `enter`.
    pub(crate) fn entrances(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |directory: &PathBuf| {
            // By v1's `tasks` a thread moves itself without a lock that every fork on the machine has to wait for.
            let tasks = fs::File::options().write(true).open(directory.join("tasks"));
            match tasks {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::File::options().write(true).open(directory.join("cgroup.procs"))
                }
                opened => opened,
            }
        };
        self.directories
            .iter()
            .map(|directory| open(directory).map(OwnedFd::from))
            .collect()
    }

    /// Sets the number of processes, those of ours among them not counted.
    pub(crate) fn limit_processes(&self, processes: u64, ours: u64) -> io::Result<()> {
        match &self.pids {
            Some((_, directory)) => fs::write(directory.join("pids.max"), (processes + ours).to_string()),
            None => Ok(()),
        }
    }

    /// Sets the limits; what the group has used already must fit.
    pub(crate) fn limit(&self, limits: GroupLimits) -> io::Result<()> {
        let init = 1;
        self.limit_processes(limits.processes, init)?;
        match &self.memory {
            Some((Version::V1, directory)) => {
                let plain = directory.join("memory.limit_in_bytes");
                let with_swap = directory.join("memory.memsw.limit_in_bytes");
                let bytes = limits.memory_bytes.to_string();
                // The limit with swap is never the smaller one: on the way up it goes first.
                if with_swap.exists() && fs::write(&plain, &bytes).is_err() {
                    fs::write(&with_swap, &bytes)?;
                }
                fs::write(&plain, &bytes)?;
                if with_swap.exists() {
                    fs::write(with_swap, &bytes)?;
                }
            }
            Some((Version::V2, directory)) => {
                // Not memory.oom.group: it would take init along, and with it what there is to say and to collect.
                fs::write(directory.join("memory.max"), limits.memory_bytes.to_string())?;
                let swap = directory.join("memory.swap.max");
                if swap.exists() {
                    fs::write(swap, "0")?;
                }
            }
            None => {}
        }
        match &self.quota {
            Some((Version::V1, directory, cpus)) => {
                fs::write(directory.join("cpu.cfs_period_us"), QUOTA_PERIOD_US.to_string())?;
                fs::write(directory.join("cpu.cfs_quota_us"), quota_us(*cpus).to_string())?;
            }
            Some((Version::V2, directory, cpus)) => {
                let text = format!("{} {QUOTA_PERIOD_US}", quota_us(*cpus));
                fs::write(directory.join("cpu.max"), text)?;
            }
            None => {}
        }
        Ok(())
    }

    /// Reads the counters, peaks among them.
    pub(crate) fn observe(&self) -> Observed {
        let mut seen = self.count();
        seen.peak_memory_bytes = self.memory.as_ref().and_then(|(version, directory)| {
            let file = match version {
                Version::V1 => "memory.max_usage_in_bytes",
                Version::V2 => "memory.peak",
            };
            number(&directory.join(file))
        });
        if let Some((_, directory)) = &self.pids {
            seen.peak_processes = number(&directory.join("pids.peak")).map(|peak| peak.saturating_sub(1));
        }
        seen
    }

    /// Reads those of the counters that decide on the course of a run.
    pub(crate) fn count(&self) -> Observed {
        let mut seen = Observed::default();
        match &self.memory {
            Some((Version::V1, directory)) => {
                seen.oom_kills = field(&directory.join("memory.oom_control"), "oom_kill");
            }
            Some((Version::V2, directory)) => seen.oom_kills = field(&directory.join("memory.events"), "oom_kill"),
            None => {}
        }
        match &self.cpu {
            Some((Version::V1, directory)) => seen.cpu_ns = number(&directory.join("cpuacct.usage")),
            Some((Version::V2, directory)) => {
                seen.cpu_ns = field(&directory.join("cpu.stat"), "usage_usec").map(|micros| micros * 1000);
            }
            None => {}
        }
        if let Some((_, directory)) = &self.pids {
            seen.refused_forks = field(&directory.join("pids.events"), "max");
        }
        seen
    }

    /// Whether it yields the processor to the groups of other sandboxes, as far as they want it.
    pub(crate) fn set_yielding(&self, yields: bool) {
        let Some((version, directory)) = &self.weight else {
            return;
        };
        if self.yields.swap(yields, Ordering::Relaxed) == yields {
            return;
        }
        if let Err(error) = weigh(*version, directory, 1, if yields { YIELDING } else { 1 }) {
            // Its neighbours are slower for it, and nothing is wrong.
            tracing::warn!(%error, path = %directory.display(), "cannot weigh a cgroup");
        }
    }

    /// Removes groups that nothing was ever attached to.
    pub(crate) fn discard(self) {
        for directory in &self.directories {
            if let Err(error) = fs::remove_dir(directory) {
                tracing::warn!(%error, path = %directory.display(), "cannot remove an unused cgroup");
            }
        }
    }

    /// Removes the groups once their processes are dead.
    ///
    /// # Errors
    /// The last refusal, when they stay busy for five seconds.
    pub(crate) async fn remove(&self) -> io::Result<()> {
        for directory in &self.directories {
            let mut attempt = 0;
            loop {
                match fs::remove_dir(directory) {
                    Err(error) if error.raw_os_error() == Some(libc::EBUSY) && attempt < REMOVE_ATTEMPTS => {
                        attempt += 1;
                        tokio::time::sleep(REMOVE_PAUSE).await;
                    }
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => break,
                }
            }
        }
        Ok(())
    }
}

/// Moves the calling process, which must have one thread, into the groups.
pub(crate) fn enter(entrances: &[OwnedFd]) -> io::Result<()> {
    entrances.iter().try_for_each(|entrance| {
        // SAFETY: a live descriptor and one byte.
        check(unsafe { libc::write(entrance.as_raw_fd(), c"0".as_ptr().cast(), 1) } as libc::c_int).map(|_| ())
    })
}

/// The kernel takes nothing below a millisecond.
fn quota_us(cpus: f64) -> u64 {
    ((cpus * QUOTA_PERIOD_US as f64) as u64).max(1000)
}

fn number(path: &Path) -> Option<u64> {
    text(path)?.trim().parse().ok()
}

/// The number behind `name` in a file of `name number` lines.
fn field(path: &Path, name: &str) -> Option<u64> {
    text(path)?
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// A counter's file, which the kernel gives in one read. These are read before, during and after every run.
fn text(path: &Path) -> Option<String> {
    let mut buffer = [0; COUNTER_BYTES];
    let length = fs::File::open(path).ok()?.read(&mut buffer).ok()?;
    String::from_utf8(buffer.get(..length)?.to_vec()).ok()
}
