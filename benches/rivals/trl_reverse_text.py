"""The task of configs/reverse-text with TRL: a warm start by SFTTrainer, then GRPOTrainer until the reward of five steps reaches 0.9.

The same architecture, task, sizes and reward; TRL's own training loop, HF generate for sampling. The last 60 of the 280 warm-start steps
carry noisy targets, as ours do, so that sampling has something to improve. Prints one JSON object.
Install: pip install torch==2.15.0 transformers==5.23.0 trl==1.16.0 accelerate datasets
"""

import argparse
import difflib
import json
import os
import random
import tempfile
import time

START = time.perf_counter()
parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True, help="folder with config.json and tokenizer")
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
os.environ.update(OMP_NUM_THREADS=str(args.threads), TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")

import datasets
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, TrainerCallback, set_seed
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

torch.set_num_threads(args.threads)
datasets.disable_progress_bars()
transformers.logging.set_verbosity_error()
set_seed(args.seed)

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SFT_STEPS, SFT_BATCH, NOISE_FROM, NOISE = 280, 64, 220, 0.6
GROUP, PROMPTS, NEW_TOKENS, STOP_REWARD, WINDOW, MAX_STEPS = 8, 16, 16, 0.9, 5, 200

tokenizer = AutoTokenizer.from_pretrained(args.model, padding_side="left")
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(args.model), dtype=torch.float32)
model.generation_config.eos_token_id, model.generation_config.pad_token_id = 257, 256


def strings(count, seed):
    draw = random.Random(seed)
    return ["".join(draw.choices(LETTERS, k=draw.randint(4, 12))) for _ in range(count)]


def prompt(text):
    return f"reverse: {text}\n"


def ratio(reply, answer):
    return difflib.SequenceMatcher(None, reply.strip(), answer).ratio()


@torch.no_grad()
def evaluate():
    texts = strings(256, args.seed + 3000)
    inputs = tokenizer([prompt(text) for text in texts], return_tensors="pt", padding=True)
    out = model.generate(**inputs, max_new_tokens=NEW_TOKENS, do_sample=True, temperature=1.0, top_k=0, top_p=1.0)
    replies = tokenizer.batch_decode(out[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return sum(ratio(reply, text[::-1]) for reply, text in zip(replies, texts)) / len(texts)


common = dict(
    output_dir=tempfile.mkdtemp(), report_to="none", save_strategy="no", logging_steps=1, disable_tqdm=True, use_cpu=True, bf16=False,
    lr_scheduler_type="constant_with_warmup", weight_decay=0.0, max_grad_norm=1.0, optim="adamw_torch_fused", seed=args.seed,
    gradient_checkpointing=False, shuffle_dataset=False,
)
noise = random.Random(args.seed + 1000)
texts = strings(SFT_STEPS * SFT_BATCH, args.seed + 1)
spoil = lambda answer: "".join(noise.choice(LETTERS) if noise.random() < NOISE else letter for letter in answer)
answers = [text[::-1] if i < NOISE_FROM * SFT_BATCH else spoil(text[::-1]) for i, text in enumerate(texts)]
pairs = datasets.Dataset.from_dict({"prompt": [prompt(text) for text in texts], "completion": answers})
SFTTrainer(
    model=model, processing_class=tokenizer, train_dataset=pairs,
    args=SFTConfig(**common, learning_rate=1e-3, warmup_steps=20, max_steps=SFT_STEPS, per_device_train_batch_size=SFT_BATCH,
                   completion_only_loss=True, max_length=None, packing=False),
).train()
before = evaluate()
rewards = []


def reward(prompts, completions, answer, **_):
    values = [ratio(reply, right) for reply, right in zip(completions, answer)]
    rewards.append(sum(values) / len(values))
    return values


class Stop(TrainerCallback):
    def on_step_end(self, _args, _state, control, **_):
        recent = rewards[-WINDOW:]
        control.should_training_stop = len(recent) == WINDOW and sum(recent) / WINDOW >= STOP_REWARD


texts = strings(MAX_STEPS * PROMPTS, args.seed + 2)
tasks = datasets.Dataset.from_dict({"prompt": [prompt(text) for text in texts], "answer": [text[::-1] for text in texts]})
GRPOTrainer(
    model=model, processing_class=tokenizer, train_dataset=tasks, reward_funcs=reward, callbacks=[Stop()],
    args=GRPOConfig(**common, learning_rate=2e-4, warmup_steps=10, max_steps=MAX_STEPS, per_device_train_batch_size=GROUP * PROMPTS,
                    num_generations=GROUP, max_completion_length=NEW_TOKENS, temperature=1.0, beta=0.0, loss_type="dapo",
                    scale_rewards="group", epsilon=0.2, num_iterations=1),
).train()
print(json.dumps({"before": before, "after": evaluate(), "steps": len(rewards), "seconds": time.perf_counter() - START}))
