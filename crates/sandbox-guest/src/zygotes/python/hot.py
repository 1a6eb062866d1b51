"""Pages that every program writes to.

After a fork, parent and child share each page. The first of them to write takes a fault, which makes the second copy.
The fork itself can make that copy at half the price, and should for pages that every child writes to. It does so for
pages that are pinned in the parent, as for memory that a device may read. So a template finds these pages by a trial
and pins them, as buffers of an io_uring that gets no requests. A nursery does the same for its cases (`OF_CASES`).
Where the kernel gives no io_uring, each child takes its faults.

Children find the pages, because all that the template does here changes which pages programs will write to.
"""
import ctypes
import itertools
import os
import signal
import struct

SYS_IO_URING_SETUP, SYS_IO_URING_REGISTER, REGISTER_BUFFERS = 425, 427, 0
# The kernel takes at most this many buffers. More pages than that cannot be right.
MOST_PAGES = 1024
# Address and length of a place.
PLACE = struct.Struct('QQ')
ENTRY_BYTES = 8
# Bits of a page in pagemap: it is present, it is not shared, and it belongs to a file.
PRESENT, EXCLUSIVE, OF_A_FILE = 1 << 63, 1 << 56, 1 << 61
# A trial that takes longer hangs and is ended: then nothing is pinned.
TRIAL_SECONDS = 5
# The pages that a nursery pins.
OF_CASES = b''


def find(live):
    """The places of those pages. `live`: does what every child does, and returns the new number of a descriptor."""
    places = in_child(lambda writer: os.write(writer, writable()))
    return in_child(lambda writer: written(places, writer, live))


def pin(pages):
    """Pins pages. Returns a descriptor that keeps them pinned, which is useless to children, or `None` where that is
    impossible."""
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
    """The bytes that a function writes in a child; empty when it fails."""
    reader, writer = os.pipe()
    child = birth.fork()
    if not child:
        try:
            act(writer)
        finally:
            os._exit(0)
    os.close(writer)
    received = b''
    while part := os.read(reader, 1 << 16):
        received += part
    os.close(reader)
    os.waitpid(child, 0)
    return received


def see_proc():
    """Mounts /proc, which a template's root lacks. Where mounting is forbidden, /proc exists already."""
    if kernel.LIBC.unshare(kernel.CLONE_NEWNS) == 0:
        kernel.LIBC.mount(b'proc', b'/proc', b'proc', ctypes.c_ulong(0), None)


def writable():
    """The writable places of a process's private memory."""
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
    """Writes the pages of these places that a child has written to while it lived. The objects needed for that are made
    before the child is forked and in this process, where they do not count: pages that both share are not exclusive."""
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
