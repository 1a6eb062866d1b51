/** Runs that PyTorch trains: on two ranks, resumed on another number of ranks, with bins that ranks share, and supervised; beside the engine's. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { EXPERTS, publishVersion } from "../integration/inference/tiny-model.ts";
import { prl, readJson, readJsonLines, workspace } from "../support/prl.ts";
import { NEEDED_PACKAGES, TORCH_PYTHON, withoutPython } from "../support/training/torch-python.ts";

const config = (name: string) => join(import.meta.dirname, "configs", name);
const missing = withoutPython(NEEDED_PACKAGES);
const interpreter = TORCH_PYTHON ?? "";

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const runDir = (name: string) => join(place.dir, "outputs", name);

async function succeed(args: string[]): Promise<void> {
  const run = await prl(args, { cwd: place.dir, cache: place.cache });
  expect(run.code, run.stdout + run.stderr).toBe(0);
}

/** The loss of each step, that of the last attempt where there are several. */
async function losses(name: string): Promise<Map<unknown, number>> {
  const lines = await readJsonLines<Record<string, number>>(join(runDir(name), "metrics.jsonl"));
  const trained = lines.filter((line) => "optim/grad_norm" in line);
  return new Map(trained.map((line) => [line["step"], line["loss/mean"] ?? Number.NaN]));
}

async function metric(name: string, key: string): Promise<number[]> {
  const lines = await readJsonLines<Record<string, number>>(join(runDir(name), "metrics.jsonl"));
  return lines.flatMap((line) => line[key] ?? []);
}

function expectNear(found: Map<unknown, number>, wanted: Map<unknown, number>): void {
  expect([...found.keys()]).toEqual([...wanted.keys()]);
  for (const [step, loss] of wanted) expect(Math.abs((found.get(step) ?? Number.NaN) - loss)).toBeLessThan(1e-5);
}

describe.skipIf(missing !== "")(`PyTorch as the trainer${missing === "" ? "" : ` (skipped: ${missing})`}`, () => {
  test("an RL run on two ranks goes on with the same losses, on two ranks and on one", async () => {
    const torch = ["--trainer.backend", "torch", "--trainer.python", interpreter, "--ckpt.interval", "1"];
    const args = ["rl", config("lora.toml"), ...torch, "--max-steps", "3", "--run.name", "mine"];
    await succeed([...args, "--trainer.ranks", "2"]);
    const whole = await losses("mine");
    expect(whole.size).toBe(3);
    const last = join(runDir("mine"), "weights", "step_3");
    expect(await readJson(join(last, "manifest.json"))).toMatchObject({ encoding: "peft" });
    expect(await readdir(last)).not.toContain("model.safetensors");
    await succeed([...args, "--trainer.ranks", "2", "--resume", "1"]);
    expect(await losses("mine")).toEqual(whole);
    await succeed([...args, "--trainer.ranks", "1", "--resume", "2"]);
    expectNear(await losses("mine"), whole);
  });

  test("an RL run whose two ranks share bins goes on with the losses of one rank", async () => {
    const torch = ["--trainer.backend", "torch", "--trainer.python", interpreter, "--ckpt.interval", "1"];
    const args = ["rl", config("lora.toml"), ...torch, "--max-steps", "2", "--run.name", "shared"];
    await succeed([...args, "--trainer.ranks", "2", "--trainer.parallel.context", "2"]);
    const whole = await losses("shared");
    expect(whole.size).toBe(2);
    const batch = await readdir(join(runDir("shared"), "rollouts", "step_1"));
    expect(batch.filter((file) => file.startsWith("rank_"))).toEqual(["rank_0.safetensors"]);
    await succeed([...args, "--trainer.ranks", "1", "--resume", "1"]);
    expectNear(await losses("shared"), whole);
  });

  test.skipIf(process.env["PRL_TEST_LONG"] !== "1").each([
    ["matrices", "tensor", "lora.toml", ["rank_0.safetensors"]],
    ["experts", "expert", "experts.toml", ["rank_0.safetensors", "rank_1.safetensors"]],
  ] as const)(
    "an RL run whose two ranks share %s goes on with the same losses on one rank, and on two again",
    async (_, key, file, files) => {
      const torch = ["--trainer.backend", "torch", "--trainer.python", interpreter, "--ckpt.interval", "1"];
      const { dir: mixture } = await publishVersion(place.dir, 0, EXPERTS);
      const model = key === "expert" ? ["--model.name", mixture] : [];
      const args = ["rl", config(file), ...model, ...torch, "--max-steps", "3", "--run.name", "cut"];
      const on = (ranks: string) => ["--trainer.ranks", ranks, `--trainer.parallel.${key}`, ranks];
      await succeed([...args, ...on("2")]);
      const whole = await losses("cut");
      expect(whole.size).toBe(3);
      const batch = await readdir(join(runDir("cut"), "rollouts", "step_1"));
      expect(batch.filter((name) => name.startsWith("rank_")).toSorted()).toEqual(files);
      await succeed([...args, ...on("1"), "--max-steps", "2", "--resume", "1"]);
      await succeed([...args, ...on("2"), "--resume", "2"]);
      expectNear(await losses("cut"), whole);
    },
  );

  test("a synchronous run of a mixture of experts replays its routers, and has the engine's losses", async () => {
    const { dir: model } = await publishVersion(place.dir, 0, EXPERTS);
    const args = ["rl", config("experts.toml"), "--model.name", model, "--trainer.router_aux_loss_coef", "0.01"];
    await succeed([...args, "--run.name", "engine"]);
    const torch = ["--trainer.backend", "torch", "--trainer.python", interpreter, "--max-steps", "1"];
    await succeed([...args, ...torch, "--run.name", "torch"]);
    const wanted = new Map([...(await losses("engine"))].slice(0, 1));
    expectNear(await losses("torch"), wanted);
    await succeed([
      ...args,
      ...torch,
      "--run.name",
      "shared",
      "--trainer.ranks",
      "2",
      "--trainer.parallel.context",
      "2",
    ]);
    expectNear(await losses("shared"), wanted);
    const balance = await Promise.all(["torch", "shared"].map((name) => metric(name, "router_aux_loss")));
    expect(balance[0]).toHaveLength(1);
    expect(balance[1]?.[0]).toBeCloseTo(balance[0]?.[0] ?? Number.NaN, 5);
  });

  test.each([
    ["of all weights", []],
    ["of an adapter", ["--model.lora.rank", "4"]],
  ])("supervised training %s has the engine's losses", async (_, lora) => {
    const args = ["sft", config("sft.toml"), "--max-steps", "3", ...lora];
    await succeed([...args, "--run.name", "engine"]);
    await succeed([...args, "--backend", "torch", "--python", interpreter, "--ranks", "2", "--run.name", "torch"]);
    expectNear(await losses("torch"), await losses("engine"));
  });
});
