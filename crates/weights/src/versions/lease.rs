//! A reader's hold on a directory: a shared lock of the system on the directory itself, which ends with the process.
//!
//! Retention removes a directory only under the exclusive lock. Both sides check the path again after they have locked,
//! because the directory that was opened may have been removed or replaced in between.
//!
//! It counts on one machine only. On a network file system Linux keeps the lock of a directory at the client, so a publisher does not see the readers of
//! other machines, which keep their versions by `keep` alone.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::WeightsError;

/// Holds a version's directory in place until it is dropped.
#[derive(Debug)]
pub struct Lease {
    directory: PathBuf,
    lock: File,
}

impl Lease {
    /// Takes a lease on `directory`; `None` when it does not exist or is being removed.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when the system refuses.
    pub fn take(directory: &Path) -> Result<Option<Self>, WeightsError> {
        Ok(lock(directory, File::try_lock_shared)?.map(|lock| Self {
            directory: directory.to_path_buf(),
            lock,
        }))
    }

    /// Whether the directory that it holds is still the one at its path: a later attempt may have put another one there.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when the system refuses.
    pub fn is_current(&self) -> Result<bool, WeightsError> {
        is_at(&self.lock, &self.directory)
    }

    /// The directory that it holds.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Takes the exclusive lock on `directory`; `None` when a reader has a lease on it or it is gone.
pub(super) fn lock_unread(directory: &Path) -> Result<Option<File>, WeightsError> {
    lock(directory, File::try_lock)
}

fn lock(directory: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<Option<File>, WeightsError> {
    let opened = match File::open(directory) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(WeightsError::io("open", directory)(error)),
    };
    match lock(&opened) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(WeightsError::io("lock", directory)(error)),
    }
    Ok(is_at(&opened, directory)?.then_some(opened))
}

/// Whether a directory that is open is the one at this path.
pub(super) fn is_at(opened: &File, directory: &Path) -> Result<bool, WeightsError> {
    let held = opened.metadata().map_err(WeightsError::io("open", directory))?;
    match fs::metadata(directory) {
        Ok(found) => Ok((found.dev(), found.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(WeightsError::io("open", directory)(error)),
    }
}
