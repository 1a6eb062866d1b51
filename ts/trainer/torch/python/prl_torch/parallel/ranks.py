"""
The places of the ranks. From the outermost to the innermost, ranks are copies of the weights, shards of the weights, parts of a bin's
tokens (`context`, among the shards) and parts of the layers' matrices (`tensor`): those that exchange most are neighbours on one node.
Neighbours among the shards may also share the experts of each layer (`expert`), whatever tokens they have.

The ranks that share a bin read the same file and compute the same loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from ..attention.context import Context


@dataclass(frozen=True)
class Sizes:
    """`[trainer.parallel]`."""

    context: int
    """Ranks that share each bin by its tokens."""
    tensor: int
    """Ranks that share each matrix of a layer."""
    replicas: int
    """Groups of ranks each of which has all weights."""
    expert: int = 1
    """Ranks that share the experts of each layer; they have other tokens. Not together with `tensor`."""


@dataclass(frozen=True)
class Ranks:
    """The groups of this rank. Made on all ranks, in the same order."""

    context: Context
    sharing: Context
    """All ranks that share a bin: those of the context, each with the ranks that share its matrices."""
    tensor: DeviceMesh | None
    """The ranks that share each matrix of a layer; None: every rank has whole ones."""
    layers: DeviceMesh
    """The ranks over which FSDP cuts the layers; a first dimension counts copies."""
    ends: DeviceMesh
    """The same for what is outside of the layers, which is not cut as matrices: `tensor` counts as more shards."""
    expert: DeviceMesh | None = None
    """The ranks that share the experts of each layer; None: every rank has all."""
    experts: DeviceMesh | None = None
    """The ranks over which FSDP cuts what such a rank has, as `layers`."""

    @property
    def matrices(self) -> int:
        """Ranks that share each matrix."""
        return 1 if self.tensor is None else self.tensor.size()

    @staticmethod
    def of_world(device: str, sizes: Sizes) -> Ranks:
        """`context` times `tensor`, `replicas` times `tensor` and `replicas` times `expert` divide the number of ranks."""
        ranks, tensor, copies = dist.get_world_size(), sizes.tensor, sizes.replicas
        context = Context.of_world(sizes.context, tensor)
        shape, names = (copies, ranks // copies), ("copies", "shards")
        ends = init_device_mesh(device, shape[1:] if copies == 1 else shape, mesh_dim_names=names[1:] if copies == 1 else names)
        if tensor == 1 and sizes.expert == 1:
            return Ranks(context, context, None, ends, ends)
        inner, name = (tensor, "tensor") if sizes.expert == 1 else (sizes.expert, "expert")
        mesh = init_device_mesh(device, (copies, ranks // copies // inner, inner), mesh_dim_names=(*names, name))
        outer = mesh["shards"] if copies == 1 else mesh["copies", "shards"]
        if name == "expert":
            return Ranks(context, context, None, ends, ends, mesh[name], outer)
        return Ranks(context, Context.of_world(sizes.context * tensor), mesh[name], outer, ends)
