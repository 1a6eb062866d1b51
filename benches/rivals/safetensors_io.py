"""Seconds of safetensors' own Python binding to save a state dict and to load it into memory of its own, best of several rounds.

python safetensors_io.py DIRECTORY TENSORS ROWS COLUMNS ROUNDS; needs torch and safetensors. Prints one JSON object.
Loading maps the file and copies every tensor out of the map, as a consumer that keeps the weights has to.
"""

import json
import os
import sys
import time

import torch
from safetensors.torch import load_file, save_file

directory = sys.argv[1]
tensors, rows, columns, rounds = map(int, sys.argv[2:])
path = os.path.join(directory, "python.safetensors")
state = {f"model.layers.{layer}.weight": torch.randn(rows, columns).bfloat16() for layer in range(tensors)}


def best(call):
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        kept = call()
        seconds.append(time.perf_counter() - started)
        del kept
    return min(seconds)


save = best(lambda: save_file(state, path))
load = best(lambda: [tensor.clone() for tensor in load_file(path).values()])
os.unlink(path)
print(json.dumps({"save": save, "load": load}))
