//! Ends the processes of a group from outside of its sandbox.

use std::fs;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::Path;

use prl_sandbox_guest::sys::{check_long, pidfd_signal};

/// Sends SIGKILL to every process of a group but one. A process whose fork is under way when the signal comes gets
/// no child.
pub(super) fn all_but(spared: libc::pid_t, group: &Path) -> io::Result<()> {
    let others = members(group)?.into_iter().filter(|pid| *pid != spared);
    let opened: Vec<_> = others.filter_map(|pid| Some((pid, open(pid).ok()?))).collect();
    // Between the list and `open`, a process can end and its number go to a process of the machine. If the number is
    // still in the group now, then it is that of the opened process, or the opened one is gone.
    let still = members(group)?;
    for (_, process) in opened.iter().filter(|(pid, _)| still.contains(pid)) {
        // An error means that it is gone already.
        let _gone = pidfd_signal(process.as_fd(), libc::SIGKILL);
    }
    Ok(())
}

/// The pids of a group's processes, as far as this process sees them.
fn members(group: &Path) -> io::Result<Vec<libc::pid_t>> {
    let list = fs::read_to_string(group.join("cgroup.procs"))?;
    let pids = list.lines().filter_map(|line| line.parse().ok());
    Ok(pids.filter(|pid| *pid > 0).collect())
}

fn open(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: numbers.
    let descriptor = check_long(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    #[test]
    fn all_processes_of_the_group_end_but_the_spared_one() {
        let group = tempfile::tempdir().unwrap();
        let (mut spared, mut ended) = (sleeper(), sleeper());
        let mut others = [sleeper(), sleeper()];
        ended.kill().unwrap();
        ended.wait().unwrap();
        let pids = [&spared, &ended]
            .into_iter()
            .chain(&others)
            .map(|child| child.id().to_string());
        // The kernel writes 0 for a process that the reader's pid namespace does not show.
        let list: Vec<String> = pids.chain(["0".to_owned()]).collect();
        fs::write(group.path().join("cgroup.procs"), list.join("\n")).unwrap();

        all_but(spared.id().cast_signed(), group.path()).unwrap();
        for child in &mut others {
            assert_eq!(child.wait().unwrap().to_string(), "signal: 9 (SIGKILL)");
        }
        assert!(spared.try_wait().unwrap().is_none());
        spared.kill().unwrap();
        spared.wait().unwrap();
        assert!(all_but(1, &group.path().join("gone")).is_err());
    }
}
