//! Writes the lines of the log to standard error as long as its reader takes them.
//!
//! A starter that stops reading must not stop the daemon: a line for which there is no room is dropped, and the next
//! line that is written says how many were. Nothing here waits or has a thread, because the spawner logs too and must
//! have one thread.

mod seldom;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

pub(crate) use seldom::Seldom;

/// A pipe with room takes this much without waiting.
const ATOMIC_BYTES: usize = libc::PIPE_BUF;

/// Lines that were dropped since the last one that was written. Locked while a line is written: of two lines that find
/// room, one would have to wait.
static DROPPED: Mutex<u64> = Mutex::new(0);

/// The writer of one line.
pub(crate) struct Line;

impl io::Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut dropped = DROPPED.lock().unwrap_or_else(PoisonError::into_inner);
        put(io::stderr().as_fd(), line, &mut dropped);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the line, cut to the length that is taken at once, unless that would wait.
fn put(to: BorrowedFd<'_>, line: &[u8], dropped: &mut u64) {
    let mut text = Vec::with_capacity(line.len());
    if *dropped > 0 {
        text.extend_from_slice(format!("{dropped} lines of the log were not taken and are lost\n").as_bytes());
    }
    text.extend_from_slice(line);
    if text.len() > ATOMIC_BYTES {
        text.truncate(ATOMIC_BYTES - 1);
        text.push(b'\n');
    }
    let written = has_room(to) && {
        // SAFETY: a buffer of this length.
        let count = unsafe { libc::write(to.as_raw_fd(), text.as_ptr().cast(), text.len()) };
        count >= 0
    };
    *dropped = if written { 0 } else { *dropped + 1 };
}

fn has_room(to: BorrowedFd<'_>) -> bool {
    let mut asked = libc::pollfd {
        fd: to.as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one structure, no time to wait.
    let ready = unsafe { libc::poll(&raw mut asked, 1, 0) };
    ready == 1 && asked.revents & libc::POLLOUT != 0
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_pipe_without_a_reader_blocks_no_writer_and_lost_lines_are_counted() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut dropped = 0;
        for _ in 0..10_000 {
            put(
                writer.as_fd(),
                b"a line of the log that is about as long as such lines are\n",
                &mut dropped,
            );
        }
        assert!(dropped > 1000);
        let lost = dropped;
        let mut taken = vec![0; 1 << 16];
        let count = reader.read(&mut taken).unwrap();
        assert!(count > 30_000);
        put(writer.as_fd(), b"the last\n", &mut dropped);
        drop(writer);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(dropped, 0);
        assert!(rest.ends_with(&format!(
            "{lost} lines of the log were not taken and are lost\nthe last\n"
        )));
    }

    #[test]
    fn a_line_longer_than_a_pipe_takes_at_once_is_cut() {
        let (mut reader, writer) = io::pipe().unwrap();
        put(writer.as_fd(), &vec![b'x'; 3 * ATOMIC_BYTES], &mut 0);
        drop(writer);
        let mut text = Vec::new();
        reader.read_to_end(&mut text).unwrap();
        assert_eq!(text.len(), ATOMIC_BYTES);
        assert_eq!(text.last(), Some(&b'\n'));
    }
}
