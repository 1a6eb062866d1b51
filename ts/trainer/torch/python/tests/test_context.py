"""Attention of a bin that two ranks share, beside that of one rank, with its gradients. Each rank is a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from ranks_of import on_ranks
from torch import Tensor, nn

from prl_torch.attention.context import Context
from prl_torch.attention.packed import boundaries
from prl_torch.attention.shared import can_share, masked, shared, shared_boundaries

RANKS = 2
TOKENS = 24
WIDTH = 8
BOUNDS = torch.tensor([0, 5, 6, 17, TOKENS])
CASES = [(4, 4, None), (4, 2, 3), (8, 1, None)]
"""Heads of queries and of keys, and the window."""


def states_of(heads: int, key_heads: int) -> list[Tensor]:
    torch.manual_seed(7)
    shapes = [(1, heads, TOKENS, WIDTH)] + 2 * [(1, key_heads, TOKENS, WIDTH)] + [(1, TOKENS, heads, WIDTH)]
    return [torch.randn(shape, dtype=torch.float64) for shape in shapes]


def one_rank(_: str) -> list[list[Tensor]]:
    """The rank's output and gradients of each case."""
    context = Context.of_world(RANKS)
    part = context.part(TOKENS)
    found: list[list[Tensor]] = []
    for heads, key_heads, window in CASES:
        *states, slope = states_of(heads, key_heads)
        own = [one[:, :, part].clone().requires_grad_() for one in states]
        options: dict[str, Any] = {"scaling": WIDTH**-0.5, "sliding_window": window, **shared_boundaries(BOUNDS, context)}
        output, _ = shared(nn.Identity(), *own, None, **options)
        gradients = torch.autograd.grad(output, own, slope[:, part])
        found.append([output.detach(), *gradients])
    return found


def test_two_ranks_attend_as_one(tmp_path: Path) -> None:
    parts = on_ranks(RANKS, one_rank, tmp_path / "ranks")
    for case, (heads, key_heads, window) in enumerate(CASES):
        *states, slope = states_of(heads, key_heads)
        whole = [one.requires_grad_() for one in states]
        output, _ = masked(nn.Identity(), *whole, None, scaling=WIDTH**-0.5, sliding_window=window, **boundaries(BOUNDS))
        expected = [output, *torch.autograd.grad(output, whole, slope)]
        for at, wanted in enumerate(expected):
            found = torch.cat([part[case][at] for part in parts], dim=1 if at == 0 else 2)
            assert torch.allclose(found, wanted, rtol=1e-12, atol=1e-12), (case, at)


@pytest.mark.parametrize(("heads", "key_heads", "ranks", "can"), [(16, 8, 4, True), (16, 2, 8, True), (12, 3, 2, False), (6, 6, 4, False)])
def test_heads_that_ranks_can_share(heads: int, key_heads: int, ranks: int, can: bool) -> None:
    assert can_share(heads, key_heads, ranks) == can
