"""What the worker does besides its numbers: reference models, activations, steps that are not finite, models that it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from conftest import native_cases
from opened import open_trainer
from safetensors.torch import load_file, save_file
from torch.distributed.tensor import DTensor

from prl_torch.batch import BatchError
from prl_torch.names import pieces_of
from prl_torch.optimizer.optimizer import NonFiniteError
from prl_torch.optimizer.shards import local
from prl_torch.policy import ModelError

VERSION = 4
CASES = [param.values[0] for param in native_cases("loss") if param.values[0]["name"] == "plain default"]
pytestmark = pytest.mark.skipif(not CASES, reason="PRL_TORCH_FIXTURES names no folder")
MODEL, BATCH = (CASES[0]["model"], CASES[0]["batch"]) if CASES else ("", "")


def test_a_reference_with_the_policy_s_weights_has_no_divergence() -> None:
    trainer = open_trainer(MODEL, reference_dir=MODEL, loss={"type": "kl", "kl": {"coef": 1.0}})
    found = trainer.forward_backward(BATCH, VERSION)
    assert abs(found["loss"]) < 1e-9
    assert abs(found["metrics"]["reference_kl"]) < 1e-9
    assert found["metrics"]["time/reference_logprobs"] > 0
    # Nothing of it stays gathered beside the policy.
    assert trainer.reference is not None
    assert all(isinstance(value, DTensor) for value in trainer.reference.parameters())


def test_a_checkpoint_has_the_weights_that_train_also_after_scores_in_bfloat16(tmp_path: Path) -> None:
    trainer = open_trainer(MODEL, dtype="bfloat16")
    trainer.forward_backward(BATCH, VERSION)
    trainer.step(1e-3)
    trainer.logprobs([5, 7, 9], [0, 3], 1.0)
    trainer.save_checkpoint(str(tmp_path))
    found = load_file(tmp_path / "model.safetensors")
    for name, value in trainer.parameters.items():
        for piece in pieces_of(name, value):
            assert torch.equal(found[piece.name], piece.of(local(value.detach()))), piece.name


def test_activations_that_are_computed_again_give_the_same_gradients() -> None:
    kept, again = open_trainer(MODEL), open_trainer(MODEL, recompute=True)
    for trainer in (kept, again):
        trainer.forward_backward(BATCH, VERSION)
    expected = kept.gradients()
    for name, gradient in again.gradients().items():
        assert torch.equal(gradient, expected[name]), name


def test_gradients_of_two_batches_add_up() -> None:
    once, twice = open_trainer(MODEL), open_trainer(MODEL)
    once.forward_backward(BATCH, VERSION)
    for _ in range(2):
        twice.forward_backward(BATCH, VERSION)
    expected = once.gradients()
    for name, gradient in twice.gradients().items():
        assert gradient.allclose(2 * expected[name], rtol=1e-5, atol=1e-9), name


def test_a_step_that_is_not_finite_changes_nothing() -> None:
    trainer = open_trainer(MODEL)
    weights = {name: local(value.detach()).clone() for name, value in trainer.parameters.items()}
    norm = local(trainer.parameters["model.norm.weight"].detach())
    norm[0] = torch.nan
    with pytest.raises(NonFiniteError, match="left as they were"):
        trainer.forward_backward(BATCH, VERSION)
    assert trainer.gradients() == {}
    norm.copy_(weights["model.norm.weight"])
    trainer.forward_backward(BATCH, VERSION)
    next(iter(trainer.parameters.values())).grad.fill_(torch.inf)  # type: ignore[union-attr]
    with pytest.raises(NonFiniteError, match="gradient norm of step 1 is inf"):
        trainer.step(1e-3)
    for name, value in trainer.parameters.items():
        assert torch.equal(local(value.detach()), weights[name]), name


def test_a_trace_ends_with_a_step_that_is_not_finite(tmp_path: Path) -> None:
    trainer = open_trainer(MODEL)
    trainer.forward_backward(BATCH, VERSION, str(tmp_path))
    assert torch.autograd._profiler_enabled()
    next(iter(trainer.parameters.values())).grad.fill_(torch.inf)  # type: ignore[union-attr]
    with pytest.raises(NonFiniteError):
        trainer.step(1e-3)
    assert not torch.autograd._profiler_enabled()
    assert list(tmp_path.iterdir()) == []


def test_an_adapter_drops_the_same_after_a_step_that_is_not_finite() -> None:
    lora = {"rank": 4, "alpha": 8, "use_rslora": False, "dropout": 0.5, "target_modules": ["q_proj"], "seed": 3, "base": "m"}
    fresh, again = open_trainer(MODEL, lora=lora), open_trainer(MODEL, lora=lora)
    # Its first gradients are those of B, which see what is dropped.
    norm = local(again.policy.lm.base_model.norm.weight.detach())
    weights = norm.clone()
    norm[0] = torch.nan
    with pytest.raises(NonFiniteError):
        again.forward_backward(BATCH, VERSION)
    norm.copy_(weights)
    for trainer in (fresh, again):
        trainer.forward_backward(BATCH, VERSION)
    expected = fresh.gradients()
    for name, gradient in again.gradients().items():
        assert torch.equal(gradient, expected[name]), name


def test_a_trainer_that_leaves_its_device_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    stays, leaves = open_trainer(MODEL), open_trainer(MODEL)
    for step in range(3):
        for trainer in (stays, leaves):
            trainer.forward_backward(BATCH, VERSION)
            trainer.step(1e-3)
        found = leaves.offload(everything=step != 1)
        assert (found["allocated"] is None) == (leaves.device.type == "cpu")
        assert leaves.place.is_away == (step != 1)
        devices = {local(value.detach()).device.type for value in leaves.parameters.values()}
        assert devices == {"cpu" if step != 1 else leaves.device.type}
        assert leaves.logprobs([5, 7, 9], [0, 3], 1.0) == stays.logprobs([5, 7, 9], [0, 3], 1.0)
    for name, trainer in (("stays", stays), ("leaves", leaves)):
        trainer.save_checkpoint(str(tmp_path / name))
    for file in ("model.safetensors", "optimizer.safetensors"):
        expected = load_file(tmp_path / "stays" / file)
        found = load_file(tmp_path / "leaves" / file)
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[name], expected[name]) for name in expected), file


def test_an_adapter_is_published_merged_into_the_model_and_kept_apart_in_checkpoints(tmp_path: Path) -> None:
    lora = {"rank": 4, "alpha": 8, "use_rslora": False, "dropout": 0.0, "target_modules": ["q_proj", "down_proj"], "seed": 3, "base": "m"}
    trainer = open_trainer(MODEL, lora=lora, merged=True)
    trainer.forward_backward(BATCH, VERSION)
    trainer.step(1e-1)
    trainer.save(str(tmp_path / "whole"))
    trainer.save_checkpoint(str(tmp_path / "half"))
    assert (tmp_path / "half" / "adapter_model.safetensors").exists()
    assert not (tmp_path / "whole" / "adapter_config.json").exists()
    base, whole = load_file(Path(MODEL) / "model.safetensors"), load_file(tmp_path / "whole" / "model.safetensors")
    base = {name: value for name, value in base.items() if name in whole or name != "lm_head.weight"}
    assert whole.keys() == base.keys()
    changed = {name for name in base if not torch.equal(whole[name], base[name].to(whole[name].dtype))}
    adapted = {name for name in base if "q_proj.weight" in name or "down_proj.weight" in name}
    assert changed == adapted
    # A model that is loaded from it scores as the trainer does with its adapter.
    again = open_trainer(str(tmp_path / "whole"))
    ours, theirs = (one.logprobs([5, 7, 9, 11], [0, 4], 1.0)["logprobs"] for one in (trainer, again))
    assert torch.allclose(torch.tensor(ours), torch.tensor(theirs), atol=1e-5)


def test_a_token_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(BatchError, match="not in the model's vocabulary"):
        open_trainer(MODEL).logprobs([5, 100_000], [0, 2], 1.0)


def test_a_model_with_other_names_in_its_files_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    tensors = load_file(folder / "model.safetensors")
    tensors["model.layers.0.extra.weight"] = torch.zeros(2)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"model\.layers\.0\.extra\.weight"):
        open_trainer(str(folder))


def test_a_model_that_caps_its_logits_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    config = json.loads((folder / "config.json").read_text())
    granite = {"model_type": "granite", "architectures": ["GraniteForCausalLM"], "logits_scaling": 8.0}
    (folder / "config.json").write_text(json.dumps({**config, **granite}))
    tensors = load_file(folder / "model.safetensors")
    # Granite has no norms of queries and keys.
    save_file({k: v for k, v in tensors.items() if "q_norm" not in k and "k_norm" not in k}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match="changes its logits"):
        open_trainer(str(folder))
