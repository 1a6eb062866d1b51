"""Trainers of several ranks, each in a process, as the tests open them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

IMPORTED = ["prl_torch.trainer", *(f"transformers.models.{name}.modeling_{name}" for name in ("qwen3", "qwen3_moe", "llama", "mistral"))]
"""What takes the time of a start: it is imported once."""


def on_ranks(ranks: int, what: Callable[[str], Any], folder: Path) -> list[Any]:
    """What a function of a module returns on each of so many ranks, which are gone then. It gets a folder that all of them have."""
    multiprocessing.set_forkserver_preload(IMPORTED)
    folder.mkdir()
    mp.start_processes(_one_rank, args=(ranks, what, str(folder)), nprocs=ranks, start_method="forkserver")  # type: ignore[no-untyped-call]
    return [torch.load(folder / f"result.{rank}", weights_only=False) for rank in range(ranks)]


def _one_rank(rank: int, ranks: int, what: Callable[[str], Any], folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    torch.save(what(folder), f"{folder}/result.{rank}")
    dist.destroy_process_group()
