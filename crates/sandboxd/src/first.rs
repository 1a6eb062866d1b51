//! The first process of a pid namespace, where a container's runtime starts the daemon as that.
//!
//! Such a process inherits every orphan of its namespace, among them what `docker exec` and a kubelet's probes leave, and
//! must reap them: each one that it does not is counted against the container's limit of processes for good. The daemon
//! waits for its own children only. So this process forks: the child becomes the daemon, and the first process passes
//! signals on to it, reaps, and ends with the daemon's status. It knows nothing of sandboxes.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use prl_sandbox_guest::sys::check;

const FIRST: u32 = 1;
/// The signals that a runtime or a terminal sends.
const PASSED_ON: [libc::c_int; 6] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];
/// A shell's status for a process that a signal ended is this and the signal's number.
const BY_SIGNAL: i32 = 128;

/// Whether this process is the child of a first process of ours.
static IS_BELOW: AtomicBool = AtomicBool::new(false);

/// The first process, where it is ours and not this one.
pub(crate) fn process() -> Option<u32> {
    IS_BELOW.load(Ordering::Relaxed).then_some(FIRST)
}

/// Returns `None` in the process that is to be the daemon, and the daemon's status in the first process, once the daemon
/// has ended. The calling process must have one thread.
///
/// # Errors
/// No process could be made.
pub(crate) fn stand_before() -> io::Result<Option<u8>> {
    if std::process::id() != FIRST {
        return Ok(None);
    }
    let (mut awaited, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: the calls that get the sets first initialise them.
    let (awaited, before) = unsafe {
        libc::sigemptyset(awaited.as_mut_ptr());
        for signal in PASSED_ON.into_iter().chain([libc::SIGCHLD]) {
            libc::sigaddset(awaited.as_mut_ptr(), signal);
        }
        // Blocked before the fork, so that none is lost.
        check(libc::sigprocmask(
            libc::SIG_BLOCK,
            awaited.as_ptr(),
            before.as_mut_ptr(),
        ))?;
        (awaited.assume_init(), before.assume_init())
    };
    // SAFETY: one thread.
    let forked = check(unsafe { libc::fork() });
    let Ok(daemon @ 1..) = forked else {
        IS_BELOW.store(forked.is_ok(), Ordering::Relaxed);
        // SAFETY: the set that was in force before.
        check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) })?;
        return forked.map(|_| None);
    };
    loop {
        // SAFETY: a set of blocked signals; no further facts about the signal are asked for.
        let signal = unsafe { libc::sigwaitinfo(&raw const awaited, ptr::null_mut()) };
        if signal == libc::SIGCHLD {
            if let Some(status) = reap(daemon) {
                return Ok(Some(status));
            }
        } else if signal > 0 {
            // SAFETY: a child that was not reaped yet.
            unsafe { libc::kill(daemon, signal) };
        }
    }
}

/// Reaps every child that has ended. Returns the daemon's status when it was among them.
fn reap(daemon: libc::pid_t) -> Option<u8> {
    let mut of_daemon = None;
    loop {
        let mut status = 0;
        // SAFETY: a place for the status.
        let ended = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if ended <= 0 {
            return of_daemon;
        }
        if ended == daemon {
            let code = if libc::WIFSIGNALED(status) {
                BY_SIGNAL + libc::WTERMSIG(status)
            } else {
                libc::WEXITSTATUS(status)
            };
            of_daemon = Some(u8::try_from(code).unwrap_or(u8::MAX));
        }
    }
}
