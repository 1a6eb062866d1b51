import { existsSync, readlinkSync } from "node:fs";
import { type FileHandle, mkdtemp, open, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
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
    runDir: root,
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

test("metrics and events are durable before a checkpoint exists, with the lines that the trainer wrote before its half", async () => {
  const files = ["metrics.jsonl", "events.jsonl"].map((name) => join(root, name));
  for (const file of files) await writeFile(file, "{}\n");
  const some = await open(join(root, "metrics.jsonl"));
  const handles = Object.getPrototypeOf(some) as Pick<FileHandle, "sync">;
  await some.close();
  const { sync } = handles;
  const synced: unknown[] = [];
  handles.sync = async function (this: FileHandle) {
    const path = readlinkSync(`/proc/self/fd/${this.fd}`);
    const there = (name: string) => existsSync(join(root, "step_1", name));
    if (files.includes(path))
      synced.push([basename(path), { trainer: there("trainer/half.json"), joint: there("manifest.json") }]);
    await sync.call(this);
  };
  try {
    const saving = saver([]);
    saving.save(state(1));
    await saving.written;
    await trained(1);
    await saving.saved;
  } finally {
    handles.sync = sync;
  }
  const moment = { trainer: true, joint: false };
  expect(synced).toEqual([
    ["metrics.jsonl", moment],
    ["events.jsonl", moment],
  ]);
  expect(existsSync(join(root, "step_1/manifest.json"))).toBe(true);
});
