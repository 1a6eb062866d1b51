//! Buffers of numbers on cache-line boundaries, and slices that several threads may write at disjoint places.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

use super::element::Element;

/// Bytes of a cache line.
const LINE: usize = 64;
/// A buffer of at least this many bytes has separate pages.
const LEAST_PAGED: usize = 1 << 18;

/// A zero-initialised array that begins on a 64-byte boundary, so that vector loads never straddle cache lines.
///
/// Large buffers have separate pages: they take no memory before they are written, and give it back when they are dropped. The allocator
/// would place them between others in the heap of the thread that asked, where they would leave holes.
pub(crate) struct Buffer<T: Element = f32> {
    memory: Memory<T>,
    len: usize,
}

enum Memory<T> {
    /// The elements, after `first` elements of padding.
    Heap {
        data: Vec<T>,
        first: usize,
    },
    Pages(MmapMut),
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self::Heap {
            data: Vec::new(),
            first: 0,
        }
    }
}

impl<T: Element> Memory<T> {
    /// Room for `len` zeros.
    fn zeros(len: usize) -> Self {
        if let Some(bytes) = len.checked_mul(size_of::<T>())
            && bytes >= LEAST_PAGED
            && let Ok(pages) = MmapMut::map_anon(bytes)
        {
            return Self::Pages(pages);
        }
        let line = LINE / size_of::<T>();
        let data = vec![T::default(); len + line];
        let address = data.as_ptr().addr() / size_of::<T>();
        let first = address.next_multiple_of(line) - address;
        Self::Heap { data, first }
    }

    fn elements(&self) -> &[T] {
        match self {
            Self::Heap { data, first } => data.get(*first..).unwrap_or_default(),
            // SAFETY: pages begin on page boundaries, all bit patterns are elements, and whole elements were asked for.
            Self::Pages(pages) => unsafe {
                std::slice::from_raw_parts(pages.as_ptr().cast(), pages.len() / size_of::<T>())
            },
        }
    }

    fn elements_mut(&mut self) -> &mut [T] {
        match self {
            Self::Heap { data, first } => data.get_mut(*first..).unwrap_or_default(),
            // SAFETY: as in `elements`, and exclusively borrowed.
            Self::Pages(pages) => unsafe {
                std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), pages.len() / size_of::<T>())
            },
        }
    }
}

impl<T: Element> Default for Buffer<T> {
    fn default() -> Self {
        Self {
            memory: Memory::default(),
            len: 0,
        }
    }
}

impl<T: Element> Buffer<T> {
    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let mut buffer = Self::default();
        buffer.resize(len);
        buffer
    }

    /// Makes room for `len` elements; the contents afterwards are unspecified (old values or zeros).
    pub(crate) fn resize(&mut self, len: usize) {
        if len > self.memory.elements().len() {
            // The old memory is freed before the new is taken.
            self.memory = Memory::default();
            self.memory = Memory::zeros(len);
        }
        self.len = len;
    }
}

impl<T: Element> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::zeros(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory.elements()[..self.len]
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory.elements_mut()[..self.len]
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
