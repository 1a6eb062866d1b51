//! A mapped file whose chunks are lent from the page cache: senders of the same chunk share it without a copy.
//!
//! The file must not be truncated while it is mapped. prl never does that: it replaces files by renaming. Sending pages that are gone
//! breaks an unencrypted connection; with TLS, which reads the pages in this process, it ends the process.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::{Mmap, MmapOptions};

use crate::chunk::chunk_length;

/// A file of a known length whose end may be missing yet.
#[derive(Debug, Clone)]
pub(crate) struct MappedFile(Arc<Mmap>);

impl MappedFile {
    /// Maps a file that has or will have `bytes` bytes.
    pub(crate) fn new(file: &File, bytes: u64) -> io::Result<Self> {
        let length = usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        // SAFETY: the file is not truncated (see above), and missing bytes are not touched: `read` is called only for
        // chunks that have arrived.
        let map = unsafe { MmapOptions::new().len(length).map(file)? };
        Ok(Self(Arc::new(map)))
    }

    /// Brings the chunk at `offset`, which has arrived, into memory and returns it. This may wait for the disk.
    pub(crate) fn read(&self, offset: u64) -> io::Result<Bytes> {
        let length = chunk_length(offset, self.0.len() as u64);
        // The cast is exact: the value is below the length of the map.
        let begin = offset as usize;
        self.fill(begin, length)?;
        Ok(Bytes::from_owner(Part {
            map: Arc::clone(&self.0),
            begin,
            end: begin + length,
        }))
    }

    #[cfg(target_os = "linux")]
    fn fill(&self, begin: usize, length: usize) -> io::Result<()> {
        match self.0.advise_range(memmap2::Advice::PopulateRead, begin, length) {
            // Linux before 5.14 does not know this advice: pages come when they are sent.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            filled => filled,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn fill(&self, _begin: usize, _length: usize) -> io::Result<()> {
        Ok(())
    }
}

/// The part of a map that a `Bytes` keeps.
struct Part {
    map: Arc<Mmap>,
    begin: usize,
    end: usize,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.map[self.begin..self.end]
    }
}
