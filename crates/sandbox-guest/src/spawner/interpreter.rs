//! How the spawner starts an interpreter that stays outside of every sandbox.
//!
//! It sees the file system that sandboxes see, so it is the interpreter that programs get. It dies with the spawner.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::child::{self, default_signals, strings};
use crate::sys::{check, close_from, prctl};
use crate::wire::Program;

/// Standard streams and the socket to the daemon.
const DESCRIPTORS: usize = 4;

/// Turns this process, which is new, into the interpreter. Never returns.
pub(crate) fn execute(program: &Program, fds: &[OwnedFd]) -> ! {
    let _error = replace(program, fds);
    // SAFETY: the end of this process. The daemon sees the socket closed.
    unsafe { libc::_exit(127) }
}

fn replace(program: &Program, fds: &[OwnedFd]) -> io::Result<()> {
    if fds.len() != DESCRIPTORS {
        return Err(io::Error::from_raw_os_error(libc::EBADMSG));
    }
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
    // SAFETY: plain calls on this process.
    unsafe {
        libc::setsid();
        libc::umask(0o022);
    }
    // Moves them away from the numbers that they will get.
    let high: Vec<RawFd> = fds
        .iter()
        // SAFETY: a live descriptor.
        .map(|fd| check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 64) }))
        .collect::<io::Result<_>>()?;
    for (target, fd) in (0..).zip(&high) {
        // SAFETY: live descriptors; the lowest numbers are the program's.
        check(unsafe { libc::dup2(*fd, target) })?;
    }
    close_from(libc::c_uint::try_from(DESCRIPTORS).map_err(io::Error::other)?, 0)?;
    default_signals()?;
    let command = strings(&program.command)?;
    let env = strings(&program.env)?;
    Err(child::execute(&command, &env, &child::candidates(program)?))
}
