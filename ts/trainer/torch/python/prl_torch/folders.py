"""
Weights and checkpoints on disk. A weight folder is a Hugging Face folder, written by all ranks in parallel: each rank has every tensor
for a moment and keeps its share of them. A checkpoint is such a folder in f32 with the optimizer's moments beside it; neither depends on
the number of ranks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from .optimizer import Optimizer, local, shard_of, whole

OPTIMIZER_FORMAT = "prl.optimizer.1"
FIRST, SECOND = "first.", "second."


class CheckpointError(Exception):
    """A checkpoint of another optimizer or model."""


def write_weights(folder: str, parameters: dict[str, nn.Parameter], dtype: torch.dtype) -> list[str]:
    """Writes `model.safetensors`, or a file for each rank and an index; the names of the weight files."""

    def tensors() -> Iterator[tuple[str, Callable[[], Tensor]]]:
        for name, parameter in parameters.items():
            yield name, lambda parameter=parameter: _whole_values(parameter).to(dtype)

    files, places = _write_shares(Path(folder), "model", dict(tensors()), {"format": "pt"})
    if len(files) > 1 and dist.get_rank() == 0:
        size = sum(parameter.numel() * dtype.itemsize for parameter in parameters.values())
        index = {"metadata": {"total_size": size}, "weight_map": places}
        (Path(folder) / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    return files


def write_optimizer(folder: str, optimizer: Optimizer) -> None:
    """Writes the moments beside the weights: `optimizer.safetensors`, or a file for each rank."""
    metadata = {"format": OPTIMIZER_FORMAT, "method": optimizer.config.type, "steps": str(optimizer.steps)}
    tensors: dict[str, Callable[[], Tensor]] = {}
    for prefix, moments in ((FIRST, optimizer.first), (SECOND, optimizer.second)):
        for name, shard in moments.items():
            parameter = optimizer.parameters[name]
            tensors[prefix + name] = lambda shard=shard, parameter=parameter: whole(shard, parameter)
    _write_shares(Path(folder), "optimizer", tensors, metadata)


def read_optimizer(folder: str, optimizer: Optimizer) -> None:
    """Continues from the moments in `folder`. Errors: CheckpointError when they are of another optimizer or model."""
    files = sorted(Path(folder).glob("optimizer*.safetensors"))
    if not files:
        raise CheckpointError(f"{folder} has no optimizer.safetensors")
    for path in files:
        with safe_open(str(path), framework="pt") as file:
            metadata: dict[str, str] = file.metadata()
            method = metadata.get("method")
            if metadata.get("format") != OPTIMIZER_FORMAT or method != optimizer.config.type:
                raise CheckpointError(f"{path} holds the state of {method!r}, the trainer has {optimizer.config.type!r}")
            optimizer.steps = int(metadata["steps"])
            for key in tuple(file.keys()):
                moments = optimizer.first if key.startswith(FIRST) else optimizer.second
                name = key.removeprefix(FIRST).removeprefix(SECOND)
                parameter, values = optimizer.parameters.get(name), file.get_tensor(key)
                if parameter is None or parameter.shape != values.shape:
                    raise CheckpointError(f"{path}: {key} does not fit the model")
                moments[name] = shard_of(values.to(parameter.device), parameter).clone()


def _whole_values(parameter: nn.Parameter) -> Tensor:
    return whole(local(parameter.detach()), parameter)


def _write_shares(
    folder: Path, stem: str, tensors: dict[str, Callable[[], Tensor]], metadata: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """
    Makes every tensor on all ranks, one after the other, and writes each in the file of one rank. All files, and the file of each tensor.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    ranks = max(1, min(ranks, len(tensors)))
    files = [f"{stem}-{part + 1:05}-of-{ranks:05}.safetensors" for part in range(ranks)]
    if ranks == 1:
        files = [f"{stem}.safetensors"]
    own: dict[str, Tensor] = {}
    places: dict[str, str] = {}
    for at, (name, make) in enumerate(tensors.items()):
        places[name] = files[at % ranks]
        value = make()
        if at % ranks == rank:
            own[name] = value.cpu().contiguous()
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
