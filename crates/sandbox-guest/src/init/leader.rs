//! The process above one exec: the guest is its child. It waits for the guest and keeps its orphans.
//!
//! As a subreaper it stays the ancestor of everything that the guest starts, so that init can find and kill exactly
//! those processes. When the guest has ended, the leader reports that to init and waits for the answer: leave (orphans
//! become init's children and run on), or stay until the last process below it is dead.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Instant;

use prost::Message;

use super::{CONTROL, failure, keep_only, layer};
use crate::child::{self, Confinement, Launch};
use crate::collect;
use crate::sys::{check, prctl, receive_with_fds, send_with_fds, set_nonblocking, socket_pair};
use crate::wire::{Ended, Event, FromInit, Inbox, Launching, frame};

/// Init's answers to `Ended`.
pub(super) const LEAVE: u8 = b'l';
pub(super) const STAY: u8 = b's';

const ORDER_BYTES: usize = 16 << 10;
/// The answer to an order that wants one.
const TAKEN: u8 = b't';
/// The numbers of its end of the link, and of the socket with the future guest's order.
const LINK: RawFd = CONTROL;
const ORDERS: RawFd = LINK + 1;
/// The number of the descriptor that leads into the guest's memory group.
const DOOR: RawFd = ORDERS + 1;
/// A future guest that does not take its order, or does not answer it, within this time never will.
const ORDER_PATIENCE_S: libc::time_t = 2;

/// A leader and its child, which waits to become a guest: the part of an exec that can be done in advance.
pub(super) struct Pair {
    pub(super) leader: libc::pid_t,
    pub(super) link: OwnedFd,
    orders: OwnedFd,
}

impl Pair {
    /// `namespace`: the separate writable layer of the exec.
    pub(super) fn fork(confinement: Confinement<'_>, namespace: Option<RawFd>) -> io::Result<Self> {
        let (link, their_link) = socket_pair(libc::SOCK_SEQPACKET)?;
        set_nonblocking(link.as_fd())?;
        let (orders, their_orders) = socket_pair(libc::SOCK_STREAM)?;
        let patience = libc::timeval {
            tv_sec: ORDER_PATIENCE_S,
            tv_usec: 0,
        };
        for option in [libc::SO_SNDTIMEO, libc::SO_RCVTIMEO] {
            // SAFETY: a live timeval of the stated size.
            check(unsafe {
                libc::setsockopt(
                    orders.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    (&raw const patience).cast(),
                    size_of::<libc::timeval>() as libc::socklen_t,
                )
            })?;
        }
        // SAFETY: this process has one thread, so the child may go on as it is.
        let leader = check(unsafe { libc::fork() })?;
        if leader == 0 {
            // An error means that init is gone, and this process is about to end with it.
            let _ended = lead(confinement, namespace, &their_link, &their_orders);
            // SAFETY: the end of this process; no destructor matters.
            unsafe { libc::_exit(0) }
        }
        Ok(Self { leader, link, orders })
    }

    /// Sends the order that says what to become. `streams`: the guest's first descriptors. When this fails, nothing was
    /// begun.
    pub(super) fn order(&self, launching: &Launching, streams: &[RawFd]) -> io::Result<()> {
        let bytes = frame(launching);
        let mut sent = send_with_fds(self.orders.as_raw_fd(), &bytes, streams)?;
        while sent < bytes.len() {
            sent += send_with_fds(self.orders.as_raw_fd(), bytes.get(sent..).unwrap_or_default(), &[])?;
        }
        Ok(())
    }

    /// Waits until the future guest has taken an order that wants an answer. A pair that waits for long may have lost its guest: the kernel
    /// chooses it where memory is full, counts that, and ends it some milliseconds later. An order to such a process is sent without an
    /// error, and its end would look like that of the program, without a new kill in the count.
    pub(super) fn taken(&self) -> bool {
        let mut answer = 0_u8;
        // SAFETY: a live byte.
        let got = unsafe { libc::recv(self.orders.as_raw_fd(), (&raw mut answer).cast(), 1, 0) };
        got == 1 && answer == TAKEN
    }
}

/// Ends this process when its leader ends. Where guests can kill the leader, no process of the exec may go on without
/// it. A change of user undoes this, but then guests cannot kill the leader.
fn end_with(leader: libc::pid_t) -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
    // SAFETY: reads an attribute of this process.
    if unsafe { libc::getppid() } == leader {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(libc::ESRCH))
}

/// Becomes what the order says. The order may come late.
fn obey(confinement: Confinement<'_>) -> (String, io::Error) {
    let mut inbox = Inbox::default();
    let mut buffer = vec![0; ORDER_BYTES];
    loop {
        let taken = inbox.take::<Launching>();
        match taken.and_then(|taken| {
            if taken.is_none() {
                let (length, fds) = receive_with_fds(ORDERS, &mut buffer)?;
                if length == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                inbox.put(buffer.get(..length).unwrap_or_default(), fds);
            }
            Ok(taken)
        }) {
            Ok(None) => {}
            Ok(Some((launching, streams))) => {
                let mut stdio = [0; 3];
                for (target, stream) in stdio.iter_mut().zip(&streams) {
                    *target = stream.as_raw_fd();
                }
                if launching.answered
                    && let Err(error) = send_with_fds(ORDERS, &[TAKEN], &[])
                {
                    return ("order".to_owned(), error);
                }
                return child::become_guest(&Launch {
                    program: &launching.program,
                    uid: launching.uid,
                    stdio,
                    terminal: launching.terminal,
                    control: streams.get(3).map(|control| (control.as_raw_fd(), 3)),
                    confinement,
                    sole: false,
                });
            }
            Err(error) => return ("order".to_owned(), error),
        }
    }
}

fn lead(confinement: Confinement<'_>, namespace: Option<RawFd>, link: &OwnedFd, orders: &OwnedFd) -> io::Result<()> {
    if let Some(namespace) = namespace {
        layer::enter(namespace)?;
    }
    let kept = [link.as_raw_fd(), orders.as_raw_fd()].into_iter();
    keep_only(&kept.chain(confinement.door.descriptor()).collect::<Vec<_>>())?;
    let door = confinement.door.by(DOOR);
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)?;
    // SAFETY: reads an attribute of this process.
    let own = unsafe { libc::getpid() };
    let (pid, report) = match child::fork(door, || match end_with(own) {
        Ok(()) => obey(confinement),
        Err(error) => ("leader".to_owned(), error),
    }) {
        Ok(forked) => forked,
        Err(error) => return send_to_init(Event::NotExecuted(failure(("fork", error)))),
    };
    for fd in [ORDERS].into_iter().chain(door.descriptor()) {
        // SAFETY: ours since `keep_only`; the future guest has its copy.
        unsafe { libc::close(fd) };
    }
    child::keep_no_capabilities()?;
    if let Err(step) = child::executed(report) {
        return send_to_init(Event::NotExecuted(failure(step)));
    }
    let started = Instant::now();
    send_to_init(Event::Started(pid))?;
    let status = wait_for(pid)?;
    send_to_init(Event::Ended(ended_here(status, started, false)))?;
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

/// Reaps every child that ends until the guest does.
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

/// The report on a guest whose parent is this process.
pub(super) fn ended_here(status: i32, started: Instant, unwatched: bool) -> Ended {
    ended(status, started, unwatched, collect::fullness(Path::new("/work")))
}

/// `fullness`: whether no block, and whether no inode, is left in its layer.
pub(super) fn ended(status: i32, started: Instant, unwatched: bool, fullness: (bool, bool)) -> Ended {
    let (blocks_full, inodes_full) = fullness;
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

fn send_to_init(event: Event) -> io::Result<()> {
    let message = FromInit {
        event: Some(event),
        ..FromInit::default()
    };
    send_with_fds(LINK, &message.encode_to_vec(), &[]).map(|_| ())
}
