"""Ranks that share the matrices of each layer, beside one rank that has them whole."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from conftest import native_cases
from opened import ADAMW, open_trainer
from ranks_of import on_ranks
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from transformers import AutoConfig

from prl_torch.parallel.tensor import PlanError, check_sizes, cut_layers, plan_of

VERSION = 4
IS_LONG = os.environ.get("PRL_TEST_LONG") == "1"
GRADIENT_RTOL = 1e-4
OPTIM = {**ADAMW, "lr": 1e-3, "weight_decay": 0.1, "max_norm": 0.5}
LORA: dict[str, Any] = {"rank": 4, "alpha": 8, "use_rslora": False, "target_modules": None, "seed": 6, "base": "org/name"}
IDS, BOUNDS = [5, 6, 7, 90, 91, 50, 51], [0, 3, 7]
CASES = [param.values[0] for param in native_cases("loss")]
MODELS = {Path(case["model"]).parent.name: case["model"] for case in CASES}
REFERENCE = str(Path(os.environ.get("PRL_TORCH_FIXTURES", "")) / "after-adamw-of-tied")
pytestmark = pytest.mark.skipif(not CASES, reason="PRL_TORCH_FIXTURES names no folder")


@dataclass(frozen=True)
class Run:
    """A trainer: its model, its options, and how many ranks share what."""

    name: str
    model: str
    context: int = 1
    tensor: int = 2
    replicas: int = 1
    options: dict[str, Any] = field(default_factory=dict)


TWO = [
    Run("tied", "tied"),
    Run("untied", "untied", options={"recompute": True}),
    Run("windowed with muon", "windowed", options={"optim": {**OPTIM, "type": "muon"}}),
    Run("adapter", "tied", options={"lora": {**LORA, "dropout": 0.0}}),
    Run("adapter with dropout", "untied", options={"lora": {**LORA, "dropout": 0.3}, "merged": True}),
    Run("reference", "tied", options={"reference_dir": REFERENCE, "loss": {"type": "kl", "kl": {"coef": 1.0}}}),
    *([Run("compiled", "untied", options={"compile": True})] if IS_LONG else []),
]
FOUR = [
    Run("shards", "tied"),
    Run("context", "untied", context=2),
    *([Run("copies", "tied", replicas=2)] if IS_LONG else []),
    Run("half moments", "tied", options={"optim": {**OPTIM, "state_dtype": "bfloat16"}}),
    *([Run("adapter over shards", "untied", options={"lora": {**LORA, "dropout": 0.0}})] if IS_LONG else []),
]


def train(run: Run, folder: Path, sizes: dict[str, int], batches: list[list[str]]) -> dict[str, Any]:
    """Three steps, each over these batches of this rank; what they say, and the folders that they leave."""
    options = {"optim": OPTIM, **run.options}
    trainer = open_trainer(MODELS[run.model], **sizes, **options)
    trainer.save(str(folder / run.name / "begin"))
    found: dict[str, Any] = {"losses": [], "metrics": [], "norms": [], "gradients": {}}
    for step in range(3):
        for path in batches[step % len(batches)]:
            said = trainer.forward_backward(path, VERSION)
            found["losses"].append(said["loss"])
            found["metrics"].append({name: value for name, value in said["metrics"].items() if not name.startswith(("perf/", "time/"))})
        if step == 0:
            found["gradients"] = {name: value.clone() for name, value in trainer.gradients().items()}
        found["norms"].append(trainer.step(1e-3)["grad_norm"])
        if step == 1:
            trainer.save_checkpoint(str(folder / run.name / "half"))
    found["scores"] = trainer.logprobs(IDS, BOUNDS, 0.9)["logprobs"]
    trainer.save_checkpoint(str(folder / run.name / "end"))
    return found


def two_ranks(folder: str) -> dict[str, Any]:
    found = {run.name: train(run, Path(folder), {"tensor": 2}, [[batch_of(run.model, "plain")]]) for run in TWO}
    go_on(TWO[0], Path(folder).parent / "one", {"tensor": 2})
    return found


def go_on(run: Run, folder: Path, sizes: dict[str, int]) -> None:
    """The last step, from the checkpoint before it."""
    half = str(folder / run.name / "half")
    trainer = open_trainer(half, resume=half, optim=OPTIM, **sizes)
    trainer.forward_backward(batch_of(run.model, "plain"), VERSION)
    trainer.step(1e-3)
    trainer.save_checkpoint(str(folder / run.name / "resumed"))


def four_ranks(folder: str) -> dict[str, Any]:
    found = {}
    for run in FOUR:
        kinds = ("plain", "streams") if run.context == 1 else ("plain",)
        mine = kinds[dist.get_rank() // (run.context * run.tensor)]
        sizes = {"context": run.context, "tensor": run.tensor, "replicas": run.replicas}
        found[run.name] = train(run, Path(folder), sizes, [[batch_of(run.model, mine)]])
    return found


def batch_of(model: str, kind: str) -> str:
    return str(Path(MODELS[model]).parent / f"{kind}.safetensors")


def tensors(folder: Path, stem: str) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for file in sorted(folder.glob(f"{stem}*.safetensors")):
        found |= load_file(file)
    return found


def relative(found: Tensor, expected: Tensor) -> float:
    size = float(expected.norm())
    return float((found.double() - expected.double()).norm()) / size if size > 0 else float(found.norm())


def compare(run: Run, alone: dict[str, Any], shared: list[dict[str, Any]], folders: tuple[Path, Path]) -> None:
    """Every rank beside one that does it all; several batches of that one count as one step."""
    ranks, batches = [one[run.name] for one in shared], len(alone["losses"]) // 3
    for one in ranks:
        assert one["gradients"].keys() == alone["gradients"].keys()
        worst = {name: relative(one["gradients"][name], wanted) for name, wanted in alone["gradients"].items()}
        assert max(worst.values()) < GRADIENT_RTOL, (run, worst)
        losses = torch.tensor(alone["losses"]).view(3, batches).sum(1)
        # A step of AdamW turns the rounding of a gradient of nearly 0 into a whole step of that weight.
        for name, wanted in (("losses", losses.tolist()), ("norms", alone["norms"])):
            assert one[name][0] == pytest.approx(wanted[0], rel=1e-5, abs=1e-7), (run, name)
            assert one[name] == pytest.approx(wanted, rel=1e-4, abs=1e-7), (run, name)
        assert torch.tensor(one["scores"]).allclose(torch.tensor(alone["scores"]), atol=1e-4), run
        # What ranks have twice must not drift apart.
        assert all(torch.equal(one["gradients"][name], ranks[0]["gradients"][name]) for name in worst), run
        if batches == 1:
            for name, value in alone["metrics"][0].items():
                assert one["metrics"][0][name] == pytest.approx(value, rel=1e-4, abs=3e-6), (run, name)
    for stem in ("model", "adapter_model", "optimizer"):
        begun, at_first = (tensors(folder / run.name / "begin", stem) for folder in folders)
        assert begun.keys() == at_first.keys() and all(torch.equal(begun[name], at_first[name]) for name in begun), run
        ended, wanted = (tensors(folder / run.name / "end", stem) for folder in folders)
        # What is rounded at random is rounded the same way, but for numbers that lie between two others.
        within = 1e-2 if run.name == "half moments" and stem == "optimizer" else GRADIENT_RTOL
        assert_near(ended, wanted, within)


def assert_near(found: dict[str, Tensor], wanted: dict[str, Tensor], within: float) -> None:
    assert found.keys() == wanted.keys()
    apart = {name: relative(found[name], wanted[name]) for name in wanted}
    assert max(apart.values(), default=0.0) < within, apart


def test_two_ranks_that_share_matrices_train_as_one_and_go_on_from_its_checkpoints(tmp_path: Path) -> None:
    alone = {run.name: train(run, tmp_path / "one", {}, [[batch_of(run.model, "plain")]]) for run in TWO}
    shared = on_ranks(2, two_ranks, tmp_path / "two")
    for run in TWO:
        compare(run, alone[run.name], shared, (tmp_path / "two", tmp_path / "one"))
    first = TWO[0].name
    go_on(TWO[0], tmp_path / "two", {})
    for folder in ("one", "two"):
        for stem in ("model", "optimizer"):
            assert_near(
                tensors(tmp_path / folder / first / "resumed", stem), tensors(tmp_path / "one" / first / "end", stem), GRADIENT_RTOL
            )


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


@pytest.mark.parametrize(
    ("config", "ranks", "message"),
    [
        (config_of(), 3, "trainer.parallel.tensor = 3 does not divide the model's 8 attention heads"),
        (config_of(), 8, "trainer.parallel.tensor = 8 does not divide the model's 4 key-value heads"),
        (AutoConfig.for_model("gpt2"), 2, "transformers has no tensor-parallel plan for gpt2: set trainer.parallel.tensor = 1"),
        (AutoConfig.for_model("phi3"), 2, "the tensor-parallel plan of phi3 has colwise_gather_output for self_attn.qkv_proj"),
        (AutoConfig.for_model("qwen3_moe"), 2, "the tensor-parallel plan of qwen3_moe has packed_colwise for mlp.experts.gate_up_proj"),
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
