//! A file that is being received: it grows chunk by chunk, and each chunk is checked before it is written.
//!
//! The bytes that a killed process left are used again. They are trusted only when the digest of the next chunk, which covers
//! everything before it, agrees.

use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use prl_weights::Writeback;
use twox_hash::XxHash3_64;

use crate::TransportError;
use crate::chunk::{CHUNK_BYTES, chunk_length, digest_chunks};

/// Why a chunk was not taken.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It does not begin at the end of the file, or has a wrong length.
    Place { offset: u64, expected: u64 },
    /// The digest differs.
    Digest(Mismatch),
    /// The digest differs, and nothing of the file was checked before: the bytes of a former process may be at fault, so the
    /// file was begun again.
    Beginning(Mismatch),
    /// It could not be written.
    Io(TransportError),
}

/// A digest that differs at the end of the chunk at `offset`.
#[derive(Debug)]
pub(crate) struct Mismatch {
    offset: u64,
    expected: u64,
    found: u64,
}

/// A file being received.
pub(crate) struct Incoming {
    path: PathBuf,
    file: File,
    bytes: u64,
    length: u64,
    hasher: XxHash3_64,
    /// The digest at the end of each received chunk.
    digests: Vec<u64>,
    /// This process has checked bytes of the file.
    is_checked: bool,
    writeback: Writeback,
}

impl Incoming {
    /// Opens the received part of a file that will have `bytes` bytes, or begins it.
    pub(crate) fn open(path: &Path, bytes: u64) -> Result<Self, TransportError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(TransportError::io("open", path))?;
        let found = file.metadata().map_err(TransportError::io("look at", path))?.len();
        let length = if found == bytes {
            bytes
        } else {
            (found / CHUNK_BYTES * CHUNK_BYTES).min(bytes / CHUNK_BYTES * CHUNK_BYTES)
        };
        file.set_len(length).map_err(TransportError::io("truncate", path))?;
        let mut digests = Vec::new();
        let hasher =
            digest_chunks(&file, length, |digest| digests.push(digest)).map_err(TransportError::io("read", path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            bytes,
            length,
            hasher,
            digests,
            is_checked: length == 0,
            writeback: Writeback::new(length),
        })
    }

    /// The number of received bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.length == self.bytes
    }

    /// The digest of the received bytes.
    pub(crate) fn digest(&self) -> u64 {
        self.hasher.finish()
    }

    /// The digest at the end of each chunk; empty until this process has checked bytes of the file.
    pub(crate) fn checked_digests(&self) -> &[u64] {
        if self.is_checked { &self.digests } else { &[] }
    }

    /// Confirms that the received bytes are the whole file, if they have `digest`.
    pub(crate) fn confirm(&mut self, digest: u64) -> bool {
        self.is_checked |= self.is_complete() && self.digest() == digest;
        self.is_checked
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Appends one chunk, whose bytes may be in pieces. A chunk with a wrong digest is not written.
    pub(crate) fn append(&mut self, offset: u64, data: &[Bytes], prefix_digest: u64) -> Result<(), Refused> {
        let length: usize = data.iter().map(Bytes::len).sum();
        if offset != self.length || self.is_complete() || length != chunk_length(offset, self.bytes) {
            return Err(Refused::Place {
                offset,
                expected: self.length,
            });
        }
        let mut hasher = self.hasher.clone();
        for piece in data {
            hasher.write(piece);
        }
        let found = hasher.finish();
        if found != prefix_digest {
            let refusal = Mismatch {
                offset,
                expected: prefix_digest,
                found,
            };
            if self.is_checked {
                return Err(Refused::Digest(refusal));
            }
            self.restart().map_err(Refused::Io)?;
            return Err(Refused::Beginning(refusal));
        }
        let mut end = offset;
        for piece in data {
            self.file
                .write_all_at(piece, end)
                .map_err(|source| Refused::Io(TransportError::io("write", &self.path)(source)))?;
            end += piece.len() as u64;
        }
        self.hasher = hasher;
        self.digests.push(found);
        self.length = end;
        self.writeback.reached(&self.file, self.length);
        self.is_checked = true;
        Ok(())
    }

    /// Begins again with a new file in place of this one, because others may have this one mapped.
    pub(crate) fn restart(&mut self) -> Result<(), TransportError> {
        fs::remove_file(&self.path).map_err(TransportError::io("remove", &self.path))?;
        *self = Self::open(&self.path, self.bytes)?;
        Ok(())
    }

    /// Makes the bytes survive a power cut.
    pub(crate) fn sync(&self) -> Result<(), TransportError> {
        self.file.sync_all().map_err(TransportError::io("sync", &self.path))
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Place { offset, expected } => write!(f, "a chunk at byte {offset} came where {expected} was due"),
            Self::Digest(Mismatch {
                offset,
                expected,
                found,
            })
            | Self::Beginning(Mismatch {
                offset,
                expected,
                found,
            }) => {
                write!(
                    f,
                    "the bytes up to the end of the chunk at {offset} have digest {found:016x}, expected {expected:016x}"
                )
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}
