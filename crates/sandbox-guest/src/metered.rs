//! A tar stream from which tar can read only so much for the headers of an entry.
//!
//! What describes an entry (long names, extensions, lists of sparse blocks) is held in memory as a whole.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Most bytes of the headers of one entry.
const MAX_DESCRIPTION_BYTES: u64 = 1 << 20;

/// See the module. Nothing can be read before `Meter` allows it.
pub struct Metered<R> {
    stream: R,
    allowance: Rc<Cell<u64>>,
}

/// Says what may be read next.
pub struct Meter(Rc<Cell<u64>>);

impl Meter {
    /// Headers come next: the content of the entry before was read as a whole.
    pub fn headers(&self) {
        self.0.set(MAX_DESCRIPTION_BYTES);
    }

    /// The content of an entry comes next.
    pub fn content(&self) {
        self.0.set(u64::MAX);
    }
}

impl<R> Metered<R> {
    pub fn new(stream: R) -> (Self, Meter) {
        let allowance = Rc::new(Cell::new(0));
        let meter = Meter(Rc::clone(&allowance));
        (Self { stream, allowance }, meter)
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        let left = self.allowance.get().checked_sub(read as u64);
        self.allowance.set(left.ok_or_else(|| {
            io::Error::other(format!(
                "the headers of an entry have more than {MAX_DESCRIPTION_BYTES} bytes"
            ))
        })?);
        Ok(read)
    }
}
