//! The network that the execs of a sandbox see: a loopback, and whatever earlier execs left on it.
//!
//! Connections outlive the programs that made them: for a minute no other program can listen on their port. Only the
//! end of a network namespace clears all of that. So each exec that leaves nothing behind finds a network in which
//! nothing was ever sent and no socket is left: an exec that used its network is followed by a new one. This process is
//! in the new network; zygotes that were forked before enter it when they get their program.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use super::set_up::loopback_up;
use crate::sys::check;

/// The bytes that were sent on each device.
const TRAFFIC: &str = "/proc/self/net/dev";
/// The numbers of sockets. Without IPv6 the second file is missing.
const SOCKETS: [&str; 2] = ["/proc/self/net/sockstat", "/proc/self/net/sockstat6"];
/// Fields that count this namespace's sockets; the other fields count those of the machine.
const OF_NAMESPACE: [&str; 2] = ["inuse", "tw"];
/// Enough for the loopback, which is the first device. Other devices have no traffic.
const LOOK_BYTES: usize = 2048;

/// See the module.
pub(super) struct Network {
    /// `None` while the network is the one that the sandbox was made with.
    namespace: Option<OwnedFd>,
    /// Each shows the namespace in which it was opened.
    traffic: File,
    sockets: Vec<File>,
    /// The state when the last exec began.
    before: Option<State>,
}

#[derive(PartialEq)]
struct State {
    traffic: Vec<u8>,
    sockets: Vec<String>,
}

impl Network {
    /// The network of this process.
    pub(super) fn own() -> io::Result<Self> {
        let mut sockets = Vec::new();
        for path in SOCKETS {
            match File::open(path) {
                Ok(file) => sockets.push(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            namespace: None,
            traffic: File::open(TRAFFIC)?,
            sockets,
            before: None,
        })
    }

    /// The network namespace, when it is not the first one: processes that were forked before enter it.
    pub(super) fn namespace(&self) -> Option<RawFd> {
        self.namespace.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Notes the state when an exec begins. Sockets of the daemon may be there already.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.before = Some(self.state()?);
        Ok(())
    }

    /// The exec has ended, and no process is left that could send. Returns whether a new network has replaced the one
    /// that it used.
    pub(super) fn renew(&mut self) -> io::Result<bool> {
        let before = self.before.take();
        if before.is_some_and(|before| self.state().is_ok_and(|now| now == before)) {
            return Ok(false);
        }
        // SAFETY: one thread.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        loopback_up()?;
        let namespace = Some(File::open("/proc/self/ns/net")?.into());
        *self = Self {
            namespace,
            ..Self::own()?
        };
        Ok(true)
    }

    fn state(&self) -> io::Result<State> {
        let mut sockets = Vec::new();
        for table in &self.sockets {
            let text = look(table)?;
            sockets.extend(counts(&String::from_utf8_lossy(&text)));
        }
        Ok(State {
            traffic: look(&self.traffic)?,
            sockets,
        })
    }
}

fn look(file: &File) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; LOOK_BYTES];
    let length = file.read_at(&mut buffer, 0)?;
    buffer.truncate(length);
    Ok(buffer)
}

/// The values of this namespace's fields, protocol by protocol: `TCP: inuse 5 orphan 0 tw 1 alloc 7 mem 2`.
fn counts(text: &str) -> Vec<String> {
    let of_line = |line| {
        let mut words = str::split_whitespace(line);
        std::iter::from_fn(move || {
            words.find(|word| OF_NAMESPACE.contains(word))?;
            words.next().map(str::to_owned)
        })
    };
    text.lines().flat_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counters_of_this_namespace_are_read() {
        let table =
            "sockets: used 182\nTCP: inuse 5 orphan 3 tw 2 alloc 9 mem 7\nUDP: inuse 4 mem 1\nFRAG: inuse 0 memory 0\n";
        assert_eq!(counts(table), ["5", "2", "4", "0"]);
        assert_eq!(counts("TCP6: inuse 1\n"), ["1"]);
        assert!(counts("").is_empty());
    }
}
