//! Our end of a pipe or terminal of a started process.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use prl_sandbox_guest::sys;
use tokio::io::unix::AsyncFd;

/// A descriptor that is read and written without blocking.
#[derive(Clone, Debug)]
pub(super) struct Stream(Arc<AsyncFd<OwnedFd>>);

impl Stream {
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        sys::set_nonblocking(fd.as_fd())?;
        // SAFETY: an OwnedFd always gives the same descriptor and keeps it open.
        let fd = unsafe { AsyncFd::register(fd) }.map_err(io::Error::from)?;
        Ok(Self(Arc::new(fd)))
    }

    /// The next bytes; 0 at the end. A terminal that no process has open any more is at its end too.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> usize {
        loop {
            let Ok(mut ready) = self.0.readable().await else {
                return 0;
            };
            match ready.try_io(|fd| read(fd.get_ref(), buffer)) {
                Ok(Ok(length)) => return length,
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(_)) => return 0,
                Err(_would_block) => {}
            }
        }
    }

    /// The bytes that are there at this moment.
    pub(super) fn read_now(&self, buffer: &mut [u8]) -> usize {
        read(self.0.get_ref(), buffer).unwrap_or(0)
    }

    /// Writes all bytes. An error means that the reader is gone.
    pub(super) async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let mut ready = self.0.writable().await?;
            let written = ready.try_io(|fd| {
                // SAFETY: a live descriptor and buffer.
                let written = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
                usize::try_from(written).map_err(|_| io::Error::last_os_error())
            });
            match written {
                Ok(Ok(length)) => bytes = bytes.get(length..).unwrap_or_default(),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Err(error),
                Err(_would_block) => {}
            }
        }
        Ok(())
    }

    /// Sets the size of a terminal.
    pub(super) fn resize(&self, rows: u16, columns: u16) -> io::Result<()> {
        let size = libc::winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: a live winsize.
        sys::check(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) })?;
        Ok(())
    }
}

fn read(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: a live descriptor and buffer.
    let length = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}
