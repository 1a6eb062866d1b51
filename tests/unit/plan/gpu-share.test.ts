/** How trainer and vLLM share one GPU: what each has in its turn, and what is refused. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { loadConfig } from "../../../ts/config/index.ts";
import { hubSettings } from "../../../ts/hub/index.ts";
import { type Plan, startShare } from "../../../ts/plan/index.ts";
import { prl } from "../cli/run.ts";
import { hubOfQwen3 } from "./qwen3.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const CONFIG = join(ROOT, "configs/gpu/qwen3-0.6b-lora-24gb.toml");
const GIB = 2 ** 30;

let root: string;
let env: Record<string, string>;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "prl-share-"));
  env = hubOfQwen3(root);
});
afterAll(() => rmSync(root, { recursive: true }));

const planOf = async (...more: string[]) => {
  const { code, stdout, stderr } = await prl(["plan", CONFIG, "--device", "rtx4090", "--json", ...more], ROOT, env);
  return { code, stderr, plan: JSON.parse(stdout) as Plan };
};
const memory = (gib: number) => ["--deployment.gpu-memory-bytes", String(gib * GIB)];

test("in turns each has what the other leaves, and the run takes one GPU", async () => {
  const { code, plan } = await planOf();
  expect(code).toBe(0);
  const { share, trainer, inference, processes } = plan;
  if (share === null) throw new Error("nothing is shared");
  expect(processes).toMatchObject({ gpus: 1, trainer_gpus: 1, inference_gpus: 1 });
  expect(trainer.total + share.server_rest).toBeLessThanOrEqual(share.memory);
  expect(inference.total + share.trainer_rest).toBeLessThanOrEqual(share.memory);
  // Together, at the same time, they would not fit.
  expect(trainer.total + inference.total).toBeGreaterThan(share.memory);
  expect(inference.total).toBeLessThanOrEqual(share.utilization * share.memory);
  expect(share.trainer_peak).toBe(trainer.total);
});

test("the share is in hundredths, leaves room for what stays of the trainer, and is never more than vLLM's default", async () => {
  for (const [gib, more] of [
    [16, []],
    [23, ["--trainer.offload", "cache"]],
    [80, []],
  ] as const) {
    const { share } = (await planOf(...memory(gib), ...more)).plan;
    if (share === null) throw new Error("nothing is shared");
    const { utilization, trainer_rest: rest } = share;
    expect(Number((100 * utilization).toFixed(6)) % 1).toBe(0);
    expect(utilization * share.memory + rest).toBeLessThanOrEqual(share.memory);
    expect((utilization + 0.01) * share.memory + rest > share.memory || utilization === 0.92).toBe(true);
  }
});

test("with offload = cache weights and optimizer stay on the GPU, and wait nowhere else", async () => {
  const [all, cache] = [await planOf(), await planOf("--trainer.offload", "cache")].map(({ plan }) => plan.share);
  const { masters = 0, optimizer = 0 } = (await planOf()).plan.trainer.bytes;
  expect((cache?.trainer_rest ?? 0) - (all?.trainer_rest ?? 0)).toBe(masters + optimizer);
  expect((all?.host ?? 0) - (cache?.host ?? 0)).toBe(masters + optimizer);
});

test.each([
  [
    "a trainer that is too large beside a sleeping vLLM",
    memory(13),
    "in its turn the trainer needs 12.1 GiB, and a sleeping vLLM leaves 11.5 GiB of 13.0 GiB",
  ],
  [
    "a KV cache that is too large beside what the trainer keeps",
    ["--inference.kv-cache-bytes", String(21 * GIB)],
    "in their turn the servers need",
  ],
  [
    "a share that is too large",
    ["--inference.vllm.gpu-memory-utilization", "0.98"],
    "inference.vllm.gpu_memory_utilization = 0.98 takes 23.0 GiB, and the trainer leaves 22.0 GiB",
  ],
])("refuses %s", async (_, more, problem) => {
  const { code, stderr, plan } = await planOf(...more);
  expect([code, stderr]).toEqual([2, expect.stringContaining("PRL_PLAN_UNFIT")]);
  expect(plan.problems.join("; ")).toContain(problem);
});

test("the same at the start of a run, for the memory of its GPU", async () => {
  const { config } = await loadConfig([CONFIG], {}, { kind: "rl", env });
  const surroundings = { settings: hubSettings(env) };
  expect(await startShare(config, 24 * GIB, surroundings)).toMatchObject({ utilization: 0.92, memory: 24 * GIB });
  await expect(startShare(config, 12 * GIB, surroundings)).rejects.toMatchObject({
    code: "PRL_PLAN_UNFIT",
    message: expect.stringContaining('deployment.type = "colocated": in its turn the trainer needs 12.1 GiB'),
  });
  const apart = { ...config, deployment: { ...config.deployment, type: "single_node" as const } };
  expect(await startShare(apart, 12 * GIB, surroundings)).toBeNull();
});
