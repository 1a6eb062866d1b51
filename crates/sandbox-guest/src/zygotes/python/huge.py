"""The interpreter's code in huge pages.

A fork copies no entries for pages of a file: each child finds the pages again by faults, a few at a time. For a huge
page it copies one entry. So the template copies the part of the interpreter's file that fills whole huge pages, its
code and constants, into memory with huge pages, which takes the place of the original. The content and the protection
from writing stay the same. Nothing changes where the kernel has no huge pages to give, or where the code fills none: in
an interpreter that can be loaded anywhere, or that has its code in a library. No other thread may run meanwhile,
because the code is missing for a moment.
"""
import ctypes
import struct

HUGE_BYTES = 2 << 20
MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25
MREMAP_MAYMOVE, MREMAP_FIXED = 1, 2
AT_PHDR, AT_PHENT, AT_PHNUM = 3, 4, 5
PT_LOAD, PT_PHDR, PF_W = 1, 6, 2
# A program header of an ELF file: kind, flags, address and length in memory.
HEADER = struct.Struct('<II8xQ16xQ')
LIBC = kernel.LIBC
LIBC.mremap.restype = LIBC.getauxval.restype = ctypes.c_long
PLACE = ctypes.c_void_p, ctypes.c_size_t
LIBC.munmap.argtypes = PLACE
LIBC.madvise.argtypes = LIBC.mprotect.argtypes = (*PLACE, ctypes.c_int)
LIBC.mremap.argtypes = (*PLACE, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)


def settle():
    for first, last in code():
        first, last = -(-first // HUGE_BYTES) * HUGE_BYTES, last // HUGE_BYTES * HUGE_BYTES
        if first < last:
            replace(first, last - first)


def code():
    """The read-only parts of the interpreter's file: first and last address."""
    at, size, count = map(LIBC.getauxval, (AT_PHDR, AT_PHENT, AT_PHNUM))
    headers = [HEADER.unpack(ctypes.string_at(at + size * number, HEADER.size)) for number in range(count)]
    loaded_at = at - next((address for kind, _, address, _ in headers if kind == PT_PHDR), at)
    found = []
    for kind, flags, address, length in headers:
        if kind != PT_LOAD or flags & PF_W:
            continue
        first = (loaded_at + address) // kernel.PAGE_BYTES * kernel.PAGE_BYTES
        last = -(-(loaded_at + address + length) // kernel.PAGE_BYTES) * kernel.PAGE_BYTES
        if found and found[-1][1] == first:
            first, _ = found.pop()
        found.append((first, last))
    return found


def replace(at, length):
    """Puts a copy in huge pages into a place, if the kernel gives them."""
    around = kernel.pages(length + HUGE_BYTES)
    copy = -(-around // HUGE_BYTES) * HUGE_BYTES
    LIBC.madvise(copy, length, MADV_HUGEPAGE)
    ctypes.memmove(copy, at, length)
    # This succeeds when the whole copy is in huge pages.
    if LIBC.madvise(copy, length, MADV_COLLAPSE) == 0:
        kernel.checked('code', LIBC.mprotect(copy, length, kernel.PROT_READ | kernel.PROT_EXEC))
        kernel.checked('code', LIBC.mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, at))
    LIBC.munmap(around, length + HUGE_BYTES)
