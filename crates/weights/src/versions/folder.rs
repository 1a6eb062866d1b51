//! Publishes a folder from any trainer: a Hugging Face folder or a PEFT adapter.

use std::fs;
use std::path::Path;

use super::publisher::make_empty;
use super::{Published, Staged, WeightPublisher};
use crate::checkpoints::Checkpoint;
use crate::checkpoints::adapter::Adapter;
use crate::files::{Shard, is_plain_file_name};
use crate::manifest::{Canary, MANIFEST_FILE};
use crate::reshard::refuse_share;
use crate::{WeightsError, digest_file, parallel};

impl Staged {
    /// Describes the weights in `directory`, of a model or an adapter; reads every byte.
    ///
    /// # Errors
    /// As [`Checkpoint::open`] and [`Adapter::open`].
    pub fn of_folder(directory: &Path) -> Result<Self, WeightsError> {
        if Adapter::is_in(directory) {
            let adapter = Adapter::open(directory)?;
            return Ok(Self {
                digest: adapter.version_digest()?,
                shards: adapter.shards(),
            });
        }
        let weights = Checkpoint::open(directory)?;
        let files = weights.files();
        let shards = parallel::map(files.len(), parallel::thread_count(0), |index| {
            let path = files[index].path();
            let (digest, bytes) = digest_file(path)?;
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Shard { file, bytes, digest })
        })?;
        Ok(Self {
            digest: weights.version_digest()?,
            shards,
        })
    }
}

impl WeightPublisher {
    /// Publishes a copy of the files in `folder` as `version`, byte for byte: the files directly in it, except hidden ones and a
    /// manifest; links are followed. An adapter is published whole, a model as in [`WeightPublisher::publish`], compared with
    /// the newest version of the root, even if another publisher made that. As in [`WeightPublisher::stage`], versions from this number
    /// on are removed, but only when the copy is whole; `folder` may be one of them.
    ///
    /// # Errors
    /// As there, [`WeightsError::Plan`] for one rank's share of a model, and [`WeightsError::Io`] when a file cannot be copied.
    pub fn publish_folder(
        &mut self,
        version: u64,
        folder: &Path,
        canary: Option<Canary>,
        full: bool,
    ) -> Result<Published, WeightsError> {
        let is_adapter = Adapter::is_in(folder);
        match is_adapter {
            true => drop(Adapter::open(folder)?),
            false => refuse_share(&Checkpoint::open(folder)?)?,
        }
        self.refuse_other_kind(version, is_adapter)?;
        let copy = self.own(&format!("copy_{version}"));
        make_empty(&copy)?;
        let staged = copy_files(folder, &copy)
            .and_then(|()| Staged::of_folder(&copy))
            .inspect_err(|_| {
                if let Err(error) = fs::remove_dir_all(&copy) {
                    tracing::warn!(copy = %copy.display(), %error, "the part of a folder that was copied stays");
                }
            })?;
        // Only now are versions removed: a failure before leaves the root unchanged, and `folder` may be one of these versions.
        let staging = self.stage(version)?;
        fs::rename(&copy, &staging).map_err(WeightsError::io("rename a copy to", &staging))?;
        if !is_adapter && !full {
            self.go_on_from(version)?;
        }
        self.publish(version, staged, canary, full)
    }
}

fn copy_files(folder: &Path, copy: &Path) -> Result<(), WeightsError> {
    for entry in fs::read_dir(folder).map_err(WeightsError::io("list", folder))? {
        let path = entry.map_err(WeightsError::io("list", folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !is_plain_file_name(name) || name.starts_with('.') || name == MANIFEST_FILE {
            continue;
        }
        // A link that leads nowhere is an error: without its file the version would not be the folder.
        if fs::metadata(&path).map_err(WeightsError::io("find", &path))?.is_file() {
            fs::copy(&path, copy.join(name)).map_err(WeightsError::io("copy", &path))?;
        }
    }
    Ok(())
}
