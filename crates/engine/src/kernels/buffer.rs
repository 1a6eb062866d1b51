//! Buffers of f32 on cache-line boundaries, and slices that several threads may write at places of their own.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// A zero-initialised array of f32 that begins on a 64-byte boundary, so that vector loads never straddle cache lines.
#[derive(Clone, Default)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
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
        let lines = len.div_ceil(16);
        if lines > self.lines.len() {
            self.lines = Vec::new();
            self.lines = vec![Line([0.0; 16]); lines];
        }
        self.len = len;
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: `lines` holds at least `len` f32, contiguous because `Line` is 16 f32 of 64 bytes without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<f32>(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`, and we hold the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<f32>(), self.len) }
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
