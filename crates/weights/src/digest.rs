//! Digests: XXH3-64 with seed 0, written as 16 lower-case hexadecimal digits.
//!
//! They find damage and distinguish versions. They are no defence against someone who forges a file.

use std::fmt;
use std::fs::File;
use std::hash::Hasher as _;
use std::io::Read;
use std::path::Path;

use twox_hash::XxHash3_64;

use crate::{Dtype, WeightsError};

const READ_CHUNK_BYTES: usize = 1 << 20;

/// The digest of `bytes`.
pub fn digest(bytes: &[u8]) -> String {
    hex(XxHash3_64::oneshot(bytes))
}

/// Whether `text` has the form of a digest.
pub fn is_digest(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The digest and the length in bytes of the file at `path`.
///
/// # Errors
/// [`WeightsError::Io`] when it cannot be read.
pub fn digest_file(path: &Path) -> Result<(String, u64), WeightsError> {
    let mut file = File::open(path).map_err(WeightsError::io("open", path))?;
    let mut hasher = Hasher::new();
    let mut chunk = vec![0; READ_CHUNK_BYTES];
    let mut length = 0u64;
    loop {
        let count = file.read(&mut chunk).map_err(WeightsError::io("read", path))?;
        if count == 0 {
            return Ok((hasher.finish(), length));
        }
        hasher.update(&chunk[..count]);
        length += count as u64;
        prl_progress::made();
    }
}

/// A digest of bytes that arrive in pieces.
#[derive(Clone, Default)]
pub struct Hasher(XxHash3_64);

impl Hasher {
    /// A hasher before the first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `bytes` to the digested bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The digest of everything so far.
    pub fn finish(&self) -> String {
        hex(self.0.finish())
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hasher").field(&self.finish()).finish()
    }
}

/// The digest of a weight version. It does not depend on the order of the tensors.
///
/// Each tensor is `(name, dtype, shape, bytes)`; names are distinct. The input of the hash is specified byte by
/// byte in this crate's README.
pub fn version_digest<'a>(tensors: impl IntoIterator<Item = (&'a str, Dtype, &'a [usize], &'a [u8])>) -> String {
    let mut hasher = VersionHasher::new();
    for (name, dtype, shape, bytes) in tensors {
        hasher.add(name, dtype, shape, bytes);
    }
    hasher.finish()
}

/// [`version_digest`] for tensors that become known one at a time.
#[derive(Debug, Clone, Default)]
pub struct VersionHasher {
    records: Vec<(String, Vec<u8>)>,
}

impl VersionHasher {
    /// A hasher before the first tensor.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one tensor; `shape` in elements, `bytes` row-major and little endian.
    pub fn add(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) {
        self.add_hash(name, dtype, shape, (bytes.len(), XxHash3_64::oneshot(bytes)));
    }

    /// Adds one tensor by the digest of its bytes. Returns `None` when `digest` is no digest or the size overflows.
    pub fn add_digest(&mut self, name: &str, dtype: Dtype, shape: &[usize], digest: &str) -> Option<()> {
        let hash = is_digest(digest).then(|| u64::from_str_radix(digest, 16).ok())??;
        self.add_hash(name, dtype, shape, (dtype.byte_len(shape)?, hash));
        Some(())
    }

    /// Adds one tensor by the length and the hash of its bytes.
    fn add_hash(&mut self, name: &str, dtype: Dtype, shape: &[usize], (bytes, hash): (usize, u64)) {
        let mut record = Vec::with_capacity(40 + name.len() + 8 * shape.len());
        push_counted(&mut record, name.as_bytes());
        push_counted(&mut record, dtype.name().as_bytes());
        record.extend_from_slice(&(shape.len() as u64).to_le_bytes());
        for &dim in shape {
            record.extend_from_slice(&(dim as u64).to_le_bytes());
        }
        record.extend_from_slice(&(bytes as u64).to_le_bytes());
        record.extend_from_slice(&hash.to_le_bytes());
        self.records.push((name.to_owned(), record));
    }

    /// The digest of all tensors added.
    pub fn finish(mut self) -> String {
        self.records.sort_by(|left, right| left.0.cmp(&right.0));
        let mut hasher = Hasher::new();
        for (_, record) in &self.records {
            hasher.update(record);
        }
        hasher.finish()
    }
}

fn push_counted(record: &mut Vec<u8>, bytes: &[u8]) {
    record.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    record.extend_from_slice(bytes);
}

fn hex(value: u64) -> String {
    format!("{value:016x}")
}
