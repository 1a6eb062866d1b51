/** The run of `configs/gpu/qwen3-0.6b-lora-24gb.toml` in small: PyTorch trains an adapter in turns with vLLM, which gets it merged into the model. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { prl, readJson, readJsonLines, workspace } from "../../support/prl.ts";
import { NEEDED_PACKAGES, TORCH_PYTHON, withoutPython } from "../../support/training/torch-python.ts";
import { vllmPython } from "../../support/vllm/vllm-python.ts";
import { outside, turnsOf } from "./turns.ts";

const CONFIG = join(import.meta.dirname, "../configs/lora.toml");
const missing = withoutPython(NEEDED_PACKAGES);
const STEPS = 2;
const GIB = 2 ** 30;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

describe.skipIf(missing !== "")(`PyTorch in turns with vLLM${missing === "" ? "" : ` (skipped: ${missing})`}`, () => {
  test("an adapter trains, its versions are whole models, and the shares of the GPU are said and given", async () => {
    const python = await vllmPython(place.dir, { version: "0.32.0" });
    const run = ["rl", CONFIG, "--run.name", "both", "--max-steps", String(STEPS), "--deployment.type", "colocated"];
    const trainer = ["--trainer.backend", "torch", "--trainer.python", TORCH_PYTHON ?? ""];
    const server = ["--inference.backend", "vllm", "--inference.python", python.path];
    const memory = ["--deployment.gpu-memory-bytes", String(10 * GIB)];
    const env = { CUDA_VISIBLE_DEVICES: "0" };
    const options = { cwd: place.dir, cache: place.cache, env };
    const { code, stdout, stderr } = await prl([...run, ...trainer, ...server, ...memory], options);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/One GPU of 10\.0 GiB for both: .*--gpu-memory-utilization 0\.85 \(8\.5 GiB\)/);
    const [started] = await python.starts();
    expect(started?.args.join(" ")).toContain("--gpu-memory-utilization 0.85");
    const dir = join(place.dir, "outputs/both");
    const { trainer: turns, steps } = await turnsOf(dir);
    expect(steps.map(({ step }) => step)).toEqual([1, 2]);
    expect(outside(steps, turns)).toEqual([]);
    for (const version of [0, 1, 2]) {
      const folder = join(dir, `weights/step_${version}`);
      expect(await readdir(folder)).toContain("model.safetensors");
      expect(await readJson(join(folder, "manifest.json"))).toMatchObject({ encoding: "full" });
    }
    const half = join(dir, `checkpoints/step_${STEPS}/trainer`);
    expect(await readdir(half)).toContain("adapter_model.safetensors");
    const events = await readJsonLines<{ type: string; mean_abs?: number }>(join(dir, "events.jsonl"));
    const canaries = events.filter(({ type }) => type === "canary");
    expect(canaries).toHaveLength(STEPS + 1);
    for (const { mean_abs: difference } of canaries) expect(difference).toBeLessThan(1e-4);
  });

  test("a trainer that does not fit beside a sleeping vLLM is refused before there is a run directory", async () => {
    const python = await vllmPython(place.dir, { version: "0.32.0" });
    const args = ["rl", CONFIG, "--run.name", "small", "--deployment.type", "colocated"];
    const trainer = ["--trainer.backend", "torch", "--trainer.python", TORCH_PYTHON ?? ""];
    const server = ["--inference.backend", "vllm", "--inference.python", python.path];
    const memory = ["--deployment.gpu-memory-bytes", String(2 * GIB)];
    const options = { cwd: place.dir, cache: place.cache, env: { CUDA_VISIBLE_DEVICES: "0" } };
    const { code, stderr } = await prl([...args, ...trainer, ...server, ...memory], options);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/PRL_PLAN_UNFIT.*in its turn the trainer needs/s)]);
    expect(await readdir(join(place.dir, "outputs")).catch(() => [])).toEqual([]);
  });
});
