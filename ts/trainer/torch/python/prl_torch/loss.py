"""
The three loss streams of a bin: policy, cross-entropy, reference KL, and the metrics that go with them. The formulas are those of
`crates/engine/src/loss` (there: `mod.rs`, `policy.rs`, `streams.rs`, `correction.rs`, `aggregation.rs`, `reference.rs`).

Tokens outside a stream are left out rather than multiplied by zero, so that an infinity there cannot become NaN. Terms are in the
precision of the log-probabilities, sums in f64.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .batch import BatchError, Columns, Counts
from .objective import HIGH, INSIDE, LOW, MASKED, Tokens, terms

MISMATCH_LIMIT = 20.0
REF_KL_MASK_LOW = 0.2
REF_KL_TAU = 1e-3
METRICS = (
    "mismatch_kl",
    "masked_mismatch_kl",
    "unmasked_mismatch_kl",
    "is_masked",
    "is_masked_low",
    "is_masked_high",
    "masked_advantage_positive",
    "masked_advantage_negative",
    "clip_ratio/low",
    "clip_ratio/high",
    "correction/weight",
    "correction/is_dropped",
    "reference_kl",
    "nll",
    "ref_kl/kl",
    "ref_kl/is_masked",
)
"""Every metric of a loss; those without a member are not reported."""

DEFAULT_AGGREGATION = {
    "grpo": "sequence-mean-token-mean/all",
    "gspo": "sequence-mean-token-mean/all",
    "sapo": "sequence-mean-token-mean/all",
    "dapo": "token-mean/global",
    "dr_grpo": "sum/(B*L)",
}


@dataclass
class Sums:
    """Sum and count of each metric, so that bins and ranks combine exactly."""

    values: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def add(self, name: str, values: Tensor) -> None:
        values = values.detach().double()
        count = torch.tensor(float(values.numel()), dtype=torch.float64, device=values.device)
        total, members = self.values.get(name, (torch.zeros_like(count), torch.zeros_like(count)))
        self.values[name] = (total + values.sum(), members + count)


def mismatch_kl(logprobs: Tensor, inference_logprobs: Tensor) -> Tensor:
    """The k3 estimate of each token's share in the divergence of trainer and sampler."""
    log = (logprobs.detach().double() - inference_logprobs.double()).clamp(-MISMATCH_LIMIT, MISMATCH_LIMIT)
    return torch.expm1(log) - log


@dataclass(frozen=True)
class Loss:
    """A loss of the registry with the parameters that are set."""

    name: str
    params: dict[str, Any]

    def limit(self) -> float:
        return self.params.get("log_ratio_clamp", 10.0 if self.name == "gspo" else 20.0)

    def __call__(self, columns: Columns, logprobs: Tensor, counts: Counts) -> tuple[Tensor, Sums]:
        """
        The bin's share of the loss, to be minimised; `logprobs` has one number for each token, 0 where nothing trains. The number of
        sequences must be known.
        """
        sums = Sums()
        # Part of the graph, also where no stream has a member. No number enters it: that of a token outside the streams may be infinite.
        total = logprobs[:0].sum().double()
        if self.name not in ("ce", "ref_kl"):
            total = total + self._policy(columns, logprobs, counts, sums)
        if self.name == "ce" or (self.name != "ref_kl" and columns.ce_weights is not None):
            total = total + self._cross_entropy(columns, logprobs, counts, sums)
        if self.name == "ref_kl" or (self.name != "ce" and columns.ref_kl_weights is not None):
            total = total + self._reference_kl(columns, logprobs, counts, sums)
        return total, sums

    def _policy(self, columns: Columns, logprobs: Tensor, counts: Counts, sums: Sums) -> Tensor:
        members = columns.in_policy().nonzero().squeeze(1)
        kl = self.params.get("kl")
        if kl is None and self.name == "kl":
            kl = {}
        if kl is not None and columns.reference_logprobs is None:
            raise BatchError("the KL term of the loss needs reference_logprobs, which are absent")
        if len(members) == 0:
            return torch.zeros((), dtype=torch.float64, device=logprobs.device)
        limit = self.limit()
        sequence = columns.sequence_of_tokens()[members]
        now, before = logprobs[members], columns.inference_logprobs[members]
        advantages = columns.advantages[members]
        tokens = Tokens(
            logprobs=now,
            advantages=advantages,
            rise=now.detach().exp() - before.exp(),
            log_whole=(now - before).clamp(-limit, limit),
            ratio=self._ratio(now, before, sequence),
        )
        mismatch = mismatch_kl(now, before)
        sums.add("mismatch_kl", mismatch)
        values = torch.zeros_like(now)
        if self.name != "kl":
            found = terms(self.name, self.params, tokens)
            _note_bounds(self.name, sums, found.bounds, advantages, mismatch)
            values = found.values
            if self.params.get("correction") is not None:
                # Without log-probabilities from before the step every ratio of the correction is 1.
                weight = _weight_of_one(self.params["correction"])
                sums.add("correction/weight", torch.full_like(now, weight))
                sums.add("correction/is_dropped", torch.full_like(now, float(weight == 0)))
                values = weight * values if weight != 0 else torch.zeros_like(values)
        if kl is not None and columns.reference_logprobs is not None:
            values = values + _penalty(kl, tokens, columns.reference_logprobs[members], limit, sums)
        if columns.rl_weights is not None:
            values = columns.rl_weights[members] * values
        divisors = self._divisors(sequence, len(columns.cu_seqlens) - 1, counts)
        return (values.double() / divisors).sum()

    def _ratio(self, now: Tensor, before: Tensor, sequence: Tensor) -> Tensor:
        """The token's ratio, or that of its sequence, of which each token carries the gradient as if it were its own."""
        limit, log = self.limit(), now - before
        if self.name != "gspo":
            return log.clamp(-limit, limit).exp()
        members = torch.bincount(sequence)
        sums = torch.zeros(len(members), dtype=log.dtype, device=log.device).index_add_(0, sequence, log.detach())
        mean = (sums / members)[sequence]
        return (mean + (now - now.detach())).clamp(-limit, limit).exp()

    def _divisors(self, sequence: Tensor, sequences: int, counts: Counts) -> Tensor:
        rule = self.params.get("aggregation", DEFAULT_AGGREGATION.get(self.name, "token-mean"))
        of_step = 0.0 if counts.sequences is None else counts.sequences
        members = torch.bincount(sequence, minlength=sequences)[sequence].double()
        if rule == "token-mean":
            return torch.full_like(members, max(counts.rl, 1.0))
        if rule == "token-mean/global":
            return torch.full_like(members, max(self.params.get("global_tokens", counts.rl), 1.0))
        if rule in ("sequence-mean-token-mean/all", "sequence-mean-token-mean/nonempty"):
            return members * max(of_step, 1.0)
        if rule == "sum/(B*L)":
            return torch.full_like(members, max(of_step, 1.0) * self.params["max_completion_length"])
        return torch.ones_like(members)

    def _cross_entropy(self, columns: Columns, logprobs: Tensor, counts: Counts, sums: Sums) -> Tensor:
        weights, count = self._stream("ce", columns.ce_weights, columns.mask, (counts.ce, counts.rl))
        members = weights.nonzero().squeeze(1)
        now = logprobs[members]
        if len(members) > 0:
            sums.add("nll", -now)
        return (-(weights[members] * now)).double().sum() / max(count, 1.0)

    def _reference_kl(self, columns: Columns, logprobs: Tensor, counts: Counts, sums: Sums) -> Tensor:
        if columns.reference_logprobs is None:
            raise BatchError("the reference KL stream needs reference_logprobs, which are absent")
        weights, count = self._stream("ref_kl", columns.ref_kl_weights, columns.mask, (counts.ref_kl, counts.rl))
        members = weights.nonzero().squeeze(1)
        now, before = logprobs[members], columns.inference_logprobs[members]
        limit = self.limit()
        log = (now - before).clamp(-limit, limit)
        advantage = (columns.reference_logprobs[members] - now.detach()).clamp(-limit, limit)
        dropped = now.detach().exp() - before.exp() < -REF_KL_MASK_LOW
        policy = torch.where(dropped, torch.zeros_like(log), -(advantage * log.exp()))
        values = weights[members] * (policy + REF_KL_TAU * log * log)
        if len(members) > 0:
            sums.add("ref_kl/kl", -advantage)
            sums.add("ref_kl/is_masked", dropped)
            outside = ~columns.in_policy()[members]
            sums.add("mismatch_kl", mismatch_kl(now[outside], before[outside]))
        return values.double().sum() / max(count, 1.0)

    def _stream(self, stream: str, weights: Tensor | None, mask: Tensor, counts: tuple[float, float]) -> tuple[Tensor, float]:
        """A stream's weights, and its members in the step. The loss named after a stream runs on the mask where none are given."""
        of_stream, of_policy = counts
        if weights is not None:
            return weights, of_stream
        on_mask = mask.float() if self.name == stream else torch.zeros_like(mask, dtype=torch.float32)
        return on_mask, of_policy if of_stream < 1.0 else of_stream


def _weight_of_one(correction: dict[str, Any]) -> float:
    """The correction's weight of the ratio 1."""
    low, high = correction.get("low", 0.0), correction.get("high")
    upper = float("inf") if high is None else high
    if correction.get("mode", "truncate") == "truncate":
        return min(max(1.0, low), upper)
    return 1.0 if low <= 1.0 <= upper else 0.0


def _penalty(kl: dict[str, Any], tokens: Tokens, reference: Tensor, limit: float, sums: Sums) -> Tensor:
    difference = (tokens.logprobs - reference).clamp(-limit, limit)
    estimator = kl.get("estimator", "k3")
    if estimator == "k1":
        estimate = difference
    elif estimator == "k2":
        estimate = 0.5 * difference * difference
    else:
        estimate = (-difference).exp() - 1.0 + difference
    sums.add("reference_kl", estimate)
    weighted = tokens.ratio * estimate if kl.get("unbiased", False) else estimate
    return kl.get("coef", 1e-3) * weighted


def _note_bounds(loss: str, sums: Sums, bounds: Tensor, advantages: Tensor, mismatch: Tensor) -> None:
    if loss not in MASKED:
        sums.add("clip_ratio/low", bounds == LOW)
        sums.add("clip_ratio/high", bounds == HIGH)
        return
    inside = bounds == INSIDE
    sums.add("is_masked", ~inside)
    sums.add("is_masked_low", bounds == LOW)
    sums.add("is_masked_high", bounds == HIGH)
    sums.add("unmasked_mismatch_kl", mismatch[inside])
    sums.add("masked_mismatch_kl", mismatch[~inside])
    sums.add("masked_advantage_positive", advantages[~inside] > 0)
    sums.add("masked_advantage_negative", advantages[~inside] < 0)
