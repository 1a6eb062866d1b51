"""
Context parallelism: several ranks share a bin, each with a run of its tokens. What is computed of single tokens stays on their rank. For
attention the ranks exchange rows for heads, so that each has all tokens of some heads, and back (Ulysses, Jacobs et al. 2023,
arXiv:2309.14509).

The ranks of a group read the same file and compute the same loss. The gradient of a weight is the sum of what the tokens of each rank give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True)
class Context:
    """The ranks that share a bin, and this one among them."""

    group: dist.ProcessGroup | None
    """None: every rank has bins for itself."""
    size: int
    index: int

    @staticmethod
    def of_world(size: int, step: int = 1) -> Context:
        """
        Called on all ranks, whose number `size * step` divides. Neighbours share bins: they are on one node where that has so many GPUs.
        With a `step`, so many neighbours have the same part, and a group has one of them for each part.
        """
        if size == 1:
            return Context(None, 1, 0)
        firsts = [start + inner for start in range(0, dist.get_world_size(), size * step) for inner in range(step)]
        groups = {first: dist.new_group(list(range(first, first + size * step, step))) for first in firsts}
        index = dist.get_rank() // step % size
        return Context(groups[dist.get_rank() - index * step], size, index)

    def pad(self, input_ids: Tensor, cu_seqlens: Tensor) -> tuple[Tensor, Tensor]:
        """Adds a sequence of zeros where the tokens are not a multiple of the ranks."""
        missing = -len(input_ids) % self.size
        if missing == 0:
            return input_ids, cu_seqlens
        return nn.functional.pad(input_ids, (0, missing)), torch.cat([cu_seqlens, cu_seqlens[-1:] + missing])

    def part(self, tokens: int) -> slice:
        """This rank's part of so many tokens, which are a multiple of the ranks."""
        each = tokens // self.size
        return slice(self.index * each, (self.index + 1) * each)

    def heads_for_rows(self, states: Tensor) -> Tensor:
        """[heads, T / ranks, width] of this rank's tokens to [heads / ranks, T, width] of its heads."""
        heads, rows, width = states.shape
        found = self._exchange(states.reshape(self.size, heads // self.size, rows, width))
        return found.transpose(0, 1).reshape(heads // self.size, self.size * rows, width)

    def rows_for_heads(self, states: Tensor) -> Tensor:
        """[T, heads / ranks, width] of this rank's heads to [T / ranks, heads, width] of its tokens."""
        tokens, heads, width = states.shape
        rows = tokens // self.size
        found = self._exchange(states.reshape(self.size, rows, heads, width))
        return found.transpose(0, 1).reshape(rows, self.size * heads, width)

    def sum_of_parts(self, values: Tensor) -> Tensor:
        """The sum over the ranks. Each computes the same loss of it, so its gradient is that of every summand."""
        return sum_over(values, self.group)

    def _exchange(self, parts: Tensor) -> Tensor:
        """The first dimension counts ranks: part i goes to rank i, and part i of the result is from rank i."""
        found = _Exchange.apply(parts, self.group)
        assert isinstance(found, Tensor)
        return found


ALONE = Context(None, 1, 0)


def sum_over(values: Tensor, group: dist.ProcessGroup | None) -> Tensor:
    """The sum over the ranks of a group. Each goes on with the same numbers, so its gradient is that of every summand."""
    found = _Sum.apply(values, group)
    assert isinstance(found, Tensor)
    return found


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        parts, ctx.group = inputs
        return _all_to_all(parts, ctx.group)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _all_to_all(grads[0], ctx.group), None


def _all_to_all(parts: Tensor, group: dist.ProcessGroup) -> Tensor:
    found = torch.empty_like(parts, memory_format=torch.contiguous_format)
    dist.all_to_all_single(found, parts.contiguous(), group=group)
    return found


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        values, group = inputs
        total = values.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0], None
