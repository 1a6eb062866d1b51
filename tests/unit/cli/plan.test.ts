/** `prl plan`: what it prints, what it refuses, and that it asks for nothing but config.json. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { adapterMemory, countParameters, modelShape, servingMemory, trainingMemory } from "../../../ts/models/index.ts";
import type { Plan } from "../../../ts/plan/index.ts";
import { hubOfQwen3, QWEN3 } from "../plan/qwen3.ts";
import { prl } from "./run.ts";

const GIB = 2 ** 30;
const CONFIG = `
max_steps = 10
seq_len = 4096
[model]
name = "Qwen/Qwen3-4B"
[trainer]
backend = "torch"
[inference]
backend = "vllm"
[orchestrator]
batch_size = 64
group_size = 8
[[orchestrator.train.source]]
env = { id = "reverse-text" }
`;

let root: string;
let env: Record<string, string>;
let config: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "prl-plan-"));
  env = hubOfQwen3(join(root, "hub"));
  config = join(root, "rl.toml");
  writeFileSync(config, CONFIG);
});
afterAll(() => rmSync(root, { recursive: true }));

const run = (...args: string[]) => prl(["plan", config, ...args], root, env);
async function planned(...args: string[]): Promise<Plan> {
  const { stdout, stderr } = await run(...args, "--json");
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as Plan;
}
const engine = ["--trainer.backend", "engine", "--inference.backend", "engine"];

describe("prl plan", () => {
  test("names what does not fit and what would, with exit code 2", async () => {
    const { code, stdout, stderr } = await run("--device", "rtx4090");
    expect(code).toBe(2);
    expect(stdout).toContain("Does not fit");
    expect(stderr).toContain("the trainer needs");
    expect(stderr).toContain("GeForce RTX 4090 24 GB has 23.5 GiB");
    expect(stderr).toContain('trainer.activations = "recompute" and an adapter ([model.lora] rank = 16)');
    expect(stderr).toMatch(/trainer\.ranks = \d+ with trainer\.activations = "recompute"/u);
  });

  test("names a model whose matrices so many ranks cannot share", async () => {
    const { code, stderr } = await run("--trainer.ranks", "16", "--trainer.parallel.tensor", "16");
    expect(code).toBe(2);
    expect(stderr).toContain("trainer.parallel.tensor: 16 does not divide the model's 8 key-value heads");
  });

  test("names a model that so many GPUs of a vLLM server cannot share", async () => {
    for (const [size, problem] of [
      [3, "3 does not divide the model's 32 attention heads"],
      [64, "64 does not divide the model's 32 attention heads"],
    ] as const) {
      const { code, stderr } = await run("--inference.vllm.tensor-parallel-size", String(size));
      expect(code).toBe(2);
      expect(stderr).toContain(`inference.vllm.tensor_parallel_size: ${problem}`);
    }
    // More GPUs than the 8 heads of keys and values get copies of them.
    const { stderr } = await run("--inference.vllm.tensor-parallel-size", "16");
    expect(stderr).not.toContain("tensor_parallel_size: 16");
  });

  test("names a context that the model does not have, and completions that leave no room for a prompt", async () => {
    const long = await run("--inference.max-model-len", "50000", "--device", "h200");
    expect(long.code).toBe(2);
    expect(long.stderr).toContain(
      "inference.max_model_len asks for sequences of 50000 tokens, and the model takes at most 40960",
    );
    const completions = ["--orchestrator.train.sampling.max-completion-tokens", "45000"];
    const full = await run("--seq-len", "50000", "--device", "h200", ...completions);
    expect(full.code).toBe(2);
    expect(full.stderr).toContain(
      "max_completion_tokens = 45000 leaves no room for a prompt: the model takes at most 40960",
    );
    // A bin of packed sequences may be longer than the longest of them.
    const bins = await run("--seq-len", "50000", "--device", "h200");
    expect(bins.stderr).not.toContain("max_position_embeddings");
  });

  test("names how many GPUs each part needs where the machine has fewer", async () => {
    const ranks = ["--trainer.ranks", "8", "--inference.replicas", "2", "--device", "h200"];
    const { code, stderr } = await run(...ranks);
    expect(code).toBe(2);
    expect(stderr).toContain(
      "the run needs 10 GPUs (8 for trainer.ranks, 2 for the inference servers), and the machine has 8",
    );
    expect((await run(...ranks, "--deployment.gpus-per-node", "10")).stderr).not.toContain("the run needs 10 GPUs");
  });

  test("names a model without experts that ranks could share", async () => {
    const { code, stderr } = await run("--trainer.ranks", "2", "--trainer.parallel.expert", "2");
    expect(code).toBe(2);
    expect(stderr).toContain("trainer.parallel.expert: qwen3 has no experts that ranks could share");
  });

  test("fits with the change that it advised", async () => {
    const plan = await planned(
      "--device",
      "rtx4090",
      "--trainer.activations",
      "recompute",
      "--model.lora.rank",
      "16",
      "--inference.backend",
      "engine",
      "--inference.kv-cache-bytes",
      "1000000",
    );
    expect(plan.problems.filter((problem) => problem.includes("trainer"))).toEqual([]);
  });

  test("prints the same numbers as text and as JSON, one document, also of what does not fit", async () => {
    const { code, stdout } = await run("--device", "rtx4090", "--json");
    expect(code).toBe(2);
    expect((JSON.parse(stdout) as Plan).problems).toHaveLength(1);
    const text = await run("--device", "h100", "--trainer.activations", "recompute");
    expect(text.code).toBe(0);
    expect(text.stdout).toContain("4,022,468,096");
  });

  test("of the embedded engine gives the bytes of prl model info", async () => {
    const shape = modelShape(QWEN3["Qwen/Qwen3-0.6B"]);
    if (shape === null) throw new Error("no shape");
    const { total } = countParameters(shape);
    const rows = { batch: 1, seqLen: 4096, dtype: "bfloat16" } as const;
    const all = await planned(...engine, "--model", "Qwen/Qwen3-0.6B");
    expect(all.trainer.total).toBe(trainingMemory(shape, total, rows).total);
    expect(all.trainer.place).toBe("cpu");
    expect(all.time.step).toBeNull();
    const adapter = await planned(...engine, "--model", "Qwen/Qwen3-0.6B", "--model.lora.rank", "8");
    expect(adapter.trainer.total).toBe(adapterMemory(shape, total, { ...rows, rank: 8 }).total);
    const reference = async (...more: string[]) => {
      const { trainer } = await planned(...engine, "--model", "Qwen/Qwen3-0.6B", "--trainer.loss.type", "kl", ...more);
      return trainer.bytes["reference"];
    };
    expect(await reference()).toBe(servingMemory(shape, total, rows).weights);
    // The start of a run is what its adapter is trained on.
    expect(await reference("--model.lora.rank", "8")).toBeUndefined();
    const other = ["--trainer.loss.reference", "Qwen/Qwen3-0.6B"];
    expect(await reference("--model.lora.rank", "8", ...other)).toBe(servingMemory(shape, total, rows).weights);
    const half = await planned(...engine, "--model", "Qwen/Qwen3-0.6B", "--trainer.optim.state-dtype", "bfloat16");
    expect(all.trainer.total - half.trainer.total).toBe(2 * 2 * total);
    expect(all.versions.checkpoint - half.versions.checkpoint).toBe(2 * 2 * total);
  });

  test("counts the KV cache as vLLM does: 2 x layers x KV heads x head width x 2 bytes a token", async () => {
    const { inference } = await planned("--inference.kv-cache-bytes", String(GIB));
    expect(inference.kv_bytes_per_token).toBe(2 * 36 * 8 * 128 * 2);
    expect(inference.kv_tokens).toBe(Math.floor(GIB / 147_456 / 16) * 16);
    const cut = await planned("--inference.kv-cache-bytes", String(GIB), "--inference.vllm.tensor-parallel-size", "4");
    expect(cut.inference.kv_bytes_per_token).toBe(147_456 / 4);
  });

  test("refuses servers whose KV cache holds no sequence, and more GPUs than the machine has", async () => {
    const small = await run("--inference.kv-cache-bytes", "100000000", "--trainer.activations", "recompute");
    expect(small.code).toBe(2);
    expect(small.stderr).toContain("(inference.max_model_len)");
    const many = await run("--trainer.ranks", "8", "--inference.replicas", "2");
    expect(many.stderr).toContain(
      "the run needs 10 GPUs (8 for trainer.ranks, 2 for the inference servers), and the machine has 8",
    );
  });

  test("says when every rank would load more than a GPU has", async () => {
    const { stderr } = await run(
      "--model",
      "Qwen/Qwen3-30B-A3B",
      "--trainer.ranks",
      "8",
      "--trainer.activations",
      "recompute",
    );
    expect(stderr).toContain("each rank of the trainer puts the whole model on its GPU before it is cut");
  });

  test("says when a rollout lasts longer than it may", async () => {
    const { stderr } = await run("--trainer.activations", "recompute", "--env-seconds", "700");
    expect(stderr).toContain("longer than orchestrator.request_timeout_s = 600");
  });

  test("takes half of the time with twice the speed, and its assumptions from options", async () => {
    const slow = await planned("--trainer.activations", "recompute", "--mfu", "0.2");
    const fast = await planned("--trainer.activations", "recompute", "--mfu", "0.4");
    expect((slow.time.train ?? 0) / (fast.time.train ?? 1)).toBeCloseTo(2, 9);
    const long = await planned("--prompt-tokens", "96", "--completion-tokens", "4000", "--transfer", "4");
    expect(long.batch.tokens).toBe(64 * 4096);
    expect(long.versions.full_seconds).toBeCloseTo((2 * 4_022_468_096) / 4e9, 9);
    expect(long.assumptions.join("\n")).toContain("a prompt has 96 tokens and a completion 4000");
  });

  test("counts sandboxes of environments that require them", async () => {
    expect((await planned()).processes.sandboxes).toBe(0);
    const other = join(root, "code.toml");
    writeFileSync(other, CONFIG.replace("reverse-text", "python-repl"));
    const { stdout } = await prl(["plan", other, "--json"], root, env);
    expect((JSON.parse(stdout) as Plan).processes.sandboxes).toBe(64);
  });

  test.each([
    ["a device that it does not know", ["--device", "h1000"], "PRL_CLI_USAGE", "--device"],
    [
      "lengths that are more than a sequence",
      ["--prompt-tokens", "4000", "--completion-tokens", "200"],
      "PRL_CLI_USAGE",
      "may have, 4096 (seq_len",
    ],
    ["a model that the cache does not have", ["--model", "org/none"], "PRL_HUB_OFFLINE", "org/none"],
    ["a share above 1", ["--mfu", "1.5"], "PRL_CLI_USAGE", "--mfu"],
  ])("refuses %s", async (_name, args, code, text) => {
    const { stdout, code: exit } = await run(...args, "--json");
    expect(exit).toBe(2);
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
  });
});
