//! Room for long columns: memory that is new to the process comes in huge pages where the system has them, as thousands
//! of faults on small pages cost several times as much as writing the columns.

/// Columns below this do not gain by it.
#[cfg(target_os = "linux")]
const WORTH_BYTES: usize = 8 << 20;
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 1 << 12;

/// A column of `length` values, whatever they are, in the memory of `spare` when that is long enough. Memory that is new
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
    // SAFETY: the range lies in the allocation of `column`; the advice changes what the memory costs, not what it
    // holds. It is no more than advice: a system that refuses it is as good.
    let _ = unsafe {
        libc::madvise(
            pointer.wrapping_add(skipped).cast(),
            bytes - skipped,
            libc::MADV_HUGEPAGE,
        )
    };
}
