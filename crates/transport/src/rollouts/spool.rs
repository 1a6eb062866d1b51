//! The spool: batch files below a root, which a sender keeps until they are acknowledged. The orchestrator writes them
//! whole (temporary file, rename), so every file there must be delivered.

use std::fs::{self, File};
use std::hash::Hasher;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use crate::TransportError;
use crate::chunk::{ChunkBuffers, digest_prefix, hex};
use crate::pb::Chunk;
use crate::rollouts::BatchKey;

/// A batch in the spool.
pub(crate) struct Spooled {
    pub(crate) key: BatchKey,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) digest: u64,
    file: File,
}

impl Spooled {
    /// Opens the batch of (step, rank).
    pub(crate) fn open(root: &Path, step: u64, rank: u32) -> Result<Self, TransportError> {
        let path = root.join(BatchKey::path(step, rank));
        let key = BatchKey::of_file(&path)?;
        if (key.step, key.rank) != (step, rank) {
            return Err(TransportError::Key(format!("{} says that it is {key}", path.display())));
        }
        let file = File::open(&path).map_err(TransportError::io("open", &path))?;
        let bytes = file.metadata().map_err(TransportError::io("look at", &path))?.len();
        let digest = digest_prefix(&file, bytes)
            .map_err(TransportError::io("read", &path))?
            .finish();
        Ok(Self {
            key,
            path,
            bytes,
            digest,
            file,
        })
    }

    /// A reader of its chunks from `offset` on.
    pub(crate) fn chunks_from(&self, offset: u64) -> Result<Chunks, TransportError> {
        let file = self.file.try_clone().map_err(TransportError::io("open", &self.path))?;
        let hasher = digest_prefix(&file, offset).map_err(TransportError::io("read", &self.path))?;
        Ok(Chunks {
            file,
            bytes: self.bytes,
            offset,
            hasher,
            buffers: ChunkBuffers::default(),
        })
    }

    /// Checks that the file has not changed since it was opened.
    pub(crate) fn check(&self) -> Result<(), TransportError> {
        let found = digest_prefix(&self.file, self.bytes)
            .map_err(TransportError::io("read", &self.path))?
            .finish();
        if found == self.digest {
            return Ok(());
        }
        Err(TransportError::Corrupt {
            what: self.path.display().to_string(),
            expected: hex(self.digest),
            found: hex(found),
        })
    }

    /// Removes the batch, but not another one that was put in its place since it was opened: that one is not delivered.
    pub(crate) fn remove(&self) -> Result<(), TransportError> {
        let place = |found: fs::Metadata| (found.dev(), found.ino());
        let found = fs::metadata(&self.path).map_err(TransportError::io("remove", &self.path))?;
        let own = self
            .file
            .metadata()
            .map_err(TransportError::io("look at", &self.path))?;
        if place(found) != place(own) {
            return Ok(());
        }
        fs::remove_file(&self.path).map_err(TransportError::io("remove", &self.path))?;
        // The folder is removed with its last batch. If there are others, it stays, which is no error.
        if let Some(directory) = self.path.parent() {
            let _ = fs::remove_dir(directory);
        }
        Ok(())
    }
}

/// Consecutive chunks of a batch.
pub(crate) struct Chunks {
    file: File,
    bytes: u64,
    offset: u64,
    hasher: XxHash3_64,
    buffers: ChunkBuffers,
}

impl Chunks {
    /// The next chunk; `None` after the last.
    pub(crate) fn next(&mut self) -> io::Result<Option<Chunk>> {
        if self.offset >= self.bytes {
            return Ok(None);
        }
        let data = self.buffers.read(&self.file, self.offset, self.bytes)?;
        self.hasher.write(&data);
        let chunk = Chunk {
            file: 0,
            offset: self.offset,
            prefix_digest: self.hasher.finish(),
            data,
        };
        self.offset += chunk.data.len() as u64;
        Ok(Some(chunk))
    }
}

/// (step, rank) of every batch in the spool, in the order of delivery.
pub(crate) fn list(root: &Path) -> Result<Vec<(u64, u32)>, TransportError> {
    let mut found = Vec::new();
    for (name, directory) in entries(root)? {
        let Some(step) = name.strip_prefix("step_").and_then(|step| step.parse().ok()) else {
            continue;
        };
        for (name, _) in entries(&directory)? {
            let rank = name
                .strip_prefix("rank_")
                .and_then(|name| name.strip_suffix(".safetensors"))
                .and_then(|rank| rank.parse().ok());
            found.extend(rank.map(|rank| (step, rank)));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn entries(directory: &Path) -> Result<Vec<(String, PathBuf)>, TransportError> {
    let listing = match fs::read_dir(directory) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        // A file in the place of a folder is not part of the spool.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(error) => return Err(TransportError::io("list", directory)(error)),
    };
    listing
        .map(|entry| {
            let entry = entry.map_err(TransportError::io("list", directory))?;
            Ok((entry.file_name().to_string_lossy().into_owned(), entry.path()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use prl_weights::{Dtype, TensorToWrite, WriteOptions, write_safetensors};

    use super::*;

    fn write(root: &Path, attempt: u32) {
        let path = root.join(BatchKey::path(1, 0));
        let attempt = attempt.to_string();
        let metadata = [("run_id", "run"), ("attempt", &attempt), ("step", "1"), ("rank", "0")];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let tensor = TensorToWrite {
            name: "loss_mask",
            dtype: Dtype::U8,
            shape: &[1],
            data: &[1],
        };
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        write_safetensors(&path, &[tensor], &metadata, WriteOptions::default()).expect("a batch");
    }

    #[test]
    fn the_batch_of_a_later_attempt_is_not_removed_with_the_one_that_it_replaced() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), 1);
        let first = Spooled::open(root.path(), 1, 0).expect("a batch");
        write(root.path(), 2);
        first.remove().expect("nothing to do");
        let second = Spooled::open(root.path(), 1, 0).expect("a batch");
        assert_eq!(second.key.attempt, 2);
        second.remove().expect("removed");
        assert_eq!(list(root.path()).expect("a spool"), []);
    }
}
