"""What torch and transformers do in the place of the engine: training steps and batched sampling of the same checkpoint in f32,
or with parameters and optimizer state in another format (--dtype).

Prints one JSON object {train, decode}, or one of them (--only), in tokens per second (best of the rounds; decode includes the prompts' prefill, as ours does).
Install: pip install torch==2.15.0 transformers==5.23.0 safetensors==0.8.0
"""

import argparse
import json
import time

import torch
from transformers import AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--shape", type=int, nargs=6, required=True, help="sequences length batch prompt completion rounds")
parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
parser.add_argument("--only", choices=["train", "decode"])
args = parser.parse_args()
sequences, length, batch, prompt, completion, rounds = args.shape
torch.set_num_threads(args.threads)
model = AutoModelForCausalLM.from_pretrained(args.model, dtype=getattr(torch, args.dtype))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)
ids = (torch.arange(sequences * length) * 7919 % 256).view(sequences, length)
labels = ids.clone()
labels[:, : length // 2] = -100


def train():
    model(input_ids=ids, labels=labels).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def decode():
    prompts = torch.randint(0, 256, (batch, prompt))
    options = dict(do_sample=True, temperature=1.0, top_k=0, min_new_tokens=completion, max_new_tokens=completion)
    model.generate(prompts, attention_mask=torch.ones_like(prompts), pad_token_id=256, **options)


def best(call):
    call()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


figures = {}
if args.only != "decode":
    model.train()
    figures["train"] = sequences * length / best(train)
if args.only != "train":
    model.eval()
    figures["decode"] = batch * completion / best(decode)
print(json.dumps(figures))
