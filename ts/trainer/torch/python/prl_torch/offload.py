"""Where a trainer's weights and optimizer are: on its GPU, or in the machine's memory while others have the GPU."""

from __future__ import annotations

import gc
from typing import Any

import torch

from .optimizer.optimizer import Optimizer
from .policy import Policy

GIB = 2**30
HOST = torch.device("cpu")


class Place:
    """Moves them all together. Shards of the weights keep their identity, so that optimizer and names stay as they are."""

    def __init__(self, device: torch.device, models: list[Policy], optimizer: Optimizer) -> None:
        self.device = device
        self.models = models
        self.optimizer = optimizer
        self.is_away = False

    def enter(self) -> None:
        """Takes the GPU again; does nothing when it has it."""
        if self.is_away:
            self._move(self.device)
            self.is_away = False

    def leave(self, everything: bool) -> dict[str, Any]:
        """Leaves the GPU. What is allocated there afterwards, in GiB; on a processor nothing is known."""
        if everything and not self.is_away:
            self._move(HOST)
            self.is_away = True
        if self.device.type != "cuda":
            return {"allocated": None, "reserved": None}
        gc.collect()
        torch.cuda.synchronize(self.device)
        torch.cuda.empty_cache()
        reserved = torch.cuda.memory_reserved(self.device) / GIB
        return {"allocated": torch.cuda.memory_allocated(self.device) / GIB, "reserved": reserved}

    def _move(self, to: torch.device) -> None:
        for model in self.models:
            model.to(to)
        for moments in (self.optimizer.first, self.optimizer.second):
            for name, values in moments.stored.items():
                moments.stored[name] = values.to(to)
