//! A file whose chunks are lent where the system keeps them: those who send the same chunk share it, and nobody copies it.
//!
//! The file must not be truncated while it is mapped, as prl's never are: they are replaced by renaming. Sending what is gone
//! breaks a connection in the clear, and with TLS, which reads it in this process, ends the process.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::{Mmap, MmapOptions};

use crate::chunk::chunk_length;

/// A file of a known length, of which the end may not have come yet.
#[derive(Debug, Clone)]
pub(crate) struct MappedFile(Arc<Mmap>);

impl MappedFile {
    /// Maps a file that has or will have `bytes` bytes.
    pub(crate) fn new(file: &File, bytes: u64) -> io::Result<Self> {
        let length = usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        // SAFETY: nobody truncates the file (see above), and of what has not come yet nothing is touched: `read` is asked
        // for chunks that are here.
        let map = unsafe { MmapOptions::new().len(length).map(file)? };
        Ok(Self(Arc::new(map)))
    }

    /// The chunk at `offset`, which is here, in memory by then: this may wait for the disk.
    pub(crate) fn read(&self, offset: u64) -> io::Result<Bytes> {
        let length = chunk_length(offset, self.0.len() as u64);
        // Below the length of the map.
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
            // Systems before 5.14 do not know it: pages come when they are sent.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            filled => filled,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn fill(&self, _begin: usize, _length: usize) -> io::Result<()> {
        Ok(())
    }
}

/// What a `Bytes` holds on to.
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
