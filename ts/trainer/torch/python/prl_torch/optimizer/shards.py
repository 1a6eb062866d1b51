"""Parameters that FSDP2 has cut into shards: a shard is a run of rows."""

from __future__ import annotations

import math

from torch import Tensor
from torch.distributed.tensor import DTensor, Shard, distribute_tensor


def local(tensor: Tensor) -> Tensor:
    """This rank's shard."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def copies_of(parameter: Tensor) -> int:
    """On how many ranks each shard of the parameter is."""
    if not isinstance(parameter, DTensor):
        return 1
    sizes = zip(parameter.device_mesh.shape, parameter.placements, strict=True)
    return math.prod(size for size, placement in sizes if placement.is_replicate())


def whole(shard: Tensor, parameter: Tensor) -> Tensor:
    """All shards of what is cut as `parameter` is, on every rank. All ranks must call it."""
    if not isinstance(parameter, DTensor):
        return shard
    mesh, placements = parameter.device_mesh, parameter.placements
    cut = DTensor.from_local(shard, mesh, placements, run_check=False, shape=parameter.shape, stride=parameter.stride())
    return cut.full_tensor()


def shard_of(tensor: Tensor, parameter: Tensor) -> Tensor:
    """This rank's shard of a tensor that it has whole, cut as `parameter` is."""
    if not isinstance(parameter, DTensor):
        return tensor
    cut = distribute_tensor(tensor, parameter.device_mesh, parameter.placements, src_data_rank=None)
    return cut.to_local()


def first_element(parameter: Tensor) -> int:
    """The number of this rank's first element in the whole parameter."""
    if not isinstance(parameter, DTensor):
        return 0
    rows = parameter.shape[0]
    for dimension, placement in enumerate(parameter.placements):
        if isinstance(placement, Shard):
            each = -(-rows // parameter.device_mesh.size(dimension))
            return min(parameter.device_mesh.get_local_rank(dimension) * each, rows) * (parameter.numel() // rows)
    return 0
