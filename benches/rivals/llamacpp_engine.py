"""What llama.cpp does in the place of the engine: prefill and decode steps of a model of the same shape with random weights.

Prints one JSON object {prefill, decode}: tokens per second of a prompt of `prompt` tokens (one sequence), and of steps in which each of `batch`
sequences gets one token behind `prompt` others (best round of `completion` steps). Sampling is not included.
Install: pip install llama-cpp-python==0.3.36 gguf numpy (it is compiled from source for this processor, some ten minutes on two cores)
"""

import argparse
import ctypes
import json
import os
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True, help="a folder with config.json; its weights are not read")
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--shape", type=int, nargs=3, required=True, help="batch prompt completion")
parser.add_argument("--rounds", type=int, default=4)
parser.add_argument("--dtype", choices=["float32", "bfloat16", "int8"], default="bfloat16")
args = parser.parse_args()
batch, prompt, completion = args.shape
os.environ["OMP_NUM_THREADS"] = str(args.threads)

import gguf
import llama_cpp as llama
import numpy as np

TYPES = {"float32": "F32", "bfloat16": "BF16", "int8": "Q8_0"}
with open(os.path.join(args.model, "config.json")) as file:
    config = json.load(file)
hidden, ffn, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
heads, kv_heads, head_dim = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
layers, arch = config["num_hidden_layers"], "qwen3" if config["model_type"] == "qwen3" else "llama"
rng = np.random.default_rng(0)


def write(path):
    kind = gguf.GGMLQuantizationType[TYPES[args.dtype]]
    out = gguf.GGUFWriter(path, arch)
    out.add_context_length(32768)
    out.add_embedding_length(hidden)
    out.add_block_count(layers)
    out.add_feed_forward_length(ffn)
    out.add_head_count(heads)
    out.add_head_count_kv(kv_heads)
    out.add_key_length(head_dim)
    out.add_value_length(head_dim)
    out.add_rope_dimension_count(head_dim)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_freq_base(1e4)
    out.add_vocab_size(vocab)
    out.add_tokenizer_model("none")

    def matrix(name, rows, columns):
        values = rng.standard_normal((rows, columns), dtype=np.float32) * 0.02
        out.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    def ones(name, count):
        out.add_tensor(name, np.ones(count, np.float32))

    matrix("token_embd.weight", vocab, hidden)
    ones("output_norm.weight", hidden)
    for layer in range(layers):
        at = f"blk.{layer}."
        ones(at + "attn_norm.weight", hidden)
        ones(at + "ffn_norm.weight", hidden)
        matrix(at + "attn_q.weight", heads * head_dim, hidden)
        matrix(at + "attn_k.weight", kv_heads * head_dim, hidden)
        matrix(at + "attn_v.weight", kv_heads * head_dim, hidden)
        matrix(at + "attn_output.weight", hidden, heads * head_dim)
        matrix(at + "ffn_gate.weight", ffn, hidden)
        matrix(at + "ffn_up.weight", ffn, hidden)
        matrix(at + "ffn_down.weight", hidden, ffn)
        if arch == "qwen3":
            ones(at + "attn_q_norm.weight", head_dim)
            ones(at + "attn_k_norm.weight", head_dim)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def open_context(model, sequences):
    params = llama.llama_context_default_params()
    params.n_ctx = sequences * 2 * (prompt + completion)
    params.n_batch = params.n_ubatch = 2048
    params.n_seq_max = sequences
    params.n_threads = params.n_threads_batch = args.threads
    context = llama.llama_init_from_model(model, params)
    assert context, "llama.cpp makes a context"
    return context


def run(context, tokens, rows):
    """Computes rows of (position, sequence, whether its logits are wanted)."""
    tokens.n_tokens = len(rows)
    for at, (position, sequence, wanted) in enumerate(rows):
        tokens.token[at] = int(rng.integers(1, vocab))
        tokens.pos[at] = position
        tokens.n_seq_id[at] = 1
        tokens.seq_id[at][0] = sequence
        tokens.logits[at] = wanted
    start = time.perf_counter()
    assert llama.llama_decode(context, tokens) == 0, "llama.cpp computes the batch"
    llama.llama_synchronize(context)
    return time.perf_counter() - start


silent = llama.llama_log_callback(lambda *_: None)
llama.llama_log_set(silent, ctypes.c_void_p(0))
llama.llama_backend_init()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.gguf")
    write(path)
    params = llama.llama_model_default_params()
    params.use_mmap = False
    params.n_gpu_layers = 0
    model = llama.llama_model_load_from_file(path.encode(), params)
assert model, "llama.cpp loads the model"
tokens = llama.llama_batch_init(2048, 0, 1)

context = open_context(model, 1)
memory = llama.llama_get_memory(context)
seconds = []
for _ in range(args.rounds + 1):
    llama.llama_memory_clear(memory, True)
    seconds.append(run(context, tokens, [(at, 0, at == prompt - 1) for at in range(prompt)]))
prefill = prompt / min(seconds[1:])
llama.llama_free(context)

context = open_context(model, batch)
for sequence in range(batch):
    run(context, tokens, [(at, sequence, False) for at in range(prompt)])
memory = llama.llama_get_memory(context)
best = float("inf")
for _ in range(args.rounds + 1):
    for sequence in range(batch):
        llama.llama_memory_seq_rm(memory, sequence, prompt, -1)
    rows = [[(prompt + at, sequence, True) for sequence in range(batch)] for at in range(completion)]
    best = min(best, sum(run(context, tokens, step) for step in rows))
print(json.dumps({"prefill": prefill, "decode": batch * completion / best}))
