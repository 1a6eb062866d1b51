import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { checkCapacity, engineOptions, readInferenceProcessConfig } from "../../../ts/inference/process-config.ts";
import { loadModel, randomCheckpoint } from "../../../ts/native/index.ts";

const MIB = 1024 * 1024;
/** Keys and values of one token: 2 layers x 2 heads x (8 numbers, and 8 in a vector of 16) of 4 bytes. */
const TOKEN_BYTES = 384;

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-process-config-"));
  await writeFile(
    join(dir, "config.json"),
    JSON.stringify({
      architectures: ["LlamaForCausalLM"],
      vocab_size: 20,
      intermediate_size: 8,
      hidden_size: 32,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      max_position_embeddings: 4096,
    }),
  );
});

afterAll(() => rm(dir, { recursive: true, force: true }));

async function read(config: unknown) {
  const path = join(dir, "inference.json");
  await writeFile(path, JSON.stringify(config));
  return readInferenceProcessConfig(path);
}

const options = async (inference: Record<string, unknown>) => engineOptions(await read({ model_dir: dir, inference }));

describe("readInferenceProcessConfig", () => {
  it("takes the section that the launcher resolves, nulls included", async () => {
    const inference = {
      replicas: 2,
      threads: null,
      max_num_seqs: 4,
      max_model_len: 100,
      kv_cache_bytes: null,
      prefix_cache: false,
      server: { host: "127.0.0.1", port: 8000 },
      model: { name: "m" },
    };
    expect(await read({ model_dir: dir, version: 5, seed: 7, inference })).toMatchObject({
      version: 5,
      seed: 7,
      inference: { max_num_seqs: 4, server: { port: 8000 }, model: { name: "m" } },
    });
  });

  it("names the key that is wrong", async () => {
    await expect(read({ model_dir: dir, inference: { server: { port: 70_000 } } })).rejects.toMatchObject({
      code: "PRL_CONFIG_INVALID",
      message: expect.stringContaining("inference.server.port"),
    });
    await expect(readInferenceProcessConfig(join(dir, "none.json"))).rejects.toMatchObject({ code: "PRL_CONFIG_FILE" });
  });
});

describe("engineOptions", () => {
  it("gives every sequence its full length when that is cheap", async () => {
    expect(await options({ max_num_seqs: 8, max_model_len: 128 })).toMatchObject({
      maxModelLen: 128,
      kvCacheBytes: 8 * 128 * TOKEN_BYTES,
    });
  });

  it("never asks for more context than the model has", async () => {
    expect(await options({ max_model_len: 100_000 })).toMatchObject({ maxModelLen: 4096 });
  });

  it("takes no more than 256 MiB unasked", async () => {
    expect(await options({ max_num_seqs: 65_536 })).toMatchObject({ maxModelLen: 4096, kvCacheBytes: 256 * MIB });
  });

  it("fits the context to the memory that it is given", async () => {
    const whole = 2048 * TOKEN_BYTES;
    expect(await options({ kv_cache_bytes: whole })).toMatchObject({ maxModelLen: 2048, kvCacheBytes: whole });
    expect(await options({ kv_cache_bytes: whole - 1 })).toMatchObject({ maxModelLen: 2032 });
  });

  it("is what the engine takes, and a capacity that is said to be enough is", async () => {
    const model = join(dir, "model");
    await randomCheckpoint(dir, model, 1);
    const loads = async (inference: object) => {
      const loaded = await loadModel(model, { threads: 1, ...(await options({ ...inference })) });
      await loaded.close();
    };
    for (const inference of [
      { kv_cache_bytes: 100_001 },
      { kv_cache_bytes: 16 * TOKEN_BYTES },
      { max_num_seqs: 1, max_model_len: 3 },
      { max_num_seqs: 1, max_model_len: 100 },
    ])
      await loads(inference);
    const { neededBytes } = await checkCapacity(model, { max_model_len: 100, kv_cache_bytes: 1 });
    await loads({ max_model_len: 100, kv_cache_bytes: neededBytes });
    const tooFew = loads({ max_model_len: 100, kv_cache_bytes: Number(neededBytes) - 1 });
    await expect(tooFew).rejects.toMatchObject({ code: "PRL_ENGINE_CAPACITY" });
    const none = loads({ kv_cache_bytes: 1 });
    await expect(none).rejects.toThrow(/cannot hold one sequence of max_model_len 16/u);
  });
});
