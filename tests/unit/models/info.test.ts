/** What prl says of models: on the hub, in the cache, in folders. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { mockModelHub, type MockHub } from "../../support/hub/mock-hub.ts";
import { prl } from "../cli/run.ts";
import { inShards, type RepositoryFiles, tinyModel } from "./tiny-model.ts";

let whole: RepositoryFiles;
let parameters: number;
beforeAll(async () => {
  whole = await tinyModel();
  const [vocabulary, hidden, ffn, q, k, head] = [260, 32, 48, 32, 16, 8];
  const layer = hidden * (q + 2 * k) + q * hidden + 3 * hidden * ffn + 2 * hidden + 2 * head;
  parameters = vocabulary * hidden + 2 * layer + hidden;
});

let root: string;
let hub: MockHub;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "prl-models-"));
  const other = (change: object) => ({
    ...whole,
    "config.json": Buffer.from(JSON.stringify({ ...(JSON.parse(String(whole["config.json"])) as object), ...change })),
  });
  hub = await mockModelHub({
    "org/tiny": whole,
    "org/sharded": inShards(whole),
    "org/unknown": other({ model_type: "mamba", architectures: ["MambaForCausalLM"] }),
    "org/experts": other({
      model_type: "qwen3_moe",
      architectures: ["Qwen3MoeForCausalLM"],
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 16,
    }),
    "org/capped": other({ final_logit_softcapping: 30 }),
    "org/broken": { ...whole, "config.json": Buffer.from("{") },
  });
});
afterEach(async () => {
  await hub.close();
  rmSync(root, { recursive: true });
});

const run = (...args: string[]) =>
  prl(["model", ...args], root, { HF_ENDPOINT: hub.url, HF_HUB_CACHE: join(root, "hub"), HF_HOME: root });
const json = async (...args: string[]): Promise<Record<string, unknown>> => {
  const { code, stdout, stderr } = await run(...args, "--json");
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
};

describe("prl model info", () => {
  test.each(["org/tiny", "org/sharded"])("of %s reads the beginning of files and downloads nothing", async (name) => {
    const info = await json("info", name, "--seq-len", "64", "--batch", "4");
    expect(info).toMatchObject({
      model: name,
      folder: null,
      architecture: "Qwen3ForCausalLM",
      parameters,
      dtypes: ["F32"],
      max_tokens: 128,
      train: null,
      serve: null,
      workload: { batch: 4, seqLen: 64, dtype: "float32" },
    });
    expect(readdirSync(root)).toEqual([]);
    const weights = hub.requests.filter((request) => request.includes(".safetensors "));
    expect(weights.every((request) => /bytes=0-\d+$/u.test(request))).toBe(true);
    expect(hub.requests.some((request) => request.includes("tokenizer"))).toBe(false);
  });

  test("says the same of the cache and of a folder, in words too", async () => {
    const before = await json("info", "org/tiny");
    const { folder } = await json("pull", "org/tiny");
    const asked = hub.requests.length;
    expect(await json("info", "org/tiny")).toEqual({ ...before, folder });
    expect(await json("info", String(folder))).toEqual({ ...before, model: folder, folder });
    expect(hub.requests).toHaveLength(asked);
    const { stdout } = await run("info", String(folder));
    expect(stdout).toContain("train         yes\nserve         yes\n");
    expect(stdout).toMatch(/^train, AdamW .* MiB$/mu);
  });

  test("says what an adapter would be, and the KV cache in both formats", async () => {
    const modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
    // Two layers; each projection has rank times the widths of its input and its output.
    const numbers = (rank: number) => 2 * rank * (2 * (32 + 32) + 2 * (32 + 16) + 3 * (32 + 48));
    expect(await json("info", "org/tiny")).toMatchObject({ lora: { rank: 16, modules, parameters: numbers(16) } });
    const info = await json("info", "org/tiny", "--lora-rank", "4", "--dtype", "bfloat16");
    const { kv_cache: cache } = info["serving"] as { kv_cache: number };
    expect(info).toMatchObject({ lora: { parameters: numbers(4) }, serving: { kv_cache_bf16: cache / 2 } });
    expect(await json("info", "org/experts")).toMatchObject({ lora: { modules: modules.slice(0, 4) } });
    expect(await json("info", "org/tiny")).toMatchObject({ serving: { kv_cache_bf16: null } });
    const { stdout } = await run("info", "org/tiny", "--lora-rank", "4", "--dtype", "bfloat16");
    expect(stdout).toMatch(
      /^LoRA {10}yes: rank 4 on q_proj, .*, down_proj of every layer, 3,712 parameters, \d+(\.\d+)? %$/mu,
    );
    expect(stdout).toMatch(/^The KV cache is in float32; .* bfloat16, [\d.]+ .*B\.$/mu);
    expect((await run("info", "org/capped")).stdout).not.toMatch(/^LoRA {10}/mu);
    expect(await run("info", "org/tiny", "--lora-rank", "0")).toMatchObject({ code: 2 });
  });

  test.each([
    ["org/unknown", "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED", 'model_type = "mamba"'],
    ["org/capped", "PRL_ENGINE_CONFIG_UNSUPPORTED", "final_logit_softcapping"],
    ["org/broken", "PRL_ENGINE_CONFIG", "config.json is not valid JSON"],
  ])("of %s names the reason and the key", async (name, code, reason) => {
    const verdict = { code, reason: expect.stringContaining(reason) };
    expect(await json("info", name)).toMatchObject({ train: verdict, serve: verdict });
    const { stdout } = await run("info", name);
    expect(stdout).toContain(`serve         no: [${code}] `);
    expect(stdout).not.toContain(tmpdir());
  });

  test("of a server without Range requests works as well", async () => {
    hub.trouble = (_, response, content) => content !== null && [response.writeHead(200).end(content)];
    expect(await json("info", "org/tiny")).toMatchObject({ parameters });
  });

  test.each<[string, number[]]>([
    ["a header that is no JSON", [4, 0, 0, 0, 0, 0, 0, 0, 120, 120, 120, 120]],
    ["a header that is too long", [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
    ["a header that is longer than the file", [0xff, 0xff, 0xff, 0, 0, 0, 0, 0]],
  ])("refuses weights with %s, on the hub and in a folder", async (_, start) => {
    const content = Buffer.from(whole["model.safetensors"] ?? "");
    content.set(start);
    hub.trouble = (request, response) =>
      request.url?.endsWith("model.safetensors") === true && [response.writeHead(200).end(content)];
    const remote = await run("info", "org/tiny");
    expect(remote).toMatchObject({ code: 2, stderr: expect.stringContaining("PRL_WEIGHTS_FORMAT") });
    for (const [name, bytes] of Object.entries({ ...whole, "model.safetensors": content }))
      writeFileSync(join(root, name), bytes);
    const local = await run("info", root);
    expect(local).toMatchObject({ code: 2, stderr: expect.stringContaining("PRL_WEIGHTS_FORMAT") });
  });
});

describe("prl model list and remove", () => {
  test("know what is in the cache, and what prl loads", async () => {
    expect((await run("list")).stdout).toContain("No models in");
    for (const name of ["org/tiny", "org/sharded", "org/unknown"]) await json("pull", name);
    rmSync(join(root, "hub/models--org--sharded/snapshots", "c".repeat(40), "model-00002-of-00002.safetensors"));
    mkdirSync(join(root, "hub/datasets--org--rows"));
    mkdirSync(join(root, "hub/models--foreign"));
    writeFileSync(join(root, "hub/version.txt"), "1");
    const { models } = await json("list");
    const commit = "c".repeat(40);
    expect(models).toMatchObject([
      { model: "org/sharded", commit, missing: ["model-00002-of-00002.safetensors"], loads: false },
      { model: "org/tiny", commit, revisions: ["main"], missing: [], refusal: null, loads: true },
      { model: "org/unknown", missing: [], refusal: { code: "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED" }, loads: false },
    ]);
    const { stdout } = await run("list");
    expect(stdout).toMatch(/^org\/tiny +main +cccccccc +0 MiB +yes$/mu);
    expect(stdout).toContain("no: without model-00002-of-00002.safetensors");
    const { bytes } = (models as { model: string; bytes: number }[])[1] ?? {};
    expect(await json("remove", "org/tiny")).toEqual({ model: "org/tiny", removed_bytes: bytes });
    expect((await run("list")).stdout).not.toContain("org/tiny");
    expect(await run("remove", "org/tiny")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("not in the cache"),
    });
  });

  test("list the others beside one whose index other programs have written", async () => {
    for (const name of ["org/tiny", "org/sharded"]) await json("pull", name);
    const index = join(root, "hub/models--org--sharded/snapshots", "c".repeat(40), "model.safetensors.index.json");
    rmSync(index);
    writeFileSync(index, JSON.stringify({ weight_map: { a: "unet/part.safetensors" } }));
    expect((await json("list"))["models"]).toMatchObject([
      { model: "org/sharded", refusal: { code: "PRL_WEIGHTS_FORMAT" }, loads: false },
      { model: "org/tiny", refusal: null, loads: true },
    ]);
  });

  test("a model that another process downloads is not removed", async () => {
    await json("pull", "org/tiny");
    const lock = join(root, "hub/models--org--tiny/locks/abc");
    writeFileSync(lock, "");
    expect(await run("remove", "org/tiny")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("being downloaded"),
    });
    utimesSync(lock, new Date(0), new Date(0));
    expect(await run("remove", "org/tiny")).toMatchObject({ code: 0 });
  });

  test.each([
    ["pull"],
    ["pull", "tiny"],
    ["pull", "org/tiny@main", "--revision", "main"],
    ["pull", "org/tiny", "--revision", "../x"],
    ["remove", "org/tiny@main"],
    ["remove", "../tiny"],
    ["info"],
    ["info", "org/tiny", "--batch", "0"],
    ["info", "org/tiny", "--dtype", "int3"],
    ["list", "org/tiny"],
    ["sell", "org/tiny"],
  ])("prl model %s %s is refused", async (...args) => {
    expect(await run(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining("PRL_CLI_USAGE") });
    expect(hub.requests).toEqual([]);
  });
});
