//! Both interfaces, on directories that look like them: the files that are written and read, and their content.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use super::{Group, GroupLimits, Groups, Layout, Version};

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| format!("{}: {error}", path.display()))
}

fn limited(version: Version) -> (tempfile::TempDir, Group) {
    let directory = tempfile::tempdir().expect("directory");
    let place = || Some((version, directory.path().to_owned()));
    let layout = Layout {
        memory: place(),
        pids: place(),
        cpu: place(),
        quota: Some((version, directory.path().to_owned(), 0.5)),
        ..Layout::default()
    };
    let group = Group::create(&layout, "7").expect("one directory for all of them");
    let with_swap = directory.path().join("7/memory.memsw.limit_in_bytes");
    fs::write(with_swap, "").expect("a file of the kernel");
    fs::write(directory.path().join("7/memory.swap.max"), "").expect("a file of the kernel");
    let limits = GroupLimits {
        memory_bytes: 1 << 20,
        processes: 9,
    };
    group.limit(limits).expect("limits");
    (directory, group)
}

#[test]
fn v2_files() {
    let (directory, group) = limited(Version::V2);
    let file = |name: &str| directory.path().join("7").join(name);
    for (name, content) in [
        ("memory.max", "1048576"),
        ("memory.swap.max", "0"),
        // Init is in another group, since this one limits memory.
        ("pids.max", "9"),
        ("cpu.max", "50000 100000"),
    ] {
        assert_eq!(read(&file(name)), content, "{name}");
    }
    for (name, content) in [
        (
            "memory.events",
            "low 0\nhigh 3\nmax 99\noom 5\noom_kill 2\noom_group_kill 0\n",
        ),
        ("memory.peak", "4096\n"),
        ("cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n"),
        ("pids.events", "max 4\n"),
        ("pids.peak", "6\n"),
    ] {
        fs::write(file(name), content).expect("a file of the kernel");
    }
    let seen = group.observe();
    assert_eq!(seen.oom_kills, Some(2));
    assert_eq!(seen.peak_memory_bytes, Some(4096));
    assert_eq!(seen.cpu_ns, Some(1_500_000));
    assert_eq!((seen.refused_forks, seen.peak_processes), (Some(4), Some(6)));
}

#[test]
fn v1_files() {
    let (directory, group) = limited(Version::V1);
    let file = |name: &str| directory.path().join("7").join(name);
    for (name, content) in [
        ("memory.limit_in_bytes", "1048576"),
        ("memory.memsw.limit_in_bytes", "1048576"),
        ("cpu.cfs_period_us", "100000"),
        ("cpu.cfs_quota_us", "50000"),
    ] {
        assert_eq!(read(&file(name)), content, "{name}");
    }
    fs::write(
        file("memory.oom_control"),
        "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    )
    .expect("a file");
    fs::write(file("memory.max_usage_in_bytes"), "8192\n").expect("a file");
    fs::write(file("cpuacct.usage"), "77\n").expect("a file");
    let seen = group.observe();
    assert_eq!(seen.oom_kills, Some(1));
    assert_eq!((seen.peak_memory_bytes, seen.cpu_ns), (Some(8192), Some(77)));
    // Counters that the kernel lacks are not zero.
    assert_eq!((seen.refused_forks, seen.peak_processes), (None, None));
}

/// Groups in two hierarchies: memory in one, processes and CPU time in the other.
fn apart(version: Version) -> (tempfile::TempDir, Layout) {
    let directory = tempfile::tempdir().expect("directory");
    for name in ["memory", "others"] {
        fs::create_dir(directory.path().join(name)).expect("directory");
    }
    let others = Some((version, directory.path().join("others")));
    let layout = Layout {
        memory: Some((version, directory.path().join("memory"))),
        pids: others.clone(),
        cpu: others,
        ..Layout::default()
    };
    (directory, layout)
}

#[test]
fn init_is_counted_where_it_is() {
    let (directory, layout) = apart(Version::V1);
    let group = Group::create(&layout, "7").expect("groups");
    let limits = GroupLimits {
        memory_bytes: 1 << 20,
        processes: 9,
    };
    group.limit(limits).expect("limits");
    assert_eq!(read(&directory.path().join("others/7/pids.max")), "10");
    fs::write(directory.path().join("others/7/pids.peak"), "6\n").expect("a file of the kernel");
    assert_eq!(group.observe().peak_processes, Some(5));
    assert_eq!(group.shared().collect::<Vec<_>>(), [&directory.path().join("others/7")]);
}

#[test]
fn init_gets_the_groups_of_programs_with_memory_last() {
    for (version, file, wanted) in [(Version::V1, "tasks", 2), (Version::V2, "cgroup.procs", 3)] {
        let (directory, layout) = apart(version);
        let group = Group::create(&layout, "7").expect("groups");
        for name in ["memory", "others"] {
            fs::write(directory.path().join(name).join("7").join(file), "").expect("a file of the kernel");
        }
        let entrances = group.entrances().expect("entrances");
        let place = |fd: &OwnedFd| fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).expect("a link");
        let places: Vec<_> = entrances.iter().map(place).collect();
        let root = directory.path();
        let all = [
            root.join("others/7").join(file),
            root.join("memory/7").join(file),
            root.join("memory/7"),
        ];
        assert_eq!(places, all[..wanted]);
    }
}

#[test]
fn buffers_of_sockets_are_limited_where_memory_is_without_them() {
    let directory = tempfile::tempdir().expect("directory");
    let place = Some((Version::V1, directory.path().to_owned()));
    let layout = Layout {
        memory: place.clone(),
        pids: place,
        ..Layout::default()
    };
    let group = Group::create(&layout, "7").expect("a kernel without that file");
    let limit = directory.path().join("7/memory.kmem.tcp.limit_in_bytes");
    fs::write(&limit, "").expect("a file of the kernel");
    group.limit_sockets().expect("a limit");
    assert_eq!(read(&limit), (32 << 20).to_string());
}

#[test]
fn one_that_yields_weighs_a_tenth_until_it_does_not() {
    for (version, file, yielding, ordinary) in [
        (Version::V1, "cpu.shares", "102", "1024"),
        (Version::V2, "cpu.weight", "10", "100"),
    ] {
        let directory = tempfile::tempdir().expect("directory");
        let layout = Layout {
            weight: Some((version, directory.path().to_owned())),
            ..Layout::default()
        };
        let group = Group::create(&layout, "7").expect("a directory");
        let weight = directory.path().join("7").join(file);
        group.set_yielding(false);
        assert!(!weight.exists(), "it has that weight");
        group.set_yielding(true);
        assert_eq!(read(&weight), yielding);
        group.set_yielding(false);
        assert_eq!(read(&weight), ordinary);
    }
}

#[test]
fn bursts_leave_a_millisecond_of_each_period_and_end_at_the_configured_quota() {
    for (quota, ordinary) in [(None, "max 100000"), (Some(0.5), "50000 100000")] {
        let directory = tempfile::tempdir().expect("directory");
        let place = || (Version::V2, directory.path().to_owned());
        let layout = Layout {
            weight: Some(place()),
            quota: quota.map(|cpus| (Version::V2, directory.path().to_owned(), cpus)),
            ..Layout::default()
        };
        let group = Group::create(&layout, "7").expect("a directory");
        let file = directory.path().join("7/cpu.max");
        group.set_bursts(false);
        assert!(!file.exists(), "it has no bursts");
        group.set_bursts(true);
        if !super::quota::spares_locks() {
            assert!(!file.exists(), "this kernel would stop processes that hold its locks");
            continue;
        }
        assert_eq!(read(&file), "1000 100000");
        group.set_bursts(false);
        assert_eq!(read(&file), ordinary);
    }
}

#[test]
fn a_group_whose_quota_cannot_be_written_is_in_no_bursts() {
    if !super::quota::spares_locks() {
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    let layout = Layout {
        weight: Some((Version::V2, directory.path().to_owned())),
        ..Layout::default()
    };
    let group = Group::create(&layout, "7").expect("a directory");
    let file = directory.path().join("7/cpu.max");
    std::fs::create_dir(&file).expect("a directory in the file's place");
    assert!(!group.set_bursts(true));
    std::fs::remove_dir(&file).expect("removed");
    assert!(group.set_bursts(true), "the next call tries again");
    std::fs::remove_file(&file).expect("removed");
    std::fs::create_dir(&file).expect("a directory in the file's place");
    assert!(group.set_bursts(false), "its quota is what it was");
}

/// Groups of an ended sandbox that reveal nothing about it.
fn ended() -> (tempfile::TempDir, Arc<Groups>, Group) {
    let directory = tempfile::tempdir().expect("directory");
    let place = || Some((Version::V2, directory.path().to_owned()));
    let layout = Layout {
        memory: place(),
        pids: place(),
        cpu: place(),
        ..Layout::default()
    };
    let groups = Groups::new(Arc::new(layout));
    let group = groups.take().expect("a group");
    for (name, content) in [
        ("cgroup.procs", ""),
        ("cpu.stat", "usage_usec 1500\n"),
        ("memory.current", "4096\n"),
        ("memory.events", "oom_kill 0\n"),
        ("memory.peak", "8192\n"),
        ("pids.current", "0\n"),
        ("pids.events", "max 0\n"),
        ("pids.peak", "1\n"),
    ] {
        fs::write(directory.path().join("1").join(name), content).expect("a file of the kernel");
    }
    (directory, groups, group)
}

#[tokio::test]
async fn groups_without_traces_of_a_sandbox_are_reused() {
    let (directory, groups, group) = ended();
    let file = |name: &str| directory.path().join("1").join(name);
    let limits = GroupLimits {
        memory_bytes: 256 << 20,
        processes: 64,
    };
    group.limit(limits).expect("limits");
    group.entrances().expect("entrances");
    group.retire().await.expect("kept");
    assert!(read(&file("memory.peak")).starts_with('0'), "the peak begins anew");
    fs::write(file("pids.max"), "as it was").expect("a file of the kernel");
    let again = groups.take().expect("the same");
    again.limit(limits).expect("limits that it has");
    assert_eq!(read(&file("pids.max")), "as it was");
    assert!(!directory.path().join("2").exists(), "another was made");
    let other = groups.take().expect("another");
    assert!(directory.path().join("2").exists(), "two sandboxes in one group");
    drop((again, other));
}

#[tokio::test]
async fn groups_with_traces_of_a_sandbox_are_not_reused() {
    for (file, content) in [
        ("memory.current", "1000000\n"),
        ("memory.events", "oom_kill 1\n"),
        ("pids.current", "1\n"),
        ("pids.events", "max 1\n"),
        ("pids.peak", "2\n"),
        ("pids.peak", ""),
    ] {
        let (directory, groups, group) = ended();
        fs::write(directory.path().join("1").join(file), content).expect("a file of the kernel");
        // The directory that stands for a group has files in it, so it cannot be removed.
        group.retire().await.expect_err("it was to be removed");
        groups.take().expect("another");
        assert!(directory.path().join("2").exists(), "{file} {content:?}");
    }
    for limits in [(1 << 20, 64), (256 << 20, 4)] {
        let (directory, groups, group) = ended();
        let (memory_bytes, processes) = limits;
        group
            .limit(GroupLimits {
                memory_bytes,
                processes,
            })
            .expect("limits");
        group.retire().await.expect_err("it was to be removed");
        groups.take().expect("another");
        assert!(directory.path().join("2").exists(), "{limits:?}");
    }
}

#[tokio::test]
async fn groups_that_keep_their_peak_are_not_reused() {
    let (directory, groups, mut group) = ended();
    group.let_go();
    group.retire().await.expect_err("it was to be removed");
    groups.take().expect("another");
    assert!(directory.path().join("2").exists());
}

#[tokio::test]
async fn groups_with_unknown_limits_are_not_reused() {
    for file in ["memory.max", "pids.max"] {
        let (directory, groups, group) = ended();
        fs::create_dir(directory.path().join("1").join(file)).expect("what cannot be written to");
        let limits = GroupLimits {
            memory_bytes: 256 << 20,
            processes: 64,
        };
        group.limit(limits).expect_err("it is no file");
        group.retire().await.expect_err("it was to be removed");
        groups.take().expect("another");
        assert!(directory.path().join("2").exists(), "{file}");
    }
}

#[tokio::test(start_paused = true)]
async fn surplus_groups_are_removed() {
    let (directory, groups, group) = ended();
    group.retire().await.expect("kept");
    for entry in fs::read_dir(directory.path().join("1")).expect("files").flatten() {
        fs::remove_file(entry.path()).expect("the kernel's own");
    }
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(directory.path().join("1").exists(), "somebody may want it");
    // The clock of tests does not move the clock that measures their age.
    std::thread::sleep(super::spares::KEPT_FOR);
    tokio::time::sleep(2 * super::spares::KEPT_FOR).await;
    assert!(!directory.path().join("1").exists(), "it is unused");
    drop(groups);
}
