//! A file as a manifest lists it.

use serde::{Deserialize, Serialize};

/// One file of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Its name in the version's directory.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// Digest of its bytes.
    pub digest: String,
}

/// Whether `name` stays within any directory that it is joined to.
pub(crate) fn is_plain_file_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0', ':'])
}
