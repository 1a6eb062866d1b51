//! Init's end of a zygote: a warm interpreter in the sandbox that becomes its one program, or leads one of several.
//!
//! A zygote is forked by a template interpreter outside and becomes init's child by adoption. It is as trusted as init
//! until it gets its program. Then it is the guest, with init as its parent like any other guest, or it is the guest's
//! leader. Or init has executed the interpreter in advance: then it is a guest from the beginning, and when it cannot
//! become its program, the program is executed instead. Messages are fields separated by NUL bytes, which no field can
//! contain.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::str::FromStr;

use super::layer::Layer;
use crate::child::{self, Confinement, Launch};
use crate::defence::Defence;
use crate::landlock::{self, Ruleset};
use crate::sys::{check, check_long, receive_from_mortal, send_with_fds, set_nonblocking, socket_pair};
use crate::wire::{Ended, Event, Failure, Program, Start};
use crate::zygotes::node::LINK;

/// The separate namespaces of a sandbox, the pid namespace first. Each program makes its own cgroup namespace.
const NAMESPACES: [&std::ffi::CStr; 5] = [
    c"/proc/self/ns/pid",
    c"/proc/self/ns/mnt",
    c"/proc/self/ns/net",
    c"/proc/self/ns/ipc",
    c"/proc/self/ns/uts",
];
/// A step's name and a reason.
const MESSAGE_BYTES: usize = 4096;

/// To a zygote: be a nursery, and fork another zygote with the link, and for the layer, that come with this message.
const BEAR: &[u8] = b"bear";

/// See the module.
pub(super) struct Zygote {
    link: OwnedFd,
    pid: libc::pid_t,
    born: Born,
    /// The Landlock rules for its program, in addition to the filter.
    rules: Option<Ruleset>,
}

/// The parent of a zygote.
pub(super) enum Born {
    /// A child of init, adopted from a template.
    Here,
    /// A child of init, which init executed. The value says what to execute instead, from the handing over of the
    /// program until it begins.
    Executed(Option<Box<Instead>>),
    /// A child of a nursery, with the layer that was made for its program.
    Nursed(Option<Layer>),
}

/// A program that was handed to a zygote, kept for the case that it must be executed.
pub(super) struct Instead {
    pub(super) start: Start,
    pub(super) streams: Vec<OwnedFd>,
}

/// A message of a zygote.
pub(super) enum Word {
    Event(Event),
    /// A nursery's child has ended.
    Buried(Buried),
    /// The zygote sends nothing any more.
    Nothing,
}

/// The end of a nursery's child, as wait(2) gives it.
#[derive(Clone, Copy)]
pub(super) struct Buried {
    pub(super) pid: libc::pid_t,
    pub(super) status: i32,
    pub(super) cpu_us: u64,
}

impl Zygote {
    /// Makes the link. Also returns the descriptors that the zygote gets. `sole`: its program is confined like an
    /// executed one. `one_by_one`: its namespaces are entered singly, because within a user namespace a process that
    /// may not be inspected cannot be entered as a whole.
    pub(super) fn nest<'a>(
        entrances: impl Iterator<Item = &'a OwnedFd>,
        sole: bool,
        one_by_one: bool,
    ) -> Result<(Self, Vec<OwnedFd>), (&'static str, io::Error)> {
        let (link, theirs) = new_link()?;
        let mut needed = vec![theirs];
        let namespaces = if one_by_one {
            NAMESPACES.iter().map(|path| open(path)).collect()
        } else {
            own_pidfd().map(|pidfd| vec![pidfd])
        };
        needed.extend(namespaces.map_err(|error| ("namespaces", error))?);
        for entrance in entrances {
            needed.push(entrance.try_clone().map_err(|error| ("cgroup", error))?);
        }
        let held = sole && Defence::ReadOnly.stands() && landlock::abi() > 0;
        let rules = held.then(landlock::of_box).transpose();
        let zygote = Self {
            link,
            pid: 0,
            born: Born::Here,
            rules: rules.map_err(|error| ("landlock", error))?,
        };
        Ok((zygote, needed))
    }

    /// Starts an interpreter that waits on its link for a program.
    pub(super) fn execute(
        program: &Program,
        stdio: [RawFd; 3],
        uid: u32,
        confinement: Confinement<'_>,
    ) -> Result<Self, (String, io::Error)> {
        let (link, theirs) = new_link().map_err(|(step, error)| (step.to_owned(), error))?;
        let pid = child::launch(&Launch {
            program,
            uid,
            stdio,
            terminal: false,
            control: Some((theirs.as_raw_fd(), LINK)),
            confinement,
            sole: true,
        })?;
        Ok(Self {
            link,
            pid,
            born: Born::Executed(None),
            rules: None,
        })
    }

    /// Ends an executed interpreter whose program has not begun.
    pub(super) fn end(self) {
        // SAFETY: our own child, not reaped yet.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }

    /// Makes this zygote fork another one, which enters this layer and waits there for its program.
    pub(super) fn bear(&self, layer: Option<Layer>) -> Result<Self, (&'static str, io::Error)> {
        let (link, theirs) = new_link()?;
        let needed: Vec<RawFd> = [theirs.as_raw_fd()]
            .into_iter()
            .chain(layer.as_ref().map(Layer::namespace))
            .collect();
        send_with_fds(self.link(), BEAR, &needed).map_err(|error| ("nursery", error))?;
        Ok(Self {
            link,
            pid: 0,
            born: Born::Nursed(layer),
            rules: None,
        })
    }

    pub(super) fn born(&mut self) -> &mut Born {
        &mut self.born
    }

    /// Whether a nursery forked it before its layer was known.
    pub(super) fn wants_a_layer(&self) -> bool {
        matches!(self.born, Born::Nursed(None))
    }

    /// The pid; 0 before the zygote has sent it.
    pub(super) fn pid(&self) -> libc::pid_t {
        self.pid
    }

    pub(super) fn link(&self) -> RawFd {
        self.link.as_raw_fd()
    }

    /// Hands over the program with its streams, its descriptor 3, and the namespaces that the zygote still has to
    /// enter. Returns the pid of the program.
    pub(super) fn start(
        &self,
        program: &Program,
        stdio: &[RawFd],
        control: Option<RawFd>,
        namespaces: &[RawFd],
    ) -> io::Result<libc::pid_t> {
        if self.pid == 0 {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let streams: Vec<RawFd> = stdio.iter().copied().chain(control).collect();
        let numbers = [streams.len() as u64, program.open_files, program.cpu_seconds].map(|number| number.to_string());
        let count = program.command.len().to_string();
        let fields: Vec<&str> = numbers
            .iter()
            .map(String::as_str)
            .chain([program.cwd.as_str(), &count])
            .chain(program.command.iter().map(String::as_str))
            .chain(program.env.iter().map(String::as_str))
            .collect();
        let rules = self.rules.as_ref().map(|rules| rules.descriptor().as_raw_fd());
        let descriptors: Vec<RawFd> = match self.born {
            // It already has its streams.
            Born::Executed(_) => Vec::new(),
            _ => streams
                .into_iter()
                .chain(rules)
                .chain(namespaces.iter().copied())
                .collect(),
        };
        send_with_fds(self.link(), fields.join("\0").as_bytes(), &descriptors)?;
        Ok(self.pid)
    }

    /// Whether a message, or the end of the link, can be read.
    pub(super) fn has_word(&self) -> bool {
        let mut poll = libc::pollfd {
            fd: self.link(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one live pollfd; it does not wait.
        unsafe { libc::poll(&raw mut poll, 1, 0) > 0 }
    }

    pub(super) fn hear(&mut self) -> io::Result<Word> {
        let mut buffer = [0; MESSAGE_BYTES];
        let (length, _) = receive_from_mortal(self.link(), &mut buffer)?;
        let message = buffer.get(..length).unwrap_or_default();
        if let Some(pid) = message.strip_prefix(b"ready\0") {
            self.pid = number(&String::from_utf8_lossy(pid))?;
            // SAFETY: no signal is sent. The zygote may have been killed and reaped before its message was read.
            let there = unsafe { libc::kill(self.pid, 0) } == 0;
            return Ok(if there {
                Word::Event(Event::Hatched(true))
            } else {
                Word::Nothing
            });
        }
        if let Some(buried) = message.strip_prefix(b"buried\0") {
            let text = String::from_utf8_lossy(buried);
            let fields: Vec<&str> = text.split('\0').collect();
            let [pid, status, cpu_us] = fields[..] else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            return Ok(Word::Buried(Buried {
                pid: number(pid)?,
                status: number(status)?,
                cpu_us: number(cpu_us)?,
            }));
        }
        Ok(said(message)?.map_or(Word::Nothing, Word::Event))
    }

    /// The link of a zygote that leads its program.
    pub(super) fn into_link(self) -> OwnedFd {
        self.link
    }
}

/// Makes a link: our end, which never blocks, and the zygote's.
fn new_link() -> Result<(OwnedFd, OwnedFd), (&'static str, io::Error)> {
    let (link, theirs) = socket_pair(libc::SOCK_SEQPACKET).map_err(|error| ("link", error))?;
    set_nonblocking(link.as_fd()).map_err(|error| ("link", error))?;
    Ok((link, theirs))
}

fn open(path: &std::ffi::CStr) -> io::Result<OwnedFd> {
    // SAFETY: a NUL-terminated path.
    let opened = check(unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) })?;
    // SAFETY: new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// The descriptor by which a zygote finds this sandbox's namespaces.
fn own_pidfd() -> io::Result<OwnedFd> {
    // SAFETY: numbers.
    let pidfd = check_long(unsafe { libc::syscall(libc::SYS_pidfd_open, std::process::id(), 0) })?;
    // SAFETY: new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(RawFd::try_from(pidfd).map_err(io::Error::other)?) })
}

/// The event in a message of a zygote that has its program; `None` when it holds none.
pub(super) fn said(message: &[u8]) -> io::Result<Option<Event>> {
    let text = String::from_utf8_lossy(message).into_owned();
    let fields: Vec<&str> = text.split('\0').collect();
    let failure = |step: &str, errno: &str| {
        Ok::<_, io::Error>(Failure {
            step: step.to_owned(),
            errno: number(errno)?,
        })
    };
    Ok(Some(match *fields {
        ["executing", reason] => Event::Executing(reason.to_owned()),
        ["started", pid] => Event::Started(number(pid)?),
        ["refused", step, errno] => Event::NotExecuted(failure(step, errno)?),
        ["failed", step, errno] => Event::Failed(failure(&format!("zygote: {step}"), errno)?),
        ["ended", status, run_us, cpu_us, blocks_full, inodes_full] => Event::Ended(Ended {
            status: number(status)?,
            run_us: number(run_us)?,
            cpu_us: number(cpu_us)?,
            unwatched: false,
            blocks_full: blocks_full == "1",
            inodes_full: inodes_full == "1",
        }),
        _ => return Ok(None),
    }))
}

fn number<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(text: &str) -> io::Result<T> {
    text.parse().map_err(io::Error::other)
}
