//! The publisher, which fills a root with versions.
//!
//! Each version is staged as a complete folder under `.publisher/`, and appears in the root by renaming a finished
//! directory, so that a reader meets a whole version or none. A sparse version is made by comparing the staged folder
//! with the one before it, which stays for that purpose; no weights are held in memory.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::{free_path, published_versions, remove_version, retain_versions, version_directory};
use crate::checkpoints::Checkpoint;
use crate::checkpoints::adapter::{self, Adapter};
use crate::files::Shard;
use crate::files::durable::{create_directory, sync_directory};
use crate::files::write::TensorToWrite;
use crate::manifest::companions::companion_files;
use crate::manifest::verified::mark_written;
use crate::manifest::{BaseVersion, Canary, Encoding, MANIFEST_FORMAT, Manifest, read_manifest, write_manifest};
use crate::sparse::{SparseOptions, write_sparse};
use crate::{Lease, WeightsError, WrittenCheckpoint};

const OWN_DIRECTORY: &str = ".publisher";
/// A sparse version of more than this share of the full one's bytes saves too little to be worth its base.
const MAX_SPARSE_SHARE: f64 = 0.5;
/// A late receiver reads the whole chain of sparse versions. The chain ends when it has as many bytes as this many full versions, or at
/// [`MAX_CHAIN`] sparse ones.
const MAX_CHAIN_FULLS: u64 = 4;
pub(super) const MAX_CHAIN: u64 = 64;
/// Bytes of weights that a sparse shard describes: bounds the memory of publishing.
const SPARSE_SHARD_BYTES: u64 = 1 << 30;

/// How versions are published.
#[derive(Debug, Clone, Copy)]
pub struct PublisherOptions {
    /// How many of the newest versions stay; at least 1.
    pub keep: usize,
    /// Whether versions of 16-bit weights may be sparse.
    pub sparse: bool,
    /// Threads to compare with; 0 takes the cores this process may run on, up to 8.
    pub threads: usize,
}

/// The weights that were saved into a staged folder: digest and files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// Version digest of the weights.
    pub digest: String,
    /// The files that hold them.
    pub shards: Vec<Shard>,
}

/// A version that was published.
#[derive(Debug)]
pub struct Published {
    /// Its directory.
    pub directory: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

/// Publishes versions into a root, as sparse ones where that saves enough.
#[derive(Debug)]
pub struct WeightPublisher {
    pub(super) root: PathBuf,
    pub(super) options: PublisherOptions,
    pub(super) newest: Option<Newest>,
    /// Held so that no second publisher works in the same root.
    _lock: File,
}

/// The newest version in full, to compare the next one with.
#[derive(Debug)]
pub(super) struct Newest {
    pub(super) manifest: Manifest,
    pub(super) shards: Vec<Shard>,
    /// The files beside the weights.
    pub(super) files: Vec<Shard>,
    pub(super) weights: Checkpoint,
    /// Holds the version's directory when it was published in full. Any other folder is the publisher's, and is removed with this value.
    pub(super) _lease: Option<Lease>,
    pub(super) chain_bytes: u64,
    pub(super) chain_length: u64,
}

impl WeightPublisher {
    /// Publishes into `root`, which is made when it is missing. Removes unfinished work of an earlier publisher. The
    /// first version will be full, unless the one before it is taken over.
    ///
    /// # Errors
    /// [`WeightsError::Io`], also when another publisher works in `root`.
    pub fn open(root: &Path, options: PublisherOptions) -> Result<Self, WeightsError> {
        let own = root.join(OWN_DIRECTORY);
        create_directory(&own)?;
        let lock = File::open(&own).map_err(WeightsError::io("open", &own))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                let reason = io::Error::new(io::ErrorKind::WouldBlock, "another publisher works there");
                WeightsError::io("publish into", root)(reason)
            }
            TryLockError::Error(error) => WeightsError::io("lock", &own)(error),
        })?;
        for entry in fs::read_dir(&own).map_err(WeightsError::io("list", &own))? {
            let path = entry.map_err(WeightsError::io("list", &own))?.path();
            remove_version(&path)?;
        }
        Ok(Self {
            root: root.to_path_buf(),
            options,
            newest: None,
            _lock: lock,
        })
    }

    /// Makes an empty folder for the files of `version`: a complete Hugging Face or PEFT folder without manifest. Versions from this
    /// number on belong to an earlier attempt and are removed; only readers that have a lease can still read them.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when the system refuses.
    pub fn stage(&mut self, version: u64) -> Result<PathBuf, WeightsError> {
        let newest = self.newest.as_ref().map(|newest| newest.manifest.version);
        if newest.is_some_and(|newest| newest >= version) {
            self.replace_newest(None)?;
        }
        // The newest is the first to go, because each may be what the ones after it build on.
        let published = published_versions(&self.root)?;
        for &stale in published.iter().rev().take_while(|&&stale| stale >= version) {
            self.retire(stale)?;
        }
        let directory = self.staging(version);
        make_empty(&directory)?;
        Ok(directory)
    }

    /// Publishes what was staged as `version`, and removes versions that need not stay. It is sparse when that pays,
    /// unless `full` is asked for, here or by a receiver.
    ///
    /// # Errors
    /// [`WeightsError::Digest`] when the staged weights are not those that `staged` says, [`WeightsError::Adapter`] when a
    /// PEFT folder is not whole or the versions before it are a model's weights (or the reverse), otherwise as
    /// [`write_manifest`] and [`Checkpoint::open`]. The version does not exist then, unless the error is of what follows its rename: the
    /// sync of the root, or the removal of old versions.
    pub fn publish(
        &mut self,
        version: u64,
        staged: Staged,
        canary: Option<Canary>,
        full: bool,
    ) -> Result<Published, WeightsError> {
        let is_adapter = Adapter::is_in(&self.staging(version));
        self.refuse_other_kind(version, is_adapter)?;
        let is_requested = self.full_is_requested()?;
        let published = if is_adapter {
            self.publish_adapter(version, staged, canary)?
        } else {
            self.publish_model(version, staged, canary, full || is_requested)?
        };
        // Only now is the request removed: a version that failed has served no receiver.
        if is_requested {
            self.end_full_request()?;
        }
        Ok(published)
    }

    fn publish_model(
        &mut self,
        version: u64,
        staged: Staged,
        canary: Option<Canary>,
        full: bool,
    ) -> Result<Published, WeightsError> {
        let weights = self.may_be_sparse(version)?;
        let files = companion_files(&self.staging(version), &staged.shards)?;
        let sparse = match &weights {
            Some(weights) if !full => self.write_sparse(version, weights, &files)?,
            _ => None,
        };
        let manifest = |encoding, base, shards| Manifest {
            format: MANIFEST_FORMAT.to_owned(),
            version,
            digest: staged.digest.clone(),
            base,
            encoding,
            shards,
            files: Some(files.clone()),
            canary,
        };
        let Some((directory, written, base)) = sparse else {
            let manifest = manifest(Encoding::Full, None, staged.shards.clone());
            return self.publish_full(manifest, weights.is_some());
        };
        if written.digest != staged.digest {
            return Err(WeightsError::Digest {
                path: self.staging(version),
                expected: staged.digest,
                found: written.digest,
            });
        }
        let bytes: u64 = written.shards.iter().map(|shard| shard.bytes).sum();
        let manifest = manifest(Encoding::Sparse, Some(base), written.shards);
        write_manifest(&directory, &manifest)?;
        let published = self.put_in_place(&directory, version)?;
        let (chain_bytes, chain_length) = self
            .newest
            .as_ref()
            .map_or((0, 0), |old| (old.chain_bytes, old.chain_length));
        self.replace_newest(Some(Newest {
            manifest: manifest.clone(),
            shards: staged.shards,
            files,
            weights: weights.expect("a sparse version was written from them"),
            _lease: None,
            chain_bytes: chain_bytes + bytes,
            chain_length: chain_length + 1,
        }))?;
        retain_versions(&self.root, self.options.keep)?;
        Ok(Published {
            directory: published,
            manifest,
        })
    }

    pub(super) fn staging(&self, version: u64) -> PathBuf {
        self.own(&format!("step_{version}"))
    }

    /// A path in the publisher's folder, outside of the versions.
    pub(super) fn own(&self, name: &str) -> PathBuf {
        self.root.join(OWN_DIRECTORY).join(name)
    }

    /// The staged weights when versions may be sparse and most of these are 16-bit.
    pub(super) fn may_be_sparse(&self, version: u64) -> Result<Option<Checkpoint>, WeightsError> {
        if !self.options.sparse {
            return Ok(None);
        }
        let weights = Checkpoint::open(&self.staging(version))?;
        let (mut all, mut half) = (0, 0);
        for name in weights.names() {
            let tensor = weights.tensor(name)?;
            all += tensor.data.len();
            half += if tensor.dtype.bits() == 16 {
                tensor.data.len()
            } else {
                0
            };
        }
        Ok((half * 2 > all).then_some(weights))
    }

    /// Writes a sparse version into a separate directory, when it saves enough.
    fn write_sparse(
        &self,
        version: u64,
        weights: &Checkpoint,
        files: &[Shard],
    ) -> Result<Option<(PathBuf, WrittenCheckpoint, BaseVersion)>, WeightsError> {
        let Some(newest) = self.newest.as_ref().filter(|newest| newest.manifest.version < version) else {
            return Ok(None);
        };
        // Readers of a sparse version take these files from its base.
        if newest.files != files {
            return Ok(None);
        }
        let full_bytes: u64 = newest.shards.iter().map(|shard| shard.bytes).sum();
        let left = (MAX_CHAIN_FULLS * full_bytes).saturating_sub(newest.chain_bytes);
        if newest.chain_length >= MAX_CHAIN {
            return Ok(None);
        }
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a threshold need not be exact"
        )]
        let max_bytes = left.min((full_bytes as f64 * MAX_SPARSE_SHARE) as u64);
        let directory = self.own(&format!("delta_{version}"));
        make_empty(&directory)?;
        let tensors = tensors_of(weights)?;
        let options = SparseOptions {
            max_shard_bytes: SPARSE_SHARD_BYTES,
            max_bytes,
            threads: self.options.threads,
        };
        let Some(written) = write_sparse(&directory, &newest.weights, &tensors, options)? else {
            fs::remove_dir_all(&directory).map_err(WeightsError::io("remove", &directory))?;
            return Ok(None);
        };
        let base = BaseVersion {
            version: newest.manifest.version,
            digest: newest.manifest.digest.clone(),
        };
        Ok(Some((directory, written, base)))
    }

    /// Publishes an adapter, which is always whole.
    fn publish_adapter(
        &mut self,
        version: u64,
        staged: Staged,
        canary: Option<Canary>,
    ) -> Result<Published, WeightsError> {
        let directory = self.staging(version);
        let manifest = Manifest {
            format: MANIFEST_FORMAT.to_owned(),
            version,
            digest: staged.digest,
            base: None,
            encoding: Encoding::Peft,
            files: Some(companion_files(&directory, &staged.shards)?),
            shards: staged.shards,
            canary,
        };
        manifest.verify_version(&directory)?;
        manifest.verify_shards(&directory)?;
        self.publish_full(manifest, false)
    }

    /// Refuses a model after an adapter and the reverse: a follower of the root expects versions of one kind.
    pub(super) fn refuse_other_kind(&self, version: u64, is_adapter: bool) -> Result<(), WeightsError> {
        let earlier = published_versions(&self.root)?;
        let Some(&newest) = earlier.iter().rfind(|&&earlier| earlier < version) else {
            return Ok(());
        };
        let directory = version_directory(&self.root, newest);
        let was_adapter = read_manifest(&directory)?.encoding == Encoding::Peft;
        if was_adapter == is_adapter {
            return Ok(());
        }
        let kind = |is_adapter| {
            if is_adapter {
                "a PEFT adapter"
            } else {
                "a model's weights"
            }
        };
        let (is, was) = (kind(is_adapter), kind(was_adapter));
        let reason = format!("version {version} is {is} and version {newest} {was}: a root holds one or the other");
        Err(adapter::refused(&self.root, reason))
    }

    fn publish_full(&mut self, manifest: Manifest, keep_for_sparse: bool) -> Result<Published, WeightsError> {
        let version = manifest.version;
        let staged = self.staging(version);
        write_manifest(&staged, &manifest)?;
        mark_written(&staged, &manifest.shards);
        let directory = self.put_in_place(&staged, version)?;
        let newest = match keep_for_sparse {
            true => Some(Newest {
                shards: manifest.shards.clone(),
                files: manifest.files.clone().unwrap_or_default(),
                manifest: manifest.clone(),
                weights: Checkpoint::open(&directory)?,
                _lease: Lease::take(&directory)?,
                chain_bytes: 0,
                chain_length: 0,
            }),
            // The one before is the newest no more, and retention may remove it.
            false => None,
        };
        self.replace_newest(newest)?;
        retain_versions(&self.root, self.options.keep)?;
        Ok(Published { directory, manifest })
    }

    /// Renames a finished directory to its place.
    fn put_in_place(&self, finished: &Path, version: u64) -> Result<PathBuf, WeightsError> {
        let target = version_directory(&self.root, version);
        if target.exists() {
            self.retire(version)?;
        }
        fs::rename(finished, &target).map_err(WeightsError::io("rename a finished version to", &target))?;
        sync_directory(&self.root)?;
        Ok(target)
    }

    /// Moves a version's directory out of the root and removes it. If a reader holds it, the next publisher removes it.
    fn retire(&self, version: u64) -> Result<(), WeightsError> {
        let directory = version_directory(&self.root, version);
        let retired = free_path(&self.root.join(OWN_DIRECTORY), &format!("retired_{version}"));
        fs::rename(&directory, &retired).map_err(WeightsError::io("retire", &directory))?;
        remove_version(&retired)?;
        Ok(())
    }

    pub(super) fn replace_newest(&mut self, newest: Option<Newest>) -> Result<(), WeightsError> {
        let Some(old) = std::mem::replace(&mut self.newest, newest) else {
            return Ok(());
        };
        let directory = old.weights.directory().to_path_buf();
        drop(old);
        // A folder outside is a published version, which has no lease when another process had just locked it.
        if directory.starts_with(self.root.join(OWN_DIRECTORY)) {
            fs::remove_dir_all(&directory).map_err(WeightsError::io("remove", &directory))?;
        }
        Ok(())
    }
}

pub(super) fn make_empty(directory: &Path) -> Result<(), WeightsError> {
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(WeightsError::io("remove", directory))?;
    }
    fs::create_dir(directory).map_err(WeightsError::io("create", directory))
}

fn tensors_of(weights: &Checkpoint) -> Result<Vec<TensorToWrite<'_>>, WeightsError> {
    let names = weights.names().map(|name| {
        let tensor = weights.tensor(name)?;
        Ok(TensorToWrite {
            name,
            dtype: tensor.dtype,
            shape: tensor.shape,
            data: tensor.data,
        })
    });
    names.collect()
}
