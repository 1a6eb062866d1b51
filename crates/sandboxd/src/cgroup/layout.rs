//! Finds the hierarchy of this machine that carries each controller, and whether groups can be made there.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::delegation::{hand_down, without_leaf};

/// The name of the group of inits, beside the groups of sandboxes, which have numbers.
const INITS: &str = "inits";

/// The reason where there is nothing to make groups in.
const NOWHERE: &str = "no mounted hierarchy has this controller: mount one, in a container by an option of its runtime \
                       (configs/deploy/README.md), or boot with it";

/// The two interfaces of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// Where this daemon's groups go, by controller.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) memory: Option<(Version, PathBuf)>,
    pub(crate) pids: Option<(Version, PathBuf)>,
    /// The hierarchy in which CPU time is counted.
    pub(crate) cpu: Option<(Version, PathBuf)>,
    /// The hierarchy in which CPU time is shared out by weight.
    pub(crate) weight: Option<(Version, PathBuf)>,
    /// The hierarchy in which CPU time is rationed, and to how many processors; `None` unless asked for.
    pub(crate) quota: Option<(Version, PathBuf, f64)>,
    /// The group of all inits in the hierarchy that limits memory, if that is v2: there a group that has groups below
    /// it cannot hold processes. On v1 inits stay in the spawner's group. See `ways`.
    pub(super) inits: Option<(PathBuf, OwnedFd)>,
    /// The mounted hierarchies: "v2", "v1", "hybrid" or "none".
    pub(crate) mounted: &'static str,
    /// Why a controller is missing.
    pub(crate) missing: Vec<(&'static str, String)>,
}

/// A mounted hierarchy and this process's group in it.
struct Hierarchy {
    version: Version,
    controllers: Vec<String>,
    own: PathBuf,
    /// No higher group is visible: it is that of the machine or the container.
    at_root: bool,
}

impl Layout {
    /// Reads the mounted hierarchies and makes this daemon's directories.
    ///
    /// # Errors
    /// A quota is asked for, and no hierarchy can enforce it.
    pub(crate) fn establish(directory: &str, cpus: Option<f64>) -> Result<Self, String> {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        let hierarchies = hierarchies(&text("/proc/self/mountinfo"), &text("/proc/self/cgroup"));
        let has = |version| hierarchies.iter().any(|hierarchy| hierarchy.version == version);
        let mounted = match (has(Version::V1), has(Version::V2)) {
            (true, true) => "hybrid",
            (true, false) => "v1",
            (false, true) => "v2",
            (false, false) => "none",
        };
        let mut layout = Self {
            mounted,
            ..Self::default()
        };
        layout.memory = layout.find(&hierarchies, "memory", &["memory"], directory);
        layout.make_group_of_inits();
        layout.pids = layout.find(&hierarchies, "pids", &["pids"], directory);
        layout.cpu = layout.find(&hierarchies, "cpu", &["cpuacct", "cpu"], directory);
        if layout.cpu.is_none() {
            // v2 counts CPU time in every group, even without the controller.
            layout.cpu = hierarchies.iter().find_map(|hierarchy| {
                let path = hierarchy.own.join(directory);
                let ours = hierarchy.version == Version::V2 && make(&path).is_ok() && path.join("cpu.stat").exists();
                ours.then_some((Version::V2, path))
            });
        }
        layout.weight = layout.find(&hierarchies, "weight", &["cpu"], directory);
        if let Some((version, path)) = &layout.weight {
            let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
            let by_session = text("/proc/sys/kernel/sched_autogroup_enabled").trim() == "1";
            let (times, part) = weight_of_all(rivals_are_groups(*version, path, by_session), processors);
            if let Err(error) = weigh(*version, path, times, part) {
                layout.missing.push(("weight", format!("{}: {error}", path.display())));
                layout.weight = None;
            }
        }
        if let Some(cpus) = cpus {
            let (version, path) = layout
                .find(&hierarchies, "cpu.quota", &["cpu"], directory)
                .ok_or_else(|| {
                    let reason = layout.missing.iter().find(|(name, _)| *name == "cpu.quota");
                    reason.map_or(String::new(), |(_, reason)| reason.clone())
                })?;
            layout.quota = Some((version, path, cpus));
        }
        Ok(layout)
    }

    /// Makes the group of inits. When that fails memory is not limited: otherwise inits would be killed for memory that
    /// programs leave.
    fn make_group_of_inits(&mut self) {
        let Some((Version::V2, parent)) = &self.memory else {
            return;
        };
        let path = parent.join(INITS);
        let made = make(&path).and_then(|()| fs::File::options().write(true).open(path.join("cgroup.procs")));
        match made {
            Ok(entrance) => self.inits = Some((path, entrance.into())),
            Err(error) => {
                self.missing
                    .push(("memory", format!("cannot make {}: {error}", path.display())));
                self.memory = None;
            }
        }
    }

    /// The file by which an init enters the group of all inits, where that group exists.
    pub(crate) fn entrance_of_inits(&self) -> Option<BorrowedFd<'_>> {
        self.inits.as_ref().map(|(_, entrance)| entrance.as_fd())
    }

    /// Removes the daemon's directories. They are empty unless sandboxes were cut off: the spawner, or the next start,
    /// removes those.
    pub(crate) fn remove(&self) {
        let inits = self.inits.iter().map(|(path, _)| path.clone());
        for directory in inits.chain(self.directories()) {
            if let Err(error) = fs::remove_dir(&directory) {
                tracing::debug!(%error, path = %directory.display(), "cgroup directory left to the spawner");
            }
        }
    }

    /// The daemon's directories, without duplicates.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let places = [&self.memory, &self.pids, &self.cpu, &self.weight]
            .into_iter()
            .flatten();
        let mut all: Vec<PathBuf> = places.map(|(_, path)| path.clone()).collect();
        all.extend(self.quota.iter().map(|(_, path, _)| path.clone()));
        all.sort();
        all.dedup();
        all
    }

    fn find(
        &mut self,
        hierarchies: &[Hierarchy],
        name: &'static str,
        controllers: &[&str],
        directory: &str,
    ) -> Option<(Version, PathBuf)> {
        let mut reason = NOWHERE.to_owned();
        for controller in controllers {
            for hierarchy in hierarchies
                .iter()
                .filter(|found| found.controllers.iter().any(|one| one == controller))
            {
                match open(hierarchy, controller, directory) {
                    Ok(path) => return Some((hierarchy.version, path)),
                    Err(error) => {
                        let advice = advice(&error);
                        reason = format!("cannot make groups in {}: {error}; {advice}", hierarchy.own.display());
                    }
                }
            }
        }
        self.missing.push((name, reason));
        None
    }
}

/// How to get groups, by the reason why none could be made.
fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EROFS) => {
            "containers have their groups read-only unless the runtime is asked otherwise: configs/deploy/README.md has the \
             option of each runtime"
        }
        _ => "run as root or delegate a cgroup with this controller",
    }
}

/// Makes the daemon's directory in a hierarchy and hands the controller down to it.
fn open(hierarchy: &Hierarchy, controller: &str, directory: &str) -> io::Result<PathBuf> {
    let path = hierarchy.own.join(directory);
    if hierarchy.version == Version::V2 {
        hand_down(&hierarchy.own, controller, hierarchy.at_root)?;
    }
    make(&path)?;
    if hierarchy.version == Version::V2 {
        hand_down(&path, controller, false)?;
    }
    Ok(path)
}

/// The weight of all sandboxes together, as `weigh` takes it: half of the weight that a process beside them has on each
/// processor, or the weight of one group beside them. With a higher weight, fork bombs in sandboxes delay the processes
/// that make and ask for sandboxes. Such a process runs now and then on one processor, while the bombs run on all, so
/// it gets its share late.
fn weight_of_all(rivals_are_groups: bool, processors: u64) -> (u64, u64) {
    // The weight of a group is for all processors, that of a process for one.
    if rivals_are_groups { (1, 1) } else { (processors, 2) }
}

/// Whether this process and others beside the directory compete for the processor as groups: on v2 in a leaf or, at the
/// machine's root, by session where the kernel does that.
fn rivals_are_groups(version: Version, directory: &Path, by_session: bool) -> bool {
    let Some(own) = directory.parent() else {
        return false;
    };
    // One of these files exists only at the root, the other everywhere except there. This holds in containers too.
    let is_root = match version {
        Version::V1 => own.join("release_agent").exists(),
        Version::V2 => !own.join("cgroup.events").exists(),
    };
    if is_root { by_session } else { version == Version::V2 }
}

/// Gives a group a weight of `times / part` times that of a new group.
pub(super) fn weigh(version: Version, group: &Path, times: u64, part: u64) -> io::Result<()> {
    let (file, ordinary, most) = match version {
        Version::V1 => ("cpu.shares", 1024, 262_144),
        Version::V2 => ("cpu.weight", 100, 10_000),
    };
    fs::write(group.join(file), (ordinary * times / part).clamp(1, most).to_string())
}

pub(super) fn make(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn hierarchies(mountinfo: &str, membership: &str) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    for line in mountinfo.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let (Some(root), Some(point)) = (left.split(' ').nth(3), left.split(' ').nth(4)) else {
            continue;
        };
        let mut fields = right.split(' ');
        let (Some(kind), Some(options)) = (fields.next(), fields.nth(1)) else {
            continue;
        };
        let (version, controllers) = match kind {
            "cgroup" => (Version::V1, options.split(',').map(str::to_owned).collect()),
            "cgroup2" => (Version::V2, Vec::new()),
            _ => continue,
        };
        let Some(path) = own_path(membership, version, &controllers) else {
            continue;
        };
        let Ok(below) = Path::new(path).strip_prefix(root) else {
            continue;
        };
        let below = match version {
            Version::V1 => below,
            Version::V2 => without_leaf(below),
        };
        let own = Path::new(point).join(below);
        let controllers = if version == Version::V2 {
            let text = fs::read_to_string(own.join("cgroup.controllers")).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        } else {
            controllers
        };
        found.push(Hierarchy {
            version,
            controllers,
            own,
            at_root: below.as_os_str().is_empty(),
        });
    }
    // v2 comes first: where it has the controller it is the better one.
    found.sort_by_key(|hierarchy| hierarchy.version == Version::V1);
    found
}

/// This process's group in the hierarchy, by its name in /proc/self/cgroup.
fn own_path<'a>(membership: &'a str, version: Version, controllers: &[String]) -> Option<&'a str> {
    membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, names, path) = (fields.next()?, fields.next()?, fields.next()?);
        let ours = match version {
            Version::V2 => names.is_empty(),
            Version::V1 => !names.is_empty() && names.split(',').all(|name| controllers.iter().any(|one| one == name)),
        };
        ours.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Version, hierarchies, rivals_are_groups, weigh, weight_of_all};

    #[test]
    fn all_sandboxes_weigh_half_of_a_process_on_each_processor_or_as_much_as_a_group() {
        let directory = tempfile::tempdir().unwrap();
        for (version, file, numbers) in [
            (
                Version::V1,
                "cpu.shares",
                [
                    (true, 1, "1024"),
                    (true, 64, "1024"),
                    (false, 1, "512"),
                    (false, 2, "1024"),
                    (false, 3, "1536"),
                    (false, 64, "32768"),
                    (false, 512, "262144"),
                    (false, 1024, "262144"),
                ],
            ),
            (
                Version::V2,
                "cpu.weight",
                [
                    (true, 1, "100"),
                    (true, 64, "100"),
                    (false, 1, "50"),
                    (false, 2, "100"),
                    (false, 3, "150"),
                    (false, 64, "3200"),
                    (false, 200, "10000"),
                    (false, 1024, "10000"),
                ],
            ),
        ] {
            for (rivals_are_groups, processors, number) in numbers {
                let (times, part) = weight_of_all(rivals_are_groups, processors);
                weigh(version, directory.path(), times, part).unwrap();
                let written = fs::read_to_string(directory.path().join(file)).unwrap();
                assert_eq!(written, number, "{file}, {rivals_are_groups}, {processors} processors");
            }
        }
    }

    #[test]
    fn rivals_are_groups_in_a_leaf_of_v2_and_at_a_root_that_shares_by_session() {
        let own = tempfile::tempdir().unwrap();
        let directory = own.path().join("prl-sandboxd-1-1");
        let rivals = |version, by_session| rivals_are_groups(version, &directory, by_session);
        // Neither file exists: below the root of v1, and at the root of v2.
        assert!(!rivals(Version::V1, true) && !rivals(Version::V1, false));
        assert!(rivals(Version::V2, true) && !rivals(Version::V2, false));
        for file in ["release_agent", "cgroup.events"] {
            fs::write(own.path().join(file), "").unwrap();
        }
        assert!(rivals(Version::V1, true) && !rivals(Version::V1, false));
        assert!(rivals(Version::V2, true) && rivals(Version::V2, false));
    }

    #[test]
    fn a_hybrid_machine_has_one_group_per_hierarchy() {
        let mounts = "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      33 24 0:29 /pod /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      34 24 0:30 / /tmp rw - tmpfs tmpfs rw\n";
        let membership = "3:cpu,cpuacct:/a\n2:memory:/b/c\n0::/pod/d\n";
        let found = hierarchies(mounts, membership);
        let own: Vec<_> = found
            .iter()
            .map(|one| (one.version, one.own.to_string_lossy().into_owned()))
            .collect();
        assert_eq!(
            own,
            [
                (Version::V2, "/sys/fs/cgroup/unified/d".to_owned()),
                (Version::V1, "/sys/fs/cgroup/cpu,cpuacct/a".to_owned()),
                (Version::V1, "/sys/fs/cgroup/memory/b/c".to_owned()),
            ]
        );
        assert!(found.iter().all(|one| !one.at_root));
    }

    #[test]
    fn who_is_in_the_leaf_of_an_earlier_daemon_has_the_group_above_it() {
        let mounts = "33 24 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        for (path, own, at_root) in [
            ("/", "/sys/fs/cgroup", true),
            ("/prl-sandboxd-self", "/sys/fs/cgroup", true),
            ("/d", "/sys/fs/cgroup/d", false),
            ("/d/prl-sandboxd-self", "/sys/fs/cgroup/d", false),
        ] {
            let found = hierarchies(mounts, &format!("0::{path}\n"));
            assert_eq!(
                (found[0].own.as_path(), found[0].at_root),
                (Path::new(own), at_root),
                "{path}"
            );
        }
    }
}
