"""A trainer of one rank as the tests open it."""

from __future__ import annotations

from typing import Any

from prl_torch.trainer import Trainer, options_of

ADAMW: dict[str, Any] = {
    "type": "adamw",
    "lr": 1e-6,
    "betas": [0.9, 0.999],
    "eps": 1e-8,
    "weight_decay": 0.01,
    "max_norm": 1.0,
    "decay_1d": True,
    "nesterov": False,
    "state_dtype": "float32",
}


def open_trainer(model: str, **changed: Any) -> Trainer:
    """The defaults of `[trainer]`, but for what is given."""
    message: dict[str, Any] = {
        "model_dir": model,
        "base_dir": model,
        "reference_dir": None,
        "dtype": "float32",
        "loss": {"type": "default"},
        "optim": ADAMW,
        "lora": None,
        "recompute": False,
        "compile": False,
        "context": 1,
        "tensor": 1,
        "replicas": 1,
        "expert": 1,
        "router": {"aux_loss_coef": 0, "frozen": False},
        "merged": False,
        "resume": None,
    }
    return Trainer(options_of({**message, **changed}))
