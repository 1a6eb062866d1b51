"""A batch of one rank, as `ARCHITECTURE.md` ("Batch format") says; the file was checked before its path came here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise

import torch
from safetensors import safe_open
from torch import Tensor

UNSAMPLED = 0xFFFFFFFF
UNRECORDED = -1


class BatchError(Exception):
    """A batch that this model or this trainer cannot take."""


@dataclass(frozen=True)
class Counts:
    """The divisors of the losses, over all ranks of the step."""

    rl: float
    ce: float
    ref_kl: float
    sequences: float | None


@dataclass(frozen=True)
class Columns:
    """Tokens of consecutive sequences; positions in `cu_seqlens` count from the first of them."""

    input_ids: Tensor
    inference_logprobs: Tensor
    advantages: Tensor
    temperatures: Tensor
    mask: Tensor
    cu_seqlens: Tensor
    env_ids: Tensor
    """The environment of each sequence."""
    on_policy: Tensor
    """Whether the trained version sampled all sampled tokens of a sequence, and there are some."""
    rl_weights: Tensor | None
    ce_weights: Tensor | None
    ref_kl_weights: Tensor | None
    reference_logprobs: Tensor | None
    routed_experts: Tensor | None
    """The experts of each token, [T, routers, experts of a token]; UNRECORDED where the sampler recorded none."""

    def sequence_of_tokens(self) -> Tensor:
        """The sequence of each token."""
        lengths = self.cu_seqlens.diff()
        return torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)

    def in_policy(self) -> Tensor:
        return self.mask if self.rl_weights is None else self.mask & (self.rl_weights != 0)

    def is_compared(self) -> Tensor:
        """Tokens of which a stream compares policy and sampler."""
        if self.ref_kl_weights is None:
            return self.in_policy()
        return self.in_policy() | (self.mask & (self.ref_kl_weights != 0))

    def trains(self) -> Tensor:
        found = self.mask
        for weights in (self.ce_weights, self.ref_kl_weights):
            if weights is not None:
                found = found | (weights != 0)
        return found


@dataclass(frozen=True)
class Batch:
    """All bins of one rank."""

    bins: list[Columns]
    counts: Counts
    environments: int

    def tokens(self) -> int:
        return sum(len(columns.input_ids) for columns in self.bins)


def read_batch(path: str, on_policy_version: int | None, device: torch.device) -> Batch:
    """Reads a batch onto `device`."""
    with safe_open(path, framework="pt") as file:
        metadata: dict[str, str] = file.metadata()
        tensors = {name: file.get_tensor(name) for name in tuple(file.keys())}
    cu_seqlens = tensors["cu_seqlens"].long()
    on_policy = _sampled_wholly_by(on_policy_version, tensors["policy_version_spans"].long(), cu_seqlens)
    offsets = tensors["bin_seq_offsets"].long().tolist()
    bins = [_bin(tensors, cu_seqlens, on_policy, first, last) for first, last in pairwise(offsets)]
    sequences = metadata.get("n_sequences")
    counts = Counts(
        rl=float(metadata["n_rl"]),
        ce=float(metadata["n_ce"]),
        ref_kl=float(metadata["n_ref_kl"]),
        sequences=None if sequences is None else float(sequences),
    )
    moved = [_to(columns, device) for columns in bins]
    return Batch(moved, counts, len(json.loads(metadata["env_names"])))


def _bin(tensors: dict[str, Tensor], cu_seqlens: Tensor, on_policy: Tensor, first: int, last: int) -> Columns:
    start, end = int(cu_seqlens[first]), int(cu_seqlens[last])

    def optional(name: str) -> Tensor | None:
        column = tensors.get(name)
        return None if column is None else column[start:end].float()

    return Columns(
        input_ids=tensors["input_ids"].long()[start:end],
        inference_logprobs=tensors["inference_logprobs"][start:end],
        advantages=tensors["advantages"][start:end],
        temperatures=tensors["temperatures"][start:end],
        mask=tensors["loss_mask"][start:end] != 0,
        cu_seqlens=cu_seqlens[first : last + 1] - start,
        env_ids=tensors["env_ids"].long()[first:last],
        on_policy=on_policy[first:last],
        rl_weights=optional("rl_weights"),
        ce_weights=optional("ce_weights"),
        ref_kl_weights=optional("ref_kl_weights"),
        reference_logprobs=optional("reference_logprobs"),
        routed_experts=_experts(tensors.get("routed_experts"), start, end),
    )


def _experts(column: Tensor | None, start: int, end: int) -> Tensor | None:
    """In a file all bits of an id are set where none is recorded."""
    if column is None:
        return None
    none = torch.iinfo(column.dtype).max
    ids = column[start:end].long()
    return ids.where(ids != none, torch.full_like(ids, UNRECORDED))


def _to(columns: Columns, device: torch.device) -> Columns:
    moved = {name: value.to(device, non_blocking=True) if isinstance(value, Tensor) else value for name, value in vars(columns).items()}
    return Columns(**moved)


def _sampled_wholly_by(version: int | None, spans: Tensor, cu_seqlens: Tensor) -> Tensor:
    """Spans are cut at every sequence start, so each of them lies in one sequence."""
    sequences = len(cu_seqlens) - 1
    if version is None:
        return torch.zeros(sequences, dtype=torch.bool)
    sequence = torch.searchsorted(cu_seqlens, spans[:, 0].contiguous(), right=True) - 1
    sampled = spans[:, 1] != UNSAMPLED
    others = sampled & (spans[:, 1] != version)
    has = torch.zeros(sequences, dtype=torch.long).index_add_(0, sequence, sampled.long())
    has_others = torch.zeros(sequences, dtype=torch.long).index_add_(0, sequence, others.long())
    return (has > 0) & (has_others == 0)
