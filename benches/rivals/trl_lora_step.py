"""One step of TRL's GRPOTrainer on peft's LoRA (all linear layers) with a bfloat16 base, of one group: what benches/trainer/grpo-step.mjs does.

TRL's own defaults, such as gradient checkpointing and autocast, but for what both sides agree on. Prints one JSON object: seconds of rollout, train
and the whole step; peak, the most memory that the process held (bytes).
Install: pip install torch==2.15.0 transformers==5.23.0 trl==1.16.0 peft==0.21.2 accelerate datasets
"""

import argparse
import json
import os
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
for size in ("threads", "prompt", "completion", "group", "rank"):
    parser.add_argument(f"--{size}", type=int, required=True)
args = parser.parse_args()
os.environ.update(OMP_NUM_THREADS=str(args.threads), TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")

import datasets
import peft
import tokenizers
import torch
import transformers
from transformers import AutoConfig, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

torch.set_num_threads(args.threads)
datasets.disable_progress_bars()
transformers.logging.set_verbosity_error()

# The text of token i is the number i.
vocabulary = AutoConfig.from_pretrained(args.model).vocab_size
words = tokenizers.Tokenizer(tokenizers.models.WordLevel({str(i): i for i in range(vocabulary)}, unk_token="0"))
words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
last, before = str(vocabulary - 1), str(vocabulary - 2)
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token=last, pad_token=before, padding_side="left")
prompt = " ".join(str(t * 31 % 256) for t in range(args.prompt))
seconds = {}


def reward(completion_ids, **_):
    assert [len(ids) for ids in completion_ids] == [args.completion] * args.group, "a completion ended early"
    return [sum(token % 2 for token in ids) / len(ids) for ids in completion_ids]


class Timed(GRPOTrainer):
    def _generate(self, prompts):
        start = time.perf_counter()
        rollouts = super()._generate(prompts)
        assert [len(ids) for ids in rollouts[0]] == [args.prompt] * args.group, "the prompt has another length"
        seconds["rollout"] = time.perf_counter() - start
        return rollouts


class Clock(TrainerCallback):
    def on_step_begin(self, _args, _state, _control, **_):
        self.start = time.perf_counter()

    def on_step_end(self, _args, _state, _control, **_):
        seconds["step"] = time.perf_counter() - self.start


with tempfile.TemporaryDirectory() as output:
    config = GRPOConfig(
        output_dir=output, report_to="none", save_strategy="no", disable_tqdm=True, use_cpu=True, max_steps=1, model_init_kwargs={"dtype": "bfloat16"},
        learning_rate=1e-4, weight_decay=0.0, per_device_train_batch_size=args.group, num_generations=args.group, beta=0.0,
        max_completion_length=args.completion, temperature=1.0, generation_kwargs={"min_new_tokens": args.completion},
    )
    lora = peft.LoraConfig(r=args.rank, lora_alpha=2 * args.rank, target_modules="all-linear", task_type="CAUSAL_LM")
    tasks = datasets.Dataset.from_dict({"prompt": [prompt]})
    Timed(
        model=args.model, processing_class=tokenizer, train_dataset=tasks, reward_funcs=reward, peft_config=lora, callbacks=[Clock()], args=config,
    ).train()

peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM:")) * 1024
print(json.dumps({**seconds, "train": seconds["step"] - seconds["rollout"], "peak": peak}))
