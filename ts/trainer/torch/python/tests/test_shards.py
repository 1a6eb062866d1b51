"""Ranks that have no elements of some parameters, because these have fewer rows than there are ranks, beside one rank that has all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from beside_one import HAS_CASES, LORA, OPTIM, Run, assert_near, batch_of, compare, go_on, tensors, train
from ranks_of import on_ranks

pytestmark = HAS_CASES

RANKS = 3
# Four rows, of an adapter and of experts, over three ranks are two, two and none.
ADAPTER = Run("adapter", "untied", options={"lora": {**LORA, "dropout": 0.0}})
EXPERTS = Run("half moments", "experts", options={"optim": {**OPTIM, "state_dtype": "bfloat16"}})


def each_rank(folder: str) -> dict[str, Any]:
    found = {run.name: train(run, Path(folder), {}, [[batch_of(run.model, "plain")]]) for run in (ADAPTER, EXPERTS)}
    go_on(EXPERTS, Path(folder).parent / "one", {}, [batch_of(EXPERTS.model, "plain")])
    return found


def test_ranks_without_elements_of_some_parameters_save_the_moments_of_all_and_go_on(tmp_path: Path) -> None:
    alone = {run.name: train(run, tmp_path / "one", {}, [[batch_of(run.model, "plain")] * RANKS]) for run in (ADAPTER, EXPERTS)}
    shared = on_ranks(RANKS, each_rank, tmp_path / "three")
    for run in (ADAPTER, EXPERTS):
        compare(run, alone[run.name], shared, (tmp_path / "three", tmp_path / "one"))
    one = tmp_path / "one" / EXPERTS.name
    assert_near(tensors(one / "resumed", "optimizer"), tensors(one / "end", "optimizer"), 1e-2)
