"""Seconds of safetensors' own Python binding, one action per line of standard input, so that a bench can alternate between programs.

python safetensors_io.py DIRECTORY TENSORS ROWS COLUMNS; needs torch and safetensors. Answers each line with one number.

save   writes the state dict; nothing is synced or digested
open   load_file alone: it maps the file and reads none of the tensors
touch  the same, and a sum over every tensor, as for a program that reads all of them once
copy   the same, and a copy of every tensor in new memory, as for a program that keeps the weights; what the allocator
       has left of the copies before goes back to the system first, or it would be "again" from the third time on
again  the same, and a copy of every tensor into the memory of one that is kept, as for a program that takes version after version
"""

import ctypes
import os
import sys
import time

import torch
from safetensors.torch import load_file, save_file

directory = sys.argv[1]
tensors, rows, columns = map(int, sys.argv[2:])
path = os.path.join(directory, "python.safetensors")
state = {f"model.layers.{layer}.weight": torch.randn(rows, columns).bfloat16() for layer in range(tensors)}
save_file(state, path)


def touch():
    # Whole numbers of 8 bytes: the fastest sum that torch has over all of it.
    parts = [tensor.view(torch.int64).sum() for tensor in load_file(path).values()]
    return sum(int(part) for part in parts)


def again():
    for name, tensor in load_file(path).items():
        state[name].copy_(tensor)


ACTIONS = {
    "save": lambda: save_file(state, path),
    "open": lambda: load_file(path),
    "touch": touch,
    "again": again,
    "copy": lambda: [tensor.clone() for tensor in load_file(path).values()],
}

libc = ctypes.CDLL(None)
for line in sys.stdin:
    action = ACTIONS[line.strip()]
    libc.malloc_trim(0)
    started = time.perf_counter()
    kept = action()
    seconds = time.perf_counter() - started
    del kept
    print(seconds, flush=True)
os.unlink(path)
