//! Sparse shards: safetensors files whose metadata lists every tensor of the version they hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::SafetensorsFile;
use crate::manifest::{BaseVersion, Encoding, Manifest};
use crate::{Dtype, VersionHasher, WeightsError, is_digest};

/// The kind of file in errors about malformed changes.
pub(crate) const SPARSE_SHARD: &str = "sparse shard";
/// The `format` in the metadata of sparse shards.
pub(super) const FORMAT: &str = "prl-sparse";
/// Metadata key of the list of records.
pub(super) const RECORDS: &str = "tensors";

/// How a sparse shard holds a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coding {
    /// It is the base's; the shard has no data for it.
    Same,
    /// Positions and differences of its 16-bit elements, as U8 data under its name.
    Rice16,
    /// All its elements, under its name, dtype and shape.
    Whole,
}

/// A sparse shard's record of one tensor of its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SparseRecord {
    /// Its name.
    pub name: String,
    /// Type of its elements, as the base has it.
    #[serde(serialize_with = "dtype_name")]
    pub dtype: Dtype,
    /// Elements per dimension, as the base has it.
    pub shape: Vec<usize>,
    /// How the shard holds it.
    pub coding: Coding,
    /// Digest of its bytes in this version.
    pub digest: String,
}

fn dtype_name<S: serde::Serializer>(dtype: &Dtype, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(dtype.name())
}

/// A sparse version: its manifest and its shards, open and consistent with each other.
#[derive(Debug)]
pub struct SparseVersion {
    directory: PathBuf,
    manifest: Manifest,
    base: BaseVersion,
    shards: Vec<SafetensorsFile>,
    tensors: BTreeMap<String, (usize, SparseRecord)>,
}

impl SparseVersion {
    /// Opens the shards that `manifest` names in `directory` and checks lengths, digests and records. After that only a wrong
    /// base can be at fault.
    ///
    /// # Errors
    /// [`WeightsError::Manifest`] when the version is not sparse or a shard has another length,
    /// [`WeightsError::Digest`] for damage, [`WeightsError::Format`] for a malformed shard.
    pub fn open(directory: &Path, manifest: Manifest) -> Result<Self, WeightsError> {
        let base = match (manifest.encoding, &manifest.base) {
            (Encoding::Sparse, Some(base)) => base.clone(),
            _ => return Err(crate::manifest::at(directory, "the version is not sparse".to_owned())),
        };
        manifest.verify_shards(directory)?;
        let mut shards = Vec::with_capacity(manifest.shards.len());
        let mut tensors = BTreeMap::new();
        let mut version = VersionHasher::new();
        for (number, shard) in manifest.shards.iter().enumerate() {
            let file = SafetensorsFile::open(&directory.join(&shard.file))?;
            for record in records(&file)? {
                version
                    .add_digest(&record.name, record.dtype, &record.shape, &record.digest)
                    .ok_or_else(|| malformed(&file, format!("tensor {:?} has an impossible size", record.name)))?;
                let twice = tensors.insert(record.name.clone(), (number, record));
                if let Some((_, twice)) = twice {
                    return Err(malformed(&file, format!("tensor {:?} is listed twice", twice.name)));
                }
            }
            shards.push(file);
        }
        let found = version.finish();
        if found != manifest.digest {
            return Err(WeightsError::Digest {
                path: directory.to_path_buf(),
                expected: manifest.digest.clone(),
                found,
            });
        }
        Ok(Self {
            directory: directory.to_path_buf(),
            manifest,
            base,
            shards,
            tensors,
        })
    }

    /// The directory it was opened from.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The version that it applies to.
    pub fn base(&self) -> &BaseVersion {
        &self.base
    }

    /// Every tensor of the version, in ascending order of the names.
    pub fn records(&self) -> impl ExactSizeIterator<Item = &SparseRecord> {
        self.tensors.values().map(|(_, record)| record)
    }

    /// The version's record of the tensor called `name`, and its bytes in the shard.
    pub(super) fn tensor(&self, name: &str) -> Option<(&SparseRecord, &SafetensorsFile, &[u8])> {
        let (shard, record) = self.tensors.get(name)?;
        let file = &self.shards[*shard];
        let data = match record.coding {
            Coding::Same => &[],
            Coding::Rice16 | Coding::Whole => file.tensor(name).expect("it was there when the shard was opened").data,
        };
        Some((record, file, data))
    }
}

/// The records of a shard, checked against the data that it holds.
fn records(file: &SafetensorsFile) -> Result<Vec<SparseRecord>, WeightsError> {
    let metadata = file.metadata();
    if metadata.get("format").map(String::as_str) != Some(FORMAT) {
        return Err(malformed(file, format!("its metadata does not say format {FORMAT:?}")));
    }
    let text = metadata
        .get(RECORDS)
        .ok_or_else(|| malformed(file, format!("its metadata has no {RECORDS:?}")))?;
    let records: Vec<SparseRecord> = serde_json::from_str(text).map_err(|source| WeightsError::Format {
        file: file.path().display().to_string(),
        kind: SPARSE_SHARD,
        reason: source.to_string(),
        source: Some(source),
    })?;
    let mut held = 0;
    for record in &records {
        let SparseRecord { name, dtype, shape, .. } = record;
        if !is_digest(&record.digest) {
            return Err(malformed(
                file,
                format!("tensor {name:?} has the digest {:?}", record.digest),
            ));
        }
        let fits = match (record.coding, file.header().info(name)) {
            (Coding::Same, None) => true,
            (Coding::Rice16, Some(info)) => info.dtype == Dtype::U8 && info.shape.len() == 1 && dtype.bits() == 16,
            (Coding::Whole, Some(info)) => info.dtype == *dtype && info.shape == *shape,
            _ => false,
        };
        if !fits {
            return Err(malformed(
                file,
                format!("tensor {name:?} is not held as {:?} says", record.coding),
            ));
        }
        held += usize::from(record.coding != Coding::Same);
    }
    if held != file.header().tensors.len() {
        return Err(malformed(
            file,
            "it holds data of tensors that it does not list".to_owned(),
        ));
    }
    Ok(records)
}

pub(super) fn malformed(file: &SafetensorsFile, reason: String) -> WeightsError {
    WeightsError::Format {
        file: file.path().display().to_string(),
        kind: SPARSE_SHARD,
        reason,
        source: None,
    }
}
