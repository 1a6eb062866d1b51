//! Directories of versions: publishing, reading and removing them.
//!
//! A root holds `step_<version>/` for each version. One [`WeightPublisher`] fills it. Any number of readers take a
//! [`Lease`] on the versions that they read, and retention keeps those. [`WeightReceiver`] gives every version as a complete
//! folder, whatever its encoding. Names that begin with `.` are for the internal use of publisher and receivers.

mod folder;
mod full_request;
mod lease;
mod publisher;
mod receiver;
#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
#[path = "../../tests/support/refused_call.rs"]
mod refused_call;
mod resume;
mod retention;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};

pub use lease::Lease;
pub use publisher::{Published, PublisherOptions, Staged, WeightPublisher};
pub use receiver::{Received, WeightReceiver};
pub use retention::{remove_version, retain_versions};

use crate::WeightsError;
use crate::files::durable::replace_file;
use crate::manifest::MANIFEST_FILE;

/// With this file in a root a receiver that cannot use the newest version asks for it in full.
const FULL_REQUEST_FILE: &str = "full.request";

/// The directory of `version` in `root`.
pub fn version_directory(root: &Path, version: u64) -> PathBuf {
    root.join(format!("step_{version}"))
}

/// The versions in `root` that are published, in ascending order; none when there is no `root`.
///
/// # Errors
/// [`WeightsError::Io`] when `root` cannot be read.
pub fn published_versions(root: &Path) -> Result<Vec<u64>, WeightsError> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(WeightsError::io("list", root)(error)),
    };
    let mut versions = Vec::new();
    for entry in entries {
        let name = entry.map_err(WeightsError::io("list", root))?.file_name();
        let Some(number) = name.to_str().and_then(|name| name.strip_prefix("step_")) else {
            continue;
        };
        // Accept only the spelling that `version_directory` gives.
        let Some(version) = number
            .parse()
            .ok()
            .filter(|version: &u64| version.to_string() == number)
        else {
            continue;
        };
        if version_directory(root, version).join(MANIFEST_FILE).is_file() {
            versions.push(version);
        }
    }
    versions.sort_unstable();
    Ok(versions)
}

/// Asks the publisher of `root` to publish its newest version in full.
///
/// # Errors
/// [`WeightsError::Io`] when the root cannot be written to.
pub fn request_full(root: &Path) -> Result<(), WeightsError> {
    let path = root.join(FULL_REQUEST_FILE);
    // A node asks for each waiting receiver many times per second, and every replacement is synced.
    if path.exists() {
        return Ok(());
    }
    replace_file(&path, |_| Ok(()))
}

/// A path in `directory` where nothing is, whose name begins with `name`.
fn free_path(directory: &Path, name: &str) -> PathBuf {
    (0..=u32::MAX)
        .map(|number| directory.join(format!("{name}-{number}")))
        .find(|path| !path.exists())
        .expect("a number is free")
}
