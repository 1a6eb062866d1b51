//! Removes groups of daemons that have died.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prl_sandbox_guest::process;

/// The beginning of the name of every daemon's directory.
const PREFIX: &str = "prl-sandboxd-";
/// How long killed processes may take to leave their group.
const PATIENCE: Duration = Duration::from_secs(5);

/// The name of this process's directory. It is unique even when pids are used again.
pub(crate) fn own_directory() -> String {
    let pid = std::process::id();
    format!("{PREFIX}{pid}-{}-{}", start_time(pid).unwrap_or(0), pid_namespace())
}

/// The number of the pid namespace: pids mean nothing in another one.
fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// When the process began, in clock ticks since boot.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Fields are counted behind the command, which may contain any character and ends at the last parenthesis.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Kills and removes the sandboxes that dead daemons left beside these directories. Returns how many there were.
pub(crate) fn remove_leftovers(own: &[PathBuf]) -> usize {
    let mut removed = 0;
    for parent in own.iter().filter_map(|path| path.parent()) {
        let Ok(entries) = fs::read_dir(parent) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let alive = name
                .to_str()
                .and_then(|name| name.strip_prefix(PREFIX))
                .is_none_or(is_alive);
            if !alive {
                removed += remove_tree(&entry.path());
            }
        }
    }
    removed
}

/// Kills and removes everything in these directories, and the directories.
pub(crate) fn remove_whole(directories: &[PathBuf]) {
    for directory in directories {
        remove_tree(directory);
    }
}

/// Removes the directories of dead daemons' boxes.
pub(crate) fn remove_leftover_homes(work_dir: &Path) {
    for entry in fs::read_dir(work_dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let dead = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .is_some_and(|name| !is_alive(name));
        if dead {
            process::remove_own(&entry.path());
        }
    }
}

/// Whether `<pid>-<start>-<namespace>` names a living process of this pid namespace. A name of another form, or of
/// another namespace (another container with the same directories), counts as alive, so that its directory is not
/// removed.
fn is_alive(name: &str) -> bool {
    let numbers: Vec<u64> = name.split('-').filter_map(|part| part.parse().ok()).collect();
    match numbers[..] {
        [pid, start, namespace] if namespace == pid_namespace() => {
            u32::try_from(pid).is_ok_and(|pid| start_time(pid) == Some(start))
        }
        _ => true,
    }
}

/// Kills the processes in the groups below, then removes the groups and the directory.
fn remove_tree(directory: &Path) -> usize {
    let mut removed = 0;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let deadline = Instant::now() + PATIENCE;
        // v2 also reaches processes of other pid namespaces; v1 lacks the file.
        let _killed = fs::OpenOptions::new()
            .write(true)
            .open(entry.path().join("cgroup.kill"))
            .and_then(|mut file| file.write_all(b"1"));
        loop {
            for pid in fs::read_to_string(entry.path().join("cgroup.procs"))
                .unwrap_or_default()
                .lines()
            {
                // A process of another pid namespace is shown as 0, which means this process to kill(2).
                if let Ok(pid @ 1..) = pid.parse::<i32>() {
                    // SAFETY: a process in a group that only a dead daemon's sandbox can be in.
                    unsafe { libc::kill(pid, libc::SIGKILL) };
                }
            }
            match fs::remove_dir(entry.path()) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                // Another daemon that starts now has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => {
                    tracing::warn!(%error, path = %entry.path().display(), "cannot remove a left-over cgroup");
                    break;
                }
                Ok(()) => {
                    removed += 1;
                    break;
                }
            }
        }
    }
    if let Err(error) = fs::remove_dir(directory)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %directory.display(), "cannot remove a left-over cgroup");
    }
    removed
}
