//! Files in pieces: reading them with the digest up to each piece's end.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::Xxh3;

/// Length of every chunk but a file's last, in bytes. Part of the protocol: offsets are multiples of it.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// Length of the chunk that begins at `offset` of a file of `bytes` bytes; `offset` lies within it.
pub(crate) fn chunk_length(offset: u64, bytes: u64) -> usize {
    // At most CHUNK_BYTES.
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

/// Reads the chunk at `offset` of a file of `bytes` bytes.
pub(crate) fn read_chunk(file: &File, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut data = vec![0; chunk_length(offset, bytes)];
    file.read_exact_at(&mut data, offset)?;
    Ok(data)
}

/// Digests the first `length` bytes of a file.
pub(crate) fn digest_prefix(file: &File, length: u64) -> io::Result<Xxh3> {
    digest_chunks(file, length, |_| {})
}

/// The same, and tells the digest at the end of each chunk.
pub(crate) fn digest_chunks(file: &File, length: u64, mut at_end: impl FnMut(u64)) -> io::Result<Xxh3> {
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; chunk_length(0, length)];
    let mut offset = 0;
    while offset < length {
        let chunk = &mut buffer[..chunk_length(offset, length)];
        file.read_exact_at(chunk, offset)?;
        hasher.update(chunk);
        at_end(hasher.digest());
        offset += chunk.len() as u64;
    }
    Ok(hasher)
}

/// Digests as they are written elsewhere: 16 lower-case hexadecimal digits.
pub(crate) fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Reads 16 hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}
