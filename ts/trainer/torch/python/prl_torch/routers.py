"""
Routers of mixtures of experts: their choice may be replaced by the one that the sampler recorded (router replay, arXiv:2510.11370), and a
loss may balance the experts.

A router of transformers returns the logits, the factors and the experts of each row; a hook on each router changes the last two. A
replayed row's factors are the router's own probabilities of the recorded experts, so that the router keeps its gradient. Layers that are
recomputed in the backward pass call the hooks again, which is why a bin is replayed until its backward pass has ended, and observed only
until its forward pass has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from transformers import PreTrainedModel

from .attention.context import Context
from .batch import UNRECORDED, BatchError

FAMILIES = ("qwen3_moe",)
"""Model types whose routers return logits, factors and experts, with factors as `_factors` has them."""


@dataclass(frozen=True)
class RouterOptions:
    """The keys of `[trainer]` about routers."""

    aux_loss_coef: float
    """Factor of the loss that balances the experts; 0: none."""
    frozen: bool
    """Whether the routers' weights stay as they are."""


def router_options(block: dict[str, Any]) -> RouterOptions:
    """The options as the launcher sends them."""
    return RouterOptions(aux_loss_coef=block["aux_loss_coef"], frozen=block["frozen"])


@dataclass(frozen=True)
class Balance:
    """Counts the choices of the routers of a bin: over all rows of all routers, by expert."""

    chosen: Tensor
    """Rows that went to each expert; no gradient."""
    probability: Tensor
    """Sums of the routers' probabilities."""
    rows: int

    def loss(self) -> Tensor:
        """transformers' `load_balancing_loss_func` (Switch Transformer, arXiv:2101.03961, equations 4 to 6)."""
        return len(self.chosen) * (self.chosen * self.probability).sum() / self.rows**2


class Routers:
    """The routers of a model in the order of its layers; none in a dense one."""

    def __init__(self, lm: PreTrainedModel, context: Context) -> None:
        is_known = lm.config.model_type in FAMILIES
        named = lm.named_modules() if is_known else ()
        self.modules: list[Any] = [module for name, module in named if name.endswith(".mlp.gate")]
        self.context = context
        self.recorded: Tensor | None = None
        """Experts of this rank's rows, [T, routers, experts of a token]; UNRECORDED where a row chooses by itself."""
        self.observed: list[tuple[Tensor, Tensor]] | None = None
        """Rows by expert and sums of probabilities by expert, for each router that was called; None: nothing is noted."""
        self.tokens = 0
        """The rows of the bin that is observed, on all ranks that share it."""
        self.is_noted = False
        """Whether the bin was observed: what is computed again has to save as many tensors."""
        for at, module in enumerate(self.modules):
            module.register_forward_hook(partial(self._route, at))

    def freeze(self) -> None:
        """No router gets a gradient from now on."""
        for module in self.modules:
            module.requires_grad_(False)

    @contextmanager
    def replaying(self, experts: Tensor | None) -> Iterator[None]:
        """
        Sends the rows of a bin to these experts, [T, routers, experts of a token]; None: rows choose by themselves. Errors: BatchError when
        the model has no such experts.
        """
        self.recorded = None if experts is None else self._own_rows(self._checked(experts))
        try:
            yield
        finally:
            self.recorded = self.observed = None
            self.is_noted = False

    def observe(self, tokens: int) -> None:
        """Begins to note what the routers choose in a forward pass over so many tokens."""
        self.observed, self.tokens, self.is_noted = [], tokens, True

    def balance(self) -> Balance:
        """Returns the counts of the pass that was observed, over all ranks that share its bin."""
        assert self.observed is not None and len(self.observed) == len(self.modules)
        counts, sums = zip(*self.observed, strict=True)
        self.observed = None
        chosen, probability = torch.stack(counts).sum(0), torch.stack(sums).sum(0)
        if self.context.size > 1:
            dist.all_reduce(chosen, group=self.context.group)
            probability = self.context.sum_of_parts(probability)
        return Balance(chosen, probability, self.tokens * len(self.modules))

    # A compiled layer leaves its graph here; the products of the experts, which cost the time, are outside of the router.
    @torch.compiler.disable
    def _route(self, at: int, module: Any, _inputs: Any, output: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        logits, factors, experts = output
        if self.recorded is None and not self.is_noted:
            return output
        probabilities = logits.float().softmax(-1)
        if self.recorded is not None:
            recorded = self.recorded[:, at]
            experts = torch.where(recorded == UNRECORDED, experts, recorded)
            factors = _factors(module, probabilities, experts).to(factors.dtype)
        if self.observed is not None:
            real = self._real_rows(len(logits))
            counts = experts[:real].flatten().bincount(minlength=logits.shape[-1])
            self.observed.append((counts.float(), probabilities[:real].sum(0)))
        return logits, factors, experts

    def _checked(self, experts: Tensor) -> Tensor:
        wanted = (len(self.modules), self.modules[0].top_k) if self.modules else None
        if wanted is None or tuple(experts.shape[1:]) != wanted:
            has = "no routers that can be replayed" if wanted is None else f"{wanted[0]} routers and {wanted[1]} experts of a token"
            raise BatchError(f"routed_experts has {experts.shape[1]} layers and {experts.shape[2]} experts of a token; the model has {has}")
        most = int(experts.max()) if experts.numel() > 0 else 0
        if most >= self.modules[0].num_experts:
            raise BatchError(f"routed_experts names expert {most}; the model has {self.modules[0].num_experts}")
        return experts

    def _own_rows(self, experts: Tensor) -> Tensor:
        """Those of the tokens that are on this rank."""
        missing = -len(experts) % self.context.size
        padded = nn.functional.pad(experts, (0, 0, 0, 0, 0, missing), value=UNRECORDED)
        return padded[self.context.part(len(padded))]

    def _real_rows(self, here: int) -> int:
        """How many of this rank's rows are tokens of the bin, and not padding behind them."""
        return max(0, min(here, self.tokens - self.context.index * here))


def _factors(router: Any, probabilities: Tensor, experts: Tensor) -> Tensor:
    chosen = probabilities.gather(-1, experts)
    return chosen / chosen.sum(-1, keepdim=True) if router.norm_topk_prob else chosen
