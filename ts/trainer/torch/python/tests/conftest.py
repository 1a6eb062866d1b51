"""A process group of one rank, and the numbers of the native trainer (`tests/integration/trainer/torch-fixtures.ts`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist


def native_cases(kind: str) -> list[Any]:
    """The cases of a kind; none when the folder is not named."""
    folder = os.environ.get("PRL_TORCH_FIXTURES")
    if folder is None:
        return []
    cases: list[dict[str, Any]] = json.loads((Path(folder) / "cases.json").read_text())
    chosen = [case for case in cases if case["kind"] == kind]
    return [pytest.param(case, id=f"{Path(case['model']).parent.name} {case['name']}") for case in chosen]


@pytest.fixture(scope="session", autouse=True)
def one_rank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    torch.set_num_threads(1)
    store = tmp_path_factory.mktemp("store") / "store"
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", init_method=f"file://{store}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()
