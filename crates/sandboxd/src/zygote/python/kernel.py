"""System calls that the standard library lacks. A failure is an OSError whose filename is the step."""
import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_SECUREBITS, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 28, 36, 38
SECCOMP_MODE_FILTER = 2
SECURE_BITS = 0x1 | 0x2 | 0x4 | 0x8 | 0x40 | 0x80
LAST_CAPABILITY = 63
CAPABILITY_VERSION = 0x20080522
SYS_CLOSE_RANGE = 436


class Filter(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('program', ctypes.c_char_p)]


def checked(step, result):
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno), step)
    return result


def prctl(step, option, argument=0, pointer=None):
    return checked(step, LIBC.prctl(option, ctypes.c_ulong(argument), pointer, 0, 0))


def enter(namespace):
    checked('namespaces', LIBC.setns(namespace, 0))


def close_from(first):
    checked('descriptors', LIBC.syscall(SYS_CLOSE_RANGE, ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), 0))


def drop_bounding_set():
    for capability in range(LAST_CAPABILITY + 1):
        # The kernel refuses those it does not know; what matters is checked by the call below.
        LIBC.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), None, 0, 0)
    prctl('secure bits', PR_SET_SECUREBITS, SECURE_BITS)


def drop_capabilities():
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    checked('capabilities', LIBC.capset(header, (ctypes.c_uint32 * 6)()))


def install(programs):
    """Seccomp filters, each the bytes of its instructions, in order."""
    prctl('no new privileges', PR_SET_NO_NEW_PRIVS, 1)
    for program in programs:
        filter = Filter(len(program) // 8, program)
        prctl('filter', PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter))
