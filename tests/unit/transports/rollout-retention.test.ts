import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { evaluationFile, pruneRollouts, rolloutsDir } from "../../../ts/transports/index.ts";

let runDir: string;
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-retention-"));
  for (let step = 1; step <= 6; step++) {
    await mkdir(rolloutsDir(runDir, step), { recursive: true });
    await writeFile(join(rolloutsDir(runDir, step), "rank_0.safetensors"), "batch");
    await writeFile(join(rolloutsDir(runDir, step), "traces.jsonl"), "{}");
  }
  await mkdir(join(rolloutsDir(runDir, 2), "eval"));
  await writeFile(evaluationFile(runDir, 2, "held-out"), "{}");
});
afterEach(() => rm(runDir, { recursive: true, force: true }));

const there = async () => (await readdir(join(runDir, "rollouts"))).toSorted();

test("nothing goes by default", async () => {
  await pruneRollouts(runDir, 6, null);
  expect(await there()).toHaveLength(6);
});

test("the newest trained steps, the untrained ones and every evaluation stay", async () => {
  await pruneRollouts(runDir, 5, 2);
  expect(await there()).toEqual(["step_2", "step_4", "step_5", "step_6"]);
  expect(await readdir(rolloutsDir(runDir, 2))).toEqual(["eval"]);
  expect((await readdir(rolloutsDir(runDir, 4))).toSorted()).toEqual(["rank_0.safetensors", "traces.jsonl"]);
});

test("trainer and orchestrator of one run directory prune it at the same moment", async () => {
  await Promise.all(Array.from({ length: 8 }, () => pruneRollouts(runDir, 6, 1)));
  expect(await there()).toEqual(["step_2", "step_6"]);
  await rm(join(runDir, "rollouts"), { recursive: true });
  await pruneRollouts(runDir, 6, 1);
});
