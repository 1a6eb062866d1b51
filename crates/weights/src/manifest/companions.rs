//! The files of a version beside its weights: config, tokenizer, chat template, and any other file in its folder.
//!
//! A model's output depends on them as much as on the weights, so the manifest has their digests too. A
//! sparse version has none of them in its directory: it uses those of its base.

use std::fs;
use std::path::Path;

use super::{Encoding, MANIFEST_FILE, Manifest, at};
use crate::checkpoints::shards::INDEX_FILE;
use crate::files::{Shard, is_plain_file_name};
use crate::{WeightsError, digest_file};

/// Names of the plain files in `directory` that belong to a version, without the manifest, in ascending order.
///
/// # Errors
/// [`WeightsError::Io`] when it cannot be read.
pub fn version_files(directory: &Path) -> Result<Vec<String>, WeightsError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(WeightsError::io("list", directory))? {
        let entry = entry.map_err(WeightsError::io("list", directory))?;
        let kind = entry.file_type().map_err(WeightsError::io("list", directory))?;
        let name = entry.file_name().into_string().unwrap_or_default();
        if kind.is_file() && name != MANIFEST_FILE && is_plain_file_name(&name) && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The plain files of `directory` except weights (`shards` and their index) and manifest, with length and digest.
///
/// # Errors
/// [`WeightsError::Io`] when one cannot be read.
pub fn companion_files(directory: &Path, shards: &[Shard]) -> Result<Vec<Shard>, WeightsError> {
    names(directory, shards)?
        .into_iter()
        .map(|file| {
            let (digest, bytes) = digest_file(&directory.join(&file))?;
            Ok(Shard { file, bytes, digest })
        })
        .collect()
}

fn names(directory: &Path, shards: &[Shard]) -> Result<Vec<String>, WeightsError> {
    let mut names = version_files(directory)?;
    names.retain(|name| name != INDEX_FILE && !shards.iter().any(|shard| shard.file == *name));
    Ok(names)
}

impl Manifest {
    /// Compares length and digest of every file beside the weights with `directory`. Does nothing for a sparse version, and for
    /// one whose manifest does not list these files.
    ///
    /// # Errors
    /// As [`Manifest::verify_shards`].
    pub fn verify_files(&self, directory: &Path) -> Result<(), WeightsError> {
        if self.encoding == Encoding::Sparse {
            return Ok(());
        }
        self.files.iter().flatten().try_for_each(|file| file.verify(directory))
    }

    /// Refuses files beside the weights that the manifest does not list, if it lists such files at all: a chat template that was
    /// added later is no part of the version.
    ///
    /// # Errors
    /// [`WeightsError::Manifest`] naming them, [`WeightsError::Io`] when the directory cannot be read.
    pub fn refuse_unlisted(&self, directory: &Path) -> Result<(), WeightsError> {
        let Some(files) = self.files.as_ref().filter(|_| self.encoding != Encoding::Sparse) else {
            return Ok(());
        };
        let mut unlisted = names(directory, &self.shards)?;
        // A delta stays when its version is made full. Weights files that are no shards are never read.
        unlisted.retain(|name| !name.ends_with(".safetensors") && !files.iter().any(|file| file.file == *name));
        match unlisted.is_empty() {
            true => Ok(()),
            false => Err(at(
                directory,
                format!("it does not list {}, which is beside it", unlisted.join(", ")),
            )),
        }
    }
}

impl Shard {
    /// Compares length and digest with the file in `directory`.
    pub(crate) fn verify(&self, directory: &Path) -> Result<(), WeightsError> {
        let path = directory.join(&self.file);
        let (found, bytes) = digest_file(&path)?;
        if bytes != self.bytes {
            let reason = format!("{} has {bytes} bytes, expected {}", self.file, self.bytes);
            return Err(at(directory, reason));
        }
        if found != self.digest {
            return Err(WeightsError::Digest {
                path,
                expected: self.digest.clone(),
                found,
            });
        }
        Ok(())
    }
}
