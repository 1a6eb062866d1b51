"""A worker of vLLM on processors that takes new weights of every layer.

vLLM 0.32 computes on a packed copy of a layer's weights there and packs those again that a reload gives. An output layer that
is tied to the embedding is given none, because they come with the embedding: without this worker it goes on with the copy of its
first weights.
"""

from typing import Any

from vllm.v1.worker.cpu_worker import CPUWorker


class Worker(CPUWorker):
    """``--worker-cls prl_vllm.cpu_worker.Worker``."""

    def reload_weights(self, *args: Any, **kwargs: Any) -> None:
        super().reload_weights(*args, **kwargs)
        for layer in self.model_runner.get_model().modules():
            method = getattr(layer, "quant_method", None)
            weight = getattr(layer, "weight", None)
            # A layer that is not tied has given up its unpacked weights.
            if method is None or weight is None or weight.numel() == 0 or not hasattr(layer, "cpu_linear"):
                continue
            method.process_weights_after_loading(layer)
