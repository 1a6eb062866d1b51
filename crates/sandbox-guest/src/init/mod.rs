//! Pid 1 of a sandbox: it sets the sandbox up, parks, and then obeys orders: it starts programs, reaps and ends them,
//! and collects files.
//!
//! It is a clone of the spawner that never executes another program, so it needs no file in any root file system. It
//! obeys only its control socket, whose other end the daemon holds. End of file there ends it, as does the death of the
//! spawner; since it is pid 1, every process of the sandbox ends with it. Guests run as another user, cannot signal,
//! trace or read it, and hold none of its descriptors. It never waits for a guest: everything that could take long is
//! done by a fork of it, and its own loop only polls.

mod arrange;
mod control;
mod ending;
mod exec;
mod files;
mod ipc;
mod layer;
mod leader;
mod nest;
mod network;
mod set_up;
mod socket;
mod tree;
mod zygote;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use crate::cgroup::Ways;
use crate::child::{self, Confinement};
use crate::collect;
use crate::defence::Defence;
use crate::filter;
use crate::process::{self, Home};
use crate::sys::check;
use crate::template::{Step, at};
use crate::wire::files::{FileOperation, FileOrder};
use crate::wire::{Event, Failure, Finish, Order, ToInit, Unwritten};
pub use tree::children;

use arrange::{arrange, keep_only, watch_signals};
use control::{CONTROL, Control};
use ending::Shared;
use exec::{Exec, Execs, Reaped};
use zygote::Zygote;

/// Runs as pid 1 until the sandbox is done.
pub(crate) fn main(
    control: OwnedFd,
    uid: u32,
    filter: &filter::Program,
    choose_root: impl Fn() -> Result<(), Step>,
    home: Option<Home>,
) -> ! {
    process::place::settle(home.as_ref());
    let arranged = arrange(control, home.is_some());
    if arranged.is_ok() {
        // It ends when the daemon is gone or has ordered the end: in both cases no report is needed.
        let _over = converse(uid, filter, &choose_root, home.as_ref());
        if let Some(home) = &home {
            end_everybody();
            home.remove();
        }
    }
    let status = i32::from(arranged.is_err());
    // SAFETY: ends this process, and by that the whole pid namespace. No destructor matters.
    unsafe { libc::_exit(status) }
}

/// Reads and obeys orders. An error means that the daemon is gone: no report is possible.
fn converse(
    uid: u32,
    filter: &filter::Program,
    choose_root: &dyn Fn() -> Result<(), Step>,
    home: Option<&Home>,
) -> io::Result<()> {
    let mut server = Server {
        control: Control::default(),
        execs: Execs::default(),
        signals: watch_signals(home.is_some())?,
        home,
        uid,
        choose_root,
        filter,
        guests_ran: false,
        disk_bytes: 0,
        zygotes: BTreeMap::new(),
        ways: Ways::default(),
        killed: false,
        shared: None,
    };
    loop {
        server.turn()?;
    }
}

struct Server<'a> {
    /// Changes from the spawner's root to that of the box.
    choose_root: &'a dyn Fn() -> Result<(), Step>,
    /// Set in the process tier only.
    home: Option<&'a Home>,
    control: Control,
    execs: Execs,
    signals: OwnedFd,
    uid: u32,
    filter: &'a filter::Program,
    guests_ran: bool,
    /// The size of the writable layer; 0 before the box's sizes are known.
    disk_bytes: u64,
    /// Zygotes without a program, or whose program has not begun, by the order to which their next event belongs.
    zygotes: BTreeMap<u64, Zygote>,
    /// The entrances to the sandbox's cgroups.
    ways: Ways,
    /// All processes were ordered to die.
    killed: bool,
    /// Set from the first exec on that leaves nothing behind.
    shared: Option<Shared>,
}

impl<'a> Server<'a> {
    fn confinement(&self) -> Confinement<'a> {
        Confinement {
            filter: self.filter,
            home: self.home,
            door: self.ways.door(),
        }
    }

    /// Waits for events and handles them.
    fn turn(&mut self) -> io::Result<()> {
        let poll = |fd: RawFd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let links = self.execs.links();
        let mut polls = vec![poll(CONTROL), poll(self.signals.as_raw_fd())];
        polls.extend(links.iter().map(|(_, fd)| poll(*fd)));
        let zygotes: Vec<(u64, RawFd)> = self.zygotes.iter().map(|(id, zygote)| (*id, zygote.link())).collect();
        polls.extend(zygotes.iter().map(|(_, fd)| poll(*fd)));
        let count = libc::nfds_t::try_from(polls.len()).map_err(io::Error::other)?;
        // SAFETY: live pollfds and their number.
        let happened = unsafe { libc::poll(polls.as_mut_ptr(), count, self.execs.patience_ms()) };
        if happened < 0 {
            return Ok(());
        }
        let ready: Vec<bool> = polls.iter().map(|poll| poll.revents != 0).collect();
        for ((id, _), _) in links.iter().zip(ready.iter().skip(2)).filter(|(_, ready)| **ready) {
            self.execs.hear(*id, &self.control)?;
        }
        for ((id, _), _) in zygotes
            .iter()
            .zip(ready.iter().skip(2 + links.len()))
            .filter(|(_, ready)| **ready)
        {
            self.hear_zygote(*id)?;
        }
        if ready.get(1) == Some(&true) {
            self.reap()?;
        }
        if ready.first() == Some(&true) {
            self.control.fill()?;
            while let Some((message, fds)) = self.control.inbox.take::<ToInit>()? {
                self.obey(message, fds)?;
            }
        }
        self.execs.kill_on();
        let confinement = self.confinement();
        self.execs.prepare(confinement, happened == 0);
        Ok(())
    }

    fn reap(&mut self) -> io::Result<()> {
        // SAFETY: plain data; all-zero is a valid value.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        // SAFETY: a live record of the stated size; that there may be none is no error.
        unsafe { libc::read(self.signals.as_raw_fd(), (&raw mut info).cast(), size_of_val(&info)) };
        if info.ssi_signo == libc::SIGTERM.unsigned_abs() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        loop {
            let mut status = 0;
            // SAFETY: a live status word.
            let ended = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
            if ended <= 0 {
                return Ok(());
            }
            self.hear_out(ended)?;
            match self.execs.reaped(ended, status, &self.control)? {
                Reaped::Sole(id, finish) => self.finish(id, &finish)?,
                Reaped::Enclosed(id, events, enclosure) => self.end_enclosed(id, events, enclosure)?,
                Reaped::OfOne => {}
                Reaped::OfNone => self.lose_zygote(ended)?,
            }
        }
    }

    fn obey(&mut self, message: ToInit, fds: Vec<OwnedFd>) -> io::Result<()> {
        let id = message.id;
        let mut order = message.order.ok_or(io::ErrorKind::InvalidData)?;
        if let Some(home) = self.home {
            if !process::possible(&order) {
                let refusal = ("the process tier", io::Error::from_raw_os_error(libc::EOPNOTSUPP));
                return self.control.send(id, Event::Failed(failure(refusal)));
            }
            home.translate(&mut order);
        }
        match order {
            Order::Prepare(shared) => match self.set_up(fds, shared as usize) {
                Ok(()) => {
                    child::keep_capabilities_of_starting()?;
                    self.control.send(id, Event::Parked(true))
                }
                Err(step) => self.control.send(id, Event::Failed(failure(step))),
            },
            Order::Furnish(wanted) => {
                let furnished = self.furnish(&wanted);
                let event = furnished.map_or_else(|event| event, |()| Event::Furnished(true));
                self.control.send(id, event)
            }
            Order::Start(start) => self.start(id, &start, &fds),
            Order::Signal(number) => {
                self.execs.signal(id, number);
                Ok(())
            }
            Order::KillTree(_) => {
                self.execs.kill_tree(id);
                Ok(())
            }
            Order::KillAll(_) => {
                self.killed = true;
                // SAFETY: every process of this namespace but ourselves.
                unsafe { libc::kill(-1, libc::SIGKILL) };
                Ok(())
            }
            Order::Finish(finish) => self.finish(id, &finish),
            Order::Hatch(wanted) => self.hatch(id, wanted),
            Order::Advance(program) => self.advance(id, &program, &fds),
            Order::Measure(_) => self.control.send(id, Event::Measured(self.execs.cpu_us(id))),
            Order::Files(order) => self.help(id, order, &fds),
            Order::Open(wanted) => match socket::open(&wanted) {
                Ok(socket) => self.control.send_with(id, Event::Socket(true), &[socket.as_raw_fd()]),
                Err(step) => self.control.send(id, Event::Failed(failure(step))),
            },
        }
    }

    fn help(&mut self, id: u64, order: FileOrder, fds: &[OwnedFd]) -> io::Result<()> {
        self.execs.forget_layers();
        let operation = order.operation.ok_or(io::ErrorKind::InvalidData)?;
        let socket = fds.first().ok_or(io::ErrorKind::InvalidData)?;
        if matches!(operation, FileOperation::Restore(_)) && self.guests_ran {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // SAFETY: this process has one thread, so the child may go on as it is.
        match check(unsafe { libc::fork() }) {
            Ok(0) => files::help(operation, socket, self.uid, self.disk_bytes, self.confinement()),
            Ok(pid) => {
                self.execs.insert(id, Exec::Helper { pid });
                Ok(())
            }
            Err(error) => {
                self.control.send(id, Event::Failed(failure(("fork", error))))?;
                self.control.send(id, Event::Gone(true))
            }
        }
    }

    fn set_up(&mut self, entrances: Vec<OwnedFd>, shared: usize) -> Result<(), Step> {
        self.ways = at("cgroup", Ways::enter(entrances, shared, self.home.is_none()))?;
        match self.home {
            Some(home) => home.set_up(self.uid),
            None => (self.choose_root)().and_then(|()| set_up::set_up(self.uid)),
        }
    }

    /// The error is `NotFurnished` when the request asks for something impossible, and `Failed` when something is wrong
    /// here.
    fn furnish(&mut self, wanted: &crate::wire::Furnish) -> Result<(), Event> {
        let failed = |step| Event::Failed(failure(step));
        if self.guests_ran {
            return Err(failed((
                "furnish".to_owned(),
                io::Error::from_raw_os_error(libc::EBUSY),
            )));
        }
        self.disk_bytes = wanted.disk_bytes;
        if !wanted.files.is_empty() || !Path::new(&wanted.cwd).is_dir() {
            self.execs.forget_layers();
        }
        if self.home.is_none() {
            set_up::size_layer(wanted).map_err(failed)?;
        }
        set_up::furnish(wanted, self.uid).map_err(|step| Event::NotFurnished(unwritten(step)))
    }

    fn start(&mut self, id: u64, start: &crate::wire::Start, fds: &[OwnedFd]) -> io::Result<()> {
        if let Some(wanted) = &start.furnish
            && let Err(event) = self.furnish(wanted)
        {
            return self.control.send(id, event);
        }
        if let Some(home) = self.home
            && let Some(sizes) = start.enclosed.as_ref().and_then(|enclosed| enclosed.layer)
            && let Err(step) = home.begin_case(&sizes, self.uid)
        {
            return self.control.send(id, Event::NotFurnished(unwritten(step)));
        }
        self.guests_ran = true;
        if start.enclosed.is_some() {
            self.begin_enclosed()?;
        }
        if start.enclosed.as_ref().is_none_or(|enclosed| enclosed.layer.is_none()) {
            self.execs.forget_layers();
        }
        if start.zygote > 0 {
            return self.adopt(id, start, fds);
        }
        self.execute(id, start, fds)
    }

    fn execute(&mut self, id: u64, start: &crate::wire::Start, fds: &[OwnedFd]) -> io::Result<()> {
        if start.finish.is_none() && start.enclosed.is_none() {
            self.execs.expect();
        }
        let started = Exec::start(start, fds, self.uid, self.confinement(), &mut self.execs.pair);
        match started {
            Ok((exec, event)) => {
                if matches!(exec, Exec::Sole { .. }) {
                    child::keep_capabilities_of_ending()?;
                }
                if let Some((event, terminal)) = event {
                    let terminal: Vec<RawFd> = terminal.iter().map(AsRawFd::as_raw_fd).collect();
                    self.control.send_with(id, event, &terminal)?;
                }
                self.execs.insert(id, exec);
                Ok(())
            }
            Err(step) => {
                self.control.send(id, Event::NotExecuted(failure(step)))?;
                self.control.send(id, Event::Gone(true))
            }
        }
    }

    /// Ends all processes and reports the collected files.
    fn finish(&mut self, id: u64, wanted: &Finish) -> io::Result<()> {
        end_everybody();
        self.execs.clear();
        self.zygotes.clear();
        self.control.send(id, Event::Finished(collect::finished(wanted)))
    }
}

/// The error for a zygote that is dead.
fn died() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

fn failure((step, error): (impl Into<String>, io::Error)) -> Failure {
    Failure {
        step: step.into(),
        errno: error.raw_os_error().unwrap_or(libc::EIO),
    }
}

fn unwritten((step, error): (String, io::Error)) -> Unwritten {
    let Failure { step, errno } = failure((step, error));
    let (_, inodes_full) = collect::fullness(Path::new("/work"));
    Unwritten {
        step,
        errno,
        inodes_full,
    }
}

/// Kills and reaps until this process is alone in its namespace.
fn end_everybody() {
    if !Defence::EverybodyDies.stands() {
        return;
    }
    loop {
        // SAFETY: every process of this namespace but ourselves; then waits for any of them.
        let waited = unsafe {
            libc::kill(-1, libc::SIGKILL);
            libc::waitpid(-1, std::ptr::null_mut(), 0)
        };
        if waited < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
            return;
        }
    }
}
