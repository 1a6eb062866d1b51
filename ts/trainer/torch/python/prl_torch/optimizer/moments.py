"""
The state of an optimizer between steps, in f32 or in bfloat16. A step computes with f32 either way.

In bfloat16 a moment is rounded up or down at random, so that it is right on average; rounded to the nearest, a second moment whose decay is
smaller than half of the last bit would never fall. The noise follows from the step, the parameter's name and the element's place in the
whole parameter, so it is the same on any number of ranks and in a run that goes on from a checkpoint.
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor, nn

from .shards import elements, local

GOLDEN, FIRST_FACTOR, SECOND_FACTOR = (value - 2**64 for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
"""Constants of splitmix64 (Steele, Lea and Flood, OOPSLA 2014), as signed numbers: products wrap around."""
CHUNK = 2**23
"""Elements that are rounded at once, which bounds the memory for their noise."""


class Moments:
    """One moment of each parameter, by name."""

    def __init__(self, order: int, dtype: torch.dtype, parameters: dict[str, nn.Parameter]) -> None:
        """`order`: 1 or 2, so that the two moments of an element have other noise."""
        self.order = order
        self.dtype = dtype
        self.parameters = parameters
        self.stored: dict[str, Tensor] = {}

    def take(self, name: str, part: slice | None = None) -> Tensor:
        """The moment in f32 for a step to change, or a run of its elements; 0 before the first step. `put` has to follow."""
        if name not in self.stored:
            self.stored[name] = torch.zeros_like(local(self.parameters[name]), dtype=self.dtype)
        return self._part(name, part).float()

    def put(self, name: str, values: Tensor, step: int, part: slice | None = None) -> None:
        """Keeps what a step has made of the moment."""
        if self.dtype == torch.float32:
            return  # The step has changed what is stored.
        first = 0 if part is None else part.start
        kept, changed = self._part(name, part).view(-1), values.reshape(-1)
        for start in range(0, kept.numel(), CHUNK):
            run = slice(start, min(start + CHUNK, kept.numel()))
            at = elements(self.parameters[name], slice(first + run.start, first + run.stop))
            bits = noise(f"{self.order} {name}", step, at)
            kept[run] = rounded(changed[run], bits)

    def _part(self, name: str, part: slice | None) -> Tensor:
        stored = self.stored[name]
        return stored if part is None else stored.view(-1)[part]


def rounded(values: Tensor, noise_bits: Tensor) -> Tensor:
    """To bfloat16, away from zero with the probability of the share that is cut off; `noise_bits`: sixteen of them for each element."""
    bits = values.contiguous().view(torch.int32) + noise_bits
    return (bits & -0x10000).view(torch.float32).bfloat16()


def noise(name: str, step: int, at: Tensor) -> Tensor:
    """Sixteen bits, int32, for each of the elements of the whole parameter with these numbers."""
    key = int.from_bytes(hashlib.sha256(f"{step} {name}".encode()).digest()[:8], "little", signed=True)
    z = at * GOLDEN + key
    z = (z ^ _shifted(z, 30)) * FIRST_FACTOR
    z = (z ^ _shifted(z, 27)) * SECOND_FACTOR
    return ((z ^ _shifted(z, 31)) & 0xFFFF).int()


def _shifted(values: Tensor, by: int) -> Tensor:
    """To the right, with zeros from the left."""
    return (values >> by) & ((1 << (64 - by)) - 1)
