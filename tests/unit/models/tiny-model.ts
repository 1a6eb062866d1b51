/** A small model as a repository of the hub has it: config, tokenizer and weights, in one file or in two shards. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { decodeSafetensors, encodeSafetensors, randomCheckpoint } from "../../../ts/native/index.ts";

const MODEL = resolve(import.meta.dirname, "../../../configs/reverse-text/model");
const SMALLER = { hidden_size: 32, intermediate_size: 48, num_hidden_layers: 2, head_dim: 8 };

export type RepositoryFiles = Record<string, Buffer>;

/** Writes a model with random weights to `out` in the folder `dir`; `change` goes into config.json. */
export async function writeModel(dir: string, change: Readonly<Record<string, unknown>>): Promise<string> {
  const config = JSON.parse(await readFile(join(MODEL, "config.json"), "utf8")) as Record<string, unknown>;
  for (const name of await readdir(MODEL)) await writeFile(join(dir, name), await readFile(join(MODEL, name)));
  await writeFile(join(dir, "config.json"), JSON.stringify({ ...config, ...change }));
  await randomCheckpoint(dir, join(dir, "out"), 1);
  return join(dir, "out");
}

export async function tinyModel(): Promise<RepositoryFiles> {
  const dir = await mkdtemp(join(tmpdir(), "prl-tiny-model-"));
  try {
    await writeModel(dir, SMALLER);
    const files: RepositoryFiles = {};
    for (const name of await readdir(join(dir, "out"))) files[name] = await readFile(join(dir, "out", name));
    return { ...files, "README.md": Buffer.from("# a model"), "pytorch_model.bin": Buffer.alloc(2000, "x") };
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** The same weights in two shards with an index. */
export function inShards({ "model.safetensors": whole, ...others }: RepositoryFiles): RepositoryFiles {
  const opened = decodeSafetensors(whole ?? Buffer.alloc(0));
  const shards: RepositoryFiles = {};
  const placed: Record<string, string> = {};
  for (const [at, part] of [opened.names.slice(0, 5), opened.names.slice(5)].entries()) {
    const shard = `model-0000${at + 1}-of-00002.safetensors`;
    shards[shard] = encodeSafetensors(Object.fromEntries(part.map((name) => [name, opened.tensor(name)])));
    for (const name of part) placed[name] = shard;
  }
  const index = JSON.stringify({ metadata: {}, weight_map: placed });
  return { ...others, ...shards, "model.safetensors.index.json": Buffer.from(index) };
}
