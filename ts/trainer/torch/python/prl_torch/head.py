"""
Log-probabilities of target tokens from hidden states, a chunk of rows at a time, so that the logits of all tokens never exist together.

The backward pass computes each chunk's logits again. Logits and softmax are in f32 whatever the format of the weights. On a GPU bfloat16
weights are multiplied as they are, with sums in f32, which gives the logits that f32 copies would give; the gradient of the logits is
rounded to bfloat16 there before it is multiplied. A processor has no such product and multiplies f32 copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

CHUNK_LOGITS = {"cpu": 1 << 24, "cuda": 1 << 28}
"""Most logits that exist at once, by the kind of device: 64 MiB and 1 GiB. Each chunk adds to the gradient of the whole head, which costs
more on a GPU than a chunk's products when these are small."""
LEAST_ROWS = 16


@dataclass(frozen=True)
class Targets:
    """The tokens that train: the row whose hidden state predicts each, its id, and the temperature at which it was sampled."""

    rows: Tensor
    tokens: Tensor
    temperatures: Tensor


def _statistics(logits: Tensor, temperatures: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the tokens, and entropies, of the rows of logits at their temperatures."""
    scaled = logits / temperatures[:, None]
    normal = torch.logsumexp(scaled, dim=1)
    mean = (torch.softmax(scaled, dim=1) * scaled).sum(dim=1)
    return scaled.gather(1, tokens[:, None]).squeeze(1) - normal, normal - mean


def _slope(logits: Tensor, temperatures: Tensor, factors: Tensor) -> Tensor:
    """The probabilities of the rows of logits at their temperatures, times minus the row's factor."""
    return torch.softmax(logits / temperatures[:, None], dim=1) * -factors[:, None]


@dataclass(frozen=True)
class RowFunctions:
    """Computes the numbers of each row of logits; the function may be compiled into few kernels."""

    statistics: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]] = _statistics
    slope: Callable[[Tensor, Tensor, Tensor], Tensor] = _slope

    @staticmethod
    def compiled() -> RowFunctions:
        return RowFunctions(torch.compile(_statistics, dynamic=True), torch.compile(_slope, dynamic=True))


def target_logprobs(hidden: Tensor, weight: Tensor, targets: Targets, rows: RowFunctions) -> tuple[Tensor, Tensor]:
    """
    The log-probability of each target and the entropy of its distribution, which has no gradient. `hidden` is [rows, width] and `weight`
    [vocabulary, width].
    """
    chosen = hidden[targets.rows]
    result = _ChunkedLogprobs.apply(chosen, weight, targets.tokens, targets.temperatures, rows)
    assert isinstance(result, tuple)
    return result


def _chunks(rows: int, weight: Tensor) -> list[slice]:
    size = max(LEAST_ROWS, CHUNK_LOGITS.get(weight.device.type, CHUNK_LOGITS["cpu"]) // len(weight))
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


class _Products:
    """Products with the head whose results are in f32."""

    def __init__(self, weight: Tensor, is_trained: bool) -> None:
        self.is_half = weight.is_cuda and weight.dtype == torch.bfloat16
        self.weight = weight if self.is_half else weight.float()
        self.gradient = torch.zeros_like(self.weight, dtype=torch.float32) if is_trained else None

    def logits(self, hidden: Tensor) -> Tensor:
        """[rows, width] to [rows, vocabulary]."""
        if self.is_half:
            return torch.mm(hidden, self.weight.T, out_dtype=torch.float32)
        return hidden.float() @ self.weight.T

    def backward(self, slope: Tensor, hidden: Tensor) -> Tensor:
        """The gradient of `hidden` from that of its logits; adds to the gradient of the weights where they train."""
        if self.is_half:
            slope = slope.to(torch.bfloat16)
        if self.gradient is not None:
            if self.is_half:
                self.gradient.add_(torch.mm(slope.T, hidden, out_dtype=torch.float32))
            else:
                self.gradient.addmm_(slope.T, hidden.float())
        return slope @ self.weight


class _ChunkedLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        hidden, weight, tokens, temperatures, rows = inputs
        ctx.save_for_backward(hidden, weight, tokens, temperatures)
        ctx.rows = rows
        products = _Products(weight, is_trained=False)
        logprobs = torch.empty(len(tokens), dtype=torch.float32, device=hidden.device)
        entropies = torch.empty_like(logprobs)
        for part in _chunks(len(tokens), weight):
            logits = products.logits(hidden[part])
            logprobs[part], entropies[part] = rows.statistics(logits, temperatures[part], tokens[part])
        ctx.mark_non_differentiable(entropies)
        return logprobs, entropies

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        hidden, weight, tokens, temperatures = ctx.saved_tensors
        products = _Products(weight, is_trained=ctx.needs_input_grad[1])
        grad_hidden = torch.empty_like(hidden)
        for part in _chunks(len(tokens), weight):
            logits = products.logits(hidden[part])
            factors = grads[0][part] / temperatures[part]
            slope = ctx.rows.slope(logits, temperatures[part], factors)
            slope.scatter_add_(1, tokens[part, None], factors[:, None])
            grad_hidden[part] = products.backward(slope, hidden[part]).to(grad_hidden.dtype)
        grad_weight = None if products.gradient is None else products.gradient.to(weight.dtype)
        return grad_hidden, grad_weight, None, None, None
