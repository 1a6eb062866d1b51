"""
Attention over a bin that several ranks share (`context.py`): a rank has a part of the tokens, but in here all tokens of some heads.

On a GPU the kernels of `packed.py` compute it; elsewhere this file makes the mask of T x T, because transformers would make it from a
rank's own positions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

from .context import Context
from .packed import PACKED, attention_for, boundaries, check_call, packed

SHARED = "prl_shared"
CONTEXT = "prl_context"
"""The name of the argument of a model's forward pass that says who shares the bin."""


def shared_boundaries(cu_seqlens: Tensor, context: Context) -> dict[str, Any]:
    """As `boundaries`, for `shared`."""
    return {**boundaries(cu_seqlens), CONTEXT: context}


def shared(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """
    As `packed`, but `query` is [1, heads, T / ranks, width], and the result [1, T / ranks, heads, width]. Errors: AttentionError.
    """
    check_call(module, attention_mask, options)
    context: Context = options[CONTEXT]
    rows = [context.heads_for_rows(_divisible(states[0], context.size))[None] for states in (query, key, value)]
    inner = packed if attention_for(query.device, query.dtype) == PACKED else masked
    found, _ = inner(module, *rows, attention_mask, **options)
    return context.rows_for_heads(found[0])[None], None


def can_share(heads: int, key_heads: int, ranks: int) -> bool:
    """Whether so many ranks can share a bin: each needs the same number of heads, and the keys of these."""
    return heads % ranks == 0 and (key_heads % ranks == 0 or ranks % key_heads == 0)


def _divisible(states: Tensor, ranks: int) -> Tensor:
    """Repeats heads of keys and values where there are fewer of them than ranks."""
    return states.repeat_interleave(max(1, ranks // len(states)), dim=0)


def masked(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """As `packed`, for all devices and formats."""
    bounds, window = options["cu_seq_lens_q"], options.get("sliding_window")
    at = torch.arange(query.shape[2], device=query.device)
    sequence = torch.searchsorted(bounds[1:].contiguous(), at, right=True)
    distance = at[:, None] - at[None, :]
    seen = (sequence[:, None] == sequence[None, :]) & (distance >= 0)
    if window is not None:
        seen &= distance < window
    found = nn.functional.scaled_dot_product_attention(query, key, value, seen, scale=options["scaling"], enable_gqa=True)
    return found.transpose(1, 2), None


AttentionInterface.register(SHARED, shared)
