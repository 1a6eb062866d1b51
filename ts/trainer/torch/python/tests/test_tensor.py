"""Ranks that share the matrices of each layer, beside one rank that has them whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from beside_one import (
    GRADIENT_RTOL,
    HAS_CASES,
    IS_LONG,
    LORA,
    OPTIM,
    REFERENCE,
    Run,
    assert_near,
    batch_of,
    compare,
    go_on,
    tensors,
    train,
)
from ranks_of import on_ranks
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from transformers import AutoConfig
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeExperts

from prl_torch.parallel.tensor import PlanError, check_sizes, cut_layers, plan_of

pytestmark = HAS_CASES

BALANCED = {"aux_loss_coef": 0.5, "frozen": False}
TWO = [
    Run("tied", "tied", tensor=2),
    Run("untied", "untied", tensor=2, options={"recompute": True}),
    Run("windowed with muon", "windowed", tensor=2, options={"optim": {**OPTIM, "type": "muon"}}),
    Run("adapter", "tied", tensor=2, options={"lora": {**LORA, "dropout": 0.0}}),
    Run("adapter with dropout", "untied", tensor=2, options={"lora": {**LORA, "dropout": 0.3}, "merged": True}),
    Run("reference", "tied", tensor=2, options={"reference_dir": REFERENCE, "loss": {"type": "kl", "kl": {"coef": 1.0}}}),
    *([Run("compiled", "untied", tensor=2, options={"compile": True})] if IS_LONG else []),
    Run("mixture", "experts", tensor=2),
    Run("mixture, balanced and replayed", "experts", tensor=2, options={"router": BALANCED, "recompute": True}),
    Run("mixture with adapter", "experts", tensor=2, options={"lora": {**LORA, "dropout": 0.3}, "merged": True}),
    *([Run("mixture, routers frozen", "experts", tensor=2, options={"router": {**BALANCED, "frozen": True}})] if IS_LONG else []),
    *([Run("mixture, compiled", "experts", tensor=2, options={"compile": True})] if IS_LONG else []),
]
GOING_ON = [TWO[0], next(run for run in TWO if run.name == "mixture")]
FOUR = [
    Run("shards", "tied", tensor=2),
    Run("context", "untied", tensor=2, context=2),
    *([Run("copies", "tied", tensor=2, replicas=2)] if IS_LONG else []),
    Run("half moments", "tied", tensor=2, options={"optim": {**OPTIM, "state_dtype": "bfloat16"}}),
    *([Run("adapter over shards", "untied", tensor=2, options={"lora": {**LORA, "dropout": 0.0}})] if IS_LONG else []),
    Run("mixture over shards with muon", "experts", tensor=2, options={"optim": {**OPTIM, "type": "muon"}}),
    Run("mixture with context, balanced", "experts", tensor=2, context=2, options={"router": BALANCED}),
    *([Run("mixture, copies", "experts", tensor=2, replicas=2)] if IS_LONG else []),
    *([Run("half moments of a mixture", "experts", tensor=2, options={"optim": {**OPTIM, "state_dtype": "bfloat16"}})] if IS_LONG else []),
]


def mine(run: Run) -> str:
    """The batch of two ranks."""
    return batch_of(run.model, "replayed" if run.name.endswith("replayed") else "plain")


def two_ranks(folder: str) -> dict[str, Any]:
    found = {run.name: train(run, Path(folder), {"tensor": 2}, [[mine(run)]]) for run in TWO}
    for run in GOING_ON:
        go_on(run, Path(folder).parent / "one", {"tensor": 2}, [mine(run)])
    return found


def four_ranks(folder: str) -> dict[str, Any]:
    found = {}
    for run in FOUR:
        kinds = ("plain", "streams") if run.context == 1 else ("plain",)
        kind = kinds[dist.get_rank() // (run.context * run.tensor)]
        sizes = {"context": run.context, "tensor": run.tensor, "replicas": run.replicas}
        found[run.name] = train(run, Path(folder), sizes, [[batch_of(run.model, kind)]])
    return found


def test_two_ranks_that_share_matrices_train_as_one_and_go_on_from_its_checkpoints(tmp_path: Path) -> None:
    alone = {run.name: train(run, tmp_path / "one", {}, [[mine(run)]]) for run in TWO}
    shared = on_ranks(2, two_ranks, tmp_path / "two")
    for run in TWO:
        compare(run, alone[run.name], shared, (tmp_path / "two", tmp_path / "one"))
    for run in GOING_ON:
        go_on(run, tmp_path / "two", {}, [mine(run)])
        for folder in ("one", "two"):
            for stem in ("model", "optimizer"):
                resumed, ended = tmp_path / folder / run.name / "resumed", tmp_path / "one" / run.name / "end"
                assert_near(tensors(resumed, stem), tensors(ended, stem), GRADIENT_RTOL)


def test_four_ranks_share_matrices_beside_shards_tokens_and_copies(tmp_path: Path) -> None:
    shared = on_ranks(4, four_ranks, tmp_path / "four")
    for run in FOUR:
        kinds = ("plain", "streams") if run.context == 1 else ("plain",)
        alone = train(run, tmp_path / "one", {}, [[batch_of(run.model, kind) for kind in kinds]])
        compare(run, alone, shared, (tmp_path / "four", tmp_path / "one"))


@dataclass
class Described:
    """As much of a model as its plan and its sizes are read from."""

    config: Any


def config_of(**changed: Any) -> Any:
    return AutoConfig.for_model("qwen3", num_attention_heads=8, num_key_value_heads=4, intermediate_size=64, **changed)


def mixture_of(kind: str = "packed_colwise") -> Any:
    config = AutoConfig.for_model(
        "qwen3_moe", num_attention_heads=6, num_key_value_heads=6, intermediate_size=48, moe_intermediate_size=16, num_experts=4
    )
    config.base_model_tp_plan = {**config.base_model_tp_plan, "layers.*.mlp.experts.gate_up_proj": kind}
    return config


@pytest.mark.parametrize(
    ("config", "ranks", "message"),
    [
        (config_of(), 3, "trainer.parallel.tensor = 3 does not divide the model's 8 attention heads"),
        (config_of(), 8, "trainer.parallel.tensor = 8 does not divide the model's 4 key-value heads"),
        (AutoConfig.for_model("gpt2"), 2, "transformers has no tensor-parallel plan for gpt2: set trainer.parallel.tensor = 1"),
        (AutoConfig.for_model("phi3"), 2, "the tensor-parallel plan of phi3 has colwise_gather_output for self_attn.qkv_proj"),
        (mixture_of(), 3, "trainer.parallel.tensor = 3 does not divide the model's 16 columns of moe_intermediate_size"),
        (mixture_of(kind="rowwise"), 2, "the tensor-parallel plan of qwen3_moe has rowwise for mlp.experts.gate_up_proj"),
    ],
)
def test_models_whose_matrices_cannot_be_shared_are_named(config: Any, ranks: int, message: str) -> None:
    model: Any = Described(config)
    with pytest.raises(PlanError, match=re.escape(message)):
        check_sizes(model, ranks)
        plan_of(model)


def test_a_layer_with_more_inside_than_its_plan_knows_is_refused() -> None:
    layer = nn.ModuleDict({"self_attn": nn.ModuleDict({"q_proj": nn.Linear(4, 4), "q_norm": nn.LayerNorm(4)}), "norm": nn.LayerNorm(4)})
    group = init_device_mesh("cpu", (1,))
    with pytest.raises(PlanError, match=r"has nothing for self_attn\.q_norm"):
        cut_layers([layer], {"self_attn.q_proj": "colwise"}, group)
    assert cut_layers([layer], {"self_attn.q_proj": "colwise", "self_attn.q_norm": "replicated_with_grad_allreduce"}, group)


def test_experts_with_more_than_two_matrices_are_refused() -> None:
    config = mixture_of()
    config._experts_implementation = "eager"
    layer = nn.ModuleDict({"mlp": nn.ModuleDict({"experts": Qwen3MoeExperts(config), "gate": nn.Linear(4, 4)})})
    group, plan = init_device_mesh("cpu", (1,)), {"mlp.experts": "moe_tp_experts"}
    assert cut_layers([layer], plan, group) == set()
    biased = Qwen3MoeExperts(config)
    biased.down_proj_bias = nn.Parameter(torch.zeros(4, 8))
    with pytest.raises(PlanError, match="the experts of ModuleDict are not two matrices each"):
        cut_layers([nn.ModuleDict({"mlp": nn.ModuleDict({"experts": biased})})], plan, group)
