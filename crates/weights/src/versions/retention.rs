//! Retention: removes old versions.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::lease::lock_unread;
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
    let Some(_lock) = lock_unread(directory)? else {
        return Ok(false);
    };
    let name = directory.file_name().unwrap_or_default().display();
    let removed = free_path(parent_directory(directory), &format!("{REMOVED}{name}"));
    fs::rename(directory, &removed).map_err(WeightsError::io("remove", directory))?;
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
    use std::thread;

    use super::*;
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

    /// Makes this thread unable to empty a directory, as if it were killed before.
    fn refuse_to_empty() {
        let statement = |code: u32, k: u32| libc::sock_filter {
            code: u16::try_from(code).unwrap(),
            jt: 0,
            jf: 0,
            k,
        };
        let compare = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let mut filter = [
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
            libc::sock_filter {
                jf: 1,
                ..statement(compare, u32::try_from(libc::SYS_unlinkat).unwrap())
            },
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EIO as u32),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog {
            len: u16::try_from(filter.len()).unwrap(),
            filter: filter.as_mut_ptr(),
        };
        let (one, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
        let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
        // SAFETY: `program` and the filter that it points to live until the calls are over, and the system copies them.
        let is_set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) == 0
        };
        assert!(is_set, "{}", io::Error::last_os_error());
    }

    #[test]
    fn a_removal_that_was_cut_short_is_ended_by_the_next_one() {
        let root = tempfile::tempdir().unwrap();
        for version in 0..2 {
            publish(root.path(), version);
        }
        let cut = thread::scope(|scope| {
            let removing = scope.spawn(|| {
                refuse_to_empty();
                retain_versions(root.path(), 1)
            });
            removing.join().unwrap()
        });
        assert_eq!(cut.unwrap_err().code(), "PRL_WEIGHTS_IO");
        assert_eq!(published_versions(root.path()).unwrap(), [1]);
        retain_versions(root.path(), 1).unwrap();
        let left: Vec<_> = fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["step_1"]);
    }
}
