//! The pipes between the daemon and a program.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use prl_sandbox_guest::sys;

/// Three pipes: our ends, which never block, and the guest's.
pub(crate) type Pipes = ([OwnedFd; 3], [OwnedFd; 3]);

pub(crate) fn pipes() -> io::Result<Pipes> {
    let (stdin_guest, stdin) = sys::pipe()?;
    let (stdout, stdout_guest) = sys::pipe()?;
    let (stderr, stderr_guest) = sys::pipe()?;
    let ours = [stdin, stdout, stderr];
    for fd in &ours {
        sys::set_nonblocking(fd.as_fd())?;
    }
    Ok((ours, [stdin_guest, stdout_guest, stderr_guest]))
}
