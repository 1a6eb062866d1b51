import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { CheckpointSaver, stateSchema } from "../../../ts/orchestrator/checkpoint/resume.ts";
import { writeHalf } from "../../../ts/transports/index.ts";

let root: string;
beforeEach(async () => (root = await mkdtemp(join(tmpdir(), "prl-saver-"))));
afterEach(() => rm(root, { recursive: true }));

const writer = () => ({ root, run: "r", attempt: 1 });
const NO_TASKS =
  '{"tasks":{"drawn":0,"sources":{}},"worth":{},"opened":0,"admission":{"units":0,"rollouts":0},"pending":[]}';
const state = (step: number) => stateSchema.parse({ step, ...(JSON.parse(NO_TASKS) as object) });

/** Of a process of the orchestrator; each step has a checkpoint, of which the newest stays. */
function saver(events: object[]): CheckpointSaver {
  const rules = { recovery_interval: 1, interval: null, keep_last: null, keep_interval: null };
  return new CheckpointSaver({
    checkpoints: { ...writer(), rules },
    maxSteps: null,
    metrics: { log: () => undefined, event: (_, fields) => events.push(fields ?? {}), close: () => undefined },
    signal: AbortSignal.timeout(10_000),
  });
}

const trained = (step: number) => writeHalf(writer(), step, "trainer", async () => undefined);

test("a process that follows the versions again waits for no checkpoint that was joined and removed before", async () => {
  const events: object[] = [];
  const before = saver(events);
  for (const step of [1, 2, 3]) {
    await trained(step);
    before.save(state(step));
  }
  await before.saved;
  expect(await readdir(root)).toEqual(["step_3"]);
  // Its snapshot is older than the checkpoints, as a server that stood still held up the batches.
  const after = saver(events);
  await after.joinEarlier();
  for (const step of [1, 2, 3, 4]) after.save(state(step));
  await trained(4);
  await after.saved;
  expect(await readdir(root)).toEqual(["step_4"]);
  expect(events).toMatchObject([
    { step: 1 },
    { step: 2, pruned: [1] },
    { step: 3, pruned: [2] },
    { step: 4, pruned: [3] },
  ]);
});
