//! v2: a group can hand controllers down only while it has no processes, except for the machine's root.
//!
//! This process makes room by moving into a leaf below its group, with the first process of the container where that is
//! ours (see `first`). The other processes of the group are moved too, but
//! only where the group is ours to arrange: a container's root, or a group that systemd delegated, which an attribute
//! shows. The process that started this one (Node, a shell) is usually among them. Their limits stay the same, since
//! the leaf has none.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::layout::make;
use crate::first;

/// The leaf. A later daemon of the same group starts in it, since the process that starts it is there.
const LEAF: &str = "prl-sandboxd-self";
/// Processes may start others while they are moved, so there are several rounds.
const ROUNDS: usize = 10;

/// The group to arrange: the parent, when this process is in the leaf.
pub(super) fn without_leaf(own: &Path) -> &Path {
    match own.parent() {
        Some(parent) if own.file_name().is_some_and(|name| name == LEAF) => parent,
        _ => own,
    }
}

/// Enables a controller for the groups below this one. `at_root`: no higher group is visible. After a failure every
/// process is back in its group.
pub(super) fn hand_down(group: &Path, controller: &str, at_root: bool) -> io::Result<()> {
    let switch = |sign: char| fs::write(group.join("cgroup.subtree_control"), format!("{sign}{controller}"));
    let enable = || {
        switch('+')?;
        if is_threaded(group) {
            switch('-')?;
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        Ok(())
    };
    let done = enable();
    if !is_busy(&done) {
        return done;
    }
    let mut moved = Vec::new();
    let done = make_room(group, at_root, enable, &mut moved);
    if done.is_err() {
        for pid in moved {
            // The process may have ended meanwhile.
            let _back = fs::write(group.join("cgroup.procs"), pid);
        }
        // Processes of an earlier daemon may be in the leaf.
        let _removed = fs::remove_dir(group.join(LEAF));
    }
    done
}

/// Whether the group has become one whose children take only threads, because it has processes and a controller that
/// can limit threads separately.
fn is_threaded(group: &Path) -> bool {
    let kind = fs::read_to_string(group.join("cgroup.type"));
    kind.is_ok_and(|kind| kind.trim_end() == "domain threaded")
}

fn is_busy(done: &io::Result<()>) -> bool {
    matches!(done, Err(error) if error.raw_os_error() == Some(libc::EBUSY))
}

/// Moves this process and a first process of ours into the leaf, and the others of the group where that is ours to do.
/// `moved`: the processes that were moved.
fn make_room(
    group: &Path,
    at_root: bool,
    enable: impl Fn() -> io::Result<()>,
    moved: &mut Vec<String>,
) -> io::Result<()> {
    let leaf = group.join(LEAF);
    make(&leaf)?;
    let entrance = leaf.join("cgroup.procs");
    let members = || fs::read_to_string(group.join("cgroup.procs"));
    for own in first::process().into_iter().chain([std::process::id()]) {
        let own = own.to_string();
        if members()?.lines().any(|pid| pid == own) {
            fs::write(&entrance, &own)?;
            moved.push(own);
        }
    }
    let mut done = enable();
    if is_busy(&done) && !at_root && !is_delegated(group) {
        let reason = "other processes are in this group, and it is not delegated: start the daemon, or what starts it, by \
                      `systemd-run --scope -p Delegate=yes`";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
    }
    for _ in 0..ROUNDS {
        if !is_busy(&done) {
            break;
        }
        let pids = members()?;
        tracing::info!(group = %group.display(), processes = pids.lines().count(), "moved into a leaf of their group");
        for pid in pids.lines() {
            // The process may have ended, or belong to another pid namespace (0): then the group stays busy.
            if fs::write(&entrance, pid).is_ok() {
                moved.push(pid.to_owned());
            }
        }
        done = enable();
    }
    done
}

/// Whether systemd delegated this group.
fn is_delegated(group: &Path) -> bool {
    let Ok(path) = CString::new(group.as_os_str().as_bytes()) else {
        return false;
    };
    [c"user.delegate", c"trusted.delegate"].into_iter().any(|name| {
        let mut value = [0_u8; 1];
        // SAFETY: NUL-terminated names and a buffer of the given size.
        let length = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
        length == 1 && value == *b"1"
    })
}
