"""One rank's process, started by torchrun: answers the launcher's calls until it says close."""

from __future__ import annotations

import math
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from transformers.utils import logging

from .adapter import AdapterError
from .attention.packed import AttentionError
from .batch import BatchError
from .connection import Connection
from .folders import CheckpointError
from .optimizer.optimizer import NonFiniteError
from .policy import ModelError
from .trainer import Trainer, options_of

CODES: dict[type[Exception], str] = {
    NonFiniteError: "PRL_TRAIN_NON_FINITE",
    BatchError: "PRL_BATCH_INVALID",
    CheckpointError: "PRL_ENGINE_INPUT",
    AdapterError: "PRL_ENGINE_CONFIG_UNSUPPORTED",
    ModelError: "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED",
    AttentionError: "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED",
}
OTHER_CODE = "PRL_TORCH_WORKER"


def calls_of(trainer: Trainer) -> dict[str, Callable[..., dict[str, Any]]]:
    """The calls of a trainer that is open, by name."""
    return {
        "forward_backward": trainer.forward_backward,
        "step": trainer.step,
        "logprobs": trainer.logprobs,
        "save": trainer.save,
        "save_checkpoint": trainer.save_checkpoint,
        "offload": trainer.offload,
    }


def main() -> None:
    """Connects, joins the process group and answers calls. The first call opens the trainer."""
    rank = int(os.environ["RANK"])
    logging.disable_progress_bar()
    connection = Connection(os.environ["PRL_TORCH_SOCKET"], rank)
    calls: dict[str, Callable[..., dict[str, Any]]] = {}
    while True:
        call = connection.next_call()
        identity, name = call.pop("id"), call.pop("op")
        if name == "close":
            connection.send({"id": identity, "result": {}})
            break
        try:
            if name == "open":
                dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
                trainer = Trainer(options_of(call))
                calls = calls_of(trainer)
                result = trainer.info()
            else:
                result = calls[name](**call)
            connection.send({"id": identity, "result": finite_json(result)})
        except Exception as error:
            if not isinstance(error, NonFiniteError):
                traceback.print_exc(file=sys.stderr)
            code = CODES.get(type(error), OTHER_CODE)
            text = str(error) if code != OTHER_CODE else f"{type(error).__name__}: {error}"
            connection.send({"id": identity, "error": {"code": code, "message": text}})
    if dist.is_initialized():
        dist.destroy_process_group()


def finite_json(value: Any) -> Any:
    """JSON has no NaN and no infinities; they travel as null."""
    if isinstance(value, dict):
        return {key: finite_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [finite_json(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    main()
