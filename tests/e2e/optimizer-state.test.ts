/** Supervised runs whose optimizer has its moments in bfloat16: what they reach, what their checkpoints hold, and that they go on with the same bits. */
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSafetensors } from "../../ts/native/weights/index.ts";
import { digestFile } from "../../ts/native/index.ts";
import { prl, readJsonLines, workspace } from "../support/prl.ts";

const CONFIG = join(import.meta.dirname, "configs/sft.toml");
const STEPS = 6;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

/** The loss of each step; a resumed run writes lines of steps again. */
async function lossesOf(run: string): Promise<number[]> {
  const lines = await readJsonLines<Record<string, number>>(join(run, "metrics.jsonl"));
  const losses = new Map<number, number>();
  for (const { step = 0, "loss/mean": loss } of lines) if (loss !== undefined) losses.set(step, loss);
  return [...losses.values()];
}

test("reaches nearly the loss of moments in float32, and a resumed run ends with the same bits", async () => {
  const options = { cwd: place.dir, cache: place.cache };
  const runOf = (name: string) => join(place.dir, "outputs", name);
  const half = ["sft", CONFIG, "--optim.state-dtype", "bfloat16", "--ckpt.interval", "1", "--run.name", "half"];
  for (const args of [half, ["sft", CONFIG, "--run.name", "single"]]) {
    const run = await prl(args, options);
    expect(run.code, run.stdout + run.stderr).toBe(0);
  }
  const [losses, reference] = [await lossesOf(runOf("half")), await lossesOf(runOf("single"))];
  expect(losses).toHaveLength(STEPS);
  expect(losses[0]).toBe(reference[0]);
  const fall = (reference[0] ?? 0) - (reference.at(-1) ?? 0);
  expect(fall).toBeGreaterThan(0);
  expect(Math.abs((losses.at(-1) ?? 0) - (reference.at(-1) ?? 0))).toBeLessThan(0.05 * fall);

  const optimizer = await openSafetensors(join(runOf("half"), "checkpoints/step_3/trainer/optimizer.safetensors"));
  expect(new Set(optimizer.names.map((name) => optimizer.tensor(name).dtype))).toEqual(new Set(["BF16"]));
  optimizer.close();

  const weights = join(runOf("half"), "model/model.safetensors");
  const { digest } = await digestFile(weights);
  const resumed = await prl([...half, "--resume", "3"], options);
  expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
  expect((await digestFile(weights)).digest).toBe(digest);
  expect(await lossesOf(runOf("half"))).toEqual(losses);

  const other = await prl([...half, "--optim.state-dtype", "float32", "--resume", "3"], options);
  expect(other.code).toBe(2);
  expect(other.stderr).toContain("PRL_RUN_DRIFT");
  expect(other.stderr).toContain("optim.state_dtype");
});
