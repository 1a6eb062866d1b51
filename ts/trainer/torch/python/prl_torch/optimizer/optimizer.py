"""
AdamW, SGD and Muon as the engine has them (`crates/engine/src/train/optimizer`), over parameters that are cut into shards.

Muon takes the matrices inside the layers, those of experts one by one; the embedding, the head, norms and biases step as AdamW. It
iterates in f32, where torch's own iterates in bfloat16, and gathers one parameter at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim.adamw import adamw

from ..names import pieces_of
from .moments import CHUNK, Moments
from .shards import copies_of, local, shard_of, whole

NORM_EPS = 1e-6
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
MUON_NORM_EPS = 1e-7
RMS_OF_ADAMW = 0.2


class NonFiniteError(Exception):
    """A loss or a gradient is not finite; nothing was changed."""


@dataclass(frozen=True)
class OptimConfig:
    """`[trainer.optim]`."""

    type: str
    lr: float
    betas: tuple[float, float]
    eps: float
    weight_decay: float
    max_norm: float | None
    decay_1d: bool
    momentum: float
    nesterov: bool
    state_dtype: str
    """The dtype of the moments between steps."""


@dataclass(frozen=True)
class Parts:
    """Parameters whose gradients on the ranks of a group are parts of a sum."""

    names: set[str]
    group: dist.ProcessGroup


class Optimizer:
    """Steps over the accumulated gradients. `first` and `second` moments are kept by name; SGD has no second."""

    def __init__(self, config: OptimConfig, parameters: dict[str, nn.Parameter], outside: set[str], parts: Parts | None = None) -> None:
        """`outside` names the embedding and the head, which Muon leaves to AdamW."""
        self.config = config
        self.parameters = parameters
        self.outside = outside
        self.parts = parts
        self.steps = 0
        dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16}[config.state_dtype]
        self.first, self.second = (Moments(order, dtype, parameters) for order in (1, 2))

    def step(self, lr: float) -> float:
        """One step, after which the gradients are gone; their norm before clipping. Errors: NonFiniteError."""
        for name in self.parameters:
            if self.is_part(name):
                self.sum_parts(self._gradient(name))
        norm = self._norm()
        if not math.isfinite(norm):
            self.clear()
            raise NonFiniteError(f"the gradient norm of step {self.steps + 1} is {norm}: the parameters were left as they were")
        self.steps += 1
        most = self.config.max_norm
        scale = 1.0 if most is None else min(most / (norm + NORM_EPS), 1.0)
        with torch.no_grad():
            self._take([name for name, parameter in self.parameters.items() if parameter.grad is not None], scale, lr)
        self.clear()
        return norm

    def clear(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    def is_part(self, name: str) -> bool:
        """Whether the parameter has a gradient that a step sums over a group first."""
        return self.parts is not None and name in self.parts.names and self.parameters[name].grad is not None

    def sum_parts(self, gradient: Tensor) -> Tensor:
        assert self.parts is not None
        dist.all_reduce(gradient, group=self.parts.group)
        return gradient

    def _norm(self) -> float:
        device = next(iter(self.parameters.values())).device
        total = torch.zeros((), dtype=torch.float64, device=device)
        gradients: dict[int, list[Tensor]] = {}
        for value in self.parameters.values():
            if value.grad is not None:
                gradients.setdefault(copies_of(value), []).append(torch.linalg.vector_norm(local(value.grad), dtype=torch.float64))
        for copies, norms in gradients.items():
            total += torch.stack(norms).square().sum() / copies
        dist.all_reduce(total)
        return math.sqrt(float(total)) if math.isfinite(float(total)) else float(total)

    def _take(self, names: list[str], scale: float, lr: float) -> None:
        """Steps these parameters along their gradients times `scale`."""
        adamw: dict[float, list[str]] = {}
        for name in names:
            parameter = self.parameters[name]
            gradient = self._gradient(name)
            if scale != 1.0:
                gradient.mul_(scale)
            decay = self.config.weight_decay if parameter.dim() > 1 or self.config.decay_1d else 0.0
            if self.config.type == "sgd":
                self._sgd(name, local(parameter), gradient, (lr, decay))
            elif self.config.type == "muon" and parameter.dim() > 1 and name not in self.outside:
                self._muon(name, parameter, gradient, lr)
            elif gradient.numel() > 0:
                adamw.setdefault(decay, []).append(name)
            else:
                # The fused kernel takes no empty tensor. A rank without elements has empty moments, because all ranks save them together.
                for kept in (self.first, self.second):
                    kept.take(name)
        for decay, members in adamw.items():
            self._adamw(members, lr, decay)

    def _gradient(self, name: str) -> Tensor:
        gradient = self.parameters[name].grad
        assert gradient is not None
        return local(gradient)

    def _adamw(self, names: list[str], lr: float, decay: float) -> None:
        """One kernel for many parameters, which needs no memory for what is between gradient and weight."""
        if self.config.state_dtype == "float32":
            parts = [[(name, None) for name in names]]
        else:
            # The moments in f32 are copies here: those of one part at a time are memory enough.
            parts = [[(name, part)] for name in names for part in _parts(self._gradient(name).numel())]
        for members in parts:
            self._adamw_of(members, lr, decay)

    def _adamw_of(self, members: list[tuple[str, slice | None]], lr: float, decay: float) -> None:
        def parts(of: Callable[[str], Tensor]) -> list[Tensor]:
            return [of(name) if part is None else of(name).view(-1)[part] for name, part in members]

        beta1, beta2 = self.config.betas
        values = parts(lambda name: local(self.parameters[name]))
        first, second = ([kept.take(name, part) for name, part in members] for kept in (self.first, self.second))
        # torch counts a step before it takes it.
        steps = torch.full((len(members),), self.steps - 1.0, device=values[0].device).unbind()
        adamw(
            values,
            parts(self._gradient),
            first,
            second,
            [],
            list(steps),
            fused=True,
            amsgrad=False,
            maximize=False,
            beta1=beta1,
            beta2=beta2,
            lr=lr,
            weight_decay=decay,
            eps=self.config.eps,
        )
        for kept, changed in ((self.first, first), (self.second, second)):
            for (name, part), moment in zip(members, changed, strict=True):
                kept.put(name, moment, self.steps, part)

    def _sgd(self, name: str, values: Tensor, gradient: Tensor, rates: tuple[float, float]) -> None:
        lr, decay = rates
        momentum = self.config.momentum
        gradient = gradient + decay * values
        buffer = self.first.take(name)
        buffer.mul_(0.0 if self.steps == 1 else momentum).add_(gradient)
        self.first.put(name, buffer, self.steps)
        update = gradient if momentum == 0 else buffer
        if self.config.nesterov:
            update = gradient + momentum * buffer
        values.sub_(lr * update)

    def _muon(self, name: str, parameter: nn.Parameter, gradient: Tensor, lr: float) -> None:
        momentum, values = self.config.momentum, local(parameter)
        buffer = self.first.take(name).lerp_(gradient, 1 - momentum)
        self.first.put(name, buffer, self.steps)
        update = whole(torch.lerp(gradient, buffer, momentum), parameter)
        for piece in pieces_of(name, parameter):
            matrix = piece.of(update)
            matrix.copy_(RMS_OF_ADAMW * math.sqrt(max(matrix.shape)) * _orthogonal(matrix))
        values.mul_(1 - lr * self.config.weight_decay).sub_(lr * shard_of(update, parameter))


def _parts(elements: int) -> list[slice]:
    return [slice(start, min(start + CHUNK, elements)) for start in range(0, elements, CHUNK)]


def _orthogonal(matrix: Tensor) -> Tensor:
    """Five Newton-Schulz iterations of the quintic, on the wide form, whose Gram matrix is the smaller one."""
    a, b, c = QUINTIC
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    wide = wide / max(float(torch.linalg.vector_norm(wide.double())), MUON_NORM_EPS)
    for _ in range(ITERATIONS):
        gram = wide @ wide.T
        wide = a * wide + (b * gram + c * (gram @ gram)) @ wide
    return wide if matrix.shape[0] <= matrix.shape[1] else wide.T


def optim_config(block: dict[str, Any]) -> OptimConfig:
    """`[trainer.optim]` as the launcher sends it; an unset momentum is that of the method."""
    method = block["type"]
    first, second = block["betas"]
    return OptimConfig(
        type=method,
        lr=block["lr"],
        betas=(first, second),
        eps=block["eps"],
        weight_decay=block["weight_decay"],
        max_norm=block["max_norm"],
        decay_1d=block["decay_1d"],
        momentum=block.get("momentum", 0.95 if method == "muon" else 0.0),
        nesterov=block["nesterov"],
        state_dtype=block["state_dtype"],
    )
