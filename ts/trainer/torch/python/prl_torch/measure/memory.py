"""The memory of the phases of a step on a GPU."""

from __future__ import annotations

import torch

GIB = 2**30


class PhaseMemory:
    """Peaks of what is allocated on a GPU, in GiB: since the start, and in the phase that ends. On processors nothing is known by phase."""

    def __init__(self) -> None:
        self._peak = 0.0

    def begin(self) -> float | None:
        """A phase begins; what is allocated now."""
        if not torch.cuda.is_available():
            return None
        self.end()
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated() / GIB

    def end(self) -> float | None:
        """The peak of the phase."""
        if not torch.cuda.is_available():
            return None
        found = torch.cuda.max_memory_allocated() / GIB
        self._peak = max(self._peak, found)
        return found

    @property
    def peak(self) -> float:
        """Since the start, as far as phases have ended."""
        return self._peak
