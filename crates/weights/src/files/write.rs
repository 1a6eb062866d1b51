//! Writes safetensors: `__metadata__` first, tensors in the given order, data at a multiple of the alignment.
//!
//! The caller chooses the order. With descending element sizes every tensor starts aligned to its elements.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::thread;

use super::durable::{parent_directory, replace_unsynced_name, sync_directory};
use super::header::{LENGTH_BYTES, MAX_HEADER_BYTES, METADATA_KEY};
use super::written::note_written;
use crate::{Dtype, Hasher, VersionHasher, WeightsError};

/// A chunk of this size stays in the cache between two digests and the write.
const CACHED_CHUNK_BYTES: usize = 1 << 18;
/// Bytes of one write. The page cache keeps a file in pages as large as the writes that made it, and mapping large pages costs less.
const WRITE_BYTES: usize = 8 << 20;
/// For files of at least this size a second thread digests while the first one writes.
const DIGEST_BESIDE_BYTES: usize = 4 << 20;

/// A tensor to write.
#[derive(Debug, Clone, Copy)]
pub struct TensorToWrite<'a> {
    /// Its name; unique in the file and not `__metadata__`.
    pub name: &'a str,
    /// Type of its elements.
    pub dtype: Dtype,
    /// Elements per dimension, outermost first.
    pub shape: &'a [usize],
    /// Row-major little-endian elements.
    pub data: &'a [u8],
}

/// How a file is laid out.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// The data begins at a multiple of this many bytes; a power of two, at least 8.
    pub align: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { align: 64 }
    }
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// Length of the file.
    pub bytes: u64,
    /// Digest of the whole file.
    pub digest: String,
    /// Digest of each tensor's bytes, in the order given.
    pub tensor_digests: Vec<String>,
    /// Version digest of the tensors of this file.
    pub version_digest: String,
}

/// Which thread digests the written bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Digesting {
    /// The writing thread, chunk by chunk; for a caller that writes other files at the same time.
    InLine,
    /// A second thread.
    Beside,
}

/// Writes `tensors` to `path`, durably and atomically: after any failure the old file is still whole.
///
/// # Errors
/// [`WeightsError::Tensor`] for a tensor that contradicts itself or the others, [`WeightsError::Format`] for a header
/// above [`MAX_HEADER_BYTES`], [`WeightsError::Io`] when the system refuses.
pub fn write_safetensors(
    path: &Path,
    tensors: &[TensorToWrite<'_>],
    metadata: &[(String, String)],
    options: WriteOptions,
) -> Result<WrittenFile, WeightsError> {
    let large = tensors.iter().map(|tensor| tensor.data.len()).sum::<usize>() >= DIGEST_BESIDE_BYTES;
    let digesting = if large { Digesting::Beside } else { Digesting::InLine };
    let written = write_digesting(path, tensors, metadata, options, digesting)?;
    sync_directory(parent_directory(path))?;
    Ok(written)
}

/// [`write_safetensors`] without syncing the directory, which is left to the caller.
pub(crate) fn write_digesting(
    path: &Path,
    tensors: &[TensorToWrite<'_>],
    metadata: &[(String, String)],
    options: WriteOptions,
    digesting: Digesting,
) -> Result<WrittenFile, WeightsError> {
    let header = encode_header(tensors, metadata, options).map_err(|error| error.in_file(path))?;
    let data_bytes: usize = tensors.iter().map(|tensor| tensor.data.len()).sum();
    let (digest, tensor_digests) = replace_unsynced_name(path, |writer| {
        writer.write_all(&header)?;
        if digesting == Digesting::InLine {
            return digest_file_of(&header, tensors, |chunk| writer.write_all(chunk));
        }
        let share = prl_progress::share();
        thread::scope(|scope| {
            let digesting = scope.spawn(|| share.part(|| digest_file_of(&header, tensors, |_| Ok(()))));
            for tensor in tensors {
                for stretch in tensor.data.chunks(WRITE_BYTES) {
                    writer.write_all(stretch)?;
                    prl_progress::made();
                }
            }
            digesting
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    note_written(path, &digest);
    let mut version = VersionHasher::new();
    for (tensor, digest) in tensors.iter().zip(&tensor_digests) {
        version
            .add_digest(tensor.name, tensor.dtype, tensor.shape, digest)
            .expect("the size of a tensor that was written");
    }
    Ok(WrittenFile {
        bytes: (header.len() + data_bytes) as u64,
        digest,
        tensor_digests,
        version_digest: version.finish(),
    })
}

/// Digests the file and each of its tensors. Every chunk of data is handed on while it is in the cache.
fn digest_file_of(
    header: &[u8],
    tensors: &[TensorToWrite<'_>],
    mut hand_on: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(String, Vec<String>)> {
    let mut file = Hasher::new();
    file.update(header);
    let mut digests = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let mut whole = Hasher::new();
        for stretch in tensor.data.chunks(WRITE_BYTES) {
            for chunk in stretch.chunks(CACHED_CHUNK_BYTES) {
                file.update(chunk);
                whole.update(chunk);
            }
            hand_on(stretch)?;
            prl_progress::made();
        }
        digests.push(whole.finish());
    }
    Ok((file.finish(), digests))
}

/// The bytes that [`write_safetensors`] would write.
///
/// # Errors
/// As [`write_safetensors`], except those of the system.
pub fn to_bytes(
    tensors: &[TensorToWrite<'_>],
    metadata: &[(String, String)],
    options: WriteOptions,
) -> Result<Vec<u8>, WeightsError> {
    let mut bytes = encode_header(tensors, metadata, options)?;
    bytes.reserve_exact(tensors.iter().map(|tensor| tensor.data.len()).sum());
    for tensor in tensors {
        bytes.extend_from_slice(tensor.data);
    }
    Ok(bytes)
}

/// The digest that the bytes after the header will have, for callers that put it into the header.
pub fn data_digest(tensors: &[TensorToWrite<'_>]) -> String {
    let mut hasher = Hasher::new();
    for tensor in tensors {
        hasher.update(tensor.data);
    }
    hasher.finish()
}

/// The beginning of a file: the length of the header and its padded JSON. The data follows in the order of `tensors`.
///
/// # Errors
/// As [`to_bytes`].
pub fn encode_header(
    tensors: &[TensorToWrite<'_>],
    metadata: &[(String, String)],
    options: WriteOptions,
) -> Result<Vec<u8>, WeightsError> {
    let WriteOptions { align } = options;
    if !align.is_power_of_two() || align < LENGTH_BYTES {
        return Err(WeightsError::safetensors(format!(
            "alignment {align} is no power of two of at least 8"
        )));
    }
    let mut header = vec![0; LENGTH_BYTES];
    header.push(b'{');
    if !metadata.is_empty() {
        push_metadata(&mut header, metadata)?;
    }
    let mut names = HashSet::with_capacity(tensors.len());
    let mut begin = 0usize;
    for tensor in tensors {
        let reason = match tensor.dtype.byte_len(tensor.shape) {
            None => Some("its size overflows or is no whole number of bytes".to_owned()),
            Some(expected) if expected != tensor.data.len() => Some(format!(
                "{} {:?} needs {expected} bytes, {} were given",
                tensor.dtype,
                tensor.shape,
                tensor.data.len()
            )),
            Some(_) if tensor.name == METADATA_KEY => Some("the name is reserved".to_owned()),
            Some(_) if !names.insert(tensor.name) => Some("the name occurs twice".to_owned()),
            Some(_) => None,
        };
        if let Some(reason) = reason {
            return Err(WeightsError::Tensor {
                name: tensor.name.to_owned(),
                file: "<memory>".to_owned(),
                reason,
            });
        }
        if header.len() > LENGTH_BYTES + 1 {
            header.push(b',');
        }
        let end = begin + tensor.data.len();
        push_string(&mut header, tensor.name);
        header.extend_from_slice(b":{\"dtype\":");
        push_string(&mut header, tensor.dtype.name());
        header.extend_from_slice(b",\"shape\":[");
        for (axis, dim) in tensor.shape.iter().enumerate() {
            if axis > 0 {
                header.push(b',');
            }
            header.extend_from_slice(dim.to_string().as_bytes());
        }
        header.extend_from_slice(format!("],\"data_offsets\":[{begin},{end}]}}").as_bytes());
        begin = end;
    }
    header.push(b'}');
    header.resize(header.len().next_multiple_of(align), b' ');
    let length = header.len() - LENGTH_BYTES;
    if length > MAX_HEADER_BYTES {
        return Err(WeightsError::safetensors(format!(
            "header of {length} bytes is above {MAX_HEADER_BYTES}"
        )));
    }
    header[..LENGTH_BYTES].copy_from_slice(&(length as u64).to_le_bytes());
    Ok(header)
}

fn push_metadata(header: &mut Vec<u8>, metadata: &[(String, String)]) -> Result<(), WeightsError> {
    let mut keys = HashSet::with_capacity(metadata.len());
    push_string(header, METADATA_KEY);
    header.extend_from_slice(b":{");
    for (index, (key, value)) in metadata.iter().enumerate() {
        if !keys.insert(key) {
            return Err(WeightsError::safetensors(format!("metadata key {key:?} occurs twice")));
        }
        if index > 0 {
            header.push(b',');
        }
        push_string(header, key);
        header.push(b':');
        push_string(header, value);
    }
    header.push(b'}');
    Ok(())
}

fn push_string(header: &mut Vec<u8>, text: &str) {
    header.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
}
