//! An allocator for tests, which counts what the process holds and can end what takes too much.
//!
//! The count is that of the whole process, because what is measured uses threads. This crate knows nothing of what is measured.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes that are held.
static HELD: AtomicUsize = AtomicUsize::new(0);
/// The most since the beginning of a measured part.
static MOST: AtomicUsize = AtomicUsize::new(0);
/// The bytes that were held when the measured part began.
static BEFORE: AtomicUsize = AtomicUsize::new(0);
static IS_MEASURING: AtomicBool = AtomicBool::new(false);
/// One measured part at a time: the count is that of the process.
static TURN: Mutex<()> = Mutex::new(());

/// The allocator of a test binary: `#[global_allocator] static HEAP: Heap = Heap::counting();`.
#[derive(Debug)]
pub struct Heap {
    limit: usize,
    beyond: fn() -> !,
}

impl Heap {
    /// One that only counts.
    pub const fn counting() -> Self {
        Self::limited(usize::MAX, || std::process::abort())
    }

    /// One that calls `beyond` where a measured part holds more than `bytes` beside what was held before. An allocator must not unwind, so that
    /// `beyond` ends the process.
    pub const fn limited(bytes: usize, beyond: fn() -> !) -> Self {
        Self { limit: bytes, beyond }
    }

    fn grow(&self, bytes: usize) {
        let held = HELD.fetch_add(bytes, Relaxed) + bytes;
        MOST.fetch_max(held, Relaxed);
        if IS_MEASURING.load(Relaxed) && held.saturating_sub(BEFORE.load(Relaxed)) > self.limit {
            // `beyond` may allocate.
            IS_MEASURING.store(false, Relaxed);
            (self.beyond)();
        }
    }
}

fn shrink(bytes: usize) {
    HELD.fetch_sub(bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator with the arguments that came; the counters do not change what it returns.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.grow(layout.size());
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.grow(layout.size());
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        match bytes.checked_sub(layout.size()) {
            Some(more) => self.grow(more),
            None => shrink(layout.size() - bytes),
        }
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.realloc(place, layout, bytes) }
    }
}

/// Waits until no other test measures. A test that failed in its turn left nothing that the next one needs.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that the process holds; 0 in a binary without [`Heap`].
pub fn held() -> usize {
    HELD.load(Relaxed)
}

/// The result of a measured part, and the bytes that it held.
#[derive(Debug)]
pub struct Measured<T> {
    /// Its result.
    pub value: T,
    /// Bytes that it left held, its result included; 0 where it freed more than it took.
    pub left: usize,
    /// The most bytes that it held beside what was held before.
    pub peak: usize,
}

/// Runs `work` and counts. For a caller whose [`turn`] it is; `work` measures nothing itself.
pub fn measure<T>(work: impl FnOnce() -> T) -> Measured<T> {
    let before = held();
    BEFORE.store(before, Relaxed);
    MOST.store(before, Relaxed);
    IS_MEASURING.store(true, Relaxed);
    let value = work();
    IS_MEASURING.store(false, Relaxed);
    Measured {
        value,
        left: held().saturating_sub(before),
        peak: MOST.load(Relaxed) - before,
    }
}
