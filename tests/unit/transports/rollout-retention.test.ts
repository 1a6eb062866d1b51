import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { evaluationFiles, pruneEvaluations, pruneRollouts, rolloutsDir } from "../../../ts/transports/index.ts";

let runDir: string;
const checkpoints = () => join(runDir, "checkpoints");
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-retention-"));
  for (let step = 1; step <= 6; step++) {
    await mkdir(rolloutsDir(runDir, step), { recursive: true });
    await writeFile(join(rolloutsDir(runDir, step), "rank_0.safetensors"), "batch");
    await writeFile(join(rolloutsDir(runDir, step), "traces.jsonl"), "{}");
  }
  await mkdir(join(rolloutsDir(runDir, 2), "eval"));
  await writeFile(evaluationFiles(runDir, 2, "held-out").ended, "{}");
  await mkdir(join(checkpoints(), "step_6"), { recursive: true });
  await writeFile(join(checkpoints(), "step_6/manifest.json"), "{}");
});
afterEach(() => rm(runDir, { recursive: true, force: true }));

const there = async () => (await readdir(join(runDir, "rollouts"))).toSorted();

test("nothing goes by default", async () => {
  await pruneRollouts(runDir, 6, null, checkpoints());
  expect(await there()).toHaveLength(6);
});

test("the newest trained steps, the untrained ones and every evaluation stay", async () => {
  await pruneRollouts(runDir, 5, 2, checkpoints());
  expect(await there()).toEqual(["step_2", "step_4", "step_5", "step_6"]);
  expect(await readdir(rolloutsDir(runDir, 2))).toEqual(["eval"]);
  expect((await readdir(rolloutsDir(runDir, 4))).toSorted()).toEqual(["rank_0.safetensors", "traces.jsonl"]);
});

test("trainer and orchestrator of one run directory prune it at the same moment", async () => {
  await Promise.all(Array.from({ length: 8 }, () => pruneRollouts(runDir, 6, 1, checkpoints())));
  expect(await there()).toEqual(["step_2", "step_6"]);
  await rm(join(runDir, "rollouts"), { recursive: true });
  await pruneRollouts(runDir, 6, 1, checkpoints());
});

test("steps that no checkpoint covers stay, because a trainer that is started again trains on them", async () => {
  await rm(join(checkpoints(), "step_6"), { recursive: true });
  await pruneRollouts(runDir, 6, 1, checkpoints());
  expect(await there()).toHaveLength(6);
  for (const step of [3, 5]) await mkdir(join(checkpoints(), `step_${step}`), { recursive: true });
  // The checkpoint of step 5 is not whole yet.
  await writeFile(join(checkpoints(), "step_3/manifest.json"), "{}");
  await pruneRollouts(runDir, 6, 1, checkpoints());
  expect(await there()).toEqual(["step_2", "step_4", "step_5", "step_6"]);
});

test("the newest evaluations stay, and those of versions that come again do not count", async () => {
  for (const version of [3, 4, 6]) {
    await mkdir(evaluationFiles(runDir, version, "held-out").folder);
    await writeFile(evaluationFiles(runDir, version, "held-out").ended, "{}");
  }
  const evaluated = async () =>
    (await readdir(join(runDir, "rollouts"), { recursive: true }))
      .filter((path) => path.endsWith("eval"))
      .map((path) => Number(/\d+/u.exec(path)?.[0]))
      .toSorted((a, b) => a - b);
  await pruneEvaluations(runDir, 4, null);
  expect(await evaluated()).toEqual([2, 3, 4, 6]);
  await pruneEvaluations(runDir, 4, 2);
  expect(await evaluated()).toEqual([3, 4, 6]);
  await pruneRollouts(runDir, 6, 1, checkpoints());
  await pruneEvaluations(runDir, 6, 1);
  expect(await evaluated()).toEqual([6]);
  expect(await there()).toEqual(["step_6"]);
});
