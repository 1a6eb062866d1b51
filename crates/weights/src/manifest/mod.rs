//! `manifest.json`, which makes a directory of weights a version.
//!
//! It is written last, so a version exists exactly when its manifest does. Shard digests are of the files' bytes. The
//! version's digest is of the weights alone ([`crate::version_digest`]) and does not depend on encoding and sharding.

pub(crate) mod companions;
pub(crate) mod verified;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::checkpoints::adapter::{ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE};
use crate::files::durable::{replace_file, sync_directory};
use crate::files::{Shard, is_plain_file_name};
use crate::{WeightsError, is_digest, parallel};

/// Name of the manifest in a version's directory.
pub const MANIFEST_FILE: &str = "manifest.json";
/// The `format` of manifests.
pub const MANIFEST_FORMAT: &str = "prl-weights";

const MAX_MANIFEST_BYTES: u64 = 16 << 20;
/// 2^53 - 1: the largest integer that TypeScript reads exactly.
const MAX_VERSION: u64 = (1 << 53) - 1;

/// A published version of weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Always [`MANIFEST_FORMAT`].
    pub format: String,
    /// The policy version: 0 before the first step.
    pub version: u64,
    /// Version digest of the weights.
    pub digest: String,
    /// The version that a sparse one applies to.
    pub base: Option<BaseVersion>,
    /// How the shards hold the weights.
    pub encoding: Encoding,
    /// The files that hold the weights.
    pub shards: Vec<Shard>,
    /// The files beside the shards ([`crate::companion_files`]); for a sparse version those of its base. `None` in manifests of
    /// older versions of prl and of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<Shard>>,
    /// A prompt with its log-probabilities, by which an engine proves that it serves these weights.
    pub canary: Option<Canary>,
}

/// How shards hold weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Every tensor whole, as a Hugging Face folder.
    Full,
    /// The changes since the base, in sparse shards. Config and tokenizer are the base's.
    Sparse,
    /// A PEFT adapter, whole: its config and its tensors.
    Peft,
}

/// The version that a sparse one applies to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaseVersion {
    /// Its policy version.
    pub version: u64,
    /// Its version digest.
    pub digest: String,
}

/// Log-probabilities of a fixed prompt under the weights, at temperature 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canary {
    /// The prompt.
    pub token_ids: Vec<u32>,
    /// Log-probability of each token given its predecessors; 0 for the first. The JSON numbers restore every bit.
    #[serde(serialize_with = "exact_floats", deserialize_with = "nearest_floats")]
    pub logprobs: Vec<f32>,
    /// Instruction set that computed them.
    pub isa: String,
    /// Dtype that computed them.
    pub dtype: String,
}

impl Manifest {
    /// Reads and checks the text of a manifest; `path` is its file, for errors.
    ///
    /// # Errors
    /// [`WeightsError::Manifest`] when it is malformed or contradicts itself.
    pub fn from_json(text: &[u8], path: &Path) -> Result<Self, WeightsError> {
        let manifest: Self = serde_json::from_slice(text).map_err(|source| WeightsError::Manifest {
            path: path.to_path_buf(),
            reason: source.to_string(),
            source: Some(source),
        })?;
        manifest.check().map_err(|reason| WeightsError::Manifest {
            path: path.to_path_buf(),
            reason,
            source: None,
        })?;
        Ok(manifest)
    }

    /// Compares every shard's length and digest with the files in `directory`.
    ///
    /// # Errors
    /// [`WeightsError::Digest`] for a shard that differs, [`WeightsError::Manifest`] for one of another length,
    /// [`WeightsError::Io`] for one that cannot be read.
    pub fn verify_shards(&self, directory: &Path) -> Result<(), WeightsError> {
        let threads = parallel::thread_count(0);
        parallel::map(self.shards.len(), threads, |index| self.shards[index].verify(directory))?;
        Ok(())
    }

    /// Writes the manifest, without a sync, into a directory that is not visible yet and can be made again.
    pub(crate) fn write_unsynced(&self, directory: &Path) -> Result<(), WeightsError> {
        let path = directory.join(MANIFEST_FILE);
        fs::write(&path, self.to_json(directory)?).map_err(WeightsError::io("write", &path))
    }

    fn to_json(&self, directory: &Path) -> Result<Vec<u8>, WeightsError> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|source| WeightsError::Manifest {
            path: directory.join(MANIFEST_FILE),
            reason: source.to_string(),
            source: Some(source),
        })?;
        text.push(b'\n');
        Ok(text)
    }

    fn check(&self) -> Result<(), String> {
        if self.format != MANIFEST_FORMAT {
            return Err(format!("format is {:?}, expected {MANIFEST_FORMAT:?}", self.format));
        }
        let base_version = self.base.as_ref().map_or(0, |base| base.version);
        if self.version > MAX_VERSION || base_version > MAX_VERSION {
            return Err(format!("versions end at {MAX_VERSION}"));
        }
        let all_files = || self.shards.iter().chain(self.files.iter().flatten());
        let file_digests = all_files().map(|file| &file.digest);
        let base_digest = self.base.as_ref().map(|base| &base.digest);
        if let Some(bad) = file_digests
            .chain(base_digest)
            .chain([&self.digest])
            .find(|digest| !is_digest(digest))
        {
            return Err(format!("{bad:?} is no digest of 16 lower-case hexadecimal digits"));
        }
        match (self.encoding, &self.base) {
            (Encoding::Full | Encoding::Peft, Some(_)) => {
                return Err("a version that is not sparse has no base".to_owned());
            }
            (Encoding::Sparse, None) => return Err("a sparse version needs a base".to_owned()),
            (Encoding::Sparse, Some(base)) if base.version >= self.version => {
                return Err(format!("version {} cannot apply to {}", self.version, base.version));
            }
            _ => {}
        }
        if self.shards.is_empty() {
            return Err("it names no shards".to_owned());
        }
        let mut files = HashSet::new();
        for Shard { file, .. } in all_files() {
            if !is_plain_file_name(file) {
                return Err(format!("{file:?} is no plain file name"));
            }
            if !files.insert(file) {
                return Err(format!("{file:?} occurs twice"));
            }
        }
        let adapter = [ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE];
        let has = |name: &str| self.shards.iter().any(|shard| shard.file == name);
        match self.encoding {
            Encoding::Peft if self.shards.len() != adapter.len() || !adapter.iter().all(|file| has(file)) => {
                return Err(format!(
                    "the shards of a PEFT adapter are {} and {}",
                    adapter[0], adapter[1]
                ));
            }
            Encoding::Full | Encoding::Sparse if adapter.iter().any(|file| has(file)) => {
                return Err("files of a PEFT adapter are no shards of other versions".to_owned());
            }
            _ => {}
        }
        let Some(canary) = &self.canary else { return Ok(()) };
        if canary.token_ids.len() != canary.logprobs.len() {
            let (tokens, logprobs) = (canary.token_ids.len(), canary.logprobs.len());
            return Err(format!("canary has {tokens} tokens and {logprobs} log-probabilities"));
        }
        if let Some(bad) = canary.logprobs.iter().find(|logprob| !logprob.is_finite()) {
            return Err(format!("canary has the log-probability {bad}"));
        }
        Ok(())
    }
}

/// Reads and checks the manifest of the version in `directory`, but not its shards; [`Manifest::verify_shards`] checks those.
///
/// # Errors
/// [`WeightsError::Manifest`] when there is none or it is malformed.
pub fn read_manifest(directory: &Path) -> Result<Manifest, WeightsError> {
    let path = directory.join(MANIFEST_FILE);
    let text = match fs::metadata(&path) {
        Ok(found) if found.len() > MAX_MANIFEST_BYTES || !found.is_file() => {
            return Err(at(
                directory,
                format!("not a regular file of at most {MAX_MANIFEST_BYTES} bytes"),
            ));
        }
        Ok(_) => fs::read(&path),
        Err(error) => Err(error),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(at(
                directory,
                "there is none, so there is no finished version here".to_owned(),
            ));
        }
        Err(error) => return Err(WeightsError::io("read", &path)(error)),
    };
    Manifest::from_json(&text, &path)
}

/// Publishes the version in `directory`: syncs every file there, then puts the manifest in place atomically.
///
/// # Errors
/// [`WeightsError::Manifest`] when `manifest` contradicts itself or the lengths of the shards,
/// [`WeightsError::Io`] when the system refuses; no new manifest exists then.
pub fn write_manifest(directory: &Path, manifest: &Manifest) -> Result<(), WeightsError> {
    manifest.check().map_err(|reason| at(directory, reason))?;
    for shard in &manifest.shards {
        let path = directory.join(&shard.file);
        let bytes = fs::metadata(&path)
            .map_err(WeightsError::io("find shard", &path))?
            .len();
        if bytes != shard.bytes {
            return Err(at(
                directory,
                format!("shard {} has {bytes} bytes, expected {}", shard.file, shard.bytes),
            ));
        }
    }
    sync_files(directory)?;
    let text = manifest.to_json(directory)?;
    replace_file(&directory.join(MANIFEST_FILE), |writer| writer.write_all(&text))
}

/// Syncs every file: config and tokenizer were copied without a sync, and belong to the version as much as the shards.
fn sync_files(directory: &Path) -> Result<(), WeightsError> {
    let entries = fs::read_dir(directory).map_err(WeightsError::io("list", directory))?;
    for entry in entries {
        let path = entry.map_err(WeightsError::io("list", directory))?.path();
        if path.is_file() {
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(WeightsError::io("sync", &path))?;
        }
    }
    sync_directory(directory)
}

pub(crate) fn at(directory: &Path, reason: String) -> WeightsError {
    let path: PathBuf = directory.join(MANIFEST_FILE);
    WeightsError::Manifest {
        path,
        reason,
        source: None,
    }
}

fn exact_floats<S: Serializer>(values: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|&value| f64::from(value)))
}

#[expect(clippy::cast_possible_truncation, reason = "rounds back to the f32 that was widened")]
fn nearest_floats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    let values = Vec::<f64>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|value| value as f32).collect())
}
