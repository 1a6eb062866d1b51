"""The floor: a bare Python fork server that enters the same namespaces as a sandbox, and does nothing else.

    /usr/bin/python3 -I -S fork_server.py SOCKET [numpy]

One connection is one run. The client sends two lengths (little-endian u32: code, input) and both texts; the program's output
comes back until end of file. Per run: fork, new pid, mount, network, IPC, UTS and cgroup namespaces, a fresh /tmp and /proc,
no new privileges. It has no limits, no separate user, no filter, no accounting and no cause of the end: it is a floor for timings, not a sandbox.
"""

import bisect
import collections
import ctypes
import gc
import heapq
import io
import itertools
import json
import math
import os
import random
import re
import signal
import socket
import struct
import sys
import traceback

CLONE_FLAGS = {
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}
MS_REC_PRIVATE = 0x4000 | 0x40000
MS_NOSUID_NODEV = 2 | 4
PR_SET_NO_NEW_PRIVS = 38

libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def isolate():
    """Leaves the calling process as pid 1 of new namespaces; the one that called waits for it."""
    must(libc.unshare(sum(CLONE_FLAGS.values())), "unshare")
    inner = os.fork()
    if inner:
        os.waitpid(inner, 0)
        os._exit(0)
    must(libc.mount(None, b"/", None, MS_REC_PRIVATE, None), "private mounts")
    must(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", MS_NOSUID_NODEV, b"size=64m"), "tmp")
    must(libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID_NODEV, None), "proc")
    must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")


def exactly(connection, length):
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        if not part:
            os._exit(1)
        parts += part
    return bytes(parts)


def run(connection):
    code_length, input_length = struct.unpack("<II", exactly(connection, 8))
    code = exactly(connection, code_length).decode()
    data = exactly(connection, input_length)
    try:
        isolate()
        os.setsid()
        random.seed()
        for fd in (1, 2):
            os.dup2(connection.fileno(), fd)
        sys.stdin = io.TextIOWrapper(io.BytesIO(data))
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False))
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        sys.stdout.flush()
    except BaseException:
        os.write(connection.fileno(), traceback.format_exc().encode())
    finally:
        os._exit(0)


def main():
    if "numpy" in sys.argv[2:]:
        sys.path.append("/usr/lib/python3/dist-packages")
        import numpy  # noqa: F401
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(1024)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    gc.disable()
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            gc.enable()
            run(connection)
        connection.close()


main()
