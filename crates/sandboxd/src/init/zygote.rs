//! Init's end of the zygote: a warm interpreter in the sandbox that becomes its one program.
//!
//! The zygote was forked by a template interpreter outside and is init's child by adoption. It is as trusted as init
//! until it is told its program; from then on it is the guest, and init is its parent like any other guest's. Messages
//! are fields separated by NUL bytes, which no field can hold.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::sys::{check, receive_with_fds, send_with_fds, socket_pair};
use crate::wire::{Event, Failure, Program};

/// Those a sandbox has of its own, that of processes first: a zygote is born into it.
const NAMESPACES: [&std::ffi::CStr; 6] = [
    c"/proc/self/ns/pid",
    c"/proc/self/ns/mnt",
    c"/proc/self/ns/net",
    c"/proc/self/ns/ipc",
    c"/proc/self/ns/uts",
    c"/proc/self/ns/cgroup",
];
/// A step's name and a reason.
const MESSAGE_BYTES: usize = 4096;

/// See the module.
pub(super) struct Zygote {
    link: OwnedFd,
    pid: libc::pid_t,
}

impl Zygote {
    /// Makes the link. Returns with it what the zygote is to get.
    pub(super) fn nest() -> Result<(Self, Vec<OwnedFd>), (&'static str, io::Error)> {
        let (link, theirs) = socket_pair(libc::SOCK_SEQPACKET).map_err(|error| ("link", error))?;
        let mut needed = vec![theirs];
        for path in NAMESPACES {
            // SAFETY: a NUL-terminated path.
            let opened = check(unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) });
            let opened = opened.map_err(|error| ("namespaces", error))?;
            // SAFETY: new and ours.
            needed.push(unsafe { OwnedFd::from_raw_fd(opened) });
        }
        Ok((Self { link, pid: 0 }, needed))
    }

    pub(super) fn link(&self) -> RawFd {
        self.link.as_raw_fd()
    }

    /// Hands the program over. Returns the pid that it will have.
    pub(super) fn start(&self, program: &Program, stdio: &[RawFd]) -> io::Result<libc::pid_t> {
        if self.pid == 0 {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let numbers = [program.open_files, program.cpu_seconds].map(|number| number.to_string());
        let count = program.command.len().to_string();
        let fields: Vec<&str> = numbers
            .iter()
            .map(String::as_str)
            .chain([program.cwd.as_str(), &count])
            .chain(program.command.iter().map(String::as_str))
            .chain(program.env.iter().map(String::as_str))
            .collect();
        send_with_fds(self.link(), fields.join("\0").as_bytes(), stdio)?;
        Ok(self.pid)
    }

    /// What the zygote says; `None` when it says no more.
    pub(super) fn hear(&mut self) -> io::Result<Option<Event>> {
        let mut buffer = [0; MESSAGE_BYTES];
        let (length, _) = receive_with_fds(self.link(), &mut buffer)?;
        let text = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned();
        let number = |text: &str| text.parse().map_err(io::Error::other);
        let fields: Vec<&str> = text.split('\0').collect();
        Ok(match *fields {
            ["ready", pid] => {
                self.pid = number(pid)?;
                Some(Event::Hatched(true))
            }
            ["executing", reason] => Some(Event::Executing(reason.to_owned())),
            ["started"] => Some(Event::Started(self.pid)),
            ["failed", step, errno] => Some(Event::Failed(Failure {
                step: format!("zygote: {step}"),
                errno: number(errno)?,
            })),
            _ => None,
        })
    }
}
