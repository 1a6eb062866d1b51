/** A tiny random Qwen3 with the byte-level tokenizer of the reverse-text example, and versions of its weights. */
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { digest, randomCheckpoint, writeManifest } from "../../../ts/native/index.ts";

const TOKENIZER_FILES = ["tokenizer.json", "tokenizer_config.json"];
const EXAMPLE = new URL("../../../configs/reverse-text/model/", import.meta.url);

export const VOCAB_SIZE = 260;
export const EOS = 257;
export const MAX_MODEL_LEN = 512;

const CONFIG = {
  architectures: ["Qwen3ForCausalLM"],
  model_type: "qwen3",
  vocab_size: VOCAB_SIZE,
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 8,
  hidden_act: "silu",
  max_position_embeddings: MAX_MODEL_LEN,
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  tie_word_embeddings: true,
  attention_bias: false,
  // Large enough that the distributions are far from uniform.
  initializer_range: 0.4,
  eos_token_id: EOS,
  pad_token_id: 256,
  torch_dtype: "float32",
};

/** What makes it a mixture of experts, whose two layers have a router each. */
export const EXPERTS = {
  architectures: ["Qwen3MoeForCausalLM"],
  model_type: "qwen3_moe",
  num_experts: 8,
  num_experts_per_tok: 2,
  moe_intermediate_size: 16,
  norm_topk_prob: true,
};

/** A copy of the model's folder `from` whose weights are finite, and whose logits are not: those of the last norm are the largest numbers. */
export async function damagedCopy(from: string, to: string): Promise<string> {
  await cp(from, to, { recursive: true });
  const file = join(to, "model.safetensors");
  const bytes = await readFile(file);
  const begin = 8 + Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.toString("utf8", 8, begin)) as Record<string, { data_offsets: [number, number] }>;
  const [first = 0, end = 0] = header["model.norm.weight"]?.data_offsets ?? [];
  for (let at = begin + first; at < begin + end; at += 4) bytes.writeFloatLE(3.4e38, at);
  await writeFile(file, bytes);
  return to;
}

export interface WeightsFolder {
  dir: string;
  version: number;
  digest: string;
}

/** A scratch folder; `remove` deletes it with everything in it. */
export async function scratch(): Promise<{ dir: string; remove: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), "prl-inference-"));
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}

/** Version `version` of the weights as a published folder below `root`: random ones from the seed `version + 1`; `shape` changes the config. */
export async function publishVersion(
  root: string,
  version: number,
  shape: Record<string, unknown> = {},
): Promise<WeightsFolder> {
  const configDir = join(root, "config");
  await mkdir(configDir, { recursive: true });
  await writeFile(join(configDir, "config.json"), JSON.stringify({ ...CONFIG, ...shape }));
  await writeFile(join(configDir, "generation_config.json"), JSON.stringify({ eos_token_id: EOS, pad_token_id: 256 }));
  for (const file of TOKENIZER_FILES) await copyFile(new URL(file, EXAMPLE), join(configDir, file));
  const dir = join(root, `step_${version}`);
  await mkdir(dir);
  await randomCheckpoint(configDir, dir, version + 1);
  const weights = await readFile(join(dir, "model.safetensors"));
  const fileDigest = digest(weights);
  await writeManifest(dir, {
    format: "prl-weights",
    version,
    digest: fileDigest,
    base: null,
    encoding: "full",
    shards: [{ file: "model.safetensors", bytes: weights.byteLength, digest: fileDigest }],
    canary: null,
  });
  return { dir, version, digest: fileDigest };
}
