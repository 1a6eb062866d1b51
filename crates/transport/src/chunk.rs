//! Files in chunks: reads them with the digest up to the end of each chunk.

use std::fs::File;
use std::hash::Hasher;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use twox_hash::XxHash3_64;

/// Length in bytes of every chunk except the last one of a file. It is part of the protocol: offsets are multiples of it.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// Length of the chunk that begins at `offset`, which is within the file of `bytes` bytes.
pub(crate) fn chunk_length(offset: u64, bytes: u64) -> usize {
    // The cast is exact: the value is at most CHUNK_BYTES.
    (bytes - offset).min(CHUNK_BYTES) as usize
}

/// How many chunks a file of `bytes` bytes has.
pub(crate) fn chunk_count(bytes: u64) -> u64 {
    bytes.div_ceil(CHUNK_BYTES)
}

/// Whether a transfer of a file of `bytes` bytes may begin at `offset`.
pub(crate) fn is_boundary(offset: u64, bytes: u64) -> bool {
    offset == bytes || (offset < bytes && offset.is_multiple_of(CHUNK_BYTES))
}

/// Buffers for chunks, which are used again when their last reader is done: new memory would cost as much as the copy into it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChunkBuffers(Arc<Mutex<Vec<Box<[u8]>>>>);

/// How many unused buffers are kept.
const IDLE_BUFFERS: usize = 4;

impl ChunkBuffers {
    /// Reads the chunk at `offset` of a file of `bytes` bytes.
    pub(crate) fn read(&self, file: &File, offset: u64, bytes: u64) -> io::Result<Bytes> {
        let idle = self.idle().pop();
        let mut lent = Lent {
            buffer: idle.unwrap_or_else(|| vec![0; CHUNK_BYTES as usize].into()),
            length: chunk_length(offset, bytes),
            home: self.clone(),
        };
        file.read_exact_at(&mut lent.buffer[..lent.length], offset)?;
        Ok(Bytes::from_owner(lent))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Box<[u8]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A buffer under a `Bytes`.
struct Lent {
    buffer: Box<[u8]>,
    length: usize,
    home: ChunkBuffers,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut idle = self.home.idle();
        if idle.len() < IDLE_BUFFERS {
            idle.push(std::mem::take(&mut self.buffer));
        }
    }
}

/// Digests the first `length` bytes of a file.
pub(crate) fn digest_prefix(file: &File, length: u64) -> io::Result<XxHash3_64> {
    digest_chunks(file, length, |_| {})
}

/// Digests the first `length` bytes of a file and calls `at_end` with the digest at the end of each chunk.
pub(crate) fn digest_chunks(file: &File, length: u64, mut at_end: impl FnMut(u64)) -> io::Result<XxHash3_64> {
    let mut hasher = XxHash3_64::default();
    let mut buffer = vec![0; chunk_length(0, length)];
    let mut offset = 0;
    while offset < length {
        let chunk = &mut buffer[..chunk_length(offset, length)];
        file.read_exact_at(chunk, offset)?;
        hasher.write(chunk);
        at_end(hasher.finish());
        offset += chunk.len() as u64;
    }
    Ok(hasher)
}

/// Writes a digest as 16 lower-case hexadecimal digits.
pub(crate) fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Reads 16 hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}
