//! Writes the weights of a Hugging Face folder: one file, or shards of a bounded size with their index.
//!
//! The directory should hold nothing else. Over older weights, each file is replaced whole, but a reader in between can meet
//! old and new shards together; the digests of a manifest show that.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::files::Shard;
use crate::files::durable::{replace_unsynced_name, sync_directory};
use crate::files::write::{Digesting, TensorToWrite, WriteOptions, write_digesting};
use crate::{VersionHasher, WeightsError, parallel};

/// Name of the weights when they fit one file.
pub const SINGLE_FILE: &str = "model.safetensors";
/// Shards that are written at the same time: one writer does not use the full speed of a disk.
const WRITERS: usize = 4;
/// Name of the index of weights in several files.
pub const INDEX_FILE: &str = "model.safetensors.index.json";

/// The result of [`write_checkpoint`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenCheckpoint {
    /// The files that hold the weights, for the manifest.
    pub shards: Vec<Shard>,
    /// Version digest of the weights.
    pub digest: String,
}

#[derive(Serialize)]
struct Index<'a> {
    metadata: IndexMetadata,
    weight_map: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct IndexMetadata {
    total_size: u64,
}

/// Writes `tensors` into `directory` as `model.safetensors`, or as `model-00001-of-0000N.safetensors` with an index
/// when their bytes exceed `max_shard_bytes`. Order is kept (within a shard, larger elements come first). A tensor is
/// never divided, so a tensor above the limit is alone in its shard. Weight files of an earlier call that are not part of
/// this one are removed at the end.
///
/// # Errors
/// As [`write_safetensors`]; files that were replaced before the failure stay replaced.
pub fn write_checkpoint(
    directory: &Path,
    tensors: &[TensorToWrite<'_>],
    max_shard_bytes: u64,
) -> Result<WrittenCheckpoint, WeightsError> {
    write_noted(directory, tensors, max_shard_bytes, &|_| Vec::new())
}

/// Gives further metadata of a file, beside its format, for the tensors in it.
pub(crate) type Notes<'a> = dyn Fn(&[TensorToWrite<'_>]) -> Vec<(String, String)> + Sync + 'a;

/// [`write_checkpoint`] with notes in the metadata of each file.
pub(crate) fn write_noted(
    directory: &Path,
    tensors: &[TensorToWrite<'_>],
    max_shard_bytes: u64,
    notes: &Notes<'_>,
) -> Result<WrittenCheckpoint, WeightsError> {
    let mut names = HashSet::with_capacity(tensors.len());
    if let Some(twice) = tensors.iter().find(|tensor| !names.insert(tensor.name)) {
        return Err(WeightsError::Tensor {
            name: twice.name.to_owned(),
            file: directory.display().to_string(),
            reason: "the name occurs twice".to_owned(),
        });
    }
    let groups = group_by_size(tensors, max_shard_bytes);
    let index = if groups.len() > 1 {
        Some(index_text(directory, &groups)?)
    } else {
        None
    };
    let jobs = groups.len() + usize::from(index.is_some());
    let written = parallel::map(jobs, WRITERS + 1, |number| match &index {
        // Each file is synced, which takes time, so the index is written beside the shards.
        Some(text) if number == groups.len() => {
            replace_unsynced_name(&directory.join(INDEX_FILE), |writer| writer.write_all(text))?;
            Ok(None)
        }
        _ => write_shard(directory, &groups, number, notes).map(Some),
    })?;
    sync_directory(directory)?;
    let mut version = VersionHasher::new();
    let mut shards = Vec::with_capacity(groups.len());
    for (shard, tensors) in written.into_iter().flatten() {
        for (tensor, digest) in tensors {
            version
                .add_digest(tensor.name, tensor.dtype, tensor.shape, &digest)
                .expect("the size of a tensor that was written");
        }
        shards.push(shard);
    }
    remove_others(directory, &shards)?;
    Ok(WrittenCheckpoint {
        shards,
        digest: version.finish(),
    })
}

/// A shard that was written, and the digest of each of its tensors.
type WrittenShard<'a> = (Shard, Vec<(TensorToWrite<'a>, String)>);

fn write_shard<'a>(
    directory: &Path,
    groups: &[&[TensorToWrite<'a>]],
    number: usize,
    notes: &Notes<'_>,
) -> Result<WrittenShard<'a>, WeightsError> {
    let file = file_name(number, groups.len());
    let digesting = if groups.len() == 1 {
        Digesting::Beside
    } else {
        Digesting::InLine
    };
    let mut tensors = groups[number].to_vec();
    tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.dtype.bits()));
    let mut metadata = vec![("format".to_owned(), "pt".to_owned())];
    metadata.extend(notes(&tensors));
    let path = directory.join(&file);
    let written = write_digesting(&path, &tensors, &metadata, WriteOptions::default(), digesting)?;
    let shard = Shard {
        file,
        bytes: written.bytes,
        digest: written.digest,
    };
    Ok((shard, tensors.into_iter().zip(written.tensor_digests).collect()))
}

pub(crate) fn group_by_size<'t, 'a>(
    tensors: &'t [TensorToWrite<'a>],
    max_shard_bytes: u64,
) -> Vec<&'t [TensorToWrite<'a>]> {
    let mut groups = Vec::new();
    let mut first = 0;
    let mut bytes = 0u64;
    for (index, tensor) in tensors.iter().enumerate() {
        let size = tensor.data.len() as u64;
        if index > first && bytes.saturating_add(size) > max_shard_bytes {
            groups.push(&tensors[first..index]);
            first = index;
            bytes = 0;
        }
        bytes += size;
    }
    groups.push(&tensors[first..]);
    groups
}

fn index_text(directory: &Path, groups: &[&[TensorToWrite<'_>]]) -> Result<Vec<u8>, WeightsError> {
    let files: Vec<String> = (0..groups.len())
        .map(|number| file_name(number, groups.len()))
        .collect();
    let mut weight_map = BTreeMap::new();
    let mut total_size = 0;
    for (group, file) in groups.iter().zip(&files) {
        for tensor in *group {
            total_size += tensor.data.len() as u64;
            weight_map.insert(tensor.name, file.as_str());
        }
    }
    let index = Index {
        metadata: IndexMetadata { total_size },
        weight_map,
    };
    serde_json::to_vec_pretty(&index).map_err(|source| WeightsError::Format {
        file: directory.join(INDEX_FILE).display().to_string(),
        kind: "shard index",
        reason: source.to_string(),
        source: Some(source),
    })
}

fn file_name(number: usize, count: usize) -> String {
    match count {
        1 => SINGLE_FILE.to_owned(),
        _ => format!("model-{:05}-of-{count:05}.safetensors", number + 1),
    }
}

/// Removes other weight files: a stale single file beside new shards, or the reverse, would be read instead of them.
fn remove_others(directory: &Path, shards: &[Shard]) -> Result<(), WeightsError> {
    let entries = fs::read_dir(directory).map_err(WeightsError::io("list", directory))?;
    let mut removed = false;
    for entry in entries {
        let entry = entry.map_err(WeightsError::io("list", directory))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let stale_index = name == INDEX_FILE && shards.len() == 1;
        let stale_weights = is_weight_file(name) && !shards.iter().any(|shard| shard.file == name);
        if stale_index || stale_weights {
            fs::remove_file(entry.path()).map_err(WeightsError::io("remove", &entry.path()))?;
            removed = true;
        }
    }
    if removed { sync_directory(directory) } else { Ok(()) }
}

fn is_weight_file(name: &str) -> bool {
    if name == SINGLE_FILE {
        return true;
    }
    let numbers = name
        .strip_prefix("model-")
        .and_then(|rest| rest.strip_suffix(".safetensors"));
    let Some((number, count)) = numbers.and_then(|numbers| numbers.split_once("-of-")) else {
        return false;
    };
    [number, count]
        .iter()
        .all(|digits| digits.len() >= 5 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}
