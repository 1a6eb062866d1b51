"""System calls that machine code of ours makes one after the other.

A new zygote mostly makes system calls. From the interpreter each call touches a dozen pages, and every touched page is
copied. All calls together touch two pages here.
"""
import ctypes
import os

# For x86-64, like the filter.
MACHINE_CODE = bytes.fromhex(
    '53'  # push rbx
    '4889fb'  # mov rbx, rdi
    '488b03'  # next: mov rax, [rbx]
    '4885c0'  # test rax, rax
    '7829'  # js out: there is none any more
    '488b7b08'  # mov rdi, [rbx + 8]
    '488b7310'  # mov rsi, [rbx + 16]
    '488b5318'  # mov rdx, [rbx + 24]
    '4c8b5320'  # mov r10, [rbx + 32]
    '4c8b4328'  # mov r8, [rbx + 40]
    '4c8b4b30'  # mov r9, [rbx + 48]
    '0f05'  # syscall
    '48894338'  # mov [rbx + 56], rax
    '4885c0'  # test rax, rax
    '7806'  # js out: it failed
    '4883c340'  # add rbx, 64
    'ebcf'  # jmp next
    '4889d8'  # out: mov rax, rbx
    '5b'  # pop rbx
    'c3'  # ret
)
WORD_BYTES, CALL_WORDS, RESULT = 8, 8, 7
NONE = -1


class Calls:
    """A row of calls, each with its name, its number and its arguments, which are numbers. Arguments can be set
    later."""

    def __init__(self, *rows):
        self._names = [name for name, *_ in rows]
        self._words = (ctypes.c_long * (CALL_WORDS * len(rows) + 1))()
        for place, (_, *words) in enumerate(rows):
            self._words[CALL_WORDS * place : CALL_WORDS * place + len(words)] = words
        self._words[CALL_WORDS * len(rows)] = NONE
        self._first = ctypes.addressof(self._words)
        self._end = self._first + WORD_BYTES * CALL_WORDS * len(rows)

    def put(self, place, argument, value):
        self._words[CALL_WORDS * place + argument] = value

    def make(self):
        """Makes the calls until one fails, and raises its error."""
        stopped = make(self._first)
        if stopped != self._end:
            place = (stopped - self._first) // (WORD_BYTES * CALL_WORDS)
            errno = -self._words[CALL_WORDS * place + RESULT]
            raise OSError(errno, os.strerror(errno), self._names[place])


make = kernel.executable(MACHINE_CODE)
make.restype = ctypes.c_long
