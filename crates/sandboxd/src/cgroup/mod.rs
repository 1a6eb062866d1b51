//! Limits and accounting of a whole process tree by cgroups, v2 or v1 or the hybrid of both.
//!
//! Which hierarchy carries memory, pids and cpu is read from what is mounted, controller by controller; a controller
//! that is nowhere writable is missing and reported as such, never replaced by something weaker. All groups of one
//! daemon lie below one directory per hierarchy, `prl-sandboxd-<pid>-<start>`, so that what a killed daemon left can
//! be recognised and removed.

mod counters;
mod delegation;
mod layout;
mod leftovers;
mod spares;

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use counters::{Counter, Counters};
use layout::weigh;
pub(crate) use layout::{Layout, Version};
pub(crate) use leftovers::{own_directory, remove_leftover_homes, remove_leftovers, remove_whole};
use prl_sandbox_guest::defence::Defence;
pub(crate) use spares::Groups;

/// A group whose processes are dead can stay busy for a moment.
const REMOVE_ATTEMPTS: u32 = 500;
/// A group that yields has this part of an ordinary one's weight.
const YIELDING: u64 = 10;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// CPU time is rationed over periods of this length: the kernel's default.
const QUOTA_PERIOD_US: u64 = 100_000;

/// So many are in every sandbox's groups at a time before it has ended, init not counted.
const FEWEST_AT_ONCE: u64 = 1;
/// No limit is that.
const UNKNOWN: u64 = 0;
/// What the kernel reserves for a group on a processor, and gives back when it likes.
const RESERVE_BYTES: u64 = 256 << 10;
/// What v1 lets the buffers of a sandbox's sockets take beside its memory, in which it does not count them.
const SOCKET_BYTES: u64 = 32 << 20;
/// With less, what a sandbox is before it has limits of its own may not fit.
const ROOMY: GroupLimits = GroupLimits {
    memory_bytes: 128 << 20,
    processes: 32,
};

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
    weight: Option<(Version, PathBuf)>,
    quota: Option<(Version, PathBuf, f64)>,
    directories: Vec<PathBuf>,
    /// It yields the processor to other groups.
    yields: AtomicBool,
    counters: Counters,
    /// See `Group::entrances`.
    entrances: OnceLock<Vec<OwnedFd>>,
    limits: Mutex<Written>,
    /// Where it came from.
    home: Weak<Groups>,
}

/// Limits as they were written last, `UNKNOWN` where that failed.
#[derive(Debug, Default)]
struct Written {
    memory_bytes: Option<u64>,
    processes: Option<u64>,
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
        let group = Self {
            counters: Counters::of(&memory, &pids, &cpu),
            memory,
            pids,
            weight,
            quota,
            directories,
            yields: AtomicBool::new(false),
            entrances: OnceLock::new(),
            limits: Mutex::default(),
            home: Weak::new(),
        };
        match group.limit_sockets() {
            Ok(()) => Ok(group),
            Err(error) => {
                group.discard();
                Err(error)
            }
        }
    }

    /// Bounds what v1 does not count as memory. Before there is a socket: the kernel counts those that are made later.
    fn limit_sockets(&self) -> io::Result<()> {
        let Some((Version::V1, directory)) = self.memory.as_ref().filter(|_| Defence::SocketBuffers.stands()) else {
            return Ok(());
        };
        let limit = fs::File::options()
            .write(true)
            .open(directory.join("memory.kmem.tcp.limit_in_bytes"));
        match limit {
            Ok(mut limit) => limit.write_all(SOCKET_BYTES.to_string().as_bytes()),
            // This kernel was built without it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What `Ways::enter` needs: the files by which a process moves itself into the groups, that of memory last, and where v2
    /// limits that the group itself.
    pub(crate) fn entrances(&self) -> io::Result<&[OwnedFd]> {
        if let Some(entrances) = self.entrances.get() {
            return Ok(entrances);
        }
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
        let limited = self.memory.iter().map(|(_, directory)| directory);
        let opened: io::Result<Vec<OwnedFd>> = self
            .shared()
            .chain(limited)
            .map(|directory| open(directory).map(OwnedFd::from))
            .collect();
        let mut opened = opened?;
        if let Some((Version::V2, directory)) = &self.memory {
            opened.push(fs::File::open(directory)?.into());
        }
        Ok(self.entrances.get_or_init(|| opened))
    }

    /// The groups that init is in as well.
    pub(crate) fn shared(&self) -> impl Iterator<Item = &PathBuf> {
        let limited = self.memory.as_ref().map(|(_, directory)| directory);
        self.directories.iter().filter(move |one| Some(*one) != limited)
    }

    /// How many processes init is in the group that limits their number: none where that limits memory too.
    pub(crate) fn inits(&self) -> u64 {
        let counted = |directory| self.pids.as_ref().is_some_and(|(_, pids)| pids == directory);
        u64::from(self.shared().any(counted))
    }

    /// Holds no file open from now on: for sandboxes of which many live long. Nobody has the groups after them, since v2's
    /// peak begins anew only for a file that stays open.
    pub(crate) fn let_go(&mut self) {
        self.home = Weak::new();
        self.entrances.take();
        self.counters.let_go();
    }

    /// Sets the number of processes, those of ours among them not counted.
    pub(crate) fn limit_processes(&self, processes: u64, ours: u64) -> io::Result<()> {
        let Some((_, directory)) = &self.pids else {
            return Ok(());
        };
        let mut written = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = Some(processes + ours);
        if written.processes != wanted {
            written.processes = Some(UNKNOWN);
            fs::write(directory.join("pids.max"), (processes + ours).to_string())?;
            written.processes = wanted;
        }
        Ok(())
    }

    /// Sets the limits; what the group has used already must fit.
    pub(crate) fn limit(&self, limits: GroupLimits) -> io::Result<()> {
        self.limit_processes(limits.processes, self.inits())?;
        let mut written = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = Some(limits.memory_bytes);
        if written.memory_bytes != wanted {
            written.memory_bytes = Some(UNKNOWN);
            self.limit_memory(limits.memory_bytes)?;
            self.ration()?;
            written.memory_bytes = wanted;
        }
        Ok(())
    }

    fn limit_memory(&self, bytes: u64) -> io::Result<()> {
        let bytes = bytes.to_string();
        match &self.memory {
            Some((Version::V1, directory)) => {
                let plain = directory.join("memory.limit_in_bytes");
                let with_swap = directory.join("memory.memsw.limit_in_bytes");
                // The limit with swap is never the smaller one: on the way up it goes first.
                if with_swap.exists() && fs::write(&plain, &bytes).is_ok() {
                    fs::write(with_swap, &bytes)?;
                } else {
                    if with_swap.exists() {
                        fs::write(with_swap, &bytes)?;
                    }
                    fs::write(&plain, &bytes)?;
                }
            }
            Some((Version::V2, directory)) => {
                // Not memory.oom.group: it would take init along, and with it what there is to say and to collect.
                fs::write(directory.join("memory.max"), &bytes)?;
                let swap = directory.join("memory.swap.max");
                if swap.exists() {
                    fs::write(swap, "0")?;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Gives it its part of the processors.
    fn ration(&self) -> io::Result<()> {
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
        let processes = read(&self.counters.peak_processes);
        Observed {
            peak_memory_bytes: read(&self.counters.peak_memory),
            peak_processes: processes.map(|peak| peak.saturating_sub(self.inits())),
            ..self.count()
        }
    }

    /// Reads those of the counters that decide on the course of a run.
    pub(crate) fn count(&self) -> Observed {
        Observed {
            oom_kills: read(&self.counters.oom_kills),
            cpu_ns: read(&self.counters.cpu).map(|count| count * self.counters.cpu_unit_ns),
            refused_forks: read(&self.counters.refused_forks),
            ..Observed::default()
        }
    }

    /// Whether nothing is in it, and nothing of what was can be read off its counters. CPU time goes on: whoever is told
    /// of it is told the difference.
    fn is_as_new(&self) -> bool {
        let counters = &self.counters;
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let roomy = limits.memory_bytes.is_none_or(|bytes| bytes >= ROOMY.memory_bytes)
            && limits.processes.is_none_or(|processes| processes >= ROOMY.processes);
        roomy
            && self.quota.is_none()
            && !self.yields.load(Ordering::Relaxed)
            && counters.cpu.is_some()
            && read(&counters.processes) == Some(0)
            && read(&counters.peak_processes).is_some_and(|peak| peak <= self.inits() + FEWEST_AT_ONCE)
            && read(&counters.refused_forks) == Some(0)
            && read(&counters.oom_kills) == Some(0)
            && read(&counters.memory).is_some_and(|bytes| bytes <= RESERVE_BYTES)
            && counters.peak_memory.as_ref().is_some_and(|peak| peak.reset().is_ok())
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

    /// Gives the groups back, whose processes are dead, or removes them.
    ///
    /// # Errors
    /// As `remove`.
    pub(crate) async fn retire(self) -> io::Result<()> {
        let left = match self.home.upgrade() {
            Some(home) if self.is_as_new() => home.keep(self),
            _ => Some(self),
        };
        match left {
            Some(group) => group.remove().await,
            None => Ok(()),
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

/// The kernel takes nothing below a millisecond.
fn quota_us(cpus: f64) -> u64 {
    ((cpus * QUOTA_PERIOD_US as f64) as u64).max(1000)
}

fn read(counter: &Option<Counter>) -> Option<u64> {
    counter.as_ref()?.read()
}
