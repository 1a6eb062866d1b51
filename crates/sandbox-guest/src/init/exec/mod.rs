//! The execs of a sandbox as init knows them: which process watches each, and how far its end has come.
//!
//! A sole exec is init's child and the only one of its sandbox. Any other exec has a leader (see `leader`), to which
//! init is linked by a socket of messages. Init repeats the killing of a tree until its leader has no process left, so
//! that no fork escapes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Instant;

use prost::Message;

use super::Control;
use super::layer::Layer;
use super::leader::{self, LEAVE, Pair, STAY};
use super::set_up::MOST_TERMINALS;
use super::zygote::{self, Born, Zygote};
use crate::child::{self, Confinement, Launch};
use crate::collect;
use crate::sys::{check, check_long, receive_from_mortal, send_with_fds};
use crate::users::NOBODY_OFFSET;
use crate::wire::{Ended, Event, Finish, FromInit, Launching, Start, Terminal};

mod all;

pub(super) use all::{Execs, Reaped};

/// Pause between two rounds of killing.
const KILL_AGAIN_MS: libc::c_int = 2;
/// After this long without an event, work in advance delays no other.
const QUIET_MS: libc::c_int = 3;
/// A leader's report is at most the name of a step.
const REPORT_BYTES: usize = 4096;

/// One exec.
pub(super) enum Exec {
    Sole {
        pid: libc::pid_t,
        started: Instant,
        finish: Finish,
    },
    Led(Led),
    Nursed(Nursed),
    /// A file operation.
    Helper {
        pid: libc::pid_t,
    },
}

/// A nursery's child, which is alone in the sandbox.
pub(super) struct Nursed {
    pid: libc::pid_t,
    main: OwnedFd,
    started: Instant,
    enclosure: Enclosure,
}

pub(super) struct Led {
    leader: libc::pid_t,
    link: OwnedFd,
    /// A pidfd of the main process while it runs.
    main: Option<OwnedFd>,
    started: Instant,
    /// The report of its end has arrived.
    ended: bool,
    /// Nothing more arrives on its link.
    closed: bool,
    killing: bool,
    /// The leader is a zygote, and sends a zygote's messages.
    zygote: bool,
    enclosure: Option<Enclosure>,
}

/// The state for the end of an exec that leaves nothing behind.
pub(super) struct Enclosure {
    finish: Finish,
    layer: Option<Layer>,
}

impl Enclosure {
    /// `ready`: a layer that was made for the exec in advance. `copied`: its files were copied, so that it needs no
    /// layer.
    fn make(start: &Start, uid: u32, ready: Option<Layer>, copied: bool) -> Result<Option<Self>, (String, io::Error)> {
        let Some(enclosed) = &start.enclosed else {
            return Ok(None);
        };
        let layer = match ready {
            Some(layer) => Ok(Some(layer)),
            None => enclosed
                .layer
                .filter(|_| !copied)
                .map(|sizes| Layer::make(&sizes, uid))
                .transpose(),
        };
        Ok(Some(Self {
            finish: enclosed.finish.clone(),
            layer: layer.map_err(|(step, error)| (step.to_owned(), error))?,
        }))
    }

    fn namespace(&self) -> Option<RawFd> {
        self.layer.as_ref().map(Layer::namespace)
    }

    pub(super) fn into_layer(self) -> Option<Layer> {
        self.layer
    }

    /// Reports the collected files. All processes of the exec are dead.
    pub(super) fn finished(&self) -> io::Result<Event> {
        let finished = || collect::finished(&self.finish);
        Ok(Event::Finished(if self.finish.collect.is_empty() {
            // No file is looked at.
            finished()
        } else {
            self.within(finished)?
        }))
    }

    fn within<T>(&self, act: impl FnOnce() -> T) -> io::Result<T> {
        match &self.layer {
            Some(layer) => layer.within(act),
            None => Ok(act()),
        }
    }
}

/// The resources that were made for a program after its zygote was forked.
pub(super) struct Finds {
    pub(super) layer: Option<Layer>,
    pub(super) network: Option<RawFd>,
}

/// Why a zygote has not taken a program. Nothing of the program has begun then.
pub(super) enum NotAdopted {
    /// The zygote takes no program any more.
    Gone(String),
    Failed((String, io::Error)),
}

impl From<(String, io::Error)> for NotAdopted {
    fn from(failure: (String, io::Error)) -> Self {
        Self::Failed(failure)
    }
}

/// An event to send at once, with the daemon's end of a terminal.
type FirstEvent = Option<(Event, Option<OwnedFd>)>;

impl Exec {
    /// Starts an exec. The caller closes its streams.
    pub(super) fn start(
        start: &Start,
        fds: &[OwnedFd],
        uid: u32,
        confinement: Confinement<'_>,
        pair: &mut Option<Pair>,
    ) -> Result<(Self, FirstEvent), (String, io::Error)> {
        let named = |step: &str| {
            let step = step.to_owned();
            move |error| (step, error)
        };
        let uid = if start.program.nobody { uid + NOBODY_OFFSET } else { uid };
        let terminal = start
            .terminal
            .as_ref()
            .map(open_terminal)
            .transpose()
            .map_err(|error| {
                (
                    exhausted_terminals(&error, confinement.home.is_none()).to_owned(),
                    error,
                )
            })?;
        let control = fds.get(3).map(AsRawFd::as_raw_fd);
        let stdio: [RawFd; 3] = match (&terminal, fds) {
            (Some((_, guest)), []) => [guest.as_raw_fd(); 3],
            (None, [input, output, errors] | [input, output, errors, _]) => {
                [input, output, errors].map(AsRawFd::as_raw_fd)
            }
            _ => return Err(("stdio".into(), io::Error::from_raw_os_error(libc::EBADMSG))),
        };
        give(&stdio, uid)?;
        let launch = Launch {
            program: &start.program,
            uid,
            stdio,
            terminal: terminal.is_some(),
            control: None,
            confinement,
            sole: start.finish.is_some(),
        };
        if let Some(finish) = &start.finish {
            let pid = child::launch(&launch)?;
            let exec = Self::Sole {
                pid,
                started: Instant::now(),
                finish: finish.clone(),
            };
            return Ok((exec, Some((Event::Started(pid), None))));
        }
        let enclosure = Enclosure::make(start, uid, None, confinement.home.is_some())?;
        let namespace = enclosure.as_ref().and_then(Enclosure::namespace);
        let launching = Launching {
            program: start.program.clone(),
            uid,
            terminal: terminal.is_some(),
            controlled: control.is_some(),
            answered: false,
        };
        // A waiting pair is in init's mount namespace, so it is of no use for a layer. A guest, or the kernel, may also have killed it.
        let waiting = if namespace.is_none() { pair.take() } else { None };
        let streams: Vec<RawFd> = stdio.into_iter().chain(control).collect();
        let asked = Launching {
            answered: true,
            ..launching.clone()
        };
        let waiting = waiting.filter(|pair| pair.order(&asked, &streams).is_ok() && pair.taken());
        let pair = match waiting {
            Some(pair) => pair,
            None => {
                let pair = Pair::fork(confinement, namespace).map_err(named("fork"))?;
                match pair.order(&launching, &streams) {
                    // A program killed the process that was just forked. Its leader, or the end of its link, reports
                    // that as for any guest.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                    ordered => ordered.map_err(named("order"))?,
                }
                pair
            }
        };
        let exec = Self::Led(Led {
            zygote: false,
            enclosure,
            ..Led::new(pair.leader, pair.link)
        });
        Ok((exec, terminal.map(|(ours, _)| (Event::Terminal(true), Some(ours)))))
    }

    /// Hands a program to a zygote. The zygote becomes the program, and its link is still read until the program
    /// begins; or it leads the program. A zygote that is gone is reported by its own variant of the error. `finds`:
    /// what was made after the zygote was forked.
    pub(super) fn adopt(
        start: &Start,
        fds: &[OwnedFd],
        uid: u32,
        mut zygote: Zygote,
        finds: Finds,
    ) -> Result<(Self, Option<Zygote>), NotAdopted> {
        let ([input, output, errors] | [input, output, errors, _]) = fds else {
            return Err(("stdio".to_owned(), io::Error::from_raw_os_error(libc::EBADMSG)).into());
        };
        let stdio = [input, output, errors].map(AsRawFd::as_raw_fd);
        let control = fds.get(3).map(AsRawFd::as_raw_fd);
        give(&stdio, uid)?;
        let (nursed, own) = match zygote.born() {
            Born::Here | Born::Executed(_) => (false, None),
            Born::Nursed(layer) => (true, layer.take()),
        };
        // A zygote that was forked for its layer is already in it.
        let arrived = own.is_some();
        let mut ready = own.or(finds.layer);
        ready.iter_mut().for_each(Layer::begin);
        let enclosure = Enclosure::make(start, uid, ready, false)?;
        let namespace = enclosure.as_ref().and_then(Enclosure::namespace);
        let namespace = namespace.filter(|_| !arrived);
        let namespaces: Vec<RawFd> = namespace.into_iter().chain(finds.network).collect();
        // This comes before the program begins: afterwards its nursery may already have reaped it.
        let main = nursed.then(|| pidfd_of(zygote.pid())).transpose();
        let main = main.map_err(|error| NotAdopted::Gone(error.to_string()))?;
        let handed = zygote.start(&start.program, &stdio, control, &namespaces);
        let pid = handed.map_err(|error| NotAdopted::Gone(error.to_string()))?;
        if let Some(finish) = &start.finish {
            let sole = Self::Sole {
                pid,
                started: Instant::now(),
                finish: finish.clone(),
            };
            return Ok((sole, Some(zygote)));
        }
        let enclosure = match (main, enclosure) {
            (Some(main), Some(enclosure)) => {
                let nursed = Self::Nursed(Nursed {
                    pid,
                    main,
                    started: Instant::now(),
                    enclosure,
                });
                return Ok((nursed, Some(zygote)));
            }
            (_, enclosure) => enclosure,
        };
        let led = Self::Led(Led {
            zygote: true,
            enclosure,
            ..Led::new(pid, zygote.into_link())
        });
        Ok((led, None))
    }
}

/// Makes the guest the owner of its streams, so that it may open its own /dev/stdout.
pub(super) fn give(stdio: &[RawFd; 3], uid: u32) -> Result<(), (String, io::Error)> {
    // SAFETY: reads an attribute of this process.
    if uid == unsafe { libc::geteuid() } {
        return Ok(());
    }
    stdio.iter().try_for_each(|fd| {
        // SAFETY: a live descriptor.
        check(unsafe { libc::fchown(*fd, uid, uid) })
            .map(|_| ())
            .map_err(|error| ("stdio owner".into(), error))
    })
}

/// The step at which opening a terminal failed: the sandbox has used up its terminals, or the machine has none left.
/// One of the entries is `ptmx`, which opens terminals.
fn exhausted_terminals(error: &io::Error, apart: bool) -> &'static str {
    let entries = std::fs::read_dir("/dev/pts").map_or(0, Iterator::count);
    // One of the entries is /dev/ptmx's own, by which terminals are opened.
    if apart && error.raw_os_error() == Some(libc::ENOSPC) && entries > MOST_TERMINALS {
        return child::OWN_TERMINALS;
    }
    "terminal of the machine"
}

/// Opens a terminal of the sandbox: the daemon's end and the guest's.
fn open_terminal(size: &Terminal) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: a NUL-terminated path; the descriptor is new and ours. Without O_NONBLOCK a terminal opens at once.
    let ours = unsafe { OwnedFd::from_raw_fd(check(libc::open(c"/dev/ptmx".as_ptr(), flags))?) };
    let unlocked: libc::c_int = 0;
    // SAFETY: a live int.
    check(unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked) })?;
    // SAFETY: the flags are those of open(2); the descriptor is new and ours.
    let guest = unsafe { OwnedFd::from_raw_fd(check(libc::ioctl(ours.as_raw_fd(), libc::TIOCGPTPEER, flags))?) };
    let size = libc::winsize {
        ws_row: libc::c_ushort::try_from(size.rows).unwrap_or(24),
        ws_col: libc::c_ushort::try_from(size.columns).unwrap_or(80),
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: a live winsize.
    check(unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) })?;
    Ok((ours, guest))
}

impl Nursed {
    /// The event that reports its end.
    fn end(self, status: i32, cpu_us: u64) -> io::Result<(Event, Enclosure)> {
        let fullness = match &self.enclosure.layer {
            Some(layer) => layer.fullness()?,
            None => collect::fullness(Path::new("/work")),
        };
        let ended = leader::ended(status, self.started, false, fullness);
        Ok((Event::Ended(Ended { cpu_us, ..ended }), self.enclosure))
    }
}

fn pidfd_of(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: numbers.
    let pidfd = check_long(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(RawFd::try_from(pidfd).map_err(io::Error::other)?) })
}

impl Led {
    fn new(leader: libc::pid_t, link: OwnedFd) -> Self {
        Self {
            leader,
            link,
            main: None,
            started: Instant::now(),
            ended: false,
            closed: false,
            killing: false,
            zygote: false,
            enclosure: None,
        }
    }

    fn hear(&mut self, id: u64, control: &Control) -> io::Result<()> {
        let mut buffer = [0; REPORT_BYTES];
        let length = match receive_from_mortal(self.link.as_raw_fd(), &mut buffer) {
            Ok((length, _)) => length,
            // The leader was killed, and a child of it still holds the link open.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if length == 0 {
            self.closed = true;
            return Ok(());
        }
        let message = buffer.get(..length).unwrap_or_default();
        let event = if self.zygote {
            zygote::said(message)?
        } else {
            FromInit::decode(message).map_err(io::Error::other)?.event
        };
        let event = event.ok_or(io::ErrorKind::InvalidData)?;
        match &event {
            Event::Started(pid) => {
                self.started = Instant::now();
                // It may have ended and been reaped: then there is no process to signal.
                self.main = pidfd_of(*pid).ok();
            }
            Event::Ended(_) => {
                self.ended = true;
                self.main = None;
                self.killing |= self.enclosure.is_some();
                let answer = if self.killing { STAY } else { LEAVE };
                // A leader that is gone is reaped next.
                let _gone = send_with_fds(self.link.as_raw_fd(), &[answer], &[]);
            }
            Event::NotExecuted(_) => self.ended = true,
            _ => {}
        }
        control.send(id, event)
    }
}
