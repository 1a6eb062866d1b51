//! A batch as a safetensors file: columns by descending element size, the key of the batch in `__metadata__`.
//!
//! The `digest` in the metadata is of the bytes after the header, so that equal batches of two attempts have equal digests.
//! Reading trusts nothing: header, digest, dtypes, shapes, alignment and every invariant of the columns are checked.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use memmap2::{MmapMut, MmapOptions};
use prl_weights::{Hasher, Header, WeightsError, WriteOptions, data_digest, encode_header, parse, replace_file};

use super::columns::{Column, Columns, columns};
use super::metadata::{self, BatchMetadata};
use super::{Batch, BatchView, Counts};
use crate::PackError;

/// A chunk of this size stays in the cache between the copy and the hash.
const CACHED_CHUNK_BYTES: usize = 1 << 18;
/// A placeholder for the digest, of the same length.
const NO_DIGEST: &str = "0000000000000000";
const MEMORY: &str = "<memory>";

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenBatch {
    /// Length of the file.
    pub bytes: u64,
    /// Digest of the bytes after its header.
    pub digest: String,
}

/// Writes a valid batch to `path`, durably and atomically. If the path ends in `step_<s>/rank_<r>.safetensors`, it must
/// agree with the metadata.
///
/// # Errors
/// [`PackError::File`] for a batch that breaks an invariant or contradicts `metadata` or `path`, and the errors of
/// [`replace_file`].
pub fn batch_to_file(path: &Path, batch: &BatchView<'_>, metadata: &BatchMetadata) -> Result<WrittenBatch, PackError> {
    check(batch, metadata)
        .and_then(|()| metadata.check_path(path))
        .map_err(|reason| in_file(path, reason))?;
    let columns = columns(batch);
    let tensors: Vec<_> = columns.iter().map(Column::as_tensor).collect();
    let digest = data_digest(&tensors);
    let header = encode_header(
        &tensors,
        &metadata.encode(batch.counts, &digest),
        WriteOptions::default(),
    )?;
    let bytes = replace_file(path, |writer| {
        writer.write_all(&header)?;
        let mut bytes = header.len();
        for column in &columns {
            writer.write_all(column.data)?;
            bytes += column.data.len();
        }
        Ok(bytes as u64)
    })?;
    Ok(WrittenBatch { bytes, digest })
}

/// The bytes that [`batch_to_file`] would write.
///
/// # Errors
/// [`PackError::File`] for a batch that breaks an invariant or contradicts `metadata`.
pub fn batch_to_bytes(batch: &BatchView<'_>, metadata: &BatchMetadata) -> Result<Vec<u8>, PackError> {
    check(batch, metadata).map_err(in_memory)?;
    let columns = columns(batch);
    let tensors: Vec<_> = columns.iter().map(Column::as_tensor).collect();
    let header = |digest: &str| {
        encode_header(
            &tensors,
            &metadata.encode(batch.counts, digest),
            WriteOptions::default(),
        )
    };
    let mut bytes = header(NO_DIGEST)?;
    bytes.reserve_exact(columns.iter().map(|column| column.data.len()).sum());
    let mut hasher = Hasher::new();
    for column in &columns {
        for chunk in column.data.chunks(CACHED_CHUNK_BYTES) {
            bytes.extend_from_slice(chunk);
            hasher.update(chunk);
        }
    }
    let header = header(&hasher.finish())?;
    bytes[..header.len()].copy_from_slice(&header);
    Ok(bytes)
}

/// A batch in its file, mapped into memory and checked. The columns are read in the map, without a copy.
///
/// The file must not be truncated in place while it is open: touching a page that is gone is a fault that no program
/// survives. prl never does that (files are replaced by renaming, which leaves open ones intact).
#[derive(Debug)]
pub struct BatchFile {
    /// A private map: bytes written to these pages are invisible to others and never reach the file.
    map: MmapMut,
    header: Header,
    metadata: BatchMetadata,
    counts: Counts,
}

impl BatchFile {
    /// Maps and checks the batch at `path`, as [`batch_to_file`] writes it.
    ///
    /// # Errors
    /// [`PackError::Weights`] when the file cannot be read or is no safetensors file, [`PackError::File`] when it is one
    /// but holds no valid batch; both name the file.
    pub fn open(path: &Path) -> Result<Self, PackError> {
        let map = map_regular_file(path)?;
        let header = parse(&map).map_err(|error| error.in_file(path))?;
        let (batch, metadata) = decode(&header, &map).map_err(|reason| in_file(path, reason))?;
        metadata.check_path(path).map_err(|reason| in_file(path, reason))?;
        let counts = batch.counts;
        Ok(Self {
            map,
            header,
            metadata,
            counts,
        })
    }

    /// The columns, checked when the file was opened.
    ///
    /// # Panics
    /// Never: the header was checked against the columns of a batch.
    pub fn view(&self) -> BatchView<'_> {
        Columns::new(&self.header, &self.map)
            .batch(self.counts)
            .expect("the columns were checked when the file was opened")
    }

    /// The key of the batch.
    pub fn metadata(&self) -> &BatchMetadata {
        &self.metadata
    }
}

/// Reads and checks a batch from the bytes of its file, which may lie anywhere in memory.
///
/// # Errors
/// As [`BatchFile::open`]; the file is named `<memory>`.
pub fn batch_from_bytes(bytes: &[u8]) -> Result<(Batch, BatchMetadata), PackError> {
    let header = parse(bytes)?;
    let mut room = vec![0u64; bytes.len().div_ceil(8)];
    // SAFETY: `room` has at least as many initialised bytes, bytes have no alignment, and nothing else refers to it.
    let aligned = unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), bytes.len()) };
    aligned.copy_from_slice(bytes);
    let (batch, metadata) = decode(&header, aligned).map_err(in_memory)?;
    Ok((batch.to_batch(), metadata))
}

fn decode<'a>(header: &'a Header, bytes: &'a [u8]) -> Result<(BatchView<'a>, BatchMetadata), String> {
    let (metadata, counts) = metadata::decode(&header.metadata, &bytes[header.data_start..])?;
    let batch = Columns::new(header, bytes).batch(counts)?;
    check(&batch, &metadata)?;
    Ok((batch, metadata))
}

fn check(batch: &BatchView<'_>, metadata: &BatchMetadata) -> Result<(), String> {
    batch.check()?;
    let names = metadata.env_names.len();
    match batch
        .env_ids
        .iter()
        .find(|&&env_id| usize::from(env_id) >= names.max(1))
    {
        Some(env_id) => Err(format!("env_ids has {env_id}, env_names has {names} entries")),
        None => Ok(()),
    }
}

fn map_regular_file(path: &Path) -> Result<MmapMut, WeightsError> {
    let error = |source| WeightsError::Io {
        action: "read",
        path: PathBuf::from(path),
        source,
    };
    if !fs::metadata(path).map_err(error)?.is_file() {
        return Err(error(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    let file = File::open(path).map_err(error)?;
    // SAFETY: the map is private to this value. That the file is not truncated in place while it is open is the
    // documented condition of `BatchFile`.
    unsafe { MmapOptions::new().map_copy(&file) }.map_err(error)
}

fn in_file(path: &Path, reason: String) -> PackError {
    PackError::File {
        file: path.display().to_string(),
        reason,
    }
}

fn in_memory(reason: String) -> PackError {
    PackError::File {
        file: MEMORY.to_owned(),
        reason,
    }
}
