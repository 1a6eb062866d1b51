"""
Low-rank adapters (LoRA): `y = x W^T` becomes `y = x W^T + s (x A^T) B^T`, with the names and the folder of Python's `peft`.

A and B are kept and computed in f32, whatever the format of the frozen weights, as the engine does (`crates/engine/src/model/lora`). A new
adapter begins with the numbers that the engine draws for the same seed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from .folders import CheckpointError
from .optimizer.shards import local, whole

PREFIX = "base_model.model."
CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
FEED_FORWARD = ("gate_proj", "up_proj", "down_proj")


class AdapterError(Exception):
    """An adapter that this model cannot have."""


@dataclass(frozen=True)
class AdapterOptions:
    """`[model.lora]`."""

    rank: int
    alpha: float
    rslora: bool
    dropout: float
    targets: tuple[str, ...] | None
    """Projections that are adapted; None: all of them, in a mixture of experts those of attention."""
    seed: int
    base: str
    """The model's name, which is written beside the adapter."""
    source: str | None
    """Folder of the adapter to go on with."""

    @property
    def scale(self) -> float:
        return self.alpha / (math.sqrt(self.rank) if self.rslora else self.rank)


def adapter_options(message: dict[str, Any] | None) -> AdapterOptions | None:
    """The options as the launcher sends them."""
    if message is None:
        return None
    targets = message["target_modules"]
    return AdapterOptions(
        rank=message["rank"],
        alpha=float(message["alpha"]),
        rslora=message["use_rslora"],
        dropout=float(message["dropout"]),
        targets=None if targets is None else tuple(targets),
        seed=message["seed"],
        base=message["base"],
        source=message.get("from"),
    )


class AdaptedLinear(nn.Module):
    """A frozen projection with an adapter. Its weight keeps its name. Ranks that share it replace its three parts."""

    def __init__(self, linear: nn.Linear, options: AdapterOptions) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self.scale, self.dropout = options.scale, options.dropout
        self.lora_A = nn.Linear(linear.in_features, options.rank, bias=False, dtype=torch.float32)
        self.lora_B = nn.Linear(options.rank, linear.out_features, bias=False, dtype=torch.float32)

    def forward(self, x: Tensor) -> Tensor:
        product = self.product(x)
        return product + (self.scale * self.change(self.dropped(x.float()))).to(product.dtype)

    def product(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight, self.bias)

    def dropped(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.dropout, self.training)

    def change(self, x: Tensor) -> Tensor:
        return self.lora_B(self.lora_A(x))


def adapt(layers: list[nn.Module], options: AdapterOptions, kind: str) -> list[str]:
    """Freezes the layers and gives them an adapter, the same on every rank; the adapted projections. Errors: AdapterError."""
    has_experts = any(name.endswith("mlp.experts") for layer in layers for name, _ in layer.named_modules())
    targets = options.targets or (ATTENTION if has_experts else ATTENTION + FEED_FORWARD)
    refused = sorted(set(targets) & set(FEED_FORWARD))
    if has_experts and refused:
        raise AdapterError(f"model.lora.target_modules has {refused[0]}, which each expert of this model has: name those of attention")
    for index, layer in enumerate(layers):
        layer.requires_grad_(False)
        linears = {name: module for name, module in layer.named_modules() if isinstance(module, nn.Linear)}
        for target in targets:
            path = f"{'mlp' if target in FEED_FORWARD else 'self_attn'}.{target}"
            linear = linears.get(path)
            if linear is None:
                raise AdapterError(f"layer {index} of {kind} has no projection {path} to adapt (model.lora.target_modules)")
            adapted = AdaptedLinear(linear, options)
            layer.get_submodule(path.rpartition(".")[0]).register_module(target, adapted)
    return list(targets)


def changes_of(model: nn.Module) -> dict[str, Callable[[], Tensor]]:
    """Returns the additions of the adapters to the weights of their projections, by the names of these. All ranks must call a function."""
    adapted = {name: module for name, module in model.named_modules() if isinstance(module, AdaptedLinear)}
    return {f"{name}.weight": partial(_change, module) for name, module in adapted.items()}


def _change(linear: AdaptedLinear) -> Tensor:
    a, b = (whole(local(one.weight.detach()), one.weight) for one in (linear.lora_A, linear.lora_B))
    return linear.scale * (b @ a)


def peft_names(parameters: dict[str, nn.Parameter]) -> dict[str, nn.Parameter]:
    """Parameters of an adapter by the names under which `peft` saves them."""
    return {PREFIX + name: value for name, value in parameters.items()}


def begin(parameters: dict[str, nn.Parameter], options: AdapterOptions, targets: list[str]) -> None:
    """Fills the adapter's parameters, by the names that `peft` saves. Errors: CheckpointError for a folder of another adapter."""
    found = None if options.source is None else _read(Path(options.source), options, targets)
    if found is not None and set(found) != set(parameters):
        other = min(set(found) ^ set(parameters))
        raise CheckpointError(f"{options.source}: {other} is in one of the folder and the model's adapter only")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if found is not None:
                parameter.copy_(found[name])
            elif ".lora_A." in name:
                parameter.copy_(uniform(name, options.seed, tuple(parameter.shape)))
            else:
                parameter.zero_()


def _read(folder: Path, options: AdapterOptions, targets: list[str]) -> dict[str, Tensor]:
    config = json.loads((folder / CONFIG_FILE).read_text())
    there = (config["r"], float(config["lora_alpha"]), bool(config.get("use_rslora")), set(config["target_modules"]))
    wanted = (options.rank, options.alpha, options.rslora, set(targets))
    if there != wanted:
        raise CheckpointError(f"{folder}: the adapter has {there}, the options ask for {wanted} (rank, alpha, use_rslora, target_modules)")
    return load_file(folder / WEIGHTS_FILE)


def adapter_config(options: AdapterOptions, targets: list[str]) -> str:
    """The text of `adapter_config.json`, as the engine writes it."""
    config = {
        "base_model_name_or_path": options.base,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "init_lora_weights": True,
        "lora_alpha": options.alpha,
        "lora_dropout": options.dropout,
        "peft_type": "LORA",
        "r": options.rank,
        "target_modules": targets,
        "task_type": "CAUSAL_LM",
        "use_dora": False,
        "use_rslora": options.rslora,
    }
    return json.dumps(config, indent=2) + "\n"


def uniform(name: str, seed: int, shape: tuple[int, ...]) -> Tensor:
    """Uniform in ±1 / sqrt(inputs), Kaiming's bound for a = sqrt(5); the numbers of `crates/engine/src/counter.rs`."""
    key = _mix(np.array([seed], dtype=np.uint64))
    for byte in name.encode():
        key = _mix(key ^ np.uint64(byte))
    drawn = _mix(key ^ _mix(np.arange(math.prod(shape), dtype=np.uint64))) >> np.uint64(40)
    share = (drawn.astype(np.float32) + np.float32(0.5)) / np.float32(8_388_608.0) - np.float32(1.0)
    bound = np.float32(1.0) / np.sqrt(np.float32(shape[1]))
    return torch.from_numpy(share * bound).reshape(shape)


def _mix(state: np.ndarray) -> np.ndarray:
    """The output function of SplitMix64 after its increment; numbers of an array wrap around."""
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
