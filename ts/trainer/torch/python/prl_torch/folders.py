"""
Weights and checkpoints on disk. A weight folder is a Hugging Face folder, written by all ranks in parallel: each rank has every tensor
for a moment and keeps its share of them. A checkpoint is such a folder in f32 with the optimizer's moments beside it; neither depends on
the number of ranks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from .names import Piece, pieces_of
from .optimizer.optimizer import Optimizer
from .optimizer.shards import local, shard_of, whole

OPTIMIZER_FORMAT = "prl.optimizer.1"
FIRST, SECOND = "first.", "second."


class CheckpointError(Exception):
    """A checkpoint of another optimizer or model."""


@dataclass(frozen=True)
class Source:
    """A tensor that all ranks make together, and the tensors of a file that are its pieces."""

    pieces: list[Piece]
    make: Callable[[], Tensor]


def write_weights(
    folder: str, parameters: dict[str, nn.Parameter], dtype: torch.dtype, changes: dict[str, Callable[[], Tensor]] | None = None
) -> list[str]:
    """
    Writes `model.safetensors`, or a file for each rank and an index; the names of the weight files. `changes` are added to parameters,
    in f32, by their names.
    """
    added = changes or {}
    sources = [Source(pieces_of(name, value), partial(_whole_values, value, dtype, added.get(name))) for name, value in parameters.items()]
    files, places = _write_shares(Path(folder), "model", sources, {"format": "pt"})
    if len(files) > 1 and dist.get_rank() == 0:
        size = sum(parameter.numel() * dtype.itemsize for parameter in parameters.values())
        index = {"metadata": {"total_size": size}, "weight_map": places}
        (Path(folder) / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    return files


def write_adapter(folder: str, parameters: dict[str, nn.Parameter], config: str) -> list[str]:
    """Writes the folder of `peft`: its config, and all matrices in one file."""
    sources = [Source([Piece(name)], partial(_whole_values, value, torch.float32)) for name, value in parameters.items()]
    files, _ = _write_shares(Path(folder), "adapter_model", sources, {"format": "pt"}, most=1)
    if dist.get_rank() == 0:
        (Path(folder) / "adapter_config.json").write_text(config)
    return files


def write_optimizer(folder: str, optimizer: Optimizer) -> None:
    """Writes the moments beside the weights: `optimizer.safetensors`, or a file for each rank."""
    metadata = {"format": OPTIMIZER_FORMAT, "method": optimizer.config.type, "steps": str(optimizer.steps)}
    sources = []
    for prefix, moments in ((FIRST, optimizer.first), (SECOND, optimizer.second)):
        # In the order of the parameters. That of first steps is another one on ranks without elements of some.
        for name, parameter in optimizer.parameters.items():
            if name in moments.stored:
                pieces = [Piece(prefix + piece.name, piece.at) for piece in pieces_of(name, parameter)]
                sources.append(Source(pieces, partial(whole, moments.stored[name], parameter)))
    _write_shares(Path(folder), "optimizer", sources, metadata)


def read_optimizer(folder: str, optimizer: Optimizer) -> None:
    """Continues from the moments in `folder`. Errors: CheckpointError when they are of another optimizer or model."""
    with ExitStack() as stack:
        files = _open_moments(folder, optimizer, stack)
        for prefix, moments in ((FIRST, optimizer.first), (SECOND, optimizer.second)):
            for name, parameter in optimizer.parameters.items():
                pieces = [Piece(prefix + piece.name, piece.at) for piece in pieces_of(name, parameter)]
                if all(piece.name not in files for piece in pieces):
                    continue
                values = torch.empty(parameter.shape, dtype=moments.dtype)
                for piece in pieces:
                    file, place = files.pop(piece.name, None), piece.of(values)
                    found = None if file is None else file.get_tensor(piece.name)
                    if found is None or found.shape != place.shape or found.dtype != moments.dtype:
                        raise CheckpointError(f"{folder}: {piece.name} of the optimizer does not fit the model")
                    place.copy_(found)
                moments.stored[name] = shard_of(values.to(parameter.device), parameter).clone()
        if files:
            raise CheckpointError(f"{folder}: {min(files)} of the optimizer does not fit the model")


def _open_moments(folder: str, optimizer: Optimizer, stack: ExitStack) -> dict[str, Any]:
    """The open file of each tensor."""
    paths = sorted(Path(folder).glob("optimizer*.safetensors"))
    if not paths:
        raise CheckpointError(f"{folder} has no optimizer.safetensors")
    found: dict[str, Any] = {}
    for path in paths:
        file = stack.enter_context(safe_open(str(path), framework="pt"))
        metadata: dict[str, str] = file.metadata()
        method = metadata.get("method")
        if metadata.get("format") != OPTIMIZER_FORMAT or method != optimizer.config.type:
            raise CheckpointError(f"{path} holds the state of {method!r}, the trainer has {optimizer.config.type!r}")
        optimizer.steps = int(metadata["steps"])
        found.update(dict.fromkeys(file.keys(), file))
    return found


def _whole_values(parameter: nn.Parameter, dtype: torch.dtype, change: Callable[[], Tensor] | None = None) -> Tensor:
    values = whole(local(parameter.detach()), parameter)
    return values.to(dtype) if change is None else (values.float() + change()).to(dtype)


def _write_shares(
    folder: Path, stem: str, sources: list[Source], metadata: dict[str, str], most: int | None = None
) -> tuple[list[str], dict[str, str]]:
    """
    Makes every source on all ranks, one after the other, and writes each in the file of one rank, of at most `most`. All files, and the
    file of each tensor.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rank = dist.get_rank()
    ranks = max(1, min(dist.get_world_size() if most is None else most, len(sources)))
    files = [f"{stem}-{part + 1:05}-of-{ranks:05}.safetensors" for part in range(ranks)]
    if ranks == 1:
        files = [f"{stem}.safetensors"]
    own: dict[str, Tensor] = {}
    places: dict[str, str] = {}
    for at, source in enumerate(sources):
        places.update((piece.name, files[at % ranks]) for piece in source.pieces)
        values = source.make()
        if at % ranks == rank:
            own.update((piece.name, piece.of(values).cpu().contiguous()) for piece in source.pieces)
    if rank < ranks:
        _write_durably(folder / files[rank], own, metadata)
    return files, places


def _write_durably(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    save_file(tensors, str(path), metadata)
    path.chmod(0o666 & ~_umask())
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
