"""The interpreter's code in huge pages.

Of a file's pages a fork copies nothing: each child finds them again by faults, a few at a time. Of a huge page it copies
one entry. So what the interpreter's file has between two bounds of huge pages, its code and constants, is copied once, by
the template, into memory that lies in huge pages and takes its place. It is as it was, and as little to be written to.
Nothing changes where the kernel has no huge pages to give, or where no bounds lie in it: in an interpreter that can be
loaded anywhere, or has its code in a library. No other thread may run meanwhile: there is a moment without the code.
"""
import ctypes
import struct

HUGE_BYTES = 2 << 20
MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25
MREMAP_MAYMOVE, MREMAP_FIXED = 1, 2
AT_PHDR, AT_PHENT, AT_PHNUM = 3, 4, 5
PT_LOAD, PT_PHDR, PF_W = 1, 6, 2
# Of an ELF file's part: kind, flags, address and length in memory.
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
    """Where what is not to be written to of the interpreter's file lies: first and last address."""
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
    """Puts a copy in huge pages into a place, if the kernel gives it."""
    around = kernel.pages(length + HUGE_BYTES)
    copy = -(-around // HUGE_BYTES) * HUGE_BYTES
    LIBC.madvise(copy, length, MADV_HUGEPAGE)
    ctypes.memmove(copy, at, length)
    # It succeeds when all of it is in huge pages.
    if LIBC.madvise(copy, length, MADV_COLLAPSE) == 0:
        kernel.checked('code', LIBC.mprotect(copy, length, kernel.PROT_READ | kernel.PROT_EXEC))
        kernel.checked('code', LIBC.mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, at))
    LIBC.munmap(around, length + HUGE_BYTES)
