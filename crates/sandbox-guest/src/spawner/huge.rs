//! This program's code in huge pages.
//!
//! Of a file's pages a fork copies nothing: each init would find its code again by faults, a few pages at a time, and let
//! go of each of them at its end. Of a huge page a fork copies one entry. So what of this program's file is not to be
//! written to is copied once, as far as it lies between bounds of huge pages, into memory that has them and takes its
//! place. It reads as it did and is as little to be written to; constants beside the code can be executed from then on.
//!
//! The kernel clears the place before it moves the copy there. If it then has no memory for the move, which nobody could be told of,
//! this process is gone: its starter starts another, which leaves its code where it is.

use std::io;
use std::ptr;

use crate::sys::check;

const HUGE_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 4 << 10;
/// Since Linux 6.1.
const MADV_COLLAPSE: libc::c_int = 25;

/// For a process with one thread.
///
/// # Errors
/// The kernel has no huge pages to give, or the process no room for the move. Then everything is as before.
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

/// First and last address of what this program's file has that nobody writes to, with its code in it.
fn code() -> Option<(usize, usize)> {
    // SAFETY: read what the kernel told this process when it was executed: where the file's program headers are.
    let (at, count) = unsafe { (libc::getauxval(libc::AT_PHDR), libc::getauxval(libc::AT_PHNUM)) };
    let at = at as *const libc::Elf64_Phdr;
    if at.is_null() {
        return None;
    }
    // SAFETY: so many of them are there, as long as this process lives.
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
    // SAFETY: new memory, nobody's.
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
        // It succeeds when all of it is in huge pages.
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
    fn code_is_what_is_executed() {
        let (first, last) = code().expect("headers");
        let here = code as *const () as usize;
        assert!((first..last).contains(&here), "{here:x} is not in {first:x}..{last:x}");
    }
}
