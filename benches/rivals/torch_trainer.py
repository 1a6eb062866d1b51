"""One step of the torch trainer, ours or a plain one, on the same batch: forward, loss, backward, AdamW.

`ours` is the worker of `trainer.backend = "torch"`. `plain` is what one writes with transformers and FSDP2 alone: padded sequences, sdpa,
logits of all tokens, torch's fused AdamW; the same mixed precision and recomputed layers.

Prints one JSON object: seconds of a step (best and median), tokens per second, MFU and the most bytes that torch allocated.

    python torch_trainer.py device                                # cuda or cpu
    python torch_trainer.py make --model DIR --shape SHAPE.json   # a model of that shape with random weights
    python torch_trainer.py ours --model DIR --batch FILE --rounds 5

Needs torch, transformers and safetensors.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

HERE = Path(__file__).resolve().parent
sys.path.pop(0)  # scripts beside this one are named after the libraries that they exercise
WORKER = HERE.parents[1] / "ts/trainer/torch/python"
PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "4090": 165e12, "3090": 71e12}
"""Dense bfloat16, operations per second."""
OPTIM = {"type": "adamw", "lr": 1e-6, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01, "max_norm": 1.0, "decay_1d": True, "nesterov": False, "state_dtype": "float32"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=["ours", "plain", "make", "device"])
    parser.add_argument("--model")
    parser.add_argument("--batch")
    parser.add_argument("--shape")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--keep", action="store_true", help="keep activations instead of computing them again")
    parser.add_argument("--compile", action="store_true", help="ours: trainer.compile = true")
    parser.add_argument("--lora", type=int, default=0, help="ours: rank of an adapter on all projections; 0: all weights train")
    parser.add_argument("--worker", default=str(WORKER), help="ours: folder of prl_torch")
    parser.add_argument("--profile", help="ours: file for a table of kernels of one step")
    return parser.parse_args()


def make(shape: str, folder: str) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    keys = json.loads(Path(shape).read_text())
    config = AutoConfig.for_model(keys.pop("model_type"), **keys)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder)


class Ours:
    def __init__(self, args: argparse.Namespace) -> None:
        sys.path.insert(0, args.worker)
        from prl_torch.trainer import Trainer, options_of

        lora = {"rank": args.lora, "alpha": 32, "use_rslora": False, "dropout": 0, "target_modules": None, "seed": 1, "base": "x"}
        options: dict[str, Any] = {"model_dir": args.model, "base_dir": args.model, "reference_dir": None, "resume": None}
        options |= {"loss": {"type": "default"}, "optim": OPTIM, "lora": lora if args.lora else None, "compile": args.compile}
        options |= {"context": 1, "tensor": 1, "replicas": 1, "expert": 1, "router": {"aux_loss_coef": 0, "frozen": False}, "merged": False}
        self.trainer = Trainer(options_of({**options, "dtype": args.dtype, "recompute": not args.keep}))
        self.batch = args.batch

    def step(self) -> tuple[float, float]:
        started_at = time.perf_counter()
        found = self.trainer.forward_backward(self.batch, None)
        torch.cuda.synchronize() if torch.cuda.is_available() else None
        self.seconds = time.perf_counter() - started_at
        norm = self.trainer.step(1e-6)["grad_norm"]
        # The trainer resets torch's own peak in every phase of a step.
        self.peak_gib = found["metrics"]["perf/peak_memory"]
        return found["loss"], norm


class Plain:
    def __init__(self, args: argparse.Namespace) -> None:
        from safetensors.torch import load_file
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        from transformers import AutoModelForCausalLM

        self.device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
        self.model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32, attn_implementation="sdpa").to(self.device)
        self.model.train()
        if not args.keep:
            self.model.gradient_checkpointing_enable({"use_reentrant": False})
        precision = MixedPrecisionPolicy(param_dtype=getattr(torch, args.dtype), reduce_dtype=torch.float32)
        mesh = init_device_mesh(self.device.type, (dist.get_world_size(),))
        for layer in self.model.base_model.layers:
            fully_shard(layer, mesh=mesh, mp_policy=precision)
        fully_shard(self.model, mesh=mesh, mp_policy=precision)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-6, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, fused=True)
        self.columns = {name: value.to(self.device) for name, value in load_file(args.batch).items()}
        self.seconds = 0.0

    @property
    def peak_gib(self) -> float:
        return torch.cuda.max_memory_allocated() / 2**30

    def step(self) -> tuple[float, float]:
        started_at = time.perf_counter()
        bins = self.columns["bin_seq_offsets"].long().tolist()
        bounds = self.columns["cu_seqlens"].long()
        members = float((self.columns["loss_mask"] != 0).sum())
        total = 0.0
        for first, last in zip(bins, bins[1:], strict=False):
            starts, ends = bounds[first:last], bounds[first + 1 : last + 1]
            length = int((ends - starts).max())
            at = starts[:, None] + torch.arange(length, device=self.device)
            inside = at < ends[:, None]
            rows = at.clamp(max=int(bounds[-1]) - 1)
            ids = self.columns["input_ids"].long()[rows].where(inside, torch.zeros_like(rows))
            # Sequences of one length need no mask of the padding.
            mask = None if bool(inside.all()) else inside.long()
            logits = self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1]
            temperature = self.columns["temperatures"][rows][:, 1:, None]
            scaled = logits.float() / temperature
            logprobs = -torch.nn.functional.cross_entropy(scaled.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(ids.shape[0], -1)
            with torch.no_grad():
                self.entropy = entropy_of(scaled)
            loss = self.loss(logprobs, rows[:, 1:], inside[:, 1:]) / members
            loss.backward()
            total += float(loss)
        torch.cuda.synchronize() if torch.cuda.is_available() else None
        self.seconds = time.perf_counter() - started_at
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total, float(norm)

    def loss(self, logprobs: Tensor, rows: Tensor, inside: Tensor) -> Tensor:
        """The default loss of prl: masked where the probability moved too far, with a squared log ratio beside it."""
        before, advantages = self.columns["inference_logprobs"][rows], self.columns["advantages"][rows]
        kept = inside & (self.columns["loss_mask"][rows] != 0)
        log = (logprobs - before).clamp(-20, 20)
        rise = logprobs.detach().exp() - before.exp()
        outside = ((advantages > 0) & (rise > 0.2)) | ((advantages <= 0) & (rise < -0.2))
        policy = torch.where(outside, torch.zeros_like(log), -(advantages * log.exp()))
        return (policy + 1e-3 * log * log)[kept].double().sum()


def entropy_of(scaled: Tensor) -> Tensor:
    """A row at a time: with the softmax of all rows the plain trainer would not fit."""
    return torch.stack([(torch.logsumexp(row, -1) - (row.softmax(-1) * row).sum(-1)).mean() for row in scaled]).mean()


def operations(model: str, batch: str, lora: bool) -> tuple[int, float]:
    """Tokens of a batch, and the operations that its step needs: products of weights and attention to earlier tokens of a sequence,
    nothing computed twice (the count of MFU, as in PaLM, arXiv:2204.02311, Appendix B). The head counts for tokens that train."""
    from safetensors.torch import load_file

    config = json.loads((Path(model) / "config.json").read_text())
    columns = load_file(batch)
    lengths = columns["cu_seqlens"].long().diff().double()
    hidden, layers, width = config["hidden_size"], config["num_hidden_layers"], config["head_dim"]
    query, keys = config["num_attention_heads"] * width, config["num_key_value_heads"] * width
    experts = config.get("num_experts_per_tok", 1)
    width_of_feed_forward = config["moe_intermediate_size"] if "num_experts" in config else config["intermediate_size"]
    router = hidden * config.get("num_experts", 0)
    matrices = layers * (hidden * (2 * query + 2 * keys) + 3 * hidden * experts * width_of_feed_forward + router)
    tokens, trained = int(lengths.sum()), float((columns["loss_mask"] != 0).sum())
    backward = 2 if lora else 3
    attention = 3 * 4 * layers * query * float((lengths * lengths / 2).sum())
    return tokens, 2 * backward * (tokens * matrices + trained * hidden * config["vocab_size"]) + attention


def main() -> None:
    args = arguments()
    if args.side == "device":
        print(json.dumps({"device": "cuda" if torch.cuda.is_available() else "cpu"}))
        return
    if args.side == "make":
        make(args.shape, args.model)
        print(json.dumps({"made": args.model}))
        return
    one_process = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29501"}
    os.environ.update({name: os.environ.get(name, value) for name, value in one_process.items()})
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    side = (Ours if args.side == "ours" else Plain)(args)
    loss, norm = side.step()
    side.step()
    seconds, backward = [], []
    for _ in range(args.rounds):
        started_at = time.perf_counter()
        side.step()
        seconds.append(time.perf_counter() - started_at)
        backward.append(side.seconds)
    if args.profile:
        profile(side, args.profile)
    if dist.get_rank() == 0:
        tokens, needed = operations(args.model, args.batch, args.lora > 0)
        best = min(seconds)
        name = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        peak = next((value for key, value in PEAKS.items() if key in name), None)
        found = {"side": args.side, "compile": args.compile, "device": name, "torch": torch.__version__, "loss": loss, "grad_norm": norm}
        found |= {"seconds": best, "median": statistics.median(seconds), "forward_backward": min(backward), "tokens": tokens}
        found |= {"tokens_per_second": tokens / best, "mfu": None if peak is None else needed / best / peak}
        found |= {"peak_gib": side.peak_gib if torch.cuda.is_available() else None}
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


def profile(side: Ours | Plain, file: str) -> None:
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    with profiler(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        side.step()
    Path(file).write_text(profiled.key_averages().table(sort_by="self_cuda_time_total", row_limit=30, max_name_column_width=60))


if __name__ == "__main__":
    main()
