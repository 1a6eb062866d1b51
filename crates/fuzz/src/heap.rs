//! The heap of a test binary that has targets: it counts while an input is parsed, and ends the process where a parser would fill the machine's
//! memory. The input is in its file already.

use prl_test_heap::{Heap, measure, turn};

/// Bytes that no input may take, whatever its bound is.
const HARD_LIMIT_BYTES: usize = 1 << 30;

/// The allocator of a test binary that has targets: `#[global_allocator] static HEAP: Heap = heap();`.
pub const fn heap() -> Heap {
    Heap::limited(HARD_LIMIT_BYTES, too_large)
}

fn too_large() -> ! {
    crate::death::die(&format!("it takes more than {} MiB of memory", HARD_LIMIT_BYTES >> 20))
}

/// Runs `work` and gives its result with the largest number of bytes by which the heap was larger than before. 0 in a binary without [`heap`].
///
/// Not for use inside of a target, which counts for itself.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let _turn = turn();
    let measured = measure(work);
    (measured.value, measured.peak)
}
