"""One rank of the trainer: forward, loss and backward over its bins, optimizer steps, and what is written to disk."""

from __future__ import annotations

import hashlib
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .adapter import PREFIX as PEFT_PREFIX
from .adapter import AdapterOptions, adapt, adapter_config, adapter_options, begin, changes_of, peft_names
from .batch import Batch, BatchError, Columns, Counts, read_batch
from .folders import read_optimizer, write_adapter, write_optimizer, write_weights
from .head import Targets
from .loss import Loss
from .measure.memory import PhaseMemory
from .measure.trace import Trace
from .names import pieces_of
from .offload import Place
from .optimizer.optimizer import NonFiniteError, OptimConfig, Optimizer, Parts, optim_config
from .optimizer.shards import local, whole
from .parallel.ranks import Ranks, Sizes
from .policy import (
    PREFIX,
    Loading,
    ModelError,
    Policy,
    all_parameters,
    cut,
    cut_again,
    layers_of,
    load_policy,
    published_config,
    shard,
    trained_parameters,
)
from .routers import RouterOptions, Routers, router_options
from .statistics import Statistics

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Options:
    """The decisions of the launcher, the same for every rank."""

    model_dir: str
    base_dir: str
    reference_dir: str | None
    dtype: str
    loss: Loss
    optim: OptimConfig
    adapter: AdapterOptions | None
    """None: all weights train."""
    recompute: bool
    is_compiled: bool
    """Whether torch compiles the layers."""
    sizes: Sizes
    router: RouterOptions
    merged: bool
    """Whether an adapter is published as a whole model, for servers that take no adapters."""
    resume: str | None
    """The folder of a checkpoint, whose optimizer's state is read."""


def options_of(message: dict[str, Any]) -> Options:
    """The options as the launcher sends them."""
    loss = dict(message["loss"])
    return Options(
        model_dir=message["model_dir"],
        base_dir=message["base_dir"],
        reference_dir=message["reference_dir"],
        dtype=message["dtype"],
        loss=Loss(loss.pop("type"), loss),
        optim=optim_config(message["optim"]),
        adapter=adapter_options(message["lora"]),
        recompute=message["recompute"],
        is_compiled=message["compile"],
        sizes=Sizes(message["context"], message["tensor"], message["replicas"], message["expert"]),
        router=router_options(message["router"]),
        merged=message["merged"],
        resume=message["resume"],
    )


def device_of_rank() -> torch.device:
    """The rank's GPU, or the processor where there is none."""
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
        return device
    return torch.device("cpu")


class Trainer:
    """The process group must be there. Every method is called on all ranks, in the same order."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.device = device_of_rank()
        self.ranks = Ranks.of_world(self.device.type, options.sizes)
        self.targets: list[str] = []
        self.policy = self._read(options.model_dir, options.adapter)
        self.routers = self._routers()
        parts = self._parts(cut(self.policy, options.model_dir))
        shard(self.policy, DTYPES[options.dtype])
        self.reference = None
        if options.reference_dir is not None:
            self.reference = self._read(options.reference_dir, None)
            cut(self.reference, options.reference_dir)
            shard(self.reference, DTYPES[options.dtype])
        self.parameters = self._trained()
        ends = (self.policy.lm.get_input_embeddings().weight, self.policy.head.weight)
        outside = {name for name, value in self.parameters.items() if any(value is end for end in ends)}
        self.optimizer = Optimizer(options.optim, self.parameters, outside, parts)
        self.bins = 0
        self.trace = Trace()
        self.memory = PhaseMemory()
        self.place = Place(self.device, self._models(), self.optimizer)
        if options.resume is not None:
            read_optimizer(options.resume, self.optimizer)

    def _models(self) -> list[Policy]:
        return [self.policy] if self.reference is None else [self.policy, self.reference]

    def _read(self, folder: str, adapter: AdapterOptions | None) -> Policy:
        dtype = DTYPES[self.options.dtype]
        # Weights that train are f32 whatever they are computed with.
        kept = torch.float32 if adapter is None else dtype
        policy = load_policy(folder, Loading(self.device, kept, dtype, self.options.recompute, self.options.is_compiled, self.ranks))
        if adapter is not None:
            policy.lm.requires_grad_(False)
            self.targets = adapt(layers_of(policy.lm), adapter, policy.lm.config.model_type)
            begin(peft_names(trained_parameters(policy)), adapter, self.targets)
            policy.to(self.device)
        return policy

    def _routers(self) -> Routers:
        routers, options = Routers(self.policy.lm, self.ranks.context), self.options.router
        if (options.frozen or options.aux_loss_coef > 0) and not routers.modules:
            raise ModelError(f"{self.options.model_dir}: {self.policy.lm.config.model_type} has no routers whose training can be changed")
        if options.frozen:
            routers.freeze()
        return routers

    def _parts(self, names: set[str]) -> Parts | None:
        if self.ranks.tensor is None:
            return None
        saved = names if self.options.adapter is None else {PEFT_PREFIX + name for name in names}
        return Parts(saved, self.ranks.tensor.get_group())

    def _trained(self) -> dict[str, nn.Parameter]:
        """By the names under which they are saved, but for experts, which are several tensors of a folder."""
        found = trained_parameters(self.policy)
        return found if self.options.adapter is None else peft_names(found)

    def info(self) -> dict[str, Any]:
        """Describes a trainer that is open, for the launcher."""
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else None
        return {"device": self.device.type, "device_name": name, "vocab_size": self.policy.vocabulary}

    def forward_backward(self, path: str, on_policy_version: int | None, trace_dir: str | None = None) -> dict[str, Any]:
        """
        Adds the gradients of this rank's batch. `trace_dir`: gets a trace of this call and of the step after it. Errors: NonFiniteError, on
        every rank, when the loss or a gradient is not finite on one of them; all gradients are dropped then.
        """
        self.place.enter()
        if trace_dir is not None:
            self.trace.begin(trace_dir)
        held = self.memory.begin()
        batch = read_batch(path, on_policy_version, self.device)
        counts = self._counts(batch)
        statistics = Statistics(batch.environments, self.device)
        rows = self._rows(batch)
        finite, seconds, balance = True, 0.0, 0.0
        for columns, spent in map(self._with_reference, batch.bins):
            seconds += spent
            self._seed_dropout()
            with self.routers.replaying(columns.routed_experts):
                is_finite, unbalance = self._backward(columns, counts, statistics, rows)
            finite, balance = finite and is_finite, balance + unbalance
        total, metrics = statistics.finish()
        if not self._on_all(finite):
            self.optimizer.clear()
            self.bins = 0
            self.trace.drop()
            raise NonFiniteError(f"the loss of the step is {total}, or its gradient is not finite: the parameters were left as they were")
        during = self.memory.end()
        metrics["perf/peak_memory"] = self._sum_over_ranks(self.memory.peak if during is not None else _resident_gib())
        if held is not None and during is not None:
            metrics["perf/memory/between_steps"] = self._sum_over_ranks(held)
            metrics["perf/memory/forward_backward"] = self._sum_over_ranks(during)
        if self.reference is not None:
            metrics["time/reference_logprobs"] = seconds
        if rows is not None:
            metrics["router_aux_loss"] = self._sum_over_ranks(balance)
        return {"loss": total, "metrics": metrics}

    def _backward(self, columns: Columns, counts: Counts, statistics: Statistics, rows: float | None) -> tuple[bool, float]:
        """Adds the gradients of a bin: whether they are finite, and this rank's share of the loss that balances the experts."""
        if rows is not None:
            self.routers.observe(len(columns.input_ids))
        logprobs, entropies = self._scores(self.policy, columns)
        logprobs.retain_grad()
        loss, sums = self.options.loss(columns, logprobs, counts)
        # The ranks that share a bin have found the same.
        if self.ranks.sharing.index == 0:
            statistics.add(columns, logprobs, entropies, loss, sums)
        total, unbalance = loss, 0.0
        if rows is not None:
            share = self.routers.balance().loss() * (len(columns.input_ids) / rows)
            # Ranks that share matrices compute all of it, and FSDP takes the mean over the others.
            total = loss + self.options.router.aux_loss_coef / self.ranks.matrices * share
            unbalance = float(share.detach()) if self.ranks.sharing.index == 0 else 0.0
        # FSDP takes the mean over the ranks, and the parts of a loss add up.
        (total * dist.get_world_size()).backward()
        slope = logprobs.grad
        return bool(total.isfinite()) and slope is not None and bool(slope.isfinite().all()), unbalance

    def _rows(self, batch: Batch) -> float | None:
        """Tokens of the bins of all ranks, by which the loss that balances the experts weighs them; None: there is no such loss."""
        if self.options.router.aux_loss_coef == 0:
            return None
        return self._sum_over_ranks(float(batch.tokens()) if self.ranks.sharing.index == 0 else 0.0)

    def step(self, lr: float) -> dict[str, Any]:
        """One optimizer step over the accumulated gradients."""
        self.place.enter()
        self.bins = 0
        self.memory.begin()
        try:
            norm = self.optimizer.step(lr)
        except NonFiniteError:
            # A trace that nothing ends would take in all further steps.
            self.trace.drop()
            raise
        during = self.memory.end()
        self.trace.finish()
        metrics = {} if during is None else {"perf/memory/optimizer": self._sum_over_ranks(during)}
        return {"grad_norm": norm, "metrics": metrics}

    def logprobs(self, input_ids: list[int], cu_seqlens: list[int], temperature: float) -> dict[str, Any]:
        """The log-probability of each token, 0 for the first of a sequence, with the weights as they are published."""
        self.place.enter()
        ids = torch.tensor(input_ids, device=self.device)
        bounds = torch.tensor(cu_seqlens, device=self.device)
        scored = torch.ones(len(ids), dtype=torch.bool, device=self.device)
        scored[bounds[:-1]] = False
        at = scored.nonzero().squeeze(1)
        targets = Targets(at - 1, ids[at], torch.full((len(at),), temperature, device=self.device))
        # Outside of training an adapter drops nothing.
        self.policy.eval()
        with torch.no_grad():
            values, _ = self.policy(ids, bounds, targets)
        cut_again(self.policy)
        self.policy.train()
        result = torch.zeros(len(ids), device=self.device)
        result[at] = values
        return {"logprobs": result.tolist()}

    def save(self, folder: str) -> dict[str, Any]:
        """Writes config and weights in the published format, with the adapter in them or without one, or the adapter, which is in f32."""
        if self.options.merged:
            self.place.enter()
            named = {name: value for name, value in all_parameters(self.policy).items() if ".lora_" not in name}
            changes = {name.removeprefix(PREFIX): change for name, change in changes_of(self.policy).items()}
            return self._whole_model(folder, self.options.dtype, named, changes)
        return self._write(folder, self.options.dtype)

    def save_checkpoint(self, folder: str) -> dict[str, Any]:
        """Writes config and weights in f32, and the optimizer's state."""
        written = self._write(folder, "float32")
        write_optimizer(folder, self.optimizer)
        return written

    def offload(self, everything: bool) -> dict[str, Any]:
        """
        Leaves the GPU to others: weights and optimizer go to the machine's memory where `everything`, and memory that holds nothing is
        given back. The next call that computes takes it again. Gradients must not be accumulated.
        """
        return self.place.leave(everything)

    def gradients(self) -> dict[str, Tensor]:
        """The accumulated gradients by the names of a folder, before clipping; for tests."""
        found: dict[str, Tensor] = {}
        for name, value in self.parameters.items():
            if value.grad is not None:
                own = self.optimizer.sum_parts(local(value.grad).clone()) if self.optimizer.is_part(name) else local(value.grad)
                gradient = whole(own, value)
                found.update((piece.name, piece.of(gradient)) for piece in pieces_of(name, value))
        return found

    def _write(self, folder: str, dtype: str) -> dict[str, Any]:
        self.place.enter()
        if self.options.adapter is not None:
            return {"files": write_adapter(folder, self.parameters, adapter_config(self.options.adapter, self.targets))}
        return self._whole_model(folder, dtype, all_parameters(self.policy), {})

    def _whole_model(
        self, folder: str, dtype: str, parameters: dict[str, nn.Parameter], changes: dict[str, Callable[[], Tensor]]
    ) -> dict[str, Any]:
        files = write_weights(folder, parameters, DTYPES[dtype], changes)
        if dist.get_rank() == 0:
            (Path(folder) / "config.json").write_text(published_config(self.options.base_dir, dtype))
        return {"files": files}

    def _seed_dropout(self) -> None:
        """The dropout of an adapter follows from seed, step, bin and rank, so that a resumed run drops the same elements."""
        if self.options.adapter is None or self.options.adapter.dropout == 0:
            return
        # Ranks that share matrices drop the same.
        at = (self.options.adapter.seed, self.optimizer.steps, self.bins, dist.get_rank() // self.ranks.matrices)
        torch.manual_seed(int.from_bytes(hashlib.sha256(repr(at).encode()).digest()[:8], "little") >> 1)
        self.bins += 1

    def _counts(self, batch: Batch) -> Counts:
        """The number of sequences may be missing in a file; then those of the batches are counted."""
        if batch.counts.sequences is not None:
            return batch.counts
        own = 0.0
        for columns in batch.bins:
            own += len(columns.sequence_of_tokens()[columns.in_policy()].unique())
        own = own if self.ranks.sharing.index == 0 else 0.0
        return replace(batch.counts, sequences=self._sum_over_ranks(own))

    def _with_reference(self, columns: Columns) -> tuple[Columns, float]:
        """The reference scores all tokens that train, but those of the reference-KL stream keep what a teacher gave them."""
        if self.reference is None:
            return columns, 0.0
        started_at = time.monotonic()
        with torch.no_grad():
            scored, _ = self._scores(self.reference, columns)
        cut_again(self.reference)
        given, weights = columns.reference_logprobs, columns.ref_kl_weights
        if given is not None and weights is not None:
            scored = torch.where(weights == 0, scored, given)
        return replace(columns, reference_logprobs=scored), time.monotonic() - started_at

    def _scores(self, policy: Policy, columns: Columns) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy of each token, 0 where nothing trains."""
        at = columns.trains().nonzero().squeeze(1)
        targets = Targets(at - 1, columns.input_ids[at], columns.temperatures[at])
        found, entropies = policy(columns.input_ids, columns.cu_seqlens, targets)
        zeros = torch.zeros(len(columns.input_ids), device=self.device)
        return zeros.index_put((at,), found), zeros.index_put((at,), entropies.detach())

    def _on_all(self, is_so: bool) -> bool:
        flag = torch.tensor(float(is_so), device=self.device)
        dist.all_reduce(flag, op=dist.ReduceOp.MIN)
        return bool(flag)

    def _sum_over_ranks(self, value: float) -> float:
        total = torch.tensor(value, dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return float(total)


def _resident_gib() -> float:
    # ru_maxrss is in KiB.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


__all__ = ["BatchError", "NonFiniteError", "Options", "Trainer", "options_of"]
