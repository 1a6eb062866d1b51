"""The report of a step: means over the tokens of all bins and ranks, under the engine's names."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from .batch import Columns
from .loss import METRICS, Sums, mismatch_kl


class Statistics:
    """Sums in f64, in one vector, so that one reduction combines the ranks."""

    def __init__(self, environments: int, device: torch.device) -> None:
        self.names = ["loss", "entropy/all", "mismatch_on_policy/kl", *METRICS]
        for environment in range(environments):
            self.names += [f"entropy/{environment}", f"mismatch_kl/{environment}"]
        self.sums = torch.zeros(len(self.names), 2, dtype=torch.float64, device=device)
        self.most = torch.zeros(1, dtype=torch.float64, device=device)
        """The largest difference of log-probabilities of a token that the trained version sampled; NaN counts as the largest."""

    def add(self, columns: Columns, logprobs: Tensor, entropies: Tensor, loss: Tensor, sums: Sums) -> None:
        """Adds a bin; `entropies` has one number for each token, which counts where the token trains."""
        self._note("loss", loss.detach()[None])
        for name, (total, count) in sums.values.items():
            self.sums[self.names.index(name)] += torch.stack([total, count])
        trains, compared = columns.trains(), columns.is_compared()
        self._note("entropy/all", entropies[trains])
        now, before = logprobs.detach().double(), columns.inference_logprobs.double()
        mismatch = mismatch_kl(logprobs, columns.inference_logprobs)
        sequence = columns.sequence_of_tokens()
        environment = columns.env_ids[sequence]
        for index in columns.env_ids.unique().tolist():
            here = environment == index
            self._note(f"entropy/{index}", entropies[trains & here])
            self._note(f"mismatch_kl/{index}", mismatch[compared & here])
        on_policy = compared & columns.on_policy[sequence]
        self._note("mismatch_on_policy/kl", mismatch[on_policy])
        if bool(on_policy.any()):
            difference = (now - before).abs()[on_policy].nan_to_num(nan=torch.inf).max()
            self.most = torch.maximum(self.most, difference[None])

    def finish(self) -> tuple[float, dict[str, float]]:
        """The loss of the step and its metrics, the same on every rank."""
        dist.all_reduce(self.sums)
        dist.all_reduce(self.most, op=dist.ReduceOp.MAX)
        found = dict(zip(self.names, self.sums.tolist(), strict=True))
        loss = found.pop("loss")[0]
        metrics = {"loss": loss, "tokens": found["entropy/all"][1]}
        for name, (total, count) in found.items():
            if count > 0:
                metrics["mismatch_kl/all" if name == "mismatch_kl" else name] = total / count
        metrics["mismatch_on_policy/tokens"] = found["mismatch_on_policy/kl"][1]
        if "mismatch_on_policy/kl" in metrics:
            metrics["mismatch_on_policy/max_abs_logprob_diff"] = float(self.most)
        return loss, metrics

    def _note(self, name: str, values: Tensor) -> None:
        values = values.double()
        count = torch.tensor(float(values.numel()), dtype=torch.float64, device=values.device)
        self.sums[self.names.index(name)] += torch.stack([values.sum(), count])
