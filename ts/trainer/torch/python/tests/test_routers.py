"""Routers: choices that are replayed, the loss that balances experts beside that of transformers, and routers that stay as they are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import native_cases
from opened import open_trainer
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM
from transformers.models.qwen3_moe.modeling_qwen3_moe import load_balancing_loss_func

from prl_torch.batch import BatchError, read_batch
from prl_torch.policy import ModelError

VERSION = 4
COEF = 0.5
ALL = [param.values[0] for param in native_cases("loss")]
CASES = {case["name"]: case for case in ALL if Path(case["model"]).parent.name == "experts"}
pytestmark = pytest.mark.skipif(not CASES, reason="PRL_TORCH_FIXTURES names no folder")
MODEL = CASES["replayed"]["model"] if CASES else ""
PLAIN, REPLAYED = (CASES[name]["batch"] if CASES else "" for name in ("plain default", "replayed"))
DENSE = next((case["model"] for case in ALL if Path(case["model"]).parent.name == "tied"), "")


def gradients(batch: str, coef: float = 0.0, **changed: Any) -> tuple[dict[str, Tensor], dict[str, float]]:
    trainer = open_trainer(MODEL, router={"aux_loss_coef": coef, "frozen": False}, **changed)
    found = trainer.forward_backward(batch, VERSION)
    return trainer.gradients(), found["metrics"]


def own_choices(batch: str) -> Tensor:
    """The experts that tokens of a batch go to by themselves."""
    lm = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32, attn_implementation="eager")
    columns = load_file(batch)
    bounds = columns["cu_seqlens"].long().tolist()
    ids = columns["input_ids"].long()
    found = []
    for start, end in pairwise(bounds):
        logits = lm(input_ids=ids[None, start:end], output_router_logits=True).router_logits
        found.append(torch.stack([one.float().softmax(-1).topk(2).indices for one in logits], 1))
    return torch.cat(found)


def with_experts(path: Path, experts: Tensor) -> str:
    """The plain batch with these experts; metadata stays."""
    with safe_open(PLAIN, framework="pt") as file:
        save_file({**load_file(PLAIN), "routed_experts": experts.to(torch.uint8).contiguous()}, path, file.metadata())
    return str(path)


def test_replaying_what_routers_choose_changes_nothing(tmp_path: Path) -> None:
    found, _ = gradients(with_experts(tmp_path / "batch.safetensors", own_choices(PLAIN)))
    expected, _ = gradients(PLAIN)
    for name, gradient in found.items():
        assert gradient.allclose(expected[name], rtol=1e-5, atol=1e-8), name


def test_replaying_other_experts_changes_the_gradients() -> None:
    found, _ = gradients(REPLAYED)
    expected, _ = gradients(PLAIN)
    assert any(not gradient.allclose(expected[name], rtol=1e-2) for name, gradient in found.items())


ON_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="takes minutes on a processor")


@pytest.mark.parametrize(
    "changed",
    [{"recompute": True}, pytest.param({"compile": True}, marks=ON_GPU), pytest.param({"recompute": True, "compile": True}, marks=ON_GPU)],
)
@pytest.mark.parametrize("batch", [REPLAYED, PLAIN], ids=["replayed", "plain"])
def test_replay_and_balance_hold_where_layers_are_recomputed_or_compiled(batch: str, changed: dict[str, bool]) -> None:
    found, metrics = gradients(batch, COEF, **changed)
    expected, wanted = gradients(batch, COEF)
    assert metrics["router_aux_loss"] == pytest.approx(wanted["router_aux_loss"], rel=1e-6)
    for name, gradient in found.items():
        assert gradient.cpu().allclose(expected[name].cpu(), rtol=1e-4, atol=1e-7), name


def test_the_balance_is_that_of_transformers() -> None:
    found, metrics = gradients(PLAIN, COEF)
    without, _ = gradients(PLAIN)
    lm = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32, attn_implementation="eager")
    batch = read_batch(PLAIN, None, torch.device("cpu"))
    assert len(batch.bins) > 1
    total = torch.zeros(())
    for columns in batch.bins:
        bounds = columns.cu_seqlens.tolist()
        runs = [columns.input_ids[None, start:end] for start, end in pairwise(bounds)]
        logits = [lm(input_ids=run, output_router_logits=True).router_logits for run in runs]
        of_bin = tuple(torch.cat(layer) for layer in zip(*logits, strict=True))
        loss = load_balancing_loss_func(of_bin, lm.config.num_experts, lm.config.num_experts_per_tok)
        assert isinstance(loss, Tensor)
        total = total + loss * len(columns.input_ids) / batch.tokens()
    assert metrics["router_aux_loss"] == pytest.approx(float(total.detach()), rel=1e-5)
    (COEF * total).backward()
    gate = next(name for name in found if name.endswith("mlp.gate.weight"))
    expected = dict(lm.named_parameters())
    for name in (gate, "model.layers.0.self_attn.q_proj.weight", "model.layers.1.self_attn.v_proj.weight"):
        wanted = expected[name].grad
        assert wanted is not None
        assert float(wanted.abs().max()) > 1e-4, name
        assert (found[name] - without[name]).cpu().allclose(wanted, rtol=1e-3, atol=1e-6), name


def test_routers_that_are_frozen_stay_and_are_published(tmp_path: Path) -> None:
    trainer = open_trainer(MODEL, router={"aux_loss_coef": COEF, "frozen": True})
    trainer.forward_backward(PLAIN, VERSION)
    assert not any(name.endswith("mlp.gate.weight") for name in trainer.gradients())
    trainer.step(1e-2)
    trainer.save(str(tmp_path / "saved"))
    before, after = load_file(f"{MODEL}/model.safetensors"), load_file(tmp_path / "saved/model.safetensors")
    assert set(after) == set(before)
    for name, values in after.items():
        assert torch.equal(values.cpu(), before[name]) == name.endswith("mlp.gate.weight"), name


def test_experts_that_the_model_has_not_are_refused(tmp_path: Path) -> None:
    experts = own_choices(PLAIN)
    too_many = with_experts(tmp_path / "ids.safetensors", experts + 4)
    with pytest.raises(BatchError, match=r"names expert [4-7]; the model has 4"):
        gradients(too_many)
    layers = with_experts(tmp_path / "layers.safetensors", experts.repeat(1, 2, 1))
    with pytest.raises(BatchError, match="2 layers and 2 experts of a token; the model has 1 routers and 2"):
        gradients(layers)
    with pytest.raises(BatchError, match="has no routers that can be replayed"):
        open_trainer(DENSE).forward_backward(REPLAYED, VERSION)


def test_a_dense_model_has_no_router_to_change() -> None:
    with pytest.raises(ModelError, match="qwen3 has no routers"):
        open_trainer(DENSE, router={"aux_loss_coef": 0.1, "frozen": False})
