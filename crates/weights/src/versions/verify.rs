//! Compares the weights of a version with the digest in its manifest.

use std::path::Path;

use crate::WeightsError;
use crate::checkpoints::Checkpoint;
use crate::checkpoints::adapter::Adapter;
use crate::manifest::{Encoding, Manifest};
use crate::sparse::SparseVersion;

impl Manifest {
    /// Compares the version digest with `directory`: with the weights of a full version, with an adapter and its config,
    /// or with the digests that a sparse version promises for its tensors.
    ///
    /// # Errors
    /// [`WeightsError::Digest`] when they differ, and the errors of [`Checkpoint::open`], [`Adapter::open`] and
    /// [`SparseVersion::open`].
    pub fn verify_version(&self, directory: &Path) -> Result<(), WeightsError> {
        if self.encoding == Encoding::Sparse {
            return SparseVersion::open(directory, self.clone()).map(drop);
        }
        let found = match self.encoding {
            Encoding::Peft => Adapter::open(directory)?.version_digest()?,
            Encoding::Full | Encoding::Sparse => Checkpoint::open(directory)?.version_digest()?,
        };
        if found == self.digest {
            return Ok(());
        }
        Err(WeightsError::Digest {
            path: directory.to_path_buf(),
            expected: self.digest.clone(),
            found,
        })
    }
}
