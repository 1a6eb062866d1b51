"""System calls that the standard library lacks. A failure is an OSError whose filename is the step."""
import _socket
import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)
# Calls through this object keep the interpreter's lock.
INTERPRETER = ctypes.PyDLL(None, use_errno=True)
LIBC.syscall.restype = LIBC.mmap.restype = ctypes.c_long
# The template looks them up once.
capset, fflush, setns = LIBC.capset, LIBC.fflush, LIBC.setns
LIBC.prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_SECUREBITS, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 28, 36, 38
SECCOMP_MODE_FILTER = 2
SECURE_BITS = 0x1 | 0x2 | 0x4 | 0x8 | 0x40 | 0x80
LAST_CAPABILITY = 63
CAPABILITY_VERSION = 0x20080522
DESCRIPTORS = 16
# The longest message has a program's command and environment.
MESSAGE_BYTES = 1 << 18
# The module `socket` above it takes a megabyte, which every fork would copy.
Socket = _socket.socket
ANCILLARY_BYTES = _socket.CMSG_SPACE(4 * DESCRIPTORS)
SYS_PIDFD_OPEN, SYS_CLOSE_RANGE, SYS_LANDLOCK_RESTRICT_SELF = 434, 436, 446
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x20000000, 0x40000000
OF_A_SANDBOX = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET


PAGE_BYTES = 4096
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
MAP_PRIVATE_ANONYMOUS = 0x22


class Filter(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('program', ctypes.c_char_p)]


def checked(step, result):
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno), step)
    return result


def prctl(step, option, argument=0, pointer=None):
    return checked(step, LIBC.prctl(option, argument, pointer, 0, 0))


def receive(socket):
    """A message and the descriptors that came with it; the message is empty at the end."""
    length, ancillary, _, _ = socket.recvmsg_into((INBOX,), ANCILLARY_BYTES)
    return INBOX[:length].tobytes(), [descriptor for _, _, content in ancillary for descriptor in memoryview(content).cast('i')]


def socket(number):
    """Makes a socket of messages from a descriptor, without the calls that ask for its kind."""
    return Socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, number)


def pair():
    return [socket(one.detach()) for one in _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)]


def send(socket, content, descriptors):
    rights = b''.join(descriptor.to_bytes(4, 'little') for descriptor in descriptors)
    socket.sendmsg([content], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])


def pidfd(pid):
    return checked('pidfd', LIBC.syscall(SYS_PIDFD_OPEN, ctypes.c_int(pid), ctypes.c_uint(0)))


def enter(namespaces, kinds):
    """Enters namespaces. `namespaces`: a process's pidfd, or one namespace."""
    checked('namespaces', setns(namespaces, kinds))


def close_from(first):
    checked('descriptors', LIBC.syscall(SYS_CLOSE_RANGE, ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), 0))


def drop_bounding_set():
    for capability in range(LAST_CAPABILITY + 1):
        # The kernel refuses unknown capabilities. The call below checks the result.
        LIBC.prctl(PR_CAPBSET_DROP, capability, None, 0, 0)
    prctl('secure bits', PR_SET_SECUREBITS, SECURE_BITS)


NO_CAPABILITIES = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()


def drop_capabilities():
    checked('capabilities', capset(*NO_CAPABILITIES))


def pages(length):
    """New private memory, by its address."""
    return checked('memory', LIBC.mmap(None, length, PROT_READ | PROT_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0))


def memory(length):
    """New private memory, to be read and written as bytes."""
    return memoryview((ctypes.c_char * length).from_address(pages(length))).cast('B')


def executable(code):
    """Makes a function of one pointer out of machine code."""
    at = pages(PAGE_BYTES)
    ctypes.memmove(at, code, len(code))
    checked('code', LIBC.mprotect(ctypes.c_void_p(at), PAGE_BYTES, PROT_READ | PROT_EXEC))
    function = INTERPRETER._FuncPtr(at)
    function.argtypes = (ctypes.c_void_p,)
    return function


def filters(text):
    """Seccomp filters from the daemon's message: the instructions of each in hexadecimal."""
    programs = [bytes.fromhex(part.decode()) for part in text.split(b',') if part]
    return [Filter(len(program) // 8, program) for program in programs]


def restrict(rules):
    checked('landlock', LIBC.syscall(SYS_LANDLOCK_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint(0)))


def no_new_privileges():
    prctl('no new privileges', PR_SET_NO_NEW_PRIVS, 1)


def install(filters):
    """Installs these filters, in order, in addition to the existing ones."""
    for filter in filters:
        prctl('filter', PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter))


# Each message is read into this buffer. Pages that no message has filled cost nothing.
INBOX = memory(MESSAGE_BYTES)
