//! Retention: removes old versions.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::lease::{is_at, lock_unread};
use super::{free_path, published_versions, version_directory};
use crate::WeightsError;
use crate::files::durable::parent_directory;
use crate::manifest::{MANIFEST_FILE, read_manifest};

/// Prefix of a directory that is being removed.
pub(super) const REMOVED: &str = ".removed-";

/// Removes from `root` all versions except the newest `keep`, those that these are built on, and those that a reader
/// holds; a later call removes the latter. Returns the versions that were removed.
///
/// # Errors
/// [`WeightsError::Io`] when the system refuses, [`WeightsError::Manifest`] for a malformed manifest among those kept.
pub fn retain_versions(root: &Path, keep: usize) -> Result<Vec<u64>, WeightsError> {
    remove_leftovers(root)?;
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

/// Removes the directory of a version. It is renamed first, so that no part of it is ever seen; a part that a killed process leaves is removed by
/// the next [`retain_versions`]. If a reader has a lease on it, it stays whole and the result is false. The result is also false when there is
/// no such directory.
///
/// # Errors
/// [`WeightsError::Io`] when the system refuses.
pub fn remove_version(directory: &Path) -> Result<bool, WeightsError> {
    match lock_unread(directory)? {
        Some(lock) => remove_locked(directory, &lock),
        None => Ok(false),
    }
}

fn remove_locked(directory: &Path, lock: &File) -> Result<bool, WeightsError> {
    let name = directory.file_name().unwrap_or_default().display();
    let removed = free_path(parent_directory(directory), &format!("{REMOVED}{name}"));
    fs::rename(directory, &removed).map_err(WeightsError::io("remove", directory))?;
    // A version that took the place after the lock was taken may have readers, so it goes back.
    if !is_at(lock, &removed)? {
        fs::rename(&removed, directory).map_err(WeightsError::io("put back", directory))?;
        return Ok(false);
    }
    fs::remove_dir_all(&removed).map_err(WeightsError::io("remove", &removed))?;
    Ok(true)
}

/// Removes the rest of versions whose removal was cut short.
fn remove_leftovers(root: &Path) -> Result<(), WeightsError> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(WeightsError::io("list", root)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(WeightsError::io("list", root))?;
        if !entry.file_name().to_string_lossy().starts_with(REMOVED) {
            continue;
        }
        // A process that is still removing it has its lock.
        if let Some(_lock) = lock_unread(&entry.path())? {
            fs::remove_dir_all(entry.path()).map_err(WeightsError::io("remove", &entry.path()))?;
        }
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::versions::refused_call::without;
    use crate::{MANIFEST_FORMAT, Manifest, Shard, digest, write_manifest};

    fn publish(root: &Path, version: u64) {
        let directory = version_directory(root, version);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("model.safetensors"), "weights").unwrap();
        let manifest = Manifest {
            format: MANIFEST_FORMAT.to_owned(),
            version,
            digest: digest(b"weights"),
            base: None,
            encoding: crate::Encoding::Full,
            shards: vec![Shard {
                file: "model.safetensors".to_owned(),
                bytes: 7,
                digest: digest(b"weights"),
            }],
            files: None,
            canary: None,
        };
        write_manifest(&directory, &manifest).unwrap();
    }

    #[test]
    fn a_removal_that_was_cut_short_is_ended_by_the_next_one() {
        let root = tempfile::tempdir().unwrap();
        for version in 0..2 {
            publish(root.path(), version);
        }
        // The directory cannot be emptied, as if the process were killed before.
        let cut = without(libc::SYS_unlinkat, || retain_versions(root.path(), 1));
        assert_eq!(cut.unwrap_err().code(), "PRL_WEIGHTS_IO");
        assert_eq!(published_versions(root.path()).unwrap(), [1]);
        retain_versions(root.path(), 1).unwrap();
        let left: Vec<_> = fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["step_1"]);
    }
    #[test]
    fn a_version_that_takes_the_place_of_a_locked_one_stays_whole() {
        let root = tempfile::tempdir().unwrap();
        publish(root.path(), 1);
        let place = version_directory(root.path(), 1);
        let lock = lock_unread(&place).unwrap().unwrap();
        fs::rename(&place, root.path().join("aside")).unwrap();
        publish(root.path(), 1);
        assert!(!remove_locked(&place, &lock).unwrap());
        assert_eq!(read_manifest(&place).unwrap().version, 1);
        assert!(remove_version(&place).unwrap());
        assert!(published_versions(root.path()).unwrap().is_empty());
    }
}
