"""What the losses do where the batches of the native trainer have no case for it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from prl_torch.batch import BatchError, Columns, Counts
from prl_torch.loss import Loss

COUNTS = Counts(rl=2.0, ce=0.0, ref_kl=0.0, sequences=1.0)


def columns(reference: Tensor | None = None) -> Columns:
    """One sequence of four tokens, of which the second and the last train."""
    none = torch.zeros(4)
    return Columns(
        input_ids=torch.arange(4),
        inference_logprobs=torch.tensor([0.0, -1.1, 0.0, -1.9]),
        advantages=torch.tensor([0.0, 1.0, 0.0, -2.0]),
        temperatures=none + 1,
        mask=torch.tensor([False, True, False, True]),
        cu_seqlens=torch.tensor([0, 4]),
        env_ids=torch.tensor([0]),
        on_policy=torch.tensor([False]),
        rl_weights=None,
        ce_weights=None,
        ref_kl_weights=None,
        reference_logprobs=reference,
        routed_experts=None,
    )


def computed(loss: Loss, third: float, reference: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The loss and its gradient, where the third token, which is in no stream, has this log-probability."""
    logprobs = torch.tensor([0.0, -1.0, third, -2.0], requires_grad=True)
    total, _ = loss(columns(reference), logprobs, COUNTS)
    total.backward()  # type: ignore[no-untyped-call]
    assert logprobs.grad is not None
    return total.detach(), logprobs.grad


@pytest.mark.parametrize("third", [float("-inf"), float("nan")])
def test_no_number_of_a_token_outside_the_streams_enters_the_loss(third: float) -> None:
    loss = Loss("default", {})
    total, gradient = computed(loss, third)
    expected, slopes = computed(loss, -3.0)
    assert total.isfinite() and torch.equal(total, expected)
    assert torch.equal(gradient, slopes) and gradient[2] == 0


def test_an_empty_block_of_the_kl_term_has_its_defaults() -> None:
    reference = torch.tensor([0.0, -1.5, 0.0, -1.0])
    block: dict[str, Any] = {"estimator": "k3", "coef": 1e-3, "unbiased": False}
    found, expected = (computed(Loss("ppo", {"kl": kl}), -3.0, reference) for kl in ({}, block))
    assert all(map(torch.equal, found, expected))
    assert not torch.equal(found[0], computed(Loss("ppo", {}), -3.0)[0])
    with pytest.raises(BatchError, match="reference_logprobs"):
        computed(Loss("ppo", {"kl": {}}), -3.0)
