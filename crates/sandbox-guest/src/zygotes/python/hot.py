"""Pages that every program writes to.

After a fork parent and child have one copy of each page, and whoever writes first takes a fault and makes the second. For
pages that every child writes to a fork can do that at once, at half the price: the kernel copies then what is pinned in
the parent, as memory that a device may read is. So a template finds out which pages those are, by trying, and pins them,
as buffers of an io_uring that nothing is ever asked of; so does a nursery, for its cases (`OF_CASES`).
Where the kernel gives no io_uring, each child takes its faults.

Children do the finding: whatever the template does here moves what programs will write to.
"""
import ctypes
import itertools
import os
import signal
import struct

SYS_IO_URING_SETUP, SYS_IO_URING_REGISTER, REGISTER_BUFFERS = 425, 427, 0
# The kernel takes so many buffers. More pages are not what they are thought to be.
MOST_PAGES = 1024
# A place: an address and a length.
PLACE = struct.Struct('QQ')
ENTRY_BYTES = 8
# Of a page as proc tells of it: it is there, nobody else has it, and it is a file's.
PRESENT, EXCLUSIVE, OF_A_FILE = 1 << 63, 1 << 56, 1 << 61
# A trial that takes longer hangs, and is ended: then nothing is pinned.
TRIAL_SECONDS = 5
# What a nursery pins.
OF_CASES = b''


def find(live):
    """Where those pages are. `live`: does what every child does, and returns where a descriptor is then."""
    places = in_child(lambda writer: os.write(writer, writable()))
    return in_child(lambda writer: written(places, writer, live))


def pin(pages):
    """Returns what holds them: a descriptor, of no use to children. `None` where there is nothing to hold them by."""
    if not 0 < len(pages) <= MOST_PAGES * PLACE.size:
        return None
    ring = kernel.LIBC.syscall(SYS_IO_URING_SETUP, 1, ctypes.c_void_p(kernel.pages(kernel.PAGE_BYTES)))
    if ring < 0:
        return None
    if kernel.LIBC.syscall(SYS_IO_URING_REGISTER, ring, REGISTER_BUFFERS, pages, len(pages) // PLACE.size) < 0:
        os.close(ring)
        return None
    return ring


def in_child(act):
    """What it writes in a child, nothing where that fails."""
    reader, writer = os.pipe()
    child = birth.fork()
    if not child:
        try:
            act(writer)
        finally:
            os._exit(0)
    os.close(writer)
    told = b''
    while part := os.read(reader, 1 << 16):
        told += part
    os.close(reader)
    os.waitpid(child, 0)
    return told


def see_proc():
    """A template's root has none. Where that cannot be changed, there is one."""
    if kernel.LIBC.unshare(kernel.CLONE_NEWNS) == 0:
        kernel.LIBC.mount(b'proc', b'/proc', b'proc', ctypes.c_ulong(0), None)


def writable():
    """The places of a process's own memory that it may write to."""
    see_proc()
    places = []
    with open('/proc/self/maps', 'rb') as maps:
        for line in maps:
            span, rights, _ = line.split(b' ', 2)
            first, last = (int(address, 16) for address in span.split(b'-'))
            if rights == b'rw-p':
                places.append(PLACE.pack(first, last - first))
    return b''.join(places)


def written(places, writer, live):
    """Tells of those pages in them that a child has written to when it has done it. What it takes to find that out is made
    before and here, where it counts for nothing: what both have is nobody's alone."""
    see_proc()
    spans = list(PLACE.iter_unpack(places))
    sizes = [length // kernel.PAGE_BYTES * ENTRY_BYTES for _, length in spans]
    entries = kernel.memory(sum(sizes))
    parts = [entries[end - size : end] for size, end in zip(sizes, itertools.accumulate(sizes))]
    reads = [([part], first // kernel.PAGE_BYTES * ENTRY_BYTES) for part, (first, _) in zip(parts, spans)]
    child = birth.fork()
    if child:
        os.waitpid(child, 0)
        return
    signal.alarm(TRIAL_SECONDS)
    writer = live(writer)
    pages = os.open('/proc/self/pagemap', os.O_RDONLY)
    for part, at in reads:
        os.preadv(pages, part, at)
    hot = (
        PLACE.pack(first + number * kernel.PAGE_BYTES, kernel.PAGE_BYTES)
        for part, (first, _) in zip(parts, spans)
        for number, entry in enumerate(part.cast('Q'))
        if entry & (PRESENT | EXCLUSIVE | OF_A_FILE) == PRESENT | EXCLUSIVE
    )
    os.write(writer, b''.join(hot))
