"""
Log-probabilities of target tokens from hidden states, a chunk of rows at a time, so that the logits of all tokens never exist together.

The backward pass computes each chunk's logits again. Logits, softmax and gradients are in f32 whatever the format of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

CHUNK_LOGITS = 1 << 24
"""Most logits that exist at once: 64 MiB."""
LEAST_ROWS = 16


@dataclass(frozen=True)
class Targets:
    """The tokens that train: the row whose hidden state predicts each, its id, and the temperature at which it was sampled."""

    rows: Tensor
    tokens: Tensor
    temperatures: Tensor


def target_logprobs(hidden: Tensor, weight: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
    """
    The log-probability of each target and the entropy of its distribution, which has no gradient. `hidden` is [rows, width] and `weight`
    [vocabulary, width].
    """
    chosen = hidden[targets.rows]
    result = _ChunkedLogprobs.apply(chosen, weight, targets.tokens, targets.temperatures)
    assert isinstance(result, tuple)
    return result


def _chunks(rows: int, vocabulary: int) -> list[slice]:
    size = max(LEAST_ROWS, CHUNK_LOGITS // vocabulary)
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


class _ChunkedLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, tokens: Tensor, temperatures: Tensor) -> Any:
        ctx.save_for_backward(hidden, weight, tokens, temperatures)
        wide = weight.float()
        logprobs = torch.empty(len(tokens), dtype=torch.float32, device=hidden.device)
        entropies = torch.empty_like(logprobs)
        for part in _chunks(len(tokens), len(weight)):
            scaled = (hidden[part].float() @ wide.T).div_(temperatures[part, None])
            normal = torch.logsumexp(scaled, dim=1)
            logprobs[part] = scaled.gather(1, tokens[part, None]).squeeze(1) - normal
            mean = (torch.softmax(scaled, dim=1) * scaled).sum(dim=1)
            entropies[part] = normal - mean
        ctx.mark_non_differentiable(entropies)
        return logprobs, entropies

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        hidden, weight, tokens, temperatures = ctx.saved_tensors
        grad_logprobs = grads[0]
        wide = weight.float()
        grad_hidden = torch.empty_like(hidden)
        grad_weight = torch.zeros_like(wide)
        for part in _chunks(len(tokens), len(weight)):
            rows = hidden[part].float()
            logits = (rows @ wide.T).div_(temperatures[part, None])
            factor = (grad_logprobs[part] / temperatures[part])[:, None]
            slope = torch.softmax(logits, dim=1).mul_(-factor)
            slope.scatter_add_(1, tokens[part, None], factor)
            grad_hidden[part] = (slope @ wide).to(grad_hidden.dtype)
            grad_weight.addmm_(slope.T, rows)
        return grad_hidden, grad_weight.to(weight.dtype), None, None
