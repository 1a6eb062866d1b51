"""What torch does in the place of the engine's kernels: one measurement for each line that it reads, so that both can take turns.

    attention-forward 4096 12 4 64    causal, of a sequence: tokens, heads, heads of keys and values, width of a head
    attention-backward 4096 12 4 64   its gradients, without the forward pass
    product 2048 768 2048             of a projection: tokens, outputs, inputs
    gradient 2048 768 2048            of its weight

Prints one JSON object {seconds} a line. Install: pip install torch==2.15.0
"""

import argparse
import json
import sys
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
args = parser.parse_args()
torch.set_num_threads(args.threads)
dtype = getattr(torch, args.dtype)


def attention(tokens, heads, kv_heads, width):
    q, k, v = (torch.rand(1, n, tokens, width, dtype=dtype) * 2 - 1 for n in (heads, kv_heads, kv_heads))
    for tensor in (q, k, v):
        tensor.requires_grad_()

    def forward():
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    out = forward()
    grad = out.detach()
    return forward, lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)


def product(tokens, outputs, inputs):
    x, weight = (torch.rand(n, inputs, dtype=dtype) * 2 - 1 for n in (tokens, outputs))
    return lambda: torch.nn.functional.linear(x, weight)


def gradient(tokens, outputs, inputs):
    grad_out, x = (torch.rand(tokens, n, dtype=dtype) * 2 - 1 for n in (outputs, inputs))
    return lambda: torch.mm(grad_out.t(), x)


MADE = {
    "attention-forward": lambda *sizes: attention(*sizes)[0],
    "attention-backward": lambda *sizes: attention(*sizes)[1],
    "product": product,
    "gradient": gradient,
}
last, call = None, None
for line in sys.stdin:
    if line != last:
        kernel, *sizes = line.split()
        last, call = line, MADE[kernel](*map(int, sizes))
        call()
    start = time.perf_counter()
    call()
    print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)
