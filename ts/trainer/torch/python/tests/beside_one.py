"""Several ranks that share a model in some way, beside one rank that does it all."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import native_cases
from opened import ADAMW, open_trainer
from safetensors.torch import load_file
from torch import Tensor

VERSION = 4
IS_LONG = os.environ.get("PRL_TEST_LONG") == "1"
GRADIENT_RTOL = 1e-4
OPTIM = {**ADAMW, "lr": 1e-3, "weight_decay": 0.1, "max_norm": 0.5}
LORA: dict[str, Any] = {"rank": 4, "alpha": 8, "use_rslora": False, "target_modules": None, "seed": 6, "base": "org/name"}
IDS, BOUNDS = [5, 6, 7, 90, 91, 50, 51], [0, 3, 7]
CASES = [param.values[0] for param in native_cases("loss")]
MODELS = {Path(case["model"]).parent.name: case["model"] for case in CASES}
REFERENCE = str(Path(os.environ.get("PRL_TORCH_FIXTURES", "")) / "after-adamw-of-tied")
HAS_CASES = pytest.mark.skipif(not CASES, reason="PRL_TORCH_FIXTURES names no folder")


@dataclass(frozen=True)
class Run:
    """A trainer: its model, its options, and how many ranks share what."""

    name: str
    model: str
    context: int = 1
    tensor: int = 1
    replicas: int = 1
    expert: int = 1
    options: dict[str, Any] = field(default_factory=dict)


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


def go_on(run: Run, folder: Path, sizes: dict[str, int], batches: list[str]) -> float:
    """The last step, over these batches of this rank, from the checkpoint before it; the loss."""
    half = str(folder / run.name / "half")
    trainer = open_trainer(half, resume=half, **{"optim": OPTIM, **run.options, **sizes})
    loss = sum(float(trainer.forward_backward(path, VERSION)["loss"]) for path in batches)
    trainer.step(1e-3)
    trainer.save_checkpoint(str(folder / run.name / "resumed"))
    return loss


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
        # What several ranks have must not drift apart.
        assert all(torch.equal(one["gradients"][name], ranks[0]["gradients"][name]) for name in worst), run
        if batches == 1:
            for name, value in alone["metrics"][0].items():
                assert one["metrics"][0][name] == pytest.approx(value, rel=1e-4, abs=3e-6), (run, name)
    for stem in ("model", "adapter_model", "optimizer"):
        begun, at_first = (tensors(folder / run.name / "begin", stem) for folder in folders)
        assert begun.keys() == at_first.keys() and all(torch.equal(begun[name], at_first[name]) for name in begun), run
        ended, wanted = (tensors(folder / run.name / "end", stem) for folder in folders)
        # What is rounded at random is rounded the same way, but for numbers that lie between two others.
        within = 1e-2 if run.name.startswith("half moments") and stem == "optimizer" else GRADIENT_RTOL
        assert_near(ended, wanted, within)


def assert_near(found: dict[str, Tensor], wanted: dict[str, Tensor], within: float) -> None:
    assert found.keys() == wanted.keys()
    apart = {name: relative(found[name], wanted[name]) for name in wanted}
    assert max(apart.values(), default=0.0) < within, apart
