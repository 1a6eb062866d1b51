/** Runs of a mixture of experts with router replay: that it changes no bit where the weights are the same, what a batch holds, and what is refused. */
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { readBatch } from "../../ts/native/index.ts";
import { EXPERTS, publishVersion } from "../integration/inference/tiny-model.ts";
import { prl, readJsonLines, workspace } from "../support/prl.ts";
import { runResult } from "../support/runs/run-result.ts";
import { longTest } from "../support/form.ts";

const CONFIG = join(import.meta.dirname, "configs/experts.toml");
const STEPS = 3;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

async function run(name: string, ...args: string[]): Promise<string> {
  const finished = await prl(["rl", CONFIG, "--run.name", name, ...args], { cwd: place.dir, cache: place.cache });
  expect(finished.code, finished.stdout + finished.stderr).toBe(0);
  return join(place.dir, "outputs", name);
}

async function metric(dir: string, name: string): Promise<unknown[]> {
  const lines = await readJsonLines<Record<string, unknown>>(join(dir, "metrics.jsonl"));
  return lines.flatMap((line) => line[name] ?? []);
}

test("replay leaves a synchronous run as it is, bit for bit, and each token of its batches has its experts", async () => {
  const { dir: model } = await publishVersion(place.dir, 0, EXPERTS);
  const named = ["--model.name", model];
  const replayed = await run("replayed", ...named);
  expect(await metric(replayed, "mismatch_on_policy/max_abs_logprob_diff")).toEqual(Array<number>(STEPS).fill(0));
  const plain = await run("plain", ...named, "--trainer.enable_router_replay", "false");
  // The files of the batches differ by the experts.
  const weights = async (dir: string) => (await runResult(dir, STEPS)).at(-1);
  expect(await weights(replayed)).toBe(await weights(plain));

  const { batch } = await readBatch(join(replayed, `rollouts/step_${STEPS}/rank_0.safetensors`));
  const { inputIds, cuSeqlens, routedExperts } = batch;
  expect(routedExperts).toMatchObject({ layers: 2, topK: 2 });
  const ids = routedExperts?.ids ?? new Uint8Array();
  const ends = new Set([...cuSeqlens].map((end) => end - 1));
  for (let t = 0; t < inputIds.length; t++) expect(ids[4 * t] === 255).toBe(ends.has(t));
});

longTest("replay runs while sampling lags behind training", async () => {
  const { dir: model } = await publishVersion(place.dir, 0, EXPERTS);
  const dir = await run("lagging", "--model.name", model, "--max_async_level", "1");
  expect(await metric(dir, "mismatch_kl/all/mean")).toHaveLength(STEPS);
});

test("is refused for a model without a router, naming the key", async () => {
  const { dir: model } = await publishVersion(place.dir, 0);
  const options = { cwd: place.dir, cache: place.cache };
  const refused = await prl(["rl", CONFIG, "--model.name", model, "--dry-run"], options);
  expect(refused.stderr).toContain("trainer.enable_router_replay");
  expect(refused.stderr).toContain("has no mixture of experts");
  expect(refused.code).toBe(2);
});
