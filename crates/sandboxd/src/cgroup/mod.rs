//! Limits and accounting of a whole process tree by cgroups, v2 or v1 or the hybrid of both.
//!
//! The mounts show, for each controller, which hierarchy carries memory, pids and cpu. A controller that is nowhere
//! writable is missing and reported as missing; nothing weaker replaces it. All groups of one daemon are below one
//! directory in each hierarchy, `prl-sandboxd-<pid>-<start>`, so that the groups of a killed daemon can be recognised
//! and removed.

mod counters;
mod delegation;
mod kill;
mod layout;
mod leftovers;
mod quota;
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

use crate::log::Seldom;

/// A group whose processes are dead can stay busy for a moment.
const REMOVE_ATTEMPTS: u32 = 500;
/// The weight of a group that yields is this part of an ordinary one.
const YIELDING: u64 = 10;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// Before it ends, every sandbox has had this many processes in its groups at a time, without init.
const FEWEST_AT_ONCE: u64 = 1;
/// A value that no limit has.
const UNKNOWN: u64 = 0;
/// The memory that the kernel reserves for a group on a processor, and gives back at any time.
const RESERVE_BYTES: u64 = 256 << 10;
/// How much the buffers of a sandbox's sockets may take on v1, which does not count them as memory.
const SOCKET_BYTES: u64 = 32 << 20;
/// With smaller limits, a new sandbox may not fit before its own limits are set.
const ROOMY: GroupLimits = GroupLimits {
    memory_bytes: 128 << 20,
    processes: 32,
};

static UNSET_BURSTS: Seldom = Seldom::new();

/// The limits of a run.
#[derive(Clone, Copy)]
pub(crate) struct GroupLimits {
    /// Memory of the tree, including files in memory.
    pub(crate) memory_bytes: u64,
    /// Processes and threads, without init.
    pub(crate) processes: u64,
}

/// The counters of a group. `None`: the controller is missing, or the counter was not read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// Without init.
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
    /// Whether it yields the processor to other groups.
    yields: AtomicBool,
    /// Whether it runs in bursts.
    bursts: AtomicBool,
    counters: Counters,
    /// See `Group::entrances`.
    entrances: OnceLock<Vec<OwnedFd>>,
    limits: Mutex<Written>,
    /// The groups to which it is given back.
    home: Weak<Groups>,
}

/// The limits that were written last; `UNKNOWN` where writing failed.
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
                        // Empty: no process was moved in yet. When this fails, the next start removes the directory.
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
            bursts: AtomicBool::new(false),
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

    /// Bounds socket buffers, which v1 does not count as memory. It comes before the first socket, since the kernel
    /// only counts sockets that are made later.
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

    /// The files that `Ways::enter` needs, by which a process moves itself into the groups: that of memory last, and
    /// behind it, where v2 limits memory, the group itself.
    pub(crate) fn entrances(&self) -> io::Result<&[OwnedFd]> {
        if let Some(entrances) = self.entrances.get() {
            return Ok(entrances);
        }
        let open = |directory: &PathBuf| {
            // With v1's `tasks`, a thread moves without a lock for which every fork on the machine waits.
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

    /// The groups that contain init too.
    pub(crate) fn shared(&self) -> impl Iterator<Item = &PathBuf> {
        let limited = self.memory.as_ref().map(|(_, directory)| directory);
        self.directories.iter().filter(move |one| Some(*one) != limited)
    }

    /// How many inits are in the group that limits the number of processes: none where that group also limits memory.
    pub(crate) fn inits(&self) -> u64 {
        let counted = |directory| self.pids.as_ref().is_some_and(|(_, pids)| pids == directory);
        u64::from(self.shared().any(counted))
    }

    /// Keeps no file open from now on, for sandboxes of which many exist for long. Such groups are not used again,
    /// since v2 resets the peak only for a file that stays open.
    pub(crate) fn let_go(&mut self) {
        self.home = Weak::new();
        self.entrances.take();
        self.counters.let_go();
    }

    /// Sets the number of processes. `ours`: how many of our processes come on top.
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

    /// Sets the limits. The memory that the group uses already must fit.
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
                // The limit with swap is never the smaller one: when limits grow it must be written first.
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
                // Not memory.oom.group: it would kill init too, and nothing could be reported or collected any more.
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

    /// Sets its part of the processors.
    fn ration(&self) -> io::Result<()> {
        match &self.quota {
            Some((version, directory, cpus)) => quota::set(*version, directory, Some(*cpus)),
            None => Ok(()),
        }
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

    /// Reads the counters that decide on the course of a run.
    pub(crate) fn count(&self) -> Observed {
        Observed {
            oom_kills: read(&self.counters.oom_kills),
            cpu_ns: read(&self.counters.cpu).map(|count| count * self.counters.cpu_unit_ns),
            refused_forks: read(&self.counters.refused_forks),
            ..Observed::default()
        }
    }

    /// Whether it is empty and its counters reveal nothing of its past. CPU time keeps growing, so only differences of
    /// it are reported.
    fn is_as_new(&self) -> bool {
        let counters = &self.counters;
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let roomy = limits.memory_bytes.is_none_or(|bytes| bytes >= ROOMY.memory_bytes)
            && limits.processes.is_none_or(|processes| processes >= ROOMY.processes);
        roomy
            && self.quota.is_none()
            && !self.yields.load(Ordering::Relaxed)
            && !self.bursts.load(Ordering::Relaxed)
            && counters.cpu.is_some()
            && read(&counters.processes) == Some(0)
            && read(&counters.peak_processes).is_some_and(|peak| peak <= self.inits() + FEWEST_AT_ONCE)
            && read(&counters.refused_forks) == Some(0)
            && read(&counters.oom_kills) == Some(0)
            && read(&counters.memory).is_some_and(|bytes| bytes <= RESERVE_BYTES)
            && counters.peak_memory.as_ref().is_some_and(|peak| peak.reset().is_ok())
    }

    /// Sets whether it yields the processor to the groups of other sandboxes that want it.
    pub(crate) fn set_yielding(&self, yields: bool) {
        let Some((version, directory)) = &self.weight else {
            return;
        };
        if self.yields.swap(yields, Ordering::Relaxed) == yields {
            return;
        }
        if let Err(error) = weigh(*version, directory, 1, if yields { YIELDING } else { 1 }) {
            // This only makes its neighbours slower.
            tracing::warn!(%error, path = %directory.display(), "cannot weigh a cgroup");
        }
    }

    /// Sets whether its processes run for a moment in each period only, and stand still in between. Returns whether they
    /// do: never where the kernel would stop them while they hold its locks (`quota::spares_locks`).
    pub(crate) fn set_bursts(&self, bursts: bool) -> bool {
        let Some((version, directory)) = self.weight.as_ref().filter(|_| quota::spares_locks()) else {
            return false;
        };
        if self.bursts.load(Ordering::Relaxed) == bursts {
            return bursts;
        }
        let usual = self.quota.as_ref().map(|(_, _, cpus)| *cpus);
        let cpus = if bursts { Some(quota::BURSTS) } else { usual };
        if let Err(error) = quota::set(*version, directory, cpus) {
            // This only makes its neighbours slower, or its end. The next call tries again.
            if let Some(more) = UNSET_BURSTS.due() {
                tracing::warn!(%error, path = %directory.display(), more, "cannot set the bursts of a cgroup");
            }
            return !bursts;
        }
        self.bursts.store(bursts, Ordering::Relaxed);
        bursts
    }

    /// Begins to end the processes of a group that runs in bursts, all but init. Where init is in the same group, it would
    /// wait for its turn among them to do that. `init`: reads its pid.
    pub(crate) fn kill_in_bursts(&self, init: impl FnOnce() -> io::Result<i32>) {
        let in_bursts = self.bursts.load(Ordering::Relaxed);
        let Some((_, directory)) = self.pids.as_ref().filter(|_| in_bursts) else {
            return;
        };
        if let Err(error) = init().and_then(|init| kill::all_but(init, directory)) {
            // Init ends them, only later.
            tracing::debug!(%error, path = %directory.display(), "cannot end the processes of a cgroup");
        }
    }

    /// Removes groups that never had a process.
    pub(crate) fn discard(self) {
        for directory in &self.directories {
            if let Err(error) = fs::remove_dir(directory) {
                tracing::warn!(%error, path = %directory.display(), "cannot remove an unused cgroup");
            }
        }
    }

    /// Gives the groups back, or removes them. Their processes are dead.
    ///
    /// # Errors
    /// The errors of `remove`.
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
    /// The last error, when the groups stay busy for five seconds.
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

fn read(counter: &Option<Counter>) -> Option<u64> {
    counter.as_ref()?.read()
}
