//! Remembers the files that this process digested while it wrote them.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Files that this process digested while it wrote them, the newest last.
static WRITTEN: Mutex<VecDeque<(Stamp, String)>> = Mutex::new(VecDeque::new());
/// Far more entries than a version has shards.
const MAX_WRITTEN: usize = 4096;

/// Distinguishes a file from any other file, and from itself before and after a write.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    pub(crate) bytes: u64,
    /// Seconds and nanoseconds.
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// Records that the file at `path` was digested while it was written.
pub(crate) fn note_written(path: &Path, digest: &str) {
    let Ok(stamp) = Stamp::of(path) else { return };
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    if written.len() == MAX_WRITTEN {
        written.pop_front();
    }
    written.push_back((stamp, digest.to_owned()));
}

/// Whether this process has written all these files, with these digests.
pub(crate) fn knows_all<'a>(mut files: impl Iterator<Item = (&'a Stamp, &'a str)>) -> bool {
    let written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    files.all(|(stamp, digest)| {
        let is_this = |(known, its): &(Stamp, String)| known == stamp && its == digest;
        written.iter().rev().any(is_this)
    })
}
