//! Buffers of f32 on cache-line boundaries, and slices that several threads may write at places of their own.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Elements of a cache line.
const LINE: usize = 16;

/// A zero-initialised array of f32 that begins on a 64-byte boundary, so that vector loads never straddle cache lines.
///
/// Large ones take no memory before they are written: the allocator gets their zeros from fresh pages.
#[derive(Default)]
pub(crate) struct Buffer {
    /// The elements, after up to a line of padding.
    data: Vec<f32>,
    /// Elements of padding.
    first: usize,
    len: usize,
}

impl Buffer {
    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let mut buffer = Self::default();
        buffer.resize(len);
        buffer
    }

    /// Makes room for `len` elements; the contents afterwards are unspecified (old values or zeros).
    pub(crate) fn resize(&mut self, len: usize) {
        if self.first + len > self.data.len() {
            self.data = Vec::new();
            self.data = vec![0.0; len + LINE];
            let address = self.data.as_ptr().addr() / size_of::<f32>();
            self.first = address.next_multiple_of(LINE) - address;
        }
        self.len = len;
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Self::zeros(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.data[self.first..self.first + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.data[self.first..self.first + self.len]
    }
}

/// A mutable slice that tasks of one parallel loop share; each task takes ranges that no other task touches.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a, T> {
    data: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: access goes through `slice`, whose caller promises that ranges taken at the same time do not overlap.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Shares `data` for the life of the borrow.
    pub(crate) fn new(data: &'a mut [T]) -> Self {
        Self {
            data: data.as_mut_ptr(),
            len: data.len(),
            life: PhantomData,
        }
    }

    /// The elements `start..start + len`.
    ///
    /// # Safety
    /// No other live reference may overlap the range.
    ///
    /// # Panics
    /// When the range is out of bounds.
    pub(crate) unsafe fn slice(&self, start: usize, len: usize) -> &'a mut [T] {
        assert!(
            start <= self.len && len <= self.len - start,
            "range {start}+{len} is out of {}",
            self.len
        );
        // SAFETY: in bounds by the assertion, alive by `'a`, unaliased by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(start), len) }
    }

    /// The first element's address, for kernels that write strided tiles.
    pub(crate) fn as_mut_ptr(&self) -> *mut T {
        self.data
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_on_cache_lines_also_after_growth_and_copies() {
        let mut buffer = Buffer::zeros(3);
        for len in [1, 17, 5, 4096, 100_000] {
            buffer.resize(len);
            buffer.fill(len as f32);
            let copy = buffer.clone();
            for buffer in [&buffer, &copy] {
                assert_eq!(buffer.len(), len);
                assert!(buffer.as_ptr().addr().is_multiple_of(64));
                assert!(buffer.iter().all(|x| *x == len as f32));
            }
        }
    }
}
