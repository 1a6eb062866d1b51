"""
Tensor parallelism (Shoeybi et al. 2019, arXiv:1909.08053): ranks share the matrices of each layer, by the plan that transformers has for
the model. A `colwise` projection has a part of its outputs on each rank, so that a rank has some of the heads and some of the network's
width; a `rowwise` one has the inputs that these are, and its products are summed. The hidden states between attention and network are the
same on all ranks of a group.

Parameters become DTensors of the group and the products are those of their local parts, so that adapters and compiled layers take the same
way. The gradient of a hidden state is summed over the group where it enters attention or the network. Some small parameters are whole on
every rank and see a part of the work only: their gradients are parts of a sum, which the optimizer takes once a step.

Of a mixture every rank has all experts, each with a part of its width, and the router: it sends the same rows to the same experts on all
ranks. The gradients of rows and factors are summed where they enter the experts, so that the router's are whole on every rank.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Shard
from transformers import PreTrainedModel

from ..adapter import AdaptedLinear
from ..attention.context import sum_over

COLUMNS, ROWS, PARTIAL, NARROW = "colwise", "rowwise", "replicated_with_grad_allreduce", "moe_tp_experts"
MATRICES = {"gate_up_proj": "packed_colwise", "down_proj": ROWS}
"""Those of the experts of a layer, with their styles."""
KEY = "trainer.parallel.tensor"
LAYERS = "layers.*."


class PlanError(Exception):
    """A model whose layers cannot be shared so."""


def plan_of(lm: PreTrainedModel) -> dict[str, str]:
    """The style of each module of a layer, by its path there. Errors: PlanError."""
    given: dict[str, str] = getattr(lm.config, "base_model_tp_plan", None) or {}
    found = {path.removeprefix(LAYERS): style for path, style in given.items() if path.startswith(LAYERS)}
    if not found:
        raise PlanError(f"transformers has no tensor-parallel plan for {lm.config.model_type}: set {KEY} = 1")
    experts = [path for path, style in found.items() if style == NARROW]
    matrices = {f"{path}.{name}": style for path in experts for name, style in MATRICES.items()}
    for path, style in found.items():
        is_known = style == matrices[path] if path in matrices else style in (COLUMNS, ROWS, PARTIAL, NARROW)
        if not is_known:
            raise PlanError(f"the tensor-parallel plan of {lm.config.model_type} has {style} for {path}: set {KEY} = 1")
    return {path: style for path, style in found.items() if path not in matrices}


def check_sizes(lm: PreTrainedModel, ranks: int) -> None:
    """Each rank needs the same number of heads, and the keys of these. Errors: PlanError."""
    config = lm.config
    heads = config.num_attention_heads
    counts = {
        "attention heads": heads,
        "key-value heads": getattr(config, "num_key_value_heads", None) or heads,
        "columns of intermediate_size": getattr(config, "intermediate_size", heads),
        "columns of moe_intermediate_size": getattr(config, "moe_intermediate_size", None) or heads,
    }
    for what, count in counts.items():
        if count % ranks != 0:
            raise PlanError(f"{KEY} = {ranks} does not divide the model's {count} {what}")


def cut_layers(layers: list[nn.Module], plan: dict[str, str], group: DeviceMesh) -> set[int]:
    """
    Cuts the matrices of the layers, whose adapters have been filled. The result are the ids of the parameters whose gradients are parts
    of a sum. Errors: PlanError for a layer that has more inside of attention or network than the plan knows.
    """
    parts: set[int] = set()
    for layer in layers:
        modules = dict(layer.named_modules())
        entered, mixed = ({_above(path) for path, style in plan.items() if style == kind and path in modules} for kind in (COLUMNS, NARROW))
        for path, module in modules.items():
            own = next(iter(module.parameters(recurse=False)), None)
            # Beside the experts there is a router, which gets all of the hidden states.
            is_whole = "." not in path or _above(path) in mixed - entered
            if own is not None and not is_whole and not any(path == known or path.startswith(f"{known}.lora_") for known in plan):
                raise PlanError(f"the tensor-parallel plan of {type(layer).__name__} has nothing for {path}: set {KEY} = 1")
        for path in entered:
            modules[path].register_forward_pre_hook(partial(_enter, group.get_group()), with_kwargs=True)
        for path, style in plan.items():
            module = modules.get(path)
            if module is None:
                continue  # A plan names what some models of a family have.
            if style == PARTIAL:
                parts.update(id(value) for value in module.parameters())
            elif style == COLUMNS:
                _cut_columns(module, group, parts)
            elif style == NARROW:
                modules[_above(path)].register_module(path.rpartition(".")[2], _narrow(layer, module, group))
            else:
                _cut_rows(module, group)
    return parts


class NarrowExperts(nn.Module):
    """The experts of a layer, each with this rank's part of its width, under the names that whole ones had. It is called as they were."""

    def __init__(self, experts: Any, group: DeviceMesh) -> None:
        super().__init__()
        both = experts.gate_up_proj
        # Gate and up in a dimension between experts and rows, so that a part has the same rows of each.
        apart = nn.Parameter(both.detach().unflatten(1, (2, -1)), both.requires_grad)
        self.gate_up_proj, self.down_proj = part_of(apart, group, 2), part_of(experts.down_proj, group, 2)
        self.group = group.get_group()
        for name in MATRICES:
            delattr(experts, name)
        # The products are those of transformers. In a list, because as a module it would be in the names.
        self.products = [experts]

    # A compiled layer leaves its graph here: the products read attributes that are there for one call.
    @torch.compiler.disable
    def forward(self, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
        """The sum of what the experts of each row give, [T, width]."""
        rows, factors = (_slopes_summed(values, self.group) for values in (hidden_states, top_k_weights))
        matrices = {"gate_up_proj": own_of(self.gate_up_proj).flatten(1, 2), "down_proj": own_of(self.down_proj)}
        return sum_over(products_of(self.products[0], matrices, rows, top_k_index, factors), self.group)


def products_of(experts: nn.Module, matrices: dict[str, Tensor], rows: Tensor, index: Tensor, factors: Tensor) -> Tensor:
    """Computes the outputs of experts of transformers, which have no matrices, with these matrices."""
    # As plain attributes, because torch takes no parts of parameters for parameters.
    attributes = vars(experts)
    attributes.update(matrices)
    try:
        found: Tensor = experts(rows, index, factors)
    finally:
        for name in matrices:
            del attributes[name]
    return found


def _narrow(layer: nn.Module, experts: Any, group: DeviceMesh) -> NarrowExperts:
    names = {name for name, _ in experts.named_parameters()}
    if names != set(MATRICES) or experts.gate_up_proj.shape[1] != 2 * experts.down_proj.shape[2]:
        raise PlanError(f"the experts of {type(layer).__name__} are not two matrices each, of which ranks could have parts: set {KEY} = 1")
    return NarrowExperts(experts, group)


def _above(path: str) -> str:
    return path.rpartition(".")[0]


def mean_of_slopes(values: Tensor, group: DeviceMesh) -> Tensor:
    """The same values. Their gradient is the mean of what the ranks of the group have."""
    found = _Slopes.apply(values, group.get_group(), 1 / group.size())
    assert isinstance(found, Tensor)
    return found


def _cut_columns(module: Any, group: DeviceMesh, parts: set[int]) -> None:
    module.weight = part_of(module.weight, group, 0)
    if module.bias is not None:
        module.bias = part_of(module.bias, group, 0)
    if isinstance(module, AdaptedLinear):
        module.lora_B.weight = part_of(module.lora_B.weight, group, 0)
        # Its result goes into this rank's outputs only.
        parts.add(id(module.lora_A.weight))
        module.product, module.change = partial(_columns, module), partial(_columns_of_adapter, module)
    else:
        module.forward = partial(_columns, module)


def _cut_rows(module: Any, group: DeviceMesh) -> None:
    module.weight = part_of(module.weight, group, 1)
    if isinstance(module, AdaptedLinear):
        module.lora_A.weight = part_of(module.lora_A.weight, group, 1)
        module.product, module.change = partial(_rows, module, group.get_group()), partial(_rows_of_adapter, module, group.get_group())
        module.dropped = partial(_dropped_rows, module, group)
    else:
        module.forward = partial(_rows, module, group.get_group())


def part_of(parameter: nn.Parameter, group: DeviceMesh, dimension: int) -> nn.Parameter:
    """This rank's part, as a DTensor."""
    own = parameter.detach().chunk(group.size(), dimension)[group.get_local_rank()].clone()
    return nn.Parameter(DTensor.from_local(own, group, [Shard(dimension)], run_check=False), parameter.requires_grad)


def own_of(parameter: Tensor) -> Tensor:
    assert isinstance(parameter, DTensor)
    return parameter.to_local()


def _columns(module: Any, x: Tensor) -> Tensor:
    return nn.functional.linear(x, own_of(module.weight), None if module.bias is None else own_of(module.bias))


def _rows(module: Any, group: dist.ProcessGroup, x: Tensor) -> Tensor:
    product = sum_over(nn.functional.linear(x, own_of(module.weight)), group)
    return product if module.bias is None else product + module.bias


def _columns_of_adapter(module: AdaptedLinear, kept: Tensor) -> Tensor:
    return nn.functional.linear(module.lora_A(kept), own_of(module.lora_B.weight))


def _rows_of_adapter(module: AdaptedLinear, group: dist.ProcessGroup, kept: Tensor) -> Tensor:
    inner = sum_over(nn.functional.linear(kept, own_of(module.lora_A.weight)), group)
    return nn.functional.linear(inner, module.lora_B.weight)


def _dropped_rows(module: AdaptedLinear, group: DeviceMesh, x: Tensor) -> Tensor:
    """Every rank draws for all inputs, as one rank does that has them all, and takes its own."""
    if module.dropout == 0 or not module.training:
        return x
    drawn = nn.functional.dropout(torch.ones((*x.shape[:-1], group.size() * x.shape[-1]), device=x.device), module.dropout)
    return x * drawn.chunk(group.size(), -1)[group.get_local_rank()]


def _enter(group: dist.ProcessGroup, _: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The hidden states are the first argument, or have this name."""
    if "hidden_states" in named:
        return inputs, {**named, "hidden_states": _slopes_summed(named["hidden_states"], group)}
    return (_slopes_summed(inputs[0], group), *inputs[1:]), named


def _slopes_summed(values: Tensor, group: dist.ProcessGroup) -> Tensor:
    found = _Slopes.apply(values, group, 1.0)
    assert isinstance(found, Tensor)
    return found


class _Slopes(torch.autograd.Function):
    """Values as they are; their gradients are summed over the group, times a factor."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        values, ctx.group, ctx.factor = inputs
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        total = grads[0] * ctx.factor
        dist.all_reduce(total, group=ctx.group)
        return total, None, None
