// A step of the torch trainer beside one that is written with transformers and FSDP2 alone, on the same batches: a model with random weights in
// the shape of Qwen3-0.6B on a GPU (PRL_BENCH_SHAPE: another of `ON_GPU`), a small model on processors. Give --python an interpreter with
// torch, transformers and safetensors.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { report, rival } from "../measurement/report.mjs";
import { writeBenchBatch } from "./batch-file.mjs";

const QWEN3 = { model_type: "qwen3", architectures: ["Qwen3ForCausalLM"], head_dim: 128, tie_word_embeddings: true };
const LARGE = {
  ...QWEN3,
  hidden_size: 1024,
  intermediate_size: 3072,
  num_hidden_layers: 28,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  vocab_size: 151_936,
  max_position_embeddings: 40_960,
  rope_theta: 1_000_000,
};
const ON_GPU = {
  "0.6b": LARGE,
  "4b": { ...LARGE, hidden_size: 2560, intermediate_size: 9728, num_hidden_layers: 36, num_attention_heads: 32 },
  // Six of the 48 layers of Qwen3-30B-A3B: 4.4 billion parameters, so that one GPU holds masters and moments.
  "moe-6-layers": {
    ...LARGE,
    model_type: "qwen3_moe",
    architectures: ["Qwen3MoeForCausalLM"],
    hidden_size: 2048,
    intermediate_size: 6144,
    moe_intermediate_size: 768,
    num_experts: 128,
    num_experts_per_tok: 8,
    norm_topk_prob: true,
    num_hidden_layers: 6,
    num_attention_heads: 32,
    num_key_value_heads: 4,
    tie_word_embeddings: false,
  },
};
const SMALL = { ...LARGE, hidden_size: 256, intermediate_size: 768, num_hidden_layers: 6, vocab_size: 8192 };
/** Bins of as many tokens: one long sequence, and eight. */
const BINS = { "one-sequence": [1, 1], "eight-sequences": [8, 8] };

const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
try {
  const model = join(dir, "model");
  const wanted = process.env.PRL_BENCH_SHAPE ?? "0.6b";
  const large = ON_GPU[wanted];
  if (large === undefined) throw new Error(`PRL_BENCH_SHAPE=${wanted}: one of ${Object.keys(ON_GPU).join(", ")}`);
  const onGpu = rival("torch_trainer.py", ["device"])?.device === "cuda";
  const shape = onGpu ? large : SMALL;
  make(shape, model);
  const tokens = onGpu ? 16_384 : 1024;
  for (const [name, [perBin, parts]] of Object.entries(BINS)) {
    const batch = join(dir, `${name}.safetensors`);
    await writeBenchBatch(batch, { length: tokens / parts, perBin, bins: onGpu ? 4 : 2, vocabulary: shape.vocab_size });
    const run = (side, more = []) =>
      rival("torch_trainer.py", [side, "--model", model, "--batch", batch, "--rounds", "3", ...more]);
    const ours = run("ours", onGpu ? ["--compile"] : []);
    const plain = run("plain");
    if (ours === undefined) continue;
    const rivals = { plain: plain?.tokens_per_second };
    const better = "higher";
    report({ name: `torch-trainer-${name}`, unit: "tokens/s", better, ours: ours.tokens_per_second, rivals });
    console.log(
      `  loss ${ours.loss} beside ${plain?.loss}; MFU ${ours.mfu} beside ${plain?.mfu}; GiB ${ours.peak_gib} beside ${plain?.peak_gib}`,
    );
  }
} finally {
  rmSync(dir, { recursive: true });
}

function make(shape, model) {
  const file = join(dir, "shape.json");
  writeFileSync(file, JSON.stringify(shape));
  return rival("torch_trainer.py", ["make", "--model", model, "--shape", file]);
}
