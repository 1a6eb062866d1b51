//! Makes the system begin to write a file to disk while it is still growing, so that the sync at the end finds most of the work
//! done: copying and the disk work at the same time instead of one after the other.
//!
//! This makes nothing durable; only the sync does. Systems without the call write at the sync.

use std::fs::File;
use std::io::{self, Write};

/// The call is made when at least this many bytes are new: beside writing them it costs nothing.
const STRIDE_BYTES: u64 = 8 << 20;

/// How far a file that grows from its beginning to its end was handed to the disk.
#[derive(Debug, Default, Clone, Copy)]
pub struct Writeback {
    begun: u64,
}

impl Writeback {
    /// Starts at byte `from` of the file.
    pub fn new(from: u64) -> Self {
        Self { begun: from }
    }

    /// The file was written up to byte `end`. Hands the new bytes to the disk when there are enough.
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
    // SAFETY: the descriptor is open as long as `file` is; the call uses no memory of this process.
    let refused = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, libc::SYNC_FILE_RANGE_WRITE) };
    if refused != 0 {
        // A file system without this call costs time but no data: the sync writes everything.
        tracing::debug!(error = %io::Error::last_os_error(), "writing to disk begins at the sync");
    }
}

#[cfg(not(target_os = "linux"))]
fn begin(_file: &File, _offset: u64, _length: u64) {}
