//! What the engine holds, as the allocator counts it. Tests run one after the other, so that nothing else is allocated meanwhile.

#[path = "../lora/adapters.rs"]
mod adapters;
mod frozen;
mod optimizer;
#[expect(dead_code, reason = "other tests use the other models")]
#[path = "../support/mod.rs"]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator; counting touches no memory of its callers.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A test is alone as long as it keeps this.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// What `make` leaves held, and the most that it held meanwhile.
fn counted<T>(make: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = held();
    MOST.store(before, Ordering::Relaxed);
    let made = make();
    (made, held() - before, MOST.load(Ordering::Relaxed) - before)
}
