//! Replacing a file whole or not at all.
//!
//! The bytes are written to a temporary file in the same directory and synced; then the file is renamed over the target and
//! the directory is synced. A failure before the rename (a full disk, a refused write, a panic) leaves the target untouched
//! and removes the temporary file; only a process killed in between leaves one behind, named `.prl-*.tmp`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::writeback::WriteBehind;
use crate::WeightsError;

const MAX_NAME_ATTEMPTS: u32 = 1000;

static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// Writes `path` through `write`, durably and atomically: readers see the old file or the new one, never a part.
///
/// # Errors
/// [`WeightsError::Io`] naming `path`; the old file is then unchanged. There is one exception: after an error from syncing the
/// directory, which follows the rename, the new file is in place but may not survive a power cut.
pub fn replace_file<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<T, WeightsError> {
    let value = replace_unsynced_name(path, write)?;
    sync_directory(parent_directory(path))?;
    Ok(value)
}

/// [`replace_file`] without syncing the directory. A caller that replaces several files syncs it once, at the end.
pub(crate) fn replace_unsynced_name<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, WeightsError> {
    let directory = parent_directory(path);
    let (mut temporary, file) = Temporary::create(directory).map_err(WeightsError::io("create", path))?;
    let mut file = WriteBehind::new(file);
    let value = write(&mut file).map_err(WeightsError::io("write", path))?;
    file.sync().map_err(WeightsError::io("sync", path))?;
    fs::rename(&temporary.path, path).map_err(WeightsError::io("rename a temporary file to", path))?;
    temporary.renamed = true;
    Ok(value)
}

/// Makes a directory, with those above it that are missing, so that their names survive a power cut.
///
/// # Errors
/// [`WeightsError::Io`] naming the directory at fault.
pub fn create_directory(directory: &Path) -> Result<(), WeightsError> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|path| !path.exists()).collect();
    fs::create_dir_all(directory).map_err(WeightsError::io("create", directory))?;
    // The last ancestor of a relative path is empty, which is no directory.
    let made = missing.into_iter().filter(|path| !path.as_os_str().is_empty());
    made.map(parent_directory).try_for_each(sync_directory)
}

/// Makes the names in `directory` (creations, renames, removals) survive a power cut.
///
/// # Errors
/// [`WeightsError::Io`] naming the directory.
pub fn sync_directory(directory: &Path) -> Result<(), WeightsError> {
    if cfg!(unix) {
        File::open(directory)
            .and_then(|handle| handle.sync_all())
            .map_err(WeightsError::io("sync directory", directory))?;
    }
    Ok(())
}

pub(crate) fn parent_directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    fn create(directory: &Path) -> io::Result<(Self, File)> {
        let mut attempts = 0;
        loop {
            let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
            let path = directory.join(format!(".prl-{}-{number}.tmp", process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((Self { path, renamed: false }, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < MAX_NAME_ATTEMPTS => {
                    attempts += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.renamed {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "could not remove a temporary file");
        }
    }
}
