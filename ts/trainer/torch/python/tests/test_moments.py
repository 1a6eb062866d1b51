"""Moments in bfloat16: right on average, the same however they are cut, in half the memory, and as far as f32 goes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from conftest import native_cases
from opened import ADAMW, open_trainer
from safetensors.torch import load_file

from prl_torch.folders import CheckpointError
from prl_torch.optimizer.moments import noise, rounded
from prl_torch.optimizer.shards import local

VERSION = 4
CPU = torch.device("cpu")
CASES = [param.values[0] for param in native_cases("loss") if param.values[0]["name"] == "plain default"]
MODEL, BATCH = (CASES[0]["model"], CASES[0]["batch"]) if CASES else ("", "")
HALF = {**ADAMW, "lr": 1e-3, "state_dtype": "bfloat16"}
needs_fixtures = pytest.mark.skipif(not CASES, reason="PRL_TORCH_FIXTURES names no folder")


@pytest.mark.parametrize("value", [1.0009765625, -3.1415927, 1e-12, 2.5e-30, 0.0])
def test_rounding_is_right_on_average(value: float) -> None:
    count = 200_000
    values = torch.full((count,), value)
    found = rounded(values, noise("1 weight", 3, torch.arange(count))).double()
    step = max(float((found.max() - found.min()).abs()), 1e-300)
    # Five standard deviations of the mean of so many roundings up or down.
    assert abs(float(found.mean()) - float(values[0].double())) <= 5 * step * 0.5 / count**0.5
    assert len(found.unique()) <= 2


def test_what_bfloat16_holds_is_kept() -> None:
    values = torch.randn(1000).bfloat16().float()
    assert torch.equal(rounded(values, noise("1 weight", 1, torch.arange(1000))).float(), values)


def test_noise_depends_on_step_name_and_place_and_not_on_the_cut() -> None:
    whole = noise("1 weight", 5, torch.arange(1000))
    assert torch.equal(torch.cat([noise("1 weight", 5, torch.arange(300)), noise("1 weight", 5, torch.arange(300, 1000))]), whole)
    for other in (
        noise("2 weight", 5, torch.arange(1000)),
        noise("1 weight", 6, torch.arange(1000)),
        noise("1 weight", 5, torch.arange(1, 1001)),
    ):
        assert int((other == whole).sum()) < 5
    assert abs(float(whole.double().mean()) - 32767.5) < 5 * 18919 / 1000**0.5


@needs_fixtures
@pytest.mark.parametrize("method", ["adamw", "sgd", "muon"])
def test_steps_are_nearly_those_of_f32(method: str) -> None:
    momentum = {} if method == "adamw" else {"momentum": 0.9}
    moved = {}
    for dtype in ("float32", "bfloat16"):
        trainer = open_trainer(MODEL, optim={**HALF, **momentum, "type": method, "state_dtype": dtype})
        before = {name: local(value.detach()).clone() for name, value in trainer.parameters.items()}
        for _ in range(4):
            trainer.forward_backward(BATCH, VERSION)
            trainer.step(1e-3)
        moved[dtype] = torch.cat([(local(value.detach()) - before[name]).flatten() for name, value in trainer.parameters.items()])
        assert {one.dtype for one in trainer.optimizer.first.stored.values()} == {getattr(torch, dtype)}
    distance = float((moved["bfloat16"] - moved["float32"]).norm() / moved["float32"].norm())
    assert 0 < distance < 0.05


@needs_fixtures
def test_a_checkpoint_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    first = open_trainer(MODEL, optim=HALF)
    for _ in range(2):
        first.forward_backward(BATCH, VERSION)
        first.step(1e-3)
    folder = str(tmp_path / "saved")
    first.save_checkpoint(folder)
    assert {values.dtype for values in load_file(f"{folder}/optimizer.safetensors").values()} == {torch.bfloat16}
    again = open_trainer(folder, optim=HALF, resume=folder)
    for trainer in (first, again):
        trainer.forward_backward(BATCH, VERSION)
        trainer.step(1e-3)
    for name, value in first.parameters.items():
        assert torch.equal(value, again.parameters[name]), name
    with pytest.raises(CheckpointError, match="does not fit"):
        open_trainer(folder, optim={**HALF, "state_dtype": "float32"}, resume=folder)
