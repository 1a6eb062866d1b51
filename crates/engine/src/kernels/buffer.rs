//! Buffers of f32 on cache-line boundaries, and slices that several threads may write at disjoint places.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Elements of a cache line.
const LINE: usize = 16;
/// A buffer with at least this many elements has separate pages: 256 KiB.
const LEAST_PAGED: usize = 1 << 16;

/// A zero-initialised array of f32 that begins on a 64-byte boundary, so that vector loads never straddle cache lines.
///
/// Large buffers have separate pages: they take no memory before they are written, and give it back when they are dropped. The allocator
/// would place them between others in the heap of the thread that asked, where they would leave holes.
#[derive(Default)]
pub(crate) struct Buffer {
    memory: Memory,
    len: usize,
}

enum Memory {
    /// The elements, after `first` elements of padding.
    Heap {
        data: Vec<f32>,
        first: usize,
    },
    Pages(MmapMut),
}

impl Default for Memory {
    fn default() -> Self {
        Self::Heap {
            data: Vec::new(),
            first: 0,
        }
    }
}

impl Memory {
    /// Room for `len` zeros.
    fn zeros(len: usize) -> Self {
        if len >= LEAST_PAGED
            && let Some(bytes) = len.checked_mul(size_of::<f32>())
            && let Ok(pages) = MmapMut::map_anon(bytes)
        {
            return Self::Pages(pages);
        }
        let data = vec![0.0; len + LINE];
        let address = data.as_ptr().addr() / size_of::<f32>();
        let first = address.next_multiple_of(LINE) - address;
        Self::Heap { data, first }
    }

    fn elements(&self) -> &[f32] {
        match self {
            Self::Heap { data, first } => data.get(*first..).unwrap_or_default(),
            // SAFETY: pages begin on page boundaries, all bit patterns are f32, and whole elements were asked for.
            Self::Pages(pages) => unsafe {
                std::slice::from_raw_parts(pages.as_ptr().cast(), pages.len() / size_of::<f32>())
            },
        }
    }

    fn elements_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Heap { data, first } => data.get_mut(*first..).unwrap_or_default(),
            // SAFETY: as in `elements`, and exclusively borrowed.
            Self::Pages(pages) => unsafe {
                std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), pages.len() / size_of::<f32>())
            },
        }
    }
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
        if len > self.memory.elements().len() {
            // The old memory is freed before the new is taken.
            self.memory = Memory::default();
            self.memory = Memory::zeros(len);
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
        &self.memory.elements()[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
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
