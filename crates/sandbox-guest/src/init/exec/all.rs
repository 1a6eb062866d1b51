//! All execs of a sandbox: which links to poll, which exec a signal or an end belongs to, and the leader that waits for
//! the next exec.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Instant;

use super::super::layer::Layer;
use super::super::leader::{self, Pair};
use super::super::zygote::Buried;
use super::super::{Control, tree};
use super::{Enclosure, Exec, KILL_AGAIN_MS, Led, Nursed, QUIET_MS};
use crate::child::Confinement;
use crate::sys::pidfd_signal;
use crate::template::Step;
use crate::wire::{Event, Finish, Sizes};

/// One for the exec that runs, and one for the exec whose zygote is forked meanwhile.
const CLEAN_LAYERS: usize = 2;

/// The kind of process that has ended.
pub(in crate::init) enum Reaped {
    /// The sandbox's sole exec, with what to collect at its end.
    Sole(u64, Finish),
    /// An exec that leaves nothing behind, with the events that report its end.
    Enclosed(u64, Vec<Event>, Enclosure),
    OfOne,
    OfNone,
}

/// All execs that are not gone, by the ids of their orders.
#[derive(Default)]
pub(in crate::init) struct Execs {
    all: HashMap<u64, Exec>,
    /// The pair that waits for the next exec.
    pub(in crate::init) pair: Option<Pair>,
    /// Whether more execs are expected: then a pair waits for the next one.
    expected: bool,
    /// Layers without a change: made in advance, or left by execs that are gone.
    clean: Vec<Layer>,
}

impl Execs {
    pub(in crate::init) fn insert(&mut self, id: u64, exec: Exec) {
        self.all.insert(id, exec);
    }

    pub(in crate::init) fn has(&self, id: u64) -> bool {
        self.all.contains_key(&id)
    }

    /// The program that was handed to a zygote begins now.
    pub(in crate::init) fn began(&mut self, id: u64) {
        if let Some(Exec::Sole { started, .. } | Exec::Nursed(Nursed { started, .. })) = self.all.get_mut(&id) {
            *started = Instant::now();
        }
    }

    pub(in crate::init) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The links to poll.
    pub(in crate::init) fn links(&self) -> Vec<(u64, RawFd)> {
        let led = self.all.iter().filter_map(|(id, exec)| match exec {
            Exec::Led(led) if !led.closed => Some((*id, led.link.as_raw_fd())),
            _ => None,
        });
        led.collect()
    }

    /// How long to wait for the next event.
    pub(in crate::init) fn patience_ms(&self) -> libc::c_int {
        let killing = self
            .all
            .values()
            .any(|exec| matches!(exec, Exec::Led(led) if led.killing));
        match (killing, self.expected && self.pair.is_none()) {
            (true, _) => KILL_AGAIN_MS,
            (false, true) => QUIET_MS,
            (false, false) => -1,
        }
    }

    /// Notes that more execs will follow.
    pub(in crate::init) fn expect(&mut self) {
        self.expected = true;
    }

    /// Forks a pair in advance when that delays nothing: no exec runs, or `quiet`: nothing has happened for a while.
    pub(in crate::init) fn prepare(&mut self, confinement: Confinement<'_>, quiet: bool) {
        let running = self
            .all
            .values()
            .any(|exec| matches!(exec, Exec::Led(led) if !led.ended));
        if !self.expected || self.pair.is_some() || (running && !quiet) {
            return;
        }
        match Pair::fork(confinement, None) {
            Ok(pair) => self.pair = Some(pair),
            // No process can be forked now: the next start tries again.
            Err(_) => self.expected = false,
        }
    }

    /// Reads the messages of a leader and passes them on.
    pub(in crate::init) fn hear(&mut self, id: u64, control: &Control) -> io::Result<()> {
        let Some(Exec::Led(led)) = self.all.get_mut(&id) else {
            return Ok(());
        };
        led.hear(id, control)
    }

    /// Handles the end of a child.
    pub(in crate::init) fn reaped(&mut self, pid: libc::pid_t, status: i32, control: &Control) -> io::Result<Reaped> {
        let found = self.all.iter().find(|(_, exec)| match exec {
            Exec::Sole { pid: sole, .. } => *sole == pid,
            Exec::Led(led) => led.leader == pid,
            // Its nursery is dead, so it became a child of init.
            Exec::Nursed(nursed) => nursed.pid == pid,
            Exec::Helper { pid: helper } => *helper == pid,
        });
        let Some((&id, _)) = found else {
            if self.pair.as_ref().is_some_and(|pair| pair.leader == pid) {
                self.pair = None;
            }
            return Ok(Reaped::OfNone);
        };
        match self.all.remove(&id) {
            Some(Exec::Sole { started, finish, .. }) => {
                control.send(id, Event::Ended(leader::ended_here(status, started, false)))?;
                Ok(Reaped::Sole(id, finish))
            }
            Some(Exec::Led(mut led)) => {
                while !led.closed {
                    led.hear(id, control)?;
                }
                let mut events = Vec::new();
                if !led.ended {
                    // A guest of the same user killed the leader. The waiting pair was no safer.
                    self.pair = None;
                    if let Some(main) = &led.main {
                        // Without its leader the main process would end unreported, so end it. It may already have
                        // ended.
                        let _ended = pidfd_signal(main.as_fd(), libc::SIGKILL);
                    }
                    events.push(Event::Ended(leader::ended_here(status, led.started, true)));
                }
                if let Some(enclosure) = led.enclosure {
                    return Ok(Reaped::Enclosed(id, events, enclosure));
                }
                events.push(Event::Gone(true));
                control.send_all(id, events)?;
                Ok(Reaped::OfOne)
            }
            Some(Exec::Nursed(nursed)) => {
                let (events, enclosure) = nursed.end(status, 0)?;
                Ok(Reaped::Enclosed(id, vec![events], enclosure))
            }
            Some(Exec::Helper { .. }) => {
                control.send(id, Event::Gone(true))?;
                Ok(Reaped::OfOne)
            }
            None => Ok(Reaped::OfNone),
        }
    }

    /// Handles the end of a nursery's child. Nothing follows when the child had no program.
    pub(in crate::init) fn buried(&mut self, buried: Buried) -> io::Result<Reaped> {
        let is_it = |exec: &Exec| matches!(exec, Exec::Nursed(nursed) if nursed.pid == buried.pid);
        let found = self.all.iter().find(|(_, exec)| is_it(exec)).map(|(id, _)| *id);
        let Some(id) = found else { return Ok(Reaped::OfNone) };
        match self.all.remove(&id) {
            Some(Exec::Nursed(nursed)) => {
                let (events, enclosure) = nursed.end(buried.status, buried.cpu_us)?;
                Ok(Reaped::Enclosed(id, vec![events], enclosure))
            }
            _ => Ok(Reaped::OfNone),
        }
    }

    /// Keeps the layer of an exec that has ended, when it can be used again; otherwise drops it.
    pub(in crate::init) fn keep(&mut self, layer: Option<Layer>) {
        let spare = self.clean.len() < CLEAN_LAYERS;
        self.clean.extend(layer.filter(|layer| spare && layer.untouched()));
    }

    /// A layer that is like a new one.
    pub(in crate::init) fn layer(&mut self, sizes: &Sizes, uid: u32) -> Result<Layer, Step> {
        match self.clean.iter().position(|layer| layer.sizes == *sizes) {
            Some(place) => Ok(self.clean.swap_remove(place)),
            None => {
                // The next execs will have these sizes too: layers of other sizes would only take their places.
                self.clean.clear();
                Layer::make(sizes, uid)
            }
        }
    }

    /// Makes layers in advance.
    pub(in crate::init) fn make_ahead(&mut self, sizes: &Sizes, uid: u32) -> Result<(), Step> {
        while self.clean.len() < CLEAN_LAYERS {
            self.clean.push(Layer::make(sizes, uid)?);
        }
        Ok(())
    }

    /// Drops the unused layers, because the files below them change.
    pub(in crate::init) fn forget_layers(&mut self) {
        self.clean.clear();
    }

    /// Sends a signal to the main process, if it still runs.
    pub(in crate::init) fn signal(&self, id: u64, number: i32) {
        match self.all.get(&id) {
            Some(Exec::Sole { pid, .. }) => {
                // SAFETY: our own child, not reaped yet.
                unsafe { libc::kill(*pid, number) };
            }
            Some(Exec::Led(Led { main: Some(main), .. }) | Exec::Nursed(Nursed { main, .. })) => {
                // SAFETY: a live pidfd, no siginfo. The process may have ended meanwhile.
                unsafe {
                    libc::syscall(
                        libc::SYS_pidfd_send_signal,
                        main.as_raw_fd(),
                        number,
                        std::ptr::null::<()>(),
                        0,
                    )
                };
            }
            _ => {}
        }
    }

    /// Begins to kill everything of an exec.
    pub(in crate::init) fn kill_tree(&mut self, id: u64) {
        match self.all.get_mut(&id) {
            Some(Exec::Sole { pid, .. }) => {
                // SAFETY: our own child, not reaped yet. Processes that it leaves behind end when the sandbox finishes.
                unsafe { libc::kill(*pid, libc::SIGKILL) };
            }
            Some(Exec::Helper { pid }) => {
                // SAFETY: our own child, not reaped yet.
                unsafe { libc::kill(*pid, libc::SIGKILL) };
            }
            Some(Exec::Nursed(nursed)) => {
                // The main process may have ended. Processes that it leaves behind are killed when its nursery has
                // reported its end.
                let _ended = pidfd_signal(nursed.main.as_fd(), libc::SIGKILL);
            }
            // After the order to leave, the processes that are left belong to no exec.
            Some(Exec::Led(led)) if !led.ended => led.killing = true,
            _ => {}
        }
    }

    /// One more round of killing.
    pub(in crate::init) fn kill_on(&mut self) {
        for exec in self.all.values() {
            if let Exec::Led(led) = exec
                && led.killing
            {
                tree::kill(led.leader);
                // SAFETY: our child. Where guest and leader are the same user, the guest may have stopped it.
                unsafe { libc::kill(led.leader, libc::SIGCONT) };
            }
        }
    }

    /// The CPU time of an exec's tree so far; 0 when the exec is gone.
    pub(in crate::init) fn cpu_us(&self, id: u64) -> u64 {
        match self.all.get(&id) {
            Some(Exec::Sole { pid, .. }) => tree::cpu_us(*pid),
            Some(Exec::Led(led)) => tree::cpu_us(led.leader),
            Some(Exec::Nursed(nursed)) => tree::cpu_us(nursed.pid),
            Some(Exec::Helper { .. }) | None => 0,
        }
    }
}
