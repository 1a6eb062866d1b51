"""
Attention over packed sequences on a GPU: torch's variable-length kernels, which take the boundaries of the sequences in place of a mask of
T x T and skip what a sequence does not see.

The kernels compute in bfloat16 only. Elsewhere transformers makes masks from the positions.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:  # torch before 2.10
    varlen_attn = None  # type: ignore[assignment]

PACKED = "prl_packed"
MASKED = "sdpa"
UNSUPPORTED = ("softcap", "s_aux")
"""Arguments that transformers gives the attention of some families and these kernels do not compute: a cap of the scores, and sinks."""


class AttentionError(Exception):
    """A model whose attention these kernels do not compute."""


def attention_for(device: torch.device, dtype: torch.dtype) -> str:
    """The name by which transformers finds the attention for computations in `dtype`."""
    if device.type == "cuda" and dtype == torch.bfloat16 and varlen_attn is not None:
        return PACKED
    return MASKED


def boundaries(cu_seqlens: Tensor) -> dict[str, Any]:
    """The arguments of a model's forward pass that say where the sequences of a bin begin; `packed` reads them."""
    bounds = cu_seqlens.int()
    longest = int(cu_seqlens.diff().max())
    return {"cu_seq_lens_q": bounds, "cu_seq_lens_k": bounds, "max_length_q": longest, "max_length_k": longest}


def packed(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """
    Causal attention within each sequence. `query` is [1, heads, T, width]; keys and values may have fewer heads. The result is
    [1, T, heads, width]. Errors: AttentionError.
    """
    check_call(module, attention_mask, options)
    window = options.get("sliding_window")
    rows = [states[0].transpose(0, 1) for states in (query, key, value)]
    bounds, longest = options["cu_seq_lens_q"], options["max_length_q"]
    found = varlen_attn(
        *rows,
        bounds,
        bounds,
        longest,
        longest,
        scale=options["scaling"],
        # The window of a token begins with that token: a window of n reaches n - 1 tokens back.
        window_size=(-1 if window is None else window - 1, 0),
        **GROUPED,
    )
    assert isinstance(found, Tensor)
    return found[None], None


def check_call(module: nn.Module, attention_mask: Tensor | None, options: dict[str, Any]) -> None:
    """Errors: AttentionError for what these kernels do not compute."""
    for name in UNSUPPORTED:
        if options.get(name) is not None:
            raise AttentionError(f"{type(module).__name__} wants {name}, which torch's variable-length attention does not compute")
    if attention_mask is not None or "cu_seq_lens_q" not in options:
        raise AttentionError(f"{type(module).__name__} does not hand on the boundaries of packed sequences")


GROUPED: dict[str, bool] = {}
"""Newer versions of torch want to be asked for fewer heads of keys than of queries; older ones do it without."""
if varlen_attn is not None and "enable_gqa" in inspect.signature(varlen_attn).parameters:
    GROUPED["enable_gqa"] = True
AttentionInterface.register(PACKED, packed)
