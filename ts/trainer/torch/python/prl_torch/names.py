"""
Names of parameters in model folders. A parameter may hold several tensors of a folder: transformers keeps the matrices of all experts of a
layer in one, folders have them one by one. Ranks that share matrices have gate and up in a dimension between experts and rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch import Tensor

EXPERTS = re.compile(r"^(?P<path>.+\.mlp\.experts)\.(?P<kind>gate_up_proj|down_proj)$")


@dataclass(frozen=True)
class Piece:
    """A tensor of a folder, and where it lies in the parameter that holds it."""

    name: str
    at: tuple[int | slice, ...] = ()

    def of(self, values: Tensor) -> Tensor:
        """The view of this piece in the values of the parameter."""
        return values[self.at]


def pieces_of(name: str, parameter: Tensor) -> list[Piece]:
    """The tensors that a parameter of transformers stands for, which together are all of it."""
    found = EXPERTS.match(name)
    if found is None or parameter.dim() not in (3, 4):
        return [Piece(name)]
    path, experts = found["path"], range(parameter.shape[0])
    if found["kind"] == "down_proj":
        return [Piece(f"{path}.{expert}.down_proj.weight", (expert,)) for expert in experts]
    width = parameter.shape[1] // 2
    gate, up = (slice(0, width), slice(width, 2 * width)) if parameter.dim() == 3 else (0, 1)
    halves = (("gate_proj", gate), ("up_proj", up))
    return [Piece(f"{path}.{expert}.{kind}.weight", (expert, at)) for expert in experts for kind, at in halves]
