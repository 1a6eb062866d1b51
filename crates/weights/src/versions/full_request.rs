//! Serves receivers that need the newest version in full.

use std::fs;
use std::io;

use super::{FULL_REQUEST_FILE, WeightPublisher, version_directory};
use crate::WeightsError;
use crate::manifest::companions::version_files;
use crate::manifest::{Encoding, Manifest, write_manifest};

impl WeightPublisher {
    /// Makes the newest version full when it is sparse, because a receiver asked for it or because it is to be kept.
    /// Its digest stays. Returns its manifest; `None` when there is nothing to do.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when the system refuses; the version is then still the sparse one.
    pub fn make_newest_full(&mut self) -> Result<Option<Manifest>, WeightsError> {
        let Some(newest) = self
            .newest
            .as_mut()
            .filter(|newest| newest.manifest.encoding == Encoding::Sparse)
        else {
            return Ok(None);
        };
        let directory = version_directory(&self.root, newest.manifest.version);
        let staged = newest.weights.directory();
        for name in version_files(staged)? {
            let target = directory.join(&name);
            match fs::hard_link(staged.join(&name), &target) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(WeightsError::io("link", &target)(error));
                }
                _ => {}
            }
        }
        let manifest = Manifest {
            base: None,
            encoding: Encoding::Full,
            shards: newest.shards.clone(),
            ..newest.manifest.clone()
        };
        write_manifest(&directory, &manifest)?;
        newest.manifest = manifest.clone();
        newest.chain_bytes = 0;
        newest.chain_length = 0;
        Ok(Some(manifest))
    }

    /// [`WeightPublisher::make_newest_full`] when a receiver has asked for it. A publisher that has not published yet makes the newest version of
    /// the root full. After a failure the request stays.
    ///
    /// # Errors
    /// As there, and as [`WeightReceiver::receive`](super::WeightReceiver::receive) when the newest version of the root is damaged.
    pub fn serve_full_request(&mut self) -> Result<Option<Manifest>, WeightsError> {
        if !self.full_is_requested()? {
            return Ok(None);
        }
        if self.newest.is_none() {
            self.restore_sparse()?;
        }
        let made = self.make_newest_full()?;
        self.end_full_request()?;
        Ok(made)
    }

    pub(super) fn full_is_requested(&self) -> Result<bool, WeightsError> {
        let path = self.root.join(FULL_REQUEST_FILE);
        path.try_exists().map_err(WeightsError::io("look for", &path))
    }

    pub(super) fn end_full_request(&self) -> Result<(), WeightsError> {
        let path = self.root.join(FULL_REQUEST_FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(WeightsError::io("remove", &path)(error)),
            _ => Ok(()),
        }
    }
}
