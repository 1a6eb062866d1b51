//! This program's code in huge pages.
//!
//! A fork copies no entries for pages of a file: each init would find its code again by faults, a few pages at a time,
//! and release each of them at its end. For a huge page a fork copies one entry. So the read-only part of this
//! program's file, as far as it fills whole huge pages, is copied once into memory with huge pages, which takes its
//! place. The content and the protection from writing stay the same; constants beside the code can be executed from
//! then on.
//!
//! The kernel clears the place before it moves the copy there. If it then lacks memory for the move, this process ends
//! without a message: its starter starts another one, which leaves its code where it is.

use std::io;
use std::ptr;

use crate::sys::check;

const HUGE_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 4 << 10;
/// Available since Linux 6.1.
const MADV_COLLAPSE: libc::c_int = 25;

/// Moves the code of this process, which must have one thread.
///
/// # Errors
/// The kernel has no huge pages to give, or the process has no room for the move. Then nothing has changed.
pub(crate) fn settle() -> io::Result<()> {
    let Some((first, last)) = code() else {
        return Ok(());
    };
    let (first, last) = (first.next_multiple_of(HUGE_BYTES), last / HUGE_BYTES * HUGE_BYTES);
    if first < last {
        replace(first, last - first)
    } else {
        Ok(())
    }
}

/// First and last address of the read-only part of this program's file that contains the code.
fn code() -> Option<(usize, usize)> {
    // SAFETY: reads values that the kernel gave this process when it was executed: where the file's program headers
    // are.
    let (at, count) = unsafe { (libc::getauxval(libc::AT_PHDR), libc::getauxval(libc::AT_PHNUM)) };
    let at = at as *const libc::Elf64_Phdr;
    if at.is_null() {
        return None;
    }
    // SAFETY: that many of them are there, as long as this process lives.
    let headers = unsafe { std::slice::from_raw_parts(at, usize::try_from(count).ok()?) };
    let own = headers.iter().find(|header| header.p_type == libc::PT_PHDR)?;
    let loaded_at = (at as usize).checked_sub(usize::try_from(own.p_vaddr).ok()?)?;
    let mut found: Option<(usize, usize)> = None;
    for header in headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0)
    {
        let begin = loaded_at + usize::try_from(header.p_vaddr).ok()?;
        let end = (begin + usize::try_from(header.p_memsz).ok()?).next_multiple_of(PAGE_BYTES);
        let begin = begin / PAGE_BYTES * PAGE_BYTES;
        found = match found {
            Some((first, last)) if last == begin => Some((first, end)),
            _ => Some((begin, end)),
        };
    }
    found
}

/// Puts a copy in huge pages into a place.
fn replace(at: usize, length: usize) -> io::Result<()> {
    let around = length + HUGE_BYTES;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new memory that nothing else uses.
    let memory = unsafe {
        libc::mmap(
            ptr::null_mut(),
            around,
            protection,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let copy = memory.map_addr(|address| address.next_multiple_of(HUGE_BYTES));
    // SAFETY: `copy` has `length` bytes of the new memory; what lies at `at` is mapped, is not written to, and is replaced
    // in one step by the same bytes, when no other thread runs.
    let moved = unsafe {
        libc::madvise(copy, length, libc::MADV_HUGEPAGE);
        ptr::copy_nonoverlapping(at as *const u8, copy.cast::<u8>(), length);
        // This succeeds when the whole copy is in huge pages.
        check(libc::madvise(copy, length, MADV_COLLAPSE))
            .and_then(|_| check(libc::mprotect(copy, length, libc::PROT_READ | libc::PROT_EXEC)))
            .and_then(|_| {
                let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                let moved = libc::mremap(copy, length, length, flags, at as *mut libc::c_void);
                if moved == libc::MAP_FAILED {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            })
    };
    // SAFETY: what is left of the new memory, which nothing refers to.
    unsafe { libc::munmap(memory, around) };
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_the_executed_mapping() {
        let (first, last) = code().expect("headers");
        let here = code as *const () as usize;
        assert!((first..last).contains(&here), "{here:x} is not in {first:x}..{last:x}");
    }
}
