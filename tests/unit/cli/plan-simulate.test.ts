/** `prl plan --simulate`: the curve, its text, and what it refuses. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Curve } from "../../../ts/simulation/index.ts";
import { hubOfQwen3 } from "../plan/qwen3.ts";
import { prl } from "./run.ts";

const CONFIG = `
seq_len = 4096
[model]
name = "Qwen/Qwen3-8B"
[trainer]
backend = "torch"
ranks = 4
activations = "recompute"
[inference]
backend = "vllm"
replicas = 4
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
  root = mkdtempSync(join(tmpdir(), "prl-simulate-"));
  env = hubOfQwen3(join(root, "hub"));
  config = join(root, "rl.toml");
  writeFileSync(config, CONFIG);
});
afterAll(() => rmSync(root, { recursive: true }));

const run = (...args: string[]) => prl(["plan", config, ...args], root, env);
async function simulated(...args: string[]): Promise<Curve> {
  const { code, stdout, stderr } = await run("--simulate", ...args, "--json");
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Curve;
}
function file(name: string, text: string): string {
  writeFileSync(join(root, name), text);
  return name;
}

describe("prl plan --simulate", () => {
  test("splits GPUs as the config does, trains more tokens with more of them, and less per GPU", async () => {
    const { points } = await simulated("--gpus", "8,64");
    expect(points.map(({ trainer_gpus, servers }) => [trainer_gpus, servers])).toEqual([
      [4, 4],
      [32, 32],
    ]);
    const [few, many] = points.map(({ gpus, tokens_per_second: tokens }) => ({ gpus, tokens: tokens ?? NaN }));
    if (few === undefined || many === undefined) throw new Error("no points");
    expect(many.tokens).toBeGreaterThan(few.tokens);
    expect(many.tokens / many.gpus).toBeLessThan(few.tokens / few.gpus);
  });

  test("lets the batch grow with the GPUs when asked", async () => {
    const { points } = await simulated("--gpus", "8,16", "--scale-batch");
    expect(points.map(({ batch_rollouts: rollouts }) => rollouts)).toEqual([64, 128]);
  });

  test("names the part that saturates: each in turn when it is made slow", async () => {
    const limit = async (costs: object): Promise<string | null | undefined> => {
      const measured = { publish_s: 0, swap_s: 0, ...costs };
      const { points } = await simulated("--gpus", "8", "--costs", file("costs.json", JSON.stringify(measured)));
      return points[0]?.limit;
    };
    expect(await limit({ train_tokens_per_gpu_s: 10 })).toBe("trainer");
    expect(await limit({ swap_s: 5000 })).toBe("weights");
    expect(await limit({ env_cpu_s: 60 })).toBe("env_workers");
    expect(await limit({ exchange_cpu_s: 60 })).toBe("orchestrator");
    const few = ["--inference.max-num-seqs", "8", "--no-orchestrator.concurrency.adaptive"];
    const { points } = await simulated("--gpus", "8", "--spread", "0", "--max-async-level", "2", ...few);
    expect(points[0]?.limit).toBe("inference");
  });

  test("takes measured times of decoding in place of those of the data sheet", async () => {
    const decode = (seconds: number) => file("decode.json", JSON.stringify({ decode: [[1, seconds]] }));
    const step = async (seconds: number): Promise<number> => {
      const { points, assumptions } = await simulated("--gpus", "8", "--costs", decode(seconds));
      expect(assumptions.join("\n")).toContain("measured, in place of what is said above: decode");
      return points[0]?.step_seconds ?? NaN;
    };
    expect((await step(2)) / (await step(1))).toBeGreaterThan(1.8);
  });

  test("prints a row for each number of GPUs that fits, the assumptions, and what does not fit", async () => {
    const { code, stdout } = await run("--simulate", "--gpus", "2,8", "--device", "h100");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^8 +4 \+ 4 +64 /mu);
    expect(stdout).not.toMatch(/^2 +1 \+ 1 /mu);
    expect(stdout).toContain("It does not saturate within these numbers of GPUs.");
    expect(stdout).toContain("- 2 GPUs: the trainer needs");
    expect(stdout).toContain("(--spread)");
  });

  test("gives the numbers of the curve in the README of simulations", async () => {
    const repository = resolve(import.meta.dirname, "../../..");
    const given = "configs/gpu/qwen3-30b-a3b-16gpu.toml";
    const options = ["--device", "b200", "--simulate", "--gpus", "16", "--json"];
    const { stdout } = await prl(["plan", given, ...options], repository, env);
    const [point] = (JSON.parse(stdout) as Curve).points;
    const readme = readFileSync(join(repository, "ts/simulation/README.md"), "utf8");
    const row = /^\| 16 +\| ([\d,]+) +\|/mu.exec(readme)?.[1];
    expect(row?.replace(",", "")).toBe(String(Math.round(point?.tokens_per_second ?? NaN)));
  });

  test.each([
    [
      "a run that fits no number of GPUs",
      ["--simulate", "--gpus", "2", "--device", "rtx4090"],
      "PRL_PLAN_UNFIT",
      "needs",
    ],
    ["a list that does not rise", ["--simulate", "--gpus", "16,8"], "PRL_CLI_USAGE", "--gpus"],
    ["a part of a GPU", ["--simulate", "--gpus", "16,17.5"], "PRL_CLI_USAGE", "--gpus"],
    [
      "fewer GPUs than a server and a trainer have",
      ["--simulate", "--gpus", "4", "--inference.vllm.tensor-parallel-size", "4"],
      "PRL_CLI_USAGE",
      "use at least 5",
    ],
    ["its options without it", ["--gpus", "16"], "PRL_CLI_USAGE", "only prl plan --simulate"],
    ["servers on processors", ["--simulate", "--inference.backend", "engine"], "PRL_CLI_USAGE", "only runs on GPUs"],
    ["a file of costs that is not there", ["--simulate", "--costs", "none.json"], "PRL_CONFIG_FILE", "none.json"],
  ])("refuses %s", async (_name, args, code, text) => {
    const ran = await run(...args, "--json");
    expect(ran.code).toBe(2);
    expect(ran.stderr + ran.stdout).toContain(code);
    expect(ran.stderr + ran.stdout).toContain(text);
  });

  test.each([
    ["that is no JSON", "{", "PRL_CONFIG_FILE", "not valid JSON"],
    ["with a key that it does not know", '{ "decoding": 1 }', "PRL_CONFIG_INVALID", "decoding"],
    ["with a negative time", '{ "swap_s": -1 }', "PRL_CONFIG_INVALID", "swap_s"],
  ])("refuses a file of costs %s", async (_name, text, code, message) => {
    const { stdout, code: exit } = await run("--simulate", "--costs", file("bad.json", text), "--json");
    expect(exit).toBe(2);
    expect(stdout).toContain(code);
    expect(stdout).toContain(message);
  });
});
