"""What is computed otherwise on a GPU: attention over packed sequences, and the head's products; and what torch compiles, anywhere."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from conftest import native_cases
from opened import open_trainer
from torch import Tensor, nn

from prl_torch.attention.packed import PACKED, packed
from prl_torch.head import RowFunctions, Targets, target_logprobs

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
CASES = [param.values[0] for param in native_cases("loss") if param.values[0]["name"] == "plain default"]
BOUNDS = [0, 5, 70, 200, 256]


def masked(query: Tensor, key: Tensor, value: Tensor, window: int | None) -> Tensor:
    """The same attention in f64 with a mask of T x T."""
    at = torch.arange(query.shape[2], device=query.device)
    starts = torch.tensor(BOUNDS, device=query.device)
    sequence = torch.searchsorted(starts, at, right=True)
    sees = (sequence[:, None] == sequence[None, :]) & (at[:, None] >= at[None, :])
    if window is not None:
        sees &= at[:, None] - at[None, :] < window
    groups = query.shape[1] // key.shape[1]
    wide = [states.double().repeat_interleave(groups, dim=1) for states in (key, value)]
    return nn.functional.scaled_dot_product_attention(query.double(), *wide, attn_mask=sees).transpose(1, 2)


@on_gpu
@pytest.mark.parametrize("window", [None, 1, 16])
@pytest.mark.parametrize("heads", [(4, 4), (8, 2)])
def test_packed_attention_is_that_of_a_mask(window: int | None, heads: tuple[int, int]) -> None:
    torch.manual_seed(0)
    shapes = [(1, heads[0], 256, 64), (1, heads[1], 256, 64), (1, heads[1], 256, 64)]
    states = [torch.randn(shape, device="cuda").bfloat16().requires_grad_() for shape in shapes]
    bounds = torch.tensor(BOUNDS, device="cuda", dtype=torch.int32)
    lengths = {"cu_seq_lens_q": bounds, "max_length_q": 130}
    found, _ = packed(nn.Identity(), *states, None, scaling=64**-0.5, sliding_window=window, **lengths)
    wanted = masked(*states, window)
    slope = torch.randn_like(found)
    gradients = torch.autograd.grad(found, states, slope)
    others = torch.autograd.grad(wanted, states, slope.double())
    assert torch.allclose(found.double(), wanted, rtol=2e-2, atol=2e-2)
    for one, other in zip(gradients, others, strict=True):
        # In a window of one token nothing depends on queries and keys.
        assert float((one.double() - other.double()).norm()) < 1e-2 * float(other.double().norm()) + 1e-3


def varlen_in_f64(*states: Any, scale: float, window_size: tuple[int, int], **_: Any) -> Tensor:
    """torch's variable-length attention on a processor, which has none; for sequences that begin at the given boundaries."""
    query, key, value, bounds = states[:4]
    at = torch.arange(len(query), device=query.device)
    sequence = torch.searchsorted(bounds.long(), at, right=True)
    sees = (sequence[:, None] == sequence[None, :]) & (at[:, None] >= at[None, :])
    if window_size[0] >= 0:
        sees &= at[:, None] - at[None, :] <= window_size[0]
    groups = query.shape[1] // key.shape[1]
    wide = [one.double().repeat_interleave(groups, dim=1).transpose(0, 1) for one in (key, value)]
    found = nn.functional.scaled_dot_product_attention(query.double().transpose(0, 1), *wide, attn_mask=sees, scale=scale)
    return found.transpose(0, 1).to(query.dtype)


@pytest.mark.skipif(not CASES, reason="PRL_TORCH_FIXTURES names no folder")
@pytest.mark.parametrize("recompute", [False, True])
def test_models_hand_the_boundaries_on_to_their_attention(recompute: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in CASES:
        masks = open_trainer(case["model"], recompute=recompute)
        with monkeypatch.context() as patched:
            patched.setattr("prl_torch.attention.packed.varlen_attn", varlen_in_f64)
            patched.setattr("prl_torch.policy.attention_for", lambda *_: PACKED)
            bounds = open_trainer(case["model"], recompute=recompute)
            losses = [trainer.forward_backward(case["batch"], 4)["loss"] for trainer in (masks, bounds)]
        assert losses[1] == pytest.approx(losses[0], rel=1e-5)
        wanted = masks.gradients()
        for name, gradient in bounds.gradients().items():
            assert float((gradient - wanted[name]).norm()) <= 1e-4 * float(wanted[name].norm()), name


def head_of(dtype: torch.dtype, device: str) -> tuple[Tensor, Tensor, Targets]:
    torch.manual_seed(1)
    hidden = torch.randn(40, 64, device=device).to(dtype).requires_grad_()
    weight = (torch.randn(1000, 64, device=device) / 8).to(dtype).requires_grad_()
    rows = torch.arange(3, 33, device=device)
    return hidden, weight, Targets(rows, torch.randint(0, 1000, (30,), device=device), torch.full((30,), 0.7, device=device))


def expected(hidden: Tensor, weight: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
    logits = hidden.double()[targets.rows] @ weight.double().T / targets.temperatures[:, None].double()
    logprobs = torch.log_softmax(logits, dim=1)
    return logprobs.gather(1, targets.tokens[:, None]).squeeze(1), -(logprobs.exp() * logprobs).sum(dim=1)


@pytest.mark.parametrize("rows", [RowFunctions(), RowFunctions.compiled()], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("dtype", "device"),
    [
        (torch.float32, "cpu"),
        (torch.bfloat16, "cpu"),
        *[pytest.param(dtype, "cuda", marks=on_gpu) for dtype in (torch.float32, torch.bfloat16)],
    ],
)
def test_the_head_computes_its_log_probabilities_in_f32(
    rows: RowFunctions, dtype: torch.dtype, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prl_torch.head.CHUNK_LOGITS", {"cpu": 16_000, "cuda": 16_000})
    hidden, weight, targets = head_of(dtype, device)
    found, entropies = target_logprobs(hidden, weight, targets, rows)
    wanted, spread = expected(hidden, weight, targets)
    assert torch.allclose(found.double(), wanted, rtol=1e-5, atol=1e-5)
    assert torch.allclose(entropies.double(), spread, rtol=1e-5, atol=1e-5)
    slope = torch.randn_like(found)
    gradients = torch.autograd.grad(found, [hidden, weight], slope)
    others = torch.autograd.grad(wanted, [hidden, weight], slope.double())
    within = 1e-5 if dtype == torch.float32 else 1e-2
    for one, other in zip(gradients, others, strict=True):
        assert float((one.double() - other.double()).norm() / other.double().norm()) < within


def test_a_frozen_head_gets_no_gradient() -> None:
    hidden, weight, targets = head_of(torch.float32, "cpu")
    found, _ = target_logprobs(hidden, weight.detach(), targets, RowFunctions())
    found.sum().backward()
    assert hidden.grad is not None
    assert weight.grad is None


@pytest.mark.skipif(not CASES, reason="PRL_TORCH_FIXTURES names no folder")
@pytest.mark.parametrize("recompute", [False, True])
def test_compiled_layers_have_the_same_loss_and_gradients(recompute: bool) -> None:
    for case in CASES:
        plain = open_trainer(case["model"], recompute=recompute)
        compiled = open_trainer(case["model"], recompute=recompute, compile=True)
        losses = [trainer.forward_backward(case["batch"], 4)["loss"] for trainer in (plain, compiled)]
        assert losses[1] == pytest.approx(losses[0], rel=1e-5)
        wanted = plain.gradients()
        for name, gradient in compiled.gradients().items():
            assert float((gradient - wanted[name]).norm()) <= 1e-4 * float(wanted[name].norm()), name


@on_gpu
@pytest.mark.skipif(not CASES, reason="PRL_TORCH_FIXTURES names no folder")
@pytest.mark.parametrize("compile", [False, True])
def test_bfloat16_on_a_gpu_scores_nearly_as_f32_and_keeps_sequences_apart(compile: bool) -> None:
    for case in CASES:
        wide, half = open_trainer(case["model"]), open_trainer(case["model"], dtype="bfloat16", compile=compile)
        first, second, other = [5, 6, 7, 8, 9], [50, 51, 52, 53], [90, 91, 92, 93, 94]
        scores = [trainer.logprobs(first + second, [0, 5, 9], 1.0)["logprobs"] for trainer in (wide, half)]
        assert torch.tensor(scores[1]).allclose(torch.tensor(scores[0]), atol=0.3)
        changed = half.logprobs(other + second, [0, 5, 9], 1.0)["logprobs"]
        assert changed[5:] == scores[1][5:]
