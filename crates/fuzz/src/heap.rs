//! An allocator that counts while an input is parsed, and ends the process where a parser would fill the machine's memory.
//!
//! The count is that of the whole process, because parsers use threads. An allocator must not unwind, so that one beyond the hard limit
//! aborts: the input is in its file already.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes that no input may take, whatever its bound is.
const HARD_LIMIT_BYTES: isize = 1 << 30;

static COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// The allocator of a test binary that has targets: `#[global_allocator] static HEAP: Heap = Heap;`.
#[derive(Debug)]
pub struct Heap;

/// One target at a time: the count is that of the process.
static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other thread counts. A test that failed in its turn left nothing that the next one needs.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` and gives its result with the largest number of bytes by which the heap was larger than before. 0 in a binary without [`Heap`].
///
/// Not for use inside of a target, which counts for itself.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let _turn = turn();
    measure(work)
}

/// The same for a caller whose turn it is.
pub(crate) fn measure<T>(work: impl FnOnce() -> T) -> (T, usize) {
    LIVE.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    COUNTING.store(true, Relaxed);
    let result = work();
    COUNTING.store(false, Relaxed);
    (result, PEAK.load(Relaxed).max(0).cast_unsigned())
}

fn grow(bytes: isize) {
    if COUNTING.load(Relaxed) {
        let live = LIVE.fetch_add(bytes, Relaxed).saturating_add(bytes);
        if bytes > 0 {
            PEAK.fetch_max(live, Relaxed);
            if live > HARD_LIMIT_BYTES {
                COUNTING.store(false, Relaxed);
                crate::death::die(&format!("it takes more than {} MiB of memory", HARD_LIMIT_BYTES >> 20));
            }
        }
    }
}

// SAFETY: every call goes to the system's allocator with the arguments that came; the counters do not change what it returns.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size().cast_signed());
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size().cast_signed());
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        grow(-layout.size().cast_signed());
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        grow(bytes.cast_signed().saturating_sub(layout.size().cast_signed()));
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.realloc(place, layout, bytes) }
    }
}
