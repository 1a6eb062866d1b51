//! Retention: removes old versions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::lease::lock_unread;
use super::{published_versions, version_directory};
use crate::WeightsError;
use crate::manifest::{MANIFEST_FILE, read_manifest};

/// Removes from `root` all versions except the newest `keep`, those that these are built on, and those that a reader
/// holds; a later call removes the latter. Returns the versions that were removed.
///
/// # Errors
/// [`WeightsError::Io`] when the system refuses, [`WeightsError::Manifest`] for a malformed manifest among those kept.
pub fn retain_versions(root: &Path, keep: usize) -> Result<Vec<u64>, WeightsError> {
    let versions = published_versions(root)?;
    let mut kept = BTreeSet::new();
    for &version in versions.iter().rev().take(keep.max(1)) {
        let mut next = Some(version);
        while let Some(version) = next.filter(|version| kept.insert(*version)) {
            let directory = version_directory(root, version);
            // A missing base is no error here; the receiver that needs it reports it.
            next = match directory.join(MANIFEST_FILE).exists() {
                true => read_manifest(&directory)?.base.map(|base| base.version),
                false => None,
            };
        }
    }
    let mut removed = Vec::new();
    for version in versions.into_iter().filter(|version| !kept.contains(version)) {
        if remove_version(&version_directory(root, version))? {
            removed.push(version);
        }
    }
    Ok(removed)
}

/// Removes the directory of a version, the manifest first. If a reader has a lease on it, it stays whole and the result is false. The
/// result is also false when there is no such directory.
///
/// # Errors
/// [`WeightsError::Io`] when the system refuses; the rest of the directory is then no version any more.
pub fn remove_version(directory: &Path) -> Result<bool, WeightsError> {
    let Some(_lock) = lock_unread(directory)? else {
        return Ok(false);
    };
    let manifest = directory.join(MANIFEST_FILE);
    if manifest.exists() {
        fs::remove_file(&manifest).map_err(WeightsError::io("remove", &manifest))?;
    }
    fs::remove_dir_all(directory).map_err(WeightsError::io("remove", directory))?;
    Ok(true)
}
