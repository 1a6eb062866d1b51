//! Telling the system to begin writing to disk what was just written to a file, so that the sync at the end finds most
//! of it done: copying and the disk work at the same time instead of one after the other.
//!
//! It makes nothing durable; only the sync does. Systems without the call write at the sync.

use std::fs::File;
use std::io::{self, Write};

/// From so many unsent bytes on the disk is told: large enough that the call costs nothing beside them.
const STRIDE_BYTES: u64 = 8 << 20;

/// How much of a file that grows from one end to the other was handed to the disk.
#[derive(Debug, Default, Clone, Copy)]
pub struct Writeback {
    begun: u64,
}

impl Writeback {
    /// Nothing of the file yet, or nothing before byte `from`.
    pub fn new(from: u64) -> Self {
        Self { begun: from }
    }

    /// The file is written up to byte `end`. Begins to write whatever is worth it.
    pub fn reached(&mut self, file: &File, end: u64) {
        let length = end.saturating_sub(self.begun);
        if length >= STRIDE_BYTES {
            begin(file, self.begun, length);
            self.begun = end;
        }
    }
}

/// A file being written from its beginning.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    file: File,
    end: u64,
    writeback: Writeback,
}

impl WriteBehind {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            end: 0,
            writeback: Writeback::default(),
        }
    }

    pub(crate) fn sync(self) -> io::Result<()> {
        self.file.sync_all()
    }
}

impl Write for WriteBehind {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(STRIDE_BYTES as usize)];
        let count = self.file.write(piece)?;
        self.end += count as u64;
        self.writeback.reached(&self.file, self.end);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn begin(file: &File, offset: u64, length: u64) {
    use std::os::fd::AsRawFd;

    let (Ok(offset), Ok(length)) = (i64::try_from(offset), i64::try_from(length)) else {
        return;
    };
    // SAFETY: the descriptor is open as long as `file` is; the call takes no memory of ours.
    let refused = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, libc::SYNC_FILE_RANGE_WRITE) };
    if refused != 0 {
        // A file system without it loses time, no data: the sync writes everything.
        tracing::debug!(error = %io::Error::last_os_error(), "writing to disk begins at the sync");
    }
}

#[cfg(not(target_os = "linux"))]
fn begin(_file: &File, _offset: u64, _length: u64) {}
