"""A trace of one step."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile


class Trace:
    """One step at a time. The file is in Chrome's format, which Perfetto and chrome://tracing show."""

    def __init__(self) -> None:
        self._running: tuple[profile, Path] | None = None

    def begin(self, folder: str) -> None:
        """Files: `<folder>/rank_<rank>.json.gz`."""
        self.drop()
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        profiler = profile(activities=activities, record_shapes=True)
        profiler.start()
        self._running = (profiler, Path(folder) / f"rank_{dist.get_rank()}.json")

    def finish(self) -> None:
        """Writes the trace, if one was begun."""
        if self._running is None:
            return
        profiler, path = self._running
        self._running = None
        profiler.stop()
        path.parent.mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(str(path))
        with path.open("rb") as plain, gzip.open(f"{path}.gz", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        path.unlink()

    def drop(self) -> None:
        """Ends a trace whose step was not made."""
        if self._running is not None:
            self._running[0].stop()
            self._running = None
