//! The groups of one sandbox from its init's side: the groups that contain init, and how programs enter the group that
//! limits memory.
//!
//! Programs leave things in memory that survive them, such as shared segments and files. The kernel kills a process of
//! the group that then needs a page. So init, and its forks that watch or help, are in every group but that one. A
//! program enters it before it does anything else.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::sys::{check, clone_process};

/// The flag of clone3 that libc's type cannot hold.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// See the module. It is empty before init has entered the groups.
#[derive(Default)]
pub(crate) struct Ways {
    /// The entrances to the groups that contain all processes of the sandbox.
    shared: Vec<OwnedFd>,
    /// The entrance to the group that limits memory; `None` without such a controller.
    limited: Option<OwnedFd>,
    /// The directory of that group, where a process can be made in it.
    birthplace: Option<OwnedFd>,
}

/// How a process enters the memory group.
#[derive(Clone, Copy)]
pub(crate) enum Door {
    /// There is no such group.
    None,
    /// It moves itself, by this file.
    Enter(RawFd),
    /// It is made in this directory. There, moving would take a lock for which every fork on the machine waits.
    Birth(RawFd),
}

impl Ways {
    /// Takes the descriptors of `Group::entrances`, followed by the entrance of init's own group where v2 limits
    /// memory, and enters the groups as init. `shared`: how many of the files belong to groups that contain programs
    /// too. `may_clone`: whether processes can be made by clone3, which some containers forbid.
    pub(crate) fn enter(came: Vec<OwnedFd>, shared: usize, may_clone: bool) -> io::Result<Self> {
        let mut came = came.into_iter();
        let shared: Vec<OwnedFd> = came.by_ref().take(shared).collect();
        let (limited, directory, own) = (came.next(), came.next(), came.next());
        for entrance in shared.iter().chain(&own) {
            enter(entrance.as_raw_fd())?;
        }
        Ok(Self {
            shared,
            limited,
            birthplace: directory.filter(|_| may_clone),
        })
    }

    pub(crate) fn door(&self) -> Door {
        match (&self.birthplace, &self.limited) {
            (Some(directory), _) => Door::Birth(directory.as_raw_fd()),
            (None, Some(entrance)) => Door::Enter(entrance.as_raw_fd()),
            (None, None) => Door::None,
        }
    }

    /// The files by which a process that init did not fork enters all groups of a program.
    pub(crate) fn of_programs(&self) -> impl Iterator<Item = &OwnedFd> {
        self.shared.iter().chain(&self.limited)
    }
}

impl Door {
    /// Forks a process that belongs to a program. Returns 0 in the child, which must call `arrive` first.
    pub(crate) fn fork(self) -> io::Result<libc::pid_t> {
        let Self::Birth(directory) = self else {
            // SAFETY: this process has one thread, so the child may allocate and go on as it is.
            return check(unsafe { libc::fork() });
        };
        // SAFETY: clone_args is plain data; all-zero is a valid value.
        let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
        args.flags = CLONE_INTO_CGROUP;
        args.exit_signal = libc::SIGCHLD as u64;
        args.cgroup = directory as u64;
        clone_process(&mut args)
    }

    /// Moves the child of `fork` into the group, unless it was made there.
    pub(crate) fn arrive(self) -> io::Result<()> {
        match self {
            Self::Enter(entrance) => enter(entrance),
            Self::None | Self::Birth(_) => Ok(()),
        }
    }

    pub(crate) fn descriptor(self) -> Option<RawFd> {
        match self {
            Self::None => None,
            Self::Enter(descriptor) | Self::Birth(descriptor) => Some(descriptor),
        }
    }

    /// The same door with another number of the descriptor.
    pub(crate) fn by(self, descriptor: RawFd) -> Self {
        match self {
            Self::None => Self::None,
            Self::Enter(_) => Self::Enter(descriptor),
            Self::Birth(_) => Self::Birth(descriptor),
        }
    }
}

/// Moves the calling process, which must have one thread, into a group.
fn enter(entrance: RawFd) -> io::Result<()> {
    // SAFETY: a live descriptor and one byte.
    check(unsafe { libc::write(entrance, c"0".as_ptr().cast(), 1) } as libc::c_int).map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// A group of v2 below this process's group that processes can be in; `None` where that is impossible.
    fn real_group() -> Option<PathBuf> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = membership.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let name = format!("prl-test-{}", std::process::id());
        let path = Path::new(mount.split(' ').nth(4)?).join(own).join(name);
        fs::create_dir(&path).is_ok().then_some(path)
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn a_process_is_born_in_its_group() {
        let Some(path) = real_group() else {
            eprintln!("skipped: no group of v2 can be made here");
            return;
        };
        let directory = fs::File::open(&path).expect("a directory");
        let pid = Door::Birth(directory.as_raw_fd()).fork().expect("a fork");
        if pid == 0 {
            // SAFETY: the child only waits for its end, and touches nothing that it inherited.
            unsafe { libc::pause() };
        }
        let member = fs::read_to_string(path.join("cgroup.procs")).expect("its members");
        // SAFETY: our own child, not reaped yet.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), 0);
        }
        fs::remove_dir(&path).expect("empty");
        assert_eq!(member.trim(), pid.to_string());
    }
}
