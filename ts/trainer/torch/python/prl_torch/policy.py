"""
The policy: a Hugging Face causal language model over packed sequences, cut into shards over all ranks (FSDP2).

Packed sequences never see each other: their positions begin at 0, from which transformers makes masks, and GPUs get their boundaries
(`attention/packed.py`).
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel

from .attention.context import ALONE, Context
from .attention.packed import MASKED, attention_for, boundaries
from .attention.shared import SHARED, can_share, shared_boundaries
from .batch import BatchError
from .head import RowFunctions, Targets, target_logprobs
from .names import pieces_of
from .parallel.experts import experts_of, share_experts
from .parallel.ranks import Ranks
from .parallel.tensor import KEY, PlanError, check_sizes, cut_layers, mean_of_slopes, plan_of

PREFIX = "lm."


class ModelError(Exception):
    """A model that cannot be trained here."""


class Policy(nn.Module):
    """The language model without its logits: what goes out are log-probabilities of the tokens that train."""

    def __init__(self, lm: PreTrainedModel, ranks: Ranks) -> None:
        super().__init__()
        self.lm = lm
        self.ranks = ranks
        self.rows = RowFunctions()

    def forward(self, input_ids: Tensor, cu_seqlens: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy of each target of one packed bin."""
        if len(input_ids) > 0 and int(input_ids.max()) >= self.vocabulary:
            raise BatchError(f"token {int(input_ids.max())} is not in the model's vocabulary of {self.vocabulary}")
        if self.ranks.sharing.size > 1:
            return self._shared(input_ids, cu_seqlens, targets)
        hidden = hidden_states(self.lm, input_ids, cu_seqlens)
        return target_logprobs(hidden, self.head.weight, targets, self.rows)

    def _shared(self, input_ids: Tensor, cu_seqlens: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
        """
        Each rank has the hidden states of its tokens, and so the targets that these predict. Of ranks with the same tokens each takes some
        of the targets, all of the head.
        """
        context, sharing, matrices = self.ranks.context, self.ranks.sharing, self.ranks.matrices
        padded, bounds = context.pad(input_ids, cu_seqlens)
        part = context.part(len(padded))
        hidden = hidden_states(self.lm, padded, bounds, context)
        if self.ranks.tensor is not None:
            # Weights outside of the layers take a share of the gradient from every rank, a layer takes all of it.
            hidden = mean_of_slopes(hidden, self.ranks.tensor)
        mine = ((targets.rows >= part.start) & (targets.rows < part.stop)).nonzero().squeeze(1)[sharing.index % matrices :: matrices]
        own = Targets(targets.rows[mine] - part.start, targets.tokens[mine], targets.temperatures[mine])
        logprobs, entropies = target_logprobs(hidden, self.head.weight, own, self.rows)
        zeros = torch.zeros(len(targets.rows), device=hidden.device)
        whole = sharing.sum_of_parts
        return whole(zeros.index_put((mine,), logprobs)), whole(zeros.index_put((mine,), entropies))

    @property
    def head(self) -> nn.Linear:
        return cast(nn.Linear, self.lm.get_output_embeddings())

    @property
    def vocabulary(self) -> int:
        return cast(int, self.lm.config.vocab_size)


def hidden_states(lm: PreTrainedModel, input_ids: Tensor, cu_seqlens: Tensor, context: Context = ALONE) -> Tensor:
    """The normed output of the last layer, [T, width], of this rank's part of the tokens."""
    starts = torch.repeat_interleave(cu_seqlens[:-1], cu_seqlens.diff())
    positions = torch.arange(len(input_ids), device=input_ids.device) - starts
    bounds: dict[str, Any] = {}
    if context.size > 1:
        bounds = shared_boundaries(cu_seqlens, context)
    elif lm.config._attn_implementation != MASKED:
        bounds = boundaries(cu_seqlens)
    part = context.part(len(input_ids))
    out = lm.base_model(input_ids=input_ids[None, part], position_ids=positions[None, part], use_cache=False, **bounds)
    return out.last_hidden_state[0]


@dataclass(frozen=True)
class Loading:
    """How a model is read."""

    device: torch.device
    dtype: torch.dtype
    """The dtype of the weights in memory: f32 for those that train."""
    computed: torch.dtype
    """The dtype of the products."""
    recompute: bool
    is_compiled: bool
    """Whether torch compiles the layers: fewer kernels, after some minutes for the first steps."""
    ranks: Ranks


def load_policy(folder: str, loading: Loading) -> Policy:
    """Reads a Hugging Face folder. Errors: ModelError for a model whose head or weights are not as this trainer takes them."""
    device = loading.device
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    config.attention_dropout = 0.0
    _check_heads(config, folder, loading.ranks)
    lm = AutoModelForCausalLM.from_pretrained(
        folder,
        config=config,
        dtype=loading.dtype,
        attn_implementation=MASKED,
        # On a GPU transformers takes one product for all experts, and refuses to be asked for it where there are none.
        experts_implementation=None if device.type == "cuda" else "eager",
        local_files_only=True,
    )
    for module in lm.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    # Only a model in training mode computes activations again; nothing is random in it but the dropout of an adapter.
    lm.train()
    if loading.recompute:
        # The other kind drops the gradients of adapters, because the embedding needs none.
        lm.gradient_checkpointing_enable({"use_reentrant": False})
    _check_names(lm, folder)
    _check_head(lm, folder)
    if loading.ranks.expert is not None:
        # Before the model moves to its device, which then never holds the experts of other ranks.
        try:
            share_experts(layers_of(lm), lm.config.model_type, loading.ranks.expert)
        except PlanError as error:
            raise ModelError(f"{folder}: {error}") from error
    # Only now, because the check of the head computes in f32.
    lm.set_attn_implementation(SHARED if loading.ranks.context.size > 1 else attention_for(device, loading.computed))
    policy = Policy(lm, loading.ranks).to(device)
    if loading.is_compiled:
        _compile(policy)
    return policy


def _check_heads(config: PreTrainedConfig, folder: str, ranks: Ranks) -> None:
    heads, parts, matrices = config.num_attention_heads, ranks.context.size, ranks.matrices
    key_heads = getattr(config, "num_key_value_heads", None) or heads
    if matrices > 1 and (heads % matrices != 0 or key_heads % matrices != 0):
        return  # The plan of the matrices is refused, with a better message.
    if not can_share(heads // matrices, key_heads // matrices, parts):
        of_rank = "" if matrices == 1 else f" of each of trainer.parallel.tensor = {matrices} ranks"
        raise ModelError(
            f"{folder}: its {heads // matrices} attention heads{of_rank} cannot be shared by trainer.parallel.context = {parts} ranks"
        )


def _compile(policy: Policy) -> None:
    """Compiles what is inside the layers, so that shards are gathered and activations recomputed around it as without."""
    if _c_compiler() is None:
        raise ModelError("trainer.compile needs a C compiler on the machine of the trainer (cc, gcc or clang; CC names another)")
    for layer in layers_of(policy.lm):
        layer.forward = torch.compile(layer.forward, dynamic=True)
    policy.rows = RowFunctions.compiled()


def _c_compiler() -> str | None:
    """The C compiler that torch will find; on a GPU its kernels are started by small programs in C."""
    return next((found for name in (os.environ.get("CC", "cc"), "gcc", "clang") if (found := shutil.which(name)) is not None), None)


def _check_names(lm: PreTrainedModel, folder: str) -> None:
    """Versions are published under the names of the parameters, which must be those of the folder."""
    names = {piece.name for name, value in lm.named_parameters() for piece in pieces_of(name, value)}
    there: set[str] = set()
    for file in sorted(Path(folder).glob("*.safetensors")):
        if file.name.startswith("model"):
            with safe_open(str(file), framework="pt") as opened:
                there.update(opened.keys())
    if lm.config.tie_word_embeddings:
        there.discard("lm_head.weight")
    other = sorted(names ^ there)
    if other:
        raise ModelError(
            f"{folder}: transformers names the weights of {lm.config.model_type} in another way than its files ({other[0]}, "
            f'{len(other)} in all), so it could not be published: train it with trainer.backend = "engine"'
        )


def _check_head(lm: PreTrainedModel, folder: str) -> None:
    """Refuses a model whose logits are more than the product of hidden state and head."""
    head = lm.get_output_embeddings()
    if not isinstance(head, nn.Linear) or head.bias is not None:
        raise ModelError(f"{folder}: the output layer of {lm.config.model_type} is not one matrix without bias")
    ids = torch.arange(min(4, lm.config.vocab_size), device=head.weight.device)
    with torch.no_grad():
        ours = hidden_states(lm, ids, torch.tensor([0, len(ids)])).float() @ head.weight.float().T
        theirs = lm(input_ids=ids[None], use_cache=False).logits[0]
    within = 1e-3 if head.weight.dtype == torch.float32 else 1e-1
    if not torch.allclose(ours, theirs.float(), rtol=within, atol=within):
        raise ModelError(f"{folder}: {lm.config.model_type} changes its logits (a cap or a factor), which is not supported")


def cut(policy: Policy, folder: str) -> set[str]:
    """
    Cuts the matrices of the layers over the ranks that share them. The result names parameters whose gradients on these are parts of a sum.
    Errors: ModelError for a model whose layers cannot be shared.
    """
    if policy.ranks.tensor is None:
        return set()
    try:
        check_sizes(policy.lm, policy.ranks.matrices)
        plan = plan_of(policy.lm)
        before = _probe(policy)
        parts = cut_layers(layers_of(policy.lm), plan, policy.ranks.tensor)
    except PlanError as error:
        raise ModelError(f"{folder}: {error}") from error
    after = _probe(policy)
    within = 1e-3 if before.dtype == torch.float32 else 1e-1
    if not torch.allclose(before, after, rtol=within, atol=within * float(before.abs().max())):
        raise ModelError(f"{folder}: {policy.lm.config.model_type} computes something else when ranks share its matrices: set {KEY} = 1")
    return {name for name, value in trained_parameters(policy).items() if id(value) in parts}


def _probe(policy: Policy) -> Tensor:
    """Hidden states of a few tokens."""
    context, tokens = policy.ranks.context, min(4, policy.vocabulary)
    ids, bounds = context.pad(torch.arange(tokens, device=policy.head.weight.device), torch.tensor([0, tokens]))
    policy.eval()
    with torch.no_grad():
        found = hidden_states(policy.lm, ids, bounds.to(ids.device), context)
    policy.train()
    return found


def shard(policy: Policy, dtype: torch.dtype) -> FSDPModule:
    """
    Cuts each layer, then the rest, over the ranks of their mesh's last dimension; a first one counts copies of the shards (HSDP). Gradients
    are sums over all ranks, in f32; weights of another format are computed with as `dtype`.
    """
    # With f32 nothing is cast, nor where frozen weights have the format already.
    precision = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    if dtype == policy.head.weight.dtype:
        precision = MixedPrecisionPolicy()
    for layer in layers_of(policy.lm):
        experts = experts_of(layer)
        if experts is not None:
            fully_shard(experts, mesh=policy.ranks.experts, mp_policy=precision)
        fully_shard(layer, mesh=policy.ranks.layers, mp_policy=precision)
    return fully_shard(policy, mesh=policy.ranks.ends, mp_policy=precision)


def cut_again(policy: Policy) -> None:
    """
    Ends a pass without gradients. FSDP leaves what is outside of the layers whole for a backward pass, in the format of the products: as
    long as it does, the model's parameters are not those that train.
    """
    cast(FSDPModule, policy).reshard()


def layers_of(lm: PreTrainedModel) -> list[nn.Module]:
    layers: Any = getattr(lm.base_model, "layers", None)
    if not isinstance(layers, nn.ModuleList):
        raise ModelError(f"{lm.config.model_type} has no list of layers to cut over ranks")
    return list(layers)


def all_parameters(policy: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters by their names in transformers; a tied head is the embedding, and not listed."""
    return {name.removeprefix(PREFIX): parameter for name, parameter in policy.named_parameters()}


def trained_parameters(policy: nn.Module) -> dict[str, nn.Parameter]:
    """Those of them that train."""
    return {name: parameter for name, parameter in all_parameters(policy).items() if parameter.requires_grad}


def published_config(folder: str, dtype: str) -> str:
    """The model's config.json for weights in the format `dtype`."""
    config: dict[str, Any] = json.loads((Path(folder) / "config.json").read_text())
    keys = [key for key in ("torch_dtype", "dtype") if key in config] or ["dtype"]
    return json.dumps({**config, **dict.fromkeys(keys, dtype)}, indent=2) + "\n"
