"""
Expert parallelism (GShard, Lepikhin et al. 2020, arXiv:2006.16668): ranks share the experts of each layer. The ranks of a group have
different tokens. Each sends a row to the rank that has the row's expert and gets the result back, for every expert of a token; the sum with
the router's factors is made where the token is.

The experts of a rank are DTensors of the group, which FSDP cuts over the ranks outside of it. A group's rank sees the tokens of all its
ranks, so the gradient of an expert is a sum over them already, of which FSDP takes the mean over the groups: slopes are divided by the
ranks of the group where they enter an expert, and multiplied where they leave it.

Every rank takes part in every exchange, forward and backward, also one that gets no rows.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from .tensor import MATRICES, PlanError, own_of, part_of, products_of

KEY = "trainer.parallel.expert"
EXPERTS = "mlp.experts"


class SharedExperts(nn.Module):
    """This rank's experts of a layer, under the names that all of them had. It is called as they were, with the tokens of this rank."""

    def __init__(self, experts: Any, group: DeviceMesh) -> None:
        super().__init__()
        self.gate_up_proj = part_of(experts.gate_up_proj, group, 0)
        self.down_proj = part_of(experts.down_proj, group, 0)
        self.group = group.get_group()
        self.ranks = group.size()
        self.here: int = experts.num_experts // self.ranks
        for name in MATRICES:
            delattr(experts, name)
        experts.num_experts = self.here
        # The products are those of transformers. In a list, because as a module it would be in the names.
        self.products = [experts]

    # A compiled layer leaves its graph here: how many rows a rank gets is known only when they are there.
    @torch.compiler.disable
    def forward(self, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
        """The sum of what the experts of each row give, [T, width]."""
        tokens, used = top_k_index.shape
        order = top_k_index.flatten().argsort(stable=True)
        sent = top_k_index.flatten().bincount(minlength=self.ranks * self.here)
        got = _all_to_all(sent, None, None, self.group)
        to, origins = sent.view(self.ranks, self.here).sum(1).tolist(), got.view(self.ranks, self.here).sum(1).tolist()
        rows = _exchange(hidden_states[order // used], (to, origins), self.ranks, self.group)
        experts = torch.arange(self.here, device=rows.device).repeat(self.ranks).repeat_interleave(got)
        found = _exchange(self._products(rows, experts), (origins, to), 1 / self.ranks, self.group)
        # Back in the order of the tokens. The factors are on every rank, so that its backward pass takes part.
        by_token = found[order.argsort()].view(tokens, used, found.shape[-1])
        # A copy, because torch warns where FSDP's modules return views.
        return torch.bmm(top_k_weights[:, None].to(found.dtype), by_token).squeeze(1).clone()

    def _products(self, rows: Tensor, experts: Tensor) -> Tensor:
        """Computes the output of each row's expert. A rank without rows computes one of zeros, which keeps its weights in the graph."""
        count, module = len(rows), self.products[0]
        if count == 0:
            rows, experts = nn.functional.pad(rows, (0, 0, 0, 1)), experts.new_zeros(1)
        matrices = {name: own_of(getattr(self, name)) for name in MATRICES}
        return products_of(module, matrices, rows, experts[:, None], torch.ones_like(rows[:, :1]))[:count]


def share_experts(layers: list[nn.Module], kind: str, group: DeviceMesh) -> None:
    """Leaves each rank of a group its part of the experts of every layer, on the device of the group. Errors: PlanError."""
    found = [layer for layer in layers if any(name == EXPERTS for name, _ in layer.named_modules())]
    if not found:
        raise PlanError(f"{kind} has no experts that ranks could share: set {KEY} = 1")
    for layer in found:
        experts: Any = layer.get_submodule(EXPERTS)
        _check(experts, kind, group.size())
        layer.get_submodule(EXPERTS.rpartition(".")[0]).register_module("experts", SharedExperts(experts, group))


def experts_of(layer: nn.Module) -> SharedExperts | None:
    """Those of a layer whose experts are shared."""
    return next((module for module in layer.modules() if isinstance(module, SharedExperts)), None)


def _check(experts: Any, kind: str, ranks: int) -> None:
    names, count = {name for name, _ in experts.named_parameters()}, getattr(experts, "num_experts", None)
    if names != set(MATRICES) or count is None or any(getattr(experts, name).shape[0] != count for name in MATRICES):
        raise PlanError(f"the experts of {kind} are not two matrices each, of which ranks could have some: set {KEY} = 1")
    if count % ranks != 0:
        raise PlanError(f"{KEY} = {ranks} does not divide the model's {count} experts")
    rows = torch.linspace(-1, 1, 2 * experts.down_proj.shape[1], device=experts.down_proj.device, dtype=experts.down_proj.dtype).view(2, -1)
    index, factors = torch.tensor([[0, count - 1]] * 2, device=rows.device), torch.tensor([[0.25, 0.5]] * 2, device=rows.device)
    with torch.no_grad():
        together = experts(rows, index, factors.to(rows.dtype))
        each = [experts(rows, index[:, [at]], torch.ones_like(rows[:, :1])) for at in range(2)]
    wanted = 0.25 * each[0] + 0.5 * each[1]
    within = 1e-3 if rows.dtype == torch.float32 else 1e-1
    if not torch.allclose(together, wanted, rtol=within, atol=within * float(wanted.abs().max())):
        raise PlanError(f"what the experts of {kind} give is not multiplied by the router's factors: set {KEY} = 1")


def _exchange(rows: Tensor, sizes: tuple[list[int], list[int]], slope: float, group: dist.ProcessGroup) -> Tensor:
    """Sends rows to the ranks, so many to each, and gets so many of each; `slope` multiplies their gradients."""
    found = _Exchange.apply(rows, sizes, slope, group)
    assert isinstance(found, Tensor)
    return found


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        rows, ctx.sizes, ctx.slope, ctx.group = inputs
        return _all_to_all(rows, *ctx.sizes, ctx.group)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        to, origins = ctx.sizes
        return _all_to_all(grads[0], origins, to, ctx.group).mul_(ctx.slope), None, None, None


def _all_to_all(rows: Tensor, to: list[int] | None, origins: list[int] | None, group: dist.ProcessGroup) -> Tensor:
    """Without numbers, each rank gets the same number of rows."""
    found = rows.new_empty((len(rows) if origins is None else sum(origins), *rows.shape[1:]))
    dist.all_to_all_single(found, rows.contiguous(), origins, to, group=group)
    return found
