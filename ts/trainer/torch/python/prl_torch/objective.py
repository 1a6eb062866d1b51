"""
The policy-gradient term of each token. The formulas, their sources and their limits are those of the engine
(`crates/engine/src/loss/objective.rs`); the gradient is autograd's, with the choice of a branch held constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

INSIDE, LOW, HIGH = 0, 1, 2

CLIP_DEFAULTS: dict[str, tuple[float, float, float | None]] = {
    "grpo": (0.2, 0.2, None),
    "ppo": (0.2, 0.2, None),
    "dr_grpo": (0.2, 0.2, None),
    "two_sided": (0.2, 0.2, 4.0),
    "dapo": (0.2, 0.28, None),
    "gspo": (3e-4, 4e-4, None),
}
MASKED = ("default", "ipo")
"""Losses that drop tokens; all others clip."""


@dataclass(frozen=True)
class Tokens:
    """The inputs of the terms of the policy stream, for each token."""

    logprobs: Tensor
    advantages: Tensor
    rise: Tensor
    """Probability now minus probability when sampled."""
    log_whole: Tensor
    """The log ratio against the sampler, within its limits."""
    ratio: Tensor
    """The ratio of the loss: the token's, or that of its sequence."""


@dataclass(frozen=True)
class Terms:
    values: Tensor
    bounds: Tensor
    """INSIDE, LOW or HIGH: which bound held a token back."""


def terms(loss: str, params: dict[str, Any], tokens: Tokens) -> Terms:
    """The terms of a loss that has an objective; `kl`, `ce` and `ref_kl` have none."""
    if loss in MASKED:
        return _masked(loss, params, tokens)
    if loss in CLIP_DEFAULTS:
        return _clipped(loss, params, tokens)
    if loss == "cispo":
        return _cispo(params, tokens)
    if loss == "sapo":
        return _sapo(params, tokens)
    raise ValueError(f"unknown loss {loss!r}")


def _bound_of(values: Tensor, low: float, high: float) -> Tensor:
    return torch.where(values < low, LOW, torch.where(values > high, HIGH, INSIDE))


def _masked(loss: str, params: dict[str, Any], tokens: Tokens) -> Terms:
    rise, positive = tokens.rise, tokens.advantages > 0
    if loss == "ipo":
        threshold = params.get("ipo_threshold", 0.1)
        bounds = _bound_of(rise, -threshold, threshold)
    else:
        low, high = params.get("dppo_mask_low", 0.2), params.get("dppo_mask_high", 0.2)
        rose, fell = positive & (rise > high), ~positive & (rise < -low)
        bounds = torch.where(rose, HIGH, torch.where(fell, LOW, INSIDE))
    adv_tau, kl_tau = params.get("adv_tau", 1.0), params.get("kl_tau", 1e-3)
    policy = -(adv_tau * tokens.advantages * tokens.log_whole.exp())
    kept = torch.where(bounds == INSIDE, policy, torch.zeros_like(policy))
    return Terms(kept + kl_tau * tokens.log_whole * tokens.log_whole, bounds)


def _clipped(loss: str, params: dict[str, Any], tokens: Tokens) -> Terms:
    epsilon_low, epsilon_high, delta = CLIP_DEFAULTS[loss]
    low = 1.0 - params.get("epsilon_low", epsilon_low)
    high = 1.0 + params.get("epsilon_high", epsilon_high)
    delta, dual_clip = params.get("delta", delta), params.get("dual_clip")
    ratio, advantages = tokens.ratio, tokens.advantages
    is_above = torch.zeros_like(ratio, dtype=torch.bool) if delta is None else ratio > delta
    most = ratio if delta is None else torch.where(is_above, torch.full_like(ratio, delta), ratio)
    free = -(most * advantages)
    held = -(ratio.detach().clamp(low, high) * advantages)
    # The larger loss is the pessimistic one; a NaN stays in the free branch, where it shows.
    is_held = held > free
    values = torch.where(is_held, held, free)
    side = _bound_of(ratio, low, high)
    bounds = torch.where(is_held, side, torch.where(is_above, HIGH, INSIDE))
    if dual_clip is not None:
        ceiling = -(dual_clip * advantages)
        is_cut = (advantages < 0) & (values > ceiling)
        values, bounds = torch.where(is_cut, ceiling, values), torch.where(is_cut, HIGH, bounds)
    return Terms(values, bounds)


def _cispo(params: dict[str, Any], tokens: Tokens) -> Terms:
    epsilon_low, epsilon_high = params.get("epsilon_low", 10.0), params.get("epsilon_high", 0.2)
    if params.get("bounds", "offset") == "absolute":
        low, high = 0.0, epsilon_high
    else:
        low, high = max(1.0 - epsilon_low, 0.0), 1.0 + epsilon_high
    ratio = tokens.ratio.detach()
    return Terms(-(ratio.clamp(low, high) * tokens.advantages * tokens.logprobs), _bound_of(ratio, low, high))


def _sapo(params: dict[str, Any], tokens: Tokens) -> Terms:
    positive = tokens.advantages > 0
    tau = torch.where(positive, params.get("tau_pos", 1.0), params.get("tau_neg", 1.05))
    gate = torch.sigmoid(tau * (tokens.ratio - 1.0))
    return Terms(-(4.0 / tau * gate * tokens.advantages), torch.full_like(tokens.ratio, INSIDE, dtype=torch.long))
