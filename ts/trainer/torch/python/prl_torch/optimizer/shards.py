"""
Parameters that FSDP2 has cut into shards: a shard is a run of rows, or of the rows and columns that tensor parallelism leaves on a rank.
"""

from __future__ import annotations

import math

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor, Replicate, distribute_tensor


def local(tensor: Tensor) -> Tensor:
    """This rank's shard."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def copies_of(parameter: Tensor) -> int:
    """On how many ranks each shard of the parameter is."""
    if not isinstance(parameter, DTensor):
        return 1
    # Ranks outside of its mesh have copies too: those that share the matrices beside it.
    sizes = zip(parameter.device_mesh.shape, parameter.placements, strict=True)
    return dist.get_world_size() // math.prod(size for size, placement in sizes if not placement.is_replicate())


def whole(shard: Tensor, parameter: Tensor) -> Tensor:
    """All shards of what is cut as `parameter` is, on every rank. All ranks must call it."""
    if not isinstance(parameter, DTensor):
        return shard
    mesh, placements = parameter.device_mesh, parameter.placements
    cut = DTensor.from_local(shard, mesh, placements, run_check=False, shape=parameter.shape, stride=parameter.stride())
    # One dimension after the other, from the outermost: torch warns where it has to find this order.
    for at in range(len(placements) - 1):
        cut = cut.redistribute(placements=[*(at + 1) * [Replicate()], *placements[at + 1 :]])
    return cut.full_tensor()


def shard_of(tensor: Tensor, parameter: Tensor) -> Tensor:
    """This rank's shard of a tensor that it has whole, cut as `parameter` is."""
    if not isinstance(parameter, DTensor):
        return tensor
    cut = distribute_tensor(tensor, parameter.device_mesh, parameter.placements, src_data_rank=None)
    return cut.to_local()


def elements(parameter: Tensor, run: slice) -> Tensor:
    """The numbers in the whole parameter of a run of this rank's elements."""
    at = torch.arange(run.start, run.stop, device=parameter.device)
    if not isinstance(parameter, DTensor):
        return at
    shape, first = list(parameter.shape), [0] * parameter.dim()
    # The innermost dimension of the mesh has cut first.
    for mesh_dimension, placement in reversed(list(enumerate(parameter.placements))):
        if not placement.is_replicate():
            dimension = placement.dim
            each = -(-shape[dimension] // parameter.device_mesh.size(mesh_dimension))
            start = min(parameter.device_mesh.get_local_rank(mesh_dimension) * each, shape[dimension])
            first[dimension] += start
            shape[dimension] = min(each, shape[dimension] - start)
    found = torch.zeros_like(at)
    for dimension in reversed(range(parameter.dim())):
        found += (at % shape[dimension] + first[dimension]) * parameter.stride(dimension)
        at = at // shape[dimension]
    return found
