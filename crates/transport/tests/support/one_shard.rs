//! Versions with one shard of any bytes, because the transport reads no weights.

use std::fs;
use std::path::Path;

use prl_weights::{Encoding, MANIFEST_FORMAT, Manifest, SINGLE_FILE, Shard, digest, write_manifest};

/// The manifest of version 1, whose shard has these bytes.
pub(crate) fn manifest(bytes: &[u8]) -> Manifest {
    Manifest {
        format: MANIFEST_FORMAT.to_owned(),
        version: 1,
        digest: digest(bytes),
        base: None,
        encoding: Encoding::Full,
        shards: vec![Shard {
            file: SINGLE_FILE.to_owned(),
            bytes: bytes.len() as u64,
            digest: digest(bytes),
        }],
        files: None,
        canary: None,
    }
}

/// Publishes version 1 in `directory`, which is made when it is missing.
pub(crate) fn publish(directory: &Path, bytes: &[u8]) {
    fs::create_dir_all(directory).expect("a folder");
    fs::write(directory.join(SINGLE_FILE), bytes).expect("a shard");
    write_manifest(directory, &manifest(bytes)).expect("a manifest");
}
