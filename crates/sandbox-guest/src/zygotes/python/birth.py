"""How a process with one thread forks, without the work that only processes with several threads need.

The interpreter's fork renews every lock and the record of threads. A copy of a process with one thread is complete as
it is, so that work is left out. Functions that modules registered for a fork are still called.
"""
import ctypes
import os
import sys

INTERPRETER = kernel.INTERPRETER
# For x86-64, like the filter. A first process is made that shares its parent's memory and stack while the parent waits,
# as vfork does it. It calls the function that is the argument, which is fork, and ends with 0 or 1. So the memory is
# not copied for it, and this returns in two processes: in the parent with the first process's pid or -errno, and in the
# forked one with 0. Only machine code can do that: a function that returns would spoil the parent's stack.
BY_A_FIRST = bytes.fromhex(
    '53'  # push rbx
    '4889fb'  # mov rbx, rdi
    'bf11410000'  # mov edi, CLONE_VM | CLONE_VFORK | SIGCHLD
    '31f6'  # xor esi, esi
    '31d2'  # xor edx, edx
    '4531d2'  # xor r10d, r10d
    '4531c0'  # xor r8d, r8d
    'b838000000'  # mov eax, SYS_clone
    '0f05'  # syscall
    '85c0'  # test eax, eax
    '7512'  # jne out
    'ffd3'  # call rbx
    '85c0'  # test eax, eax
    '740c'  # je out
    'c1e81f'  # shr eax, 31
    '89c7'  # mov edi, eax
    'b8e7000000'  # mov eax, SYS_exit_group
    '0f05'  # syscall
    '5b'  # out: pop rbx
    'c3'  # ret
)
EAGAIN = 11
# Sizes in the interpreter's allocator of small objects. With another allocator `fill_pools` only takes some memory.
POOL_BYTES, POOL_HEADER_BYTES = 16384, 48
SMALLEST_BYTES, LARGEST_BYTES, ALIGNMENT = 48, 512, 16
BYTES_OVERHEAD = 33
TRIES = 2000
FILLING = []


class Hooks:
    """Takes the place of `os.register_at_fork` while modules are loaded in advance. The functions that `threading`
    registered before are for processes with several threads."""

    def __init__(self):
        self.before, self.in_parent, self.in_child = [], [], []
        self._register = os.register_at_fork
        os.register_at_fork = self._note

    def stop(self):
        os.register_at_fork = self._register

    def leave_out(self, module):
        """Drops the functions that this module registered."""
        for hooks in (self.before, self.in_parent, self.in_child):
            hooks[:] = [hook for hook in hooks if getattr(hook, '__module__', None) != module]

    def leave_to_the_interpreter(self):
        """Does all the interpreter's work for a fork, where modules have started threads."""
        names = 'PyOS_BeforeFork', 'PyOS_AfterFork_Parent', 'PyOS_AfterFork_Child'
        self.before, self.in_parent, self.in_child = ([getattr(INTERPRETER, name)] for name in names)

    def _note(self, *, before=None, after_in_parent=None, after_in_child=None):
        # A program that forks gets them from the interpreter.
        wanted = {'before': before, 'after_in_parent': after_in_parent, 'after_in_child': after_in_child}
        self._register(**{name: hook for name, hook in wanted.items() if hook is not None})
        for hooks, hook in ((self.before, before), (self.in_parent, after_in_parent), (self.in_child, after_in_child)):
            if hook is not None:
                hooks.append(hook)


HOOKS = Hooks()


def call(hooks):
    """An exception of a hook is reported and changes nothing, as in the interpreter."""
    for hook in hooks:
        try:
            hook()
        except Exception:
            sys.excepthook(*sys.exc_info())


def fork():
    """Forks as `os.fork` does."""
    call(reversed(HOOKS.before))
    ctypes.set_errno(0)
    child = INTERPRETER.fork()
    errno = ctypes.get_errno()
    call(HOOKS.in_parent if child else HOOKS.in_child)
    if child < 0:
        raise OSError(errno, os.strerror(errno), 'fork')
    return child


def fill_pools():
    """Fills the free places between the existing small objects. The objects of a child are then side by side in new
    pools, instead of each in another page that must be copied for it."""
    for size in range(SMALLEST_BYTES, LARGEST_BYTES + 1, ALIGNMENT):
        for _ in range(TRIES):
            one = bytes(size - BYTES_OVERHEAD)
            if id(one) % POOL_BYTES == POOL_HEADER_BYTES:
                # This was the first object of a new pool, which is empty again when the object is gone.
                break
            FILLING.append(one)
    del one


FORK = ctypes.cast(INTERPRETER.fork, ctypes.c_void_p)
by_a_first = kernel.executable(BY_A_FIRST)


def orphan():
    """Forks a child whose parent is the first process of the pid namespace for children. The process in between has
    ended when this returns. Returns whether this is the child."""
    call(reversed(HOOKS.before))
    ctypes.set_errno(0)
    first = by_a_first(FORK)
    errno = -first if first < 0 else ctypes.get_errno()
    call(HOOKS.in_parent if first else HOOKS.in_child)
    if not first:
        return True
    if first > 0:
        status = os.waitpid(first, 0)[1]
        # A killed process may have forked before it died. The receiver that waits for the child finds out.
        errno = 0 if status == 0 or os.WIFSIGNALED(status) else errno or EAGAIN
    if errno:
        raise OSError(errno, os.strerror(errno), 'fork')
    return False
