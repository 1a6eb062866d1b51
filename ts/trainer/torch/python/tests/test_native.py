"""The worker computes what the native trainer computes: losses, metrics, gradients, optimizer steps."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from conftest import native_cases
from opened import ADAMW, open_trainer
from safetensors.torch import load_file
from torch import Tensor

from prl_torch.folders import read_optimizer
from prl_torch.names import pieces_of
from prl_torch.optimizer.shards import local, whole

VERSION = 4
LOSS_RTOL = 1e-5
GRADIENT_RTOL = 1e-4
MOVE_RTOL = 1e-3
EXTRA = {"perf/peak_memory"}


def relative(found: Tensor, expected: Tensor) -> float:
    """The largest difference over the largest number."""
    found = found.cpu()
    expected = expected.cpu()
    size = float(expected.abs().max())
    difference = float((found.flatten() - expected.flatten()).abs().max())
    return difference / size if size > 0 else difference


def adapter_of(case: dict[str, Any]) -> dict[str, Any] | None:
    """The adapter's options as the launcher sends them."""
    lora = case.get("lora")
    return None if lora is None else {"use_rslora": False, "dropout": 0, **lora}


@pytest.mark.parametrize("case", native_cases("loss"))
def test_losses_and_gradients_are_those_of_the_native_trainer(case: dict[str, Any]) -> None:
    trainer = open_trainer(case["model"], loss=case["loss"], lora=adapter_of(case))
    found = trainer.forward_backward(case["batch"], VERSION)
    expected = case["expected"]
    assert found["loss"] == pytest.approx(expected["loss"], rel=LOSS_RTOL, abs=1e-7)
    metrics = found["metrics"]
    assert set(metrics) - EXTRA == set(expected["metrics"])
    for name, value in expected["metrics"].items():
        # Differences of log-probabilities are differences of near numbers.
        assert metrics[name] == pytest.approx(value, rel=1e-4, abs=3e-6), name
    gradients, wanted = trainer.gradients(), load_file(expected["gradients"])
    assert set(gradients) == set(wanted)
    worst = {name: relative(gradients[name], wanted[name]) for name in wanted}
    print(f"{case['name']}: loss {found['loss'] - expected['loss']:.2e}, gradients {max(worst.values()):.2e}")
    assert max(worst.values()) < GRADIENT_RTOL, worst


@pytest.mark.parametrize("case", native_cases("optimizer"))
def test_three_steps_end_with_the_weights_of_the_native_trainer(case: dict[str, Any]) -> None:
    trainer = open_trainer(case["model"], optim={**ADAMW, **case["optim"]}, lora=adapter_of(case))
    for norm in case["expected"]["norms"]:
        trainer.forward_backward(case["batch"], VERSION)
        assert trainer.step(case["optim"]["lr"])["grad_norm"] == pytest.approx(norm, rel=LOSS_RTOL)
    folder = case["expected"]["folder"]
    adapted = case.get("lora") is not None
    wanted = load_file(f"{folder}/{'adapter_model' if adapted else 'model'}.safetensors")
    start = {} if adapted else load_file(f"{case['model']}/model.safetensors")
    found = {}
    for name, parameter in trainer.parameters.items():
        values = whole(local(parameter.detach()), parameter)
        found.update((piece.name, piece.of(values)) for piece in pieces_of(name, parameter))
    assert set(found) == set(wanted)
    for name, values in found.items():
        moved = wanted[name] - start.get(name, torch.zeros(()))
        # A gradient of nearly 0 has any sign, and a step of AdamW has about the same length whatever the gradient's: the distance of the
        # whole tensor is what is small.
        distance = float((values.cpu() - wanted[name]).norm() / moved.norm())
        print(f"{case['name']} {name}: {distance:.1e}")
        assert distance < MOVE_RTOL, name
        # B begins at 0, so that all of it is movement.
        assert relative(values, wanted[name]) < (MOVE_RTOL if adapted else GRADIENT_RTOL), name
    # The native trainer's state is that of this one.
    mine = {name: value.clone() for name, value in trainer.optimizer.first.stored.items()}
    read_optimizer(folder, trainer.optimizer)
    assert trainer.optimizer.steps == 3
    for name, value in mine.items():
        assert relative(value, trainer.optimizer.first.stored[name]) < GRADIENT_RTOL, name


def test_packed_sequences_never_see_each_other() -> None:
    cases = native_cases("loss")
    if not cases:
        pytest.skip("PRL_TORCH_FIXTURES names no folder")
    for folder in {param.values[0]["model"] for param in cases}:
        trainer = open_trainer(folder)
        first, second, other = [5, 6, 7, 8, 9], [50, 51, 52, 53], [90, 91, 92, 93, 94]
        alone = trainer.logprobs(second, [0, 4], 1.0)["logprobs"]
        packed = trainer.logprobs(first + second, [0, 5, 9], 1.0)["logprobs"]
        changed = trainer.logprobs(other + second, [0, 5, 9], 1.0)["logprobs"]
        assert packed[5:] == changed[5:]
        assert torch.tensor(packed[5:]).allclose(torch.tensor(alone), rtol=1e-5, atol=1e-6)
        assert packed[:5] != changed[:5]
