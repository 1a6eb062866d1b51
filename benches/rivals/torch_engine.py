"""What torch and transformers do in the place of the engine: training steps and batched sampling of the same checkpoint in f32,
or with parameters and optimizer state in another format (--dtype).

Prints one JSON object {train, decode}, or one figure (--only; "adapter": a training step of peft's LoRA, rank 16 on all projections), in tokens per second (best of the rounds; decode includes the prompts' prefill, as ours does).
Install: pip install torch==2.15.0 transformers==5.23.0 safetensors==0.8.0, and peft==0.21.2 for "adapter"
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
parser.add_argument("--only", choices=["train", "adapter", "decode"])
args = parser.parse_args()
sequences, length, batch, prompt, completion, rounds = args.shape
torch.set_num_threads(args.threads)
model = AutoModelForCausalLM.from_pretrained(args.model, dtype=getattr(torch, args.dtype))
if args.only == "adapter":
    import peft

    lora = peft.LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, lora)
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0.0, fused=True)
ids = (torch.arange(sequences * length) * 7919 % 256).view(sequences, length)
labels = ids.clone()
labels[:, : length // 2] = -100


def train():
    model(input_ids=ids, labels=labels).loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
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
    figures[args.only or "train"] = sequences * length / best(train)
if args.only not in ("train", "adapter"):
    model.eval()
    figures["decode"] = batch * completion / best(decode)
print(json.dumps(figures))
