//! Turns a new process into an init: its name, its descriptors, its signals.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::CONTROL;
use crate::process::Home;
use crate::sys::{check, close_from, prctl};

/// Names the process, ties its life to that of its parent, and closes all descriptors but the control socket. Without a
/// pid namespace the end of init does not end the other processes. There init gets a signal to end them instead of
/// being killed, and its own signals are confined first.
pub(super) fn arrange(control: OwnedFd, confined: bool) -> io::Result<()> {
    let fate = if confined { libc::SIGTERM } else { libc::SIGKILL };
    prctl(libc::PR_SET_PDEATHSIG, fate as libc::c_ulong)?;
    if confined {
        Home::confine_init()?;
    }
    prctl(libc::PR_SET_NAME, c"init".as_ptr() as libc::c_ulong)?;
    keep_only(&[control.as_raw_fd()])?;
    std::mem::forget(control);
    // SAFETY: standard input was the spawner's socket, which must not stay open here.
    let null = check(unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) })?;
    for target in [0, 1] {
        // SAFETY: two live descriptors.
        check(unsafe { libc::dup2(null, target) })?;
    }
    // SAFETY: this process has one thread; children are waited for from now on.
    unsafe {
        libc::close(null);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
    Ok(())
}

/// Moves these descriptors to the numbers from 3 on and closes all others.
pub(super) fn keep_only(fds: &[RawFd]) -> io::Result<()> {
    let mut high = Vec::new();
    for fd in fds {
        // SAFETY: a live descriptor, copied out of the way of the numbers assigned below.
        high.push(check(unsafe { libc::fcntl(*fd, libc::F_DUPFD_CLOEXEC, 64) })?);
    }
    let mut next = CONTROL;
    for fd in high {
        // SAFETY: the previous descriptor of this number is never used again.
        check(unsafe { libc::dup3(fd, next, libc::O_CLOEXEC) })?;
        next += 1;
    }
    close_from(libc::c_uint::try_from(next).map_err(io::Error::other)?, 0)
}

/// A descriptor that can be polled for the ends of children and, where that is a signal, for the order to end.
pub(super) fn watch_signals(terminated: bool) -> io::Result<OwnedFd> {
    // SAFETY: sigset_t is plain data, filled by sigemptyset; the signals stay blocked in this process; the descriptor is
    // new and ours.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        if terminated {
            libc::sigaddset(&raw mut set, libc::SIGTERM);
        }
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
        let fd = check(libc::signalfd(
            -1,
            &raw const set,
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        ))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}
