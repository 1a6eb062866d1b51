//! Continues a root that an earlier publisher filled: the next version is compared with the newest one there, which can be made full.

use std::fs;
use std::path::{Path, PathBuf};

use super::publisher::{MAX_CHAIN, Newest, make_empty};
use super::{Lease, Staged, WeightPublisher, WeightReceiver, published_versions, version_directory};
use crate::WeightsError;
use crate::checkpoints::Checkpoint;
use crate::manifest::companions::companion_files;
use crate::manifest::{Encoding, Manifest, read_manifest};

impl WeightPublisher {
    /// Makes an empty folder for the files of `version`, which an earlier publisher has published: [`WeightPublisher::take_over`] takes them.
    /// No version is removed.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when the system refuses.
    pub fn stage_again(&mut self, version: u64) -> Result<PathBuf, WeightsError> {
        self.replace_newest(None)?;
        let directory = self.staging(version);
        make_empty(&directory)?;
        Ok(directory)
    }

    /// Takes the folder of [`WeightPublisher::stage_again`] for the newest version, which an earlier publisher has published: this one can make it
    /// full, even when the root is damaged, and compares the next version with it. Returns false, and removes the folder, when that is no use:
    /// the version is whole and the next one will be too, or the files beside the weights are not those that were published.
    ///
    /// # Errors
    /// [`WeightsError::Digest`] when the staged weights are not those of the version, otherwise as [`read_manifest`] and [`Checkpoint::open`].
    pub fn take_over(&mut self, version: u64, staged: Staged) -> Result<bool, WeightsError> {
        let place = self.staging(version);
        let manifest = read_manifest(&version_directory(&self.root, version))?;
        if manifest.digest != staged.digest {
            return Err(WeightsError::Digest {
                path: place,
                expected: manifest.digest,
                found: staged.digest,
            });
        }
        let files = companion_files(&place, &staged.shards)?;
        let is_changed = manifest.files.as_ref().is_some_and(|published| *published != files);
        let weights = match manifest.encoding {
            _ if is_changed => {
                tracing::warn!(
                    version,
                    "the files beside the weights are not those that were published"
                );
                None
            }
            Encoding::Peft => None,
            Encoding::Full => self.may_be_sparse(version)?,
            Encoding::Sparse => Some(Checkpoint::open(&place)?),
        };
        let Some(weights) = weights else {
            fs::remove_dir_all(&place).map_err(WeightsError::io("remove", &place))?;
            return Ok(false);
        };
        let (chain_bytes, chain_length) = chain_of(&self.root, &manifest).unwrap_or_else(|error| {
            tracing::warn!(version, %error, "what the version builds on is damaged: the next is published in full");
            (0, MAX_CHAIN)
        });
        self.replace_newest(Some(Newest {
            manifest,
            shards: staged.shards,
            files,
            weights,
            _lease: None,
            chain_bytes,
            chain_length,
        }))?;
        Ok(true)
    }

    /// If this publisher has not published a version yet, compares the next one with the newest version before `version`. After a damaged
    /// version the next one is published in full, which mends the root.
    pub(super) fn go_on_from(&mut self, version: u64) -> Result<(), WeightsError> {
        if self.newest.is_some() || !self.options.sparse {
            return Ok(());
        }
        let earlier = published_versions(&self.root)?;
        let Some(&newest) = earlier.iter().rfind(|&&earlier| earlier < version) else {
            return Ok(());
        };
        let manifest = read_manifest(&version_directory(&self.root, newest))?;
        let found = match manifest.encoding {
            Encoding::Peft => return Ok(()),
            Encoding::Full => self.full(manifest),
            Encoding::Sparse => self.made(manifest),
        };
        match found {
            Ok(newest) => self.replace_newest(Some(newest)),
            Err(error) => {
                tracing::warn!(version = newest, %error, "the newest version is damaged: the next is published in full");
                Ok(())
            }
        }
    }

    /// Makes a folder of the newest version of the root when that is sparse.
    pub(super) fn restore_sparse(&mut self) -> Result<(), WeightsError> {
        let Some(version) = published_versions(&self.root)?.pop() else {
            return Ok(());
        };
        let manifest = read_manifest(&version_directory(&self.root, version))?;
        if manifest.encoding == Encoding::Sparse {
            let newest = self.made(manifest)?;
            self.replace_newest(Some(newest))?;
        }
        Ok(())
    }

    fn full(&self, manifest: Manifest) -> Result<Newest, WeightsError> {
        let directory = version_directory(&self.root, manifest.version);
        let lease = Lease::take(&directory)?;
        manifest.verify_shards_once(&directory)?;
        manifest.verify_files(&directory)?;
        Ok(Newest {
            shards: manifest.shards.clone(),
            // A version that was made full has its delta in the folder too.
            files: match &manifest.files {
                Some(files) => files.clone(),
                None => companion_files(&directory, &manifest.shards)?,
            },
            weights: Checkpoint::open(&directory)?,
            manifest,
            _lease: lease,
            chain_bytes: 0,
            chain_length: 0,
        })
    }

    /// Makes a folder of a sparse version. The folder stays as long as versions are compared with it.
    fn made(&self, manifest: Manifest) -> Result<Newest, WeightsError> {
        let (chain_bytes, chain_length) = chain_of(&self.root, &manifest)?;
        let scratch = self.own("received");
        let received = WeightReceiver::open(&self.root, &scratch, self.options.threads)?.receive(manifest.version)?;
        let place = self.own(&format!("base_{}", manifest.version));
        fs::rename(&received.directory, &place).map_err(WeightsError::io("rename a received version to", &place))?;
        Ok(Newest {
            files: companion_files(&place, &received.manifest.shards)?,
            shards: received.manifest.shards,
            weights: Checkpoint::open(&place)?,
            manifest,
            _lease: None,
            chain_bytes,
            chain_length,
        })
    }
}

/// Bytes and number of the sparse versions from `newest` back to the last full one.
fn chain_of(root: &Path, newest: &Manifest) -> Result<(u64, u64), WeightsError> {
    let (mut bytes, mut length) = (0, 0);
    let mut manifest = newest.clone();
    // A manifest's base is always an earlier version, so this ends.
    while let Some(base) = manifest.base.take() {
        bytes += manifest.shards.iter().map(|shard| shard.bytes).sum::<u64>();
        length += 1;
        manifest = read_manifest(&version_directory(root, base.version))?;
    }
    Ok((bytes, length))
}
