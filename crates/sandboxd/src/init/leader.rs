//! The process above one exec: it starts the guest, waits for it and keeps its orphans.
//!
//! As a subreaper it stays the ancestor of whatever the guest starts, so that init can find and kill that and nothing
//! else. When the guest has ended it tells init and waits to be told: leave (orphans go to init and live on), or stay
//! until the last process below it is dead.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Instant;

use prost::Message;

use super::{CONTROL, failure, keep_only, layer};
use crate::child::{self, Launch};
use crate::collect;
use crate::sys::{prctl, send_with_fds};
use crate::wire::{Ended, Event, FromInit};

/// Init's answers to `Ended`.
pub(super) const LEAVE: u8 = b'l';
pub(super) const STAY: u8 = b's';

/// Where its end of the link and the guest's streams are put.
const LINK: RawFd = CONTROL;
const STDIO: [RawFd; 3] = [LINK + 1, LINK + 2, LINK + 3];

/// Runs as the leader of one exec and never returns. `namespace`: the exec's own writable layer.
pub(super) fn lead(launch: &Launch<'_>, link: &OwnedFd, namespace: Option<RawFd>) -> ! {
    // An error means that init is gone, and this process with it.
    let _ended = watch(launch, link, namespace);
    // SAFETY: the end of this process; no destructor matters.
    unsafe { libc::_exit(0) }
}

fn watch(launch: &Launch<'_>, link: &OwnedFd, namespace: Option<RawFd>) -> io::Result<()> {
    if let Some(namespace) = namespace {
        layer::enter(namespace)?;
    }
    let [input, output, errors] = launch.stdio;
    keep_only(&[link.as_raw_fd(), input, output, errors])?;
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)?;
    let pid = match child::launch(&Launch {
        stdio: STDIO,
        ..*launch
    }) {
        Ok(pid) => pid,
        Err(step) => return tell(Event::NotExecuted(failure(step))),
    };
    let started = Instant::now();
    tell(Event::Started(pid))?;
    for fd in STDIO {
        // SAFETY: ours since `keep_only`; the guest has its copies.
        unsafe { libc::close(fd) };
    }
    child::keep_no_capabilities()?;
    let status = wait_for(pid)?;
    tell(Event::Ended(ended(status, started, false)))?;
    let mut answer = 0_u8;
    loop {
        // SAFETY: a live byte.
        let got = unsafe { libc::recv(LINK, (&raw mut answer).cast(), 1, 0) };
        if got >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    if answer == STAY {
        // SAFETY: no status is wanted; ends when no child is left.
        while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
    }
    Ok(())
}

/// Reaps whatever ends until the guest does.
fn wait_for(pid: libc::pid_t) -> io::Result<i32> {
    loop {
        let mut status = 0;
        // SAFETY: a live status word.
        let ended = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if ended == pid {
            return Ok(status);
        }
        if ended < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// A report on a guest whose parent this process is.
pub(super) fn ended(status: i32, started: Instant, unwatched: bool) -> Ended {
    let (blocks_full, inodes_full) = collect::fullness(Path::new("/work"));
    Ended {
        status,
        run_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        cpu_us: cpu_of_children(),
        unwatched,
        blocks_full,
        inodes_full,
    }
}

fn cpu_of_children() -> u64 {
    // SAFETY: rusage is plain data, filled by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    u64::try_from(micros(usage.ru_utime) + micros(usage.ru_stime)).unwrap_or(0)
}

fn tell(event: Event) -> io::Result<()> {
    let message = FromInit {
        event: Some(event),
        ..FromInit::default()
    };
    send_with_fds(LINK, &message.encode_to_vec(), &[]).map(|_| ())
}
