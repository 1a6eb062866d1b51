//! The network that the execs of a sandbox see: a loopback, and what earlier ones left on it.
//!
//! Connections outlive the programs that made them: for a minute nobody else can listen on their port. Only the end of a network
//! namespace clears all of that. So each exec that leaves nothing behind finds a network in which nothing was ever sent
//! and no socket is left, and behind one that used it comes a new one. This process lives in it; zygotes that were born before
//! enter it when they get their program.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use super::set_up::loopback_up;
use crate::sys::check;

/// What was sent on each device.
const TRAFFIC: &str = "/proc/self/net/dev";
/// How many sockets there are. Without version 6 of the protocol there is no second.
const SOCKETS: [&str; 2] = ["/proc/self/net/sockstat", "/proc/self/net/sockstat6"];
/// Their fields that count this namespace's sockets; others count the machine's.
const OF_NAMESPACE: [&str; 2] = ["inuse", "tw"];
/// The loopback is the first device, and other devices have no traffic.
const LOOK_BYTES: usize = 2048;

/// See the module.
pub(super) struct Network {
    /// None while it is the one that the sandbox was made with.
    namespace: Option<OwnedFd>,
    /// They show the namespace in which they were opened.
    traffic: File,
    sockets: Vec<File>,
    /// When the last exec began.
    before: Option<State>,
}

#[derive(PartialEq)]
struct State {
    traffic: Vec<u8>,
    sockets: Vec<String>,
}

impl Network {
    /// That of this process.
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

    /// By which a process that was born in the first network enters this one, if it is another.
    pub(super) fn namespace(&self) -> Option<RawFd> {
        self.namespace.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// An exec begins. Sockets of the daemon may be there already.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.before = Some(self.state()?);
        Ok(())
    }

    /// The exec has ended, and nobody is there who could send. Whether another network came in the place of the one it used.
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

/// The numbers behind this namespace's fields, protocol by protocol: `TCP: inuse 5 orphan 0 tw 1 alloc 7 mem 2`.
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
    fn only_what_counts_this_namespace_is_looked_at() {
        let table =
            "sockets: used 182\nTCP: inuse 5 orphan 3 tw 2 alloc 9 mem 7\nUDP: inuse 4 mem 1\nFRAG: inuse 0 memory 0\n";
        assert_eq!(counts(table), ["5", "2", "4", "0"]);
        assert_eq!(counts("TCP6: inuse 1\n"), ["1"]);
        assert!(counts("").is_empty());
    }
}
