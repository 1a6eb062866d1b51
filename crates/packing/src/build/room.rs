//! Memory for long columns. Memory that is new to the process comes in huge pages where the system has them, because
//! thousands of faults on small pages cost several times as much as writing the columns.

/// Smaller columns do not gain from huge pages.
#[cfg(target_os = "linux")]
const WORTH_BYTES: usize = 8 << 20;
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 1 << 12;

/// A column of `length` unspecified values, in the memory of `spare` when that is long enough. New memory
/// holds zeros and is not touched before it is written.
pub(crate) fn column<T: Copy + Default>(mut spare: Vec<T>, length: usize) -> Vec<T> {
    if spare.capacity() >= length {
        spare.resize(length, T::default());
        return spare;
    }
    drop(spare);
    let column = vec![T::default(); length];
    #[cfg(target_os = "linux")]
    advise(&column);
    column
}

#[cfg(target_os = "linux")]
fn advise<T>(column: &[T]) {
    let bytes = size_of_val(column);
    if bytes < WORTH_BYTES {
        return;
    }
    let pointer = column.as_ptr().cast::<u8>().cast_mut();
    let skipped = pointer.align_offset(PAGE_BYTES);
    // SAFETY: the range lies in the allocation of `column`, and the advice changes the cost of the memory, not its
    // content. If the system refuses the advice, the column works all the same.
    let _ = unsafe {
        libc::madvise(
            pointer.wrapping_add(skipped).cast(),
            bytes - skipped,
            libc::MADV_HUGEPAGE,
        )
    };
}
