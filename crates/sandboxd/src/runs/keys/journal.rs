//! Keys that were begun, on disk, so that a daemon that is started again never runs a key of the daemon before it.
//!
//! A record is the start of the key's digest. It is appended before the run begins, in one write and without waiting
//! for the disk: it survives the daemon, but not the machine, and a caller does not wait across a restart of the
//! machine. Two files take turns, so that a key is remembered for one to two turns. One daemon at a time may use the
//! directory.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest, Sha256};

/// How long each file takes records.
const TURN: Duration = Duration::from_secs(4200);
/// A file that has grown to this ends its turn early.
const MAX_BYTES: u64 = 64 << 20;
const CURRENT: &str = "keys";
const PREVIOUS: &str = "keys.old";

type Record = [u8; 16];

/// See the module.
#[derive(Debug)]
pub(super) struct Journal {
    directory: PathBuf,
    current: File,
    written: u64,
    turn: Instant,
    /// Keys of earlier daemons, until two turns have passed.
    earlier: HashSet<Record>,
    turns: u32,
    /// Locked as long as the journal is open.
    _lock: File,
}

impl Journal {
    /// Opens the journal of a directory, which is made when it is missing.
    ///
    /// # Errors
    /// `WouldBlock` when another daemon uses it.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let lock = options().open(directory.join("lock"))?;
        lock.try_lock().map_err(io::Error::from)?;
        let mut earlier = HashSet::new();
        for name in [CURRENT, PREVIOUS] {
            earlier.extend(records(&directory.join(name))?);
        }
        let current = options().open(directory.join(CURRENT))?;
        let written = current.metadata()?.len();
        let mut journal = Self {
            directory: directory.to_owned(),
            current,
            written,
            turn: Instant::now(),
            earlier,
            turns: 0,
            _lock: lock,
        };
        // A record that a full disk has cut short would shift all later ones.
        if written % size_of::<Record>() as u64 > 0 {
            journal.take_turns()?;
        }
        Ok(journal)
    }

    /// Whether an earlier daemon began this key.
    pub(super) fn knows(&self, key: &str) -> bool {
        self.earlier.contains(&record(key))
    }

    /// Remembers a key that is about to be begun.
    pub(super) fn add(&mut self, key: &str) -> io::Result<()> {
        if self.turn.elapsed() > TURN || self.written > MAX_BYTES {
            self.take_turns()?;
        }
        let record = record(key);
        self.current.write_all(&record)?;
        self.written += record.len() as u64;
        Ok(())
    }

    fn take_turns(&mut self) -> io::Result<()> {
        let current = self.directory.join(CURRENT);
        fs::rename(&current, self.directory.join(PREVIOUS))?;
        self.current = options().open(current)?;
        (self.written, self.turn) = (0, Instant::now());
        self.turns += 1;
        if self.turns > 1 {
            self.earlier = HashSet::new();
        }
        Ok(())
    }
}

fn options() -> fs::OpenOptions {
    let mut options = File::options();
    options.append(true).create(true).mode(0o600);
    options
}

fn record(key: &str) -> Record {
    let digest = Sha256::digest(key.as_bytes());
    let mut record = Record::default();
    record.copy_from_slice(&digest[..size_of::<Record>()]);
    record
}

/// The records of a file, unless all of them are too old.
fn records(path: &Path) -> io::Result<Vec<Record>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let changed = file.metadata()?.modified()?;
    let age = SystemTime::now().duration_since(changed).unwrap_or_default();
    if age > 2 * TURN {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes.as_chunks().0.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_after_a_restart_and_not_before() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("journal");
        let mut first = Journal::open(&path).expect("journal");
        first.add("a").expect("added");
        assert!(!first.knows("a"));
        let busy = Journal::open(&path).err().map(|error| error.kind());
        assert_eq!(busy, Some(io::ErrorKind::WouldBlock));
        first.take_turns().expect("a turn");
        first.add("b").expect("added");
        drop(first);
        let mut second = Journal::open(&path).expect("journal");
        assert!(second.knows("a") && second.knows("b") && !second.knows("c"));
        second.take_turns().expect("a turn");
        assert!(second.knows("a"));
        second.take_turns().expect("a turn");
        assert!(!second.knows("a") && !second.knows("b"));
    }

    #[test]
    fn a_record_that_was_cut_short_hurts_no_other() {
        let directory = tempfile::tempdir().expect("directory");
        let mut first = Journal::open(directory.path()).expect("journal");
        first.add("a").expect("added");
        first.current.write_all(b"half").expect("written");
        drop(first);
        let mut second = Journal::open(directory.path()).expect("journal");
        assert!(second.knows("a"));
        second.add("b").expect("added");
        drop(second);
        let third = Journal::open(directory.path()).expect("journal");
        assert!(third.knows("a") && third.knows("b"));
    }
}
