"""Ranks that share the experts of each layer, each with another batch, beside one rank that has all experts and all batches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from beside_one import GRADIENT_RTOL, HAS_CASES, IS_LONG, LORA, MODELS, OPTIM, Run, assert_near, batch_of, compare, go_on, tensors, train
from ranks_of import on_ranks
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from transformers import AutoConfig
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeExperts

from prl_torch.attention.context import ALONE
from prl_torch.parallel.experts import share_experts
from prl_torch.parallel.ranks import Ranks
from prl_torch.parallel.tensor import PlanError
from prl_torch.policy import Loading, ModelError, load_policy

pytestmark = HAS_CASES
MODEL = "experts"
COEF = 0.5
"""Of the loss that balances; a rank alone adds that of each of two batches, all of which have as many tokens."""


def run(name: str, expert: int = 2, sizes: dict[str, int] | None = None, **options: Any) -> Run:
    return Run(name, MODEL, expert=expert, options=options, **(sizes or {}))


def balanced(coef: float, is_frozen: bool = False) -> dict[str, Any]:
    return {"aux_loss_coef": coef, "frozen": is_frozen}


TWO = [
    run("plain"),
    run("balanced", router=balanced(COEF), recompute=True),
    run("replayed on one rank", recompute=True),
    *([run("muon", optim={**OPTIM, "type": "muon"})] if IS_LONG else []),
    run("sgd, routers frozen", optim={**OPTIM, "type": "sgd", "momentum": 0.9}, router=balanced(0, True)),
    run("adapter", lora={**LORA, "dropout": 0.0}, merged=True),
    *([run("reference", reference_dir=MODELS.get(MODEL), loss={"type": "kl", "kl": {"coef": 1.0}})] if IS_LONG else []),
    *([run("compiled", compile=True)] if IS_LONG else []),
]
FOUR = [
    run("shards"),
    run("half moments", optim={**OPTIM, "state_dtype": "bfloat16"}),
    run("all experts apart", 4, optim={**OPTIM, "type": "muon"}),
    run("context", sizes={"context": 2}, router=balanced(COEF)),
    *([run("copies", sizes={"replicas": 2})] if IS_LONG else []),
]


def batches_of(one: Run, root: Path, ranks: int) -> list[str]:
    """The batch of each rank; those that share a bin have the same one."""
    name = "lopsided" if one.name == "replayed on one rank" else "batch"
    return [str(root / f"{name}.{rank // one.context % 2}.safetensors") for rank in range(ranks)]


def write_batches(root: Path) -> None:
    """
    Two batches that have no token in common, so that their rows go to other experts; and the same with all rows at the two experts that
    the first of two ranks has.
    """
    for at, kind in enumerate(("plain", "streams")):
        path = batch_of(MODEL, kind)
        columns = load_file(path)
        columns["input_ids"] = (columns["input_ids"].long() + 100 * at).remainder(260).to(columns["input_ids"].dtype)
        experts = torch.tensor([0, 1], dtype=torch.uint8).expand(len(columns["input_ids"]), 1, 2)
        with safe_open(path, framework="pt") as file:
            save_file(columns, root / f"batch.{at}.safetensors", file.metadata())
            save_file({**columns, "routed_experts": experts.contiguous()}, root / f"lopsided.{at}.safetensors", file.metadata())


def of_ranks(runs: list[Run], folder: Path, ranks: int) -> dict[str, Any]:
    found = {}
    for one in runs:
        sizes = {"context": one.context, "replicas": one.replicas, "expert": one.expert}
        found[one.name] = train(one, folder, sizes, [[batches_of(one, folder.parent, ranks)[dist.get_rank()]]])
    return found


def two_ranks(folder: str) -> dict[str, Any]:
    root = Path(folder).parent
    found = of_ranks(TWO, Path(folder), 2)
    mine = batches_of(TWO[0], root, 2)[dist.get_rank()]
    # Its losses are of the last step, with the checkpoint of one rank and with that of these.
    found["resumed"] = [go_on(TWO[0], root / "one", {"expert": 2}, [mine]), go_on(TWO[0], Path(folder), {"expert": 2}, [mine])]
    return found


def four_ranks(folder: str) -> dict[str, Any]:
    found = of_ranks(FOUR, Path(folder), 4)
    half = batches_of(FOUR[1], Path(folder).parent, 4)[dist.get_rank()]
    found["resumed"] = go_on(FOUR[1], Path(folder), {"expert": 2}, [half])
    return found


def alone(one: Run, root: Path, ranks: int) -> dict[str, Any]:
    """One rank with all batches, whose losses add up."""
    router = one.options.get("router", balanced(0))
    batches = batches_of(one, root, ranks)[:: one.context]
    fewer = {**one.options, "router": {**router, "aux_loss_coef": router["aux_loss_coef"] / len(batches)}}
    return train(Run(one.name, one.model, options=fewer), root / "one", {}, [batches])


def test_two_ranks_that_share_experts_train_as_one_and_go_on_from_its_checkpoints(tmp_path: Path) -> None:
    write_batches(tmp_path)
    wanted = {one.name: alone(one, tmp_path, 2) for one in TWO}
    shared = on_ranks(2, two_ranks, tmp_path / "two")
    for one in TWO:
        compare(one, wanted[one.name], shared, (tmp_path / "two", tmp_path / "one"))
    first, batches = TWO[0], batches_of(TWO[0], tmp_path, 2)
    last = sum(wanted[first.name]["losses"][-2:])
    for rank in shared:
        assert rank["resumed"] == pytest.approx([last, last], rel=1e-4, abs=1e-7)
    for folder in ("one", "two"):
        for stem in ("model", "optimizer"):
            ended, resumed = (tensors(tmp_path / at / first.name / name, stem) for at, name in (("one", "end"), (folder, "resumed")))
            assert_near(resumed, ended, GRADIENT_RTOL)
    # And back to one rank, from what two have gone on to.
    assert go_on(first, tmp_path / "two", {}, batches) == pytest.approx(last, rel=1e-4, abs=1e-7)


def test_four_ranks_share_experts_beside_shards_tokens_and_copies(tmp_path: Path) -> None:
    write_batches(tmp_path)
    shared = on_ranks(4, four_ranks, tmp_path / "four")
    for one in FOUR:
        compare(one, alone(one, tmp_path, 4), shared, (tmp_path / "four", tmp_path / "one"))
    for rank in shared:
        assert rank["resumed"] == rank[FOUR[1].name]["losses"][-1]
    folder = tmp_path / "four" / FOUR[1].name
    for stem in ("model", "optimizer"):
        ended, resumed = (tensors(folder / name, stem) for name in ("end", "resumed"))
        assert ended.keys() == resumed.keys() and all(torch.equal(ended[name], resumed[name]) for name in ended)


@pytest.mark.parametrize(
    ("changed", "ranks", "message"),
    [
        ({}, 3, "trainer.parallel.expert = 3 does not divide the model's 4 experts"),
        ({"bias": True}, 2, "the experts of qwen3_moe are not two matrices each, of which ranks could have some"),
        ({"early": True}, 2, "what the experts of qwen3_moe give is not multiplied by the router's factors"),
        ({"dense": True}, 2, "qwen3_moe has no experts that ranks could share: set trainer.parallel.expert = 1"),
    ],
)
def test_experts_that_cannot_be_shared_are_named(changed: dict[str, bool], ranks: int, message: str) -> None:
    experts = Odd(changed) if "dense" not in changed else nn.Linear(4, 4)
    layer = nn.ModuleDict({"mlp": nn.ModuleDict({"experts" if "dense" not in changed else "up_proj": experts})})
    group: Any = Group(ranks)
    with pytest.raises(PlanError, match=re.escape(message)):
        share_experts([layer], "qwen3_moe", group)


class Odd(Qwen3MoeExperts):
    """Experts of a small model, perhaps with a bias, or with factors that multiply what goes into them."""

    def __init__(self, changed: dict[str, bool]) -> None:
        config = AutoConfig.for_model("qwen3_moe", num_experts=4, hidden_size=8, moe_intermediate_size=4)
        config._experts_implementation = "eager"
        super().__init__(config)
        for parameter in self.parameters():
            nn.init.normal_(parameter)
        self.early = "early" in changed
        if "bias" in changed:
            self.down_proj_bias = nn.Parameter(torch.zeros(4, 8))

    def forward(self, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
        if not self.early:
            return super().forward(hidden_states, top_k_index, top_k_weights)
        parts = (
            super(Odd, self).forward(hidden_states * factor[:, None], index[:, None], torch.ones_like(factor)[:, None])
            for index, factor in zip(top_k_index.T, top_k_weights.T, strict=True)
        )
        return torch.stack(list(parts)).sum(0)


@dataclass
class Group:
    """As much of a group of ranks as is checked before it is used."""

    ranks: int

    def size(self) -> int:
        return self.ranks


def test_a_dense_model_is_refused_by_its_folder() -> None:
    with pytest.raises(ModelError, match=r"tied.*: qwen3 has no experts that ranks could share: set trainer\.parallel\.expert = 1"):
        load_policy(MODELS["tied"], Loading(torch.device("cpu"), torch.float32, torch.float32, False, False, of_two()))


def of_two() -> Ranks:
    """The places of a rank whose group is never used."""
    group = init_device_mesh("cpu", (1,))
    return Ranks(ALONE, ALONE, None, group, group, group, group)
