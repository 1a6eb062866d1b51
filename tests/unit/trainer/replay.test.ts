/**
 * What a trainer that takes the place of a lost one does again: by cases, and by a model of trainer and orchestrator whose every durable act is one step, with
 * kills between any two of them.
 */
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openMetrics } from "../../../ts/monitors/index.ts";
import { takeOver, type TakenOver, untilAdopted } from "../../../ts/trainer/index.ts";
import { takeOverWeights } from "../../../ts/trainer/rl/replay.ts";
import {
  hasHalf,
  isCheckpointStep,
  isJoined,
  joinHalves,
  prepareHalf,
  pruneCheckpoints,
  pruneRollouts,
  rolloutsDir,
  writeHalf,
} from "../../../ts/transports/index.ts";
import { IS_LONG } from "../../support/form.ts";

let root: string;
beforeAll(async () => (root = await mkdtemp(join(tmpdir(), "prl-replay-"))));
afterAll(() => rm(root, { recursive: true, force: true }));

const RULES = { recovery_interval: 2, interval: null, keep_last: null, keep_interval: null };
const digestOf = (version: number) => version.toString(16).padStart(16, "0");

/** A run directory and the acts that change it. */
class Disk {
  readonly runDir: string;
  readonly attempt: number;
  readonly checkpoints: { root: string; run: string; attempt: number };

  private constructor(runDir: string, attempt: number) {
    this.runDir = runDir;
    this.attempt = attempt;
    this.checkpoints = { root: join(runDir, "checkpoints"), run: "r", attempt };
  }

  static async make(attempt = 1): Promise<Disk> {
    return new Disk(await mkdtemp(join(root, "run-")), attempt);
  }

  async publish(version: number): Promise<void> {
    const dir = join(this.runDir, "weights", `step_${version}`);
    await mkdir(dir, { recursive: true });
    const shards = [{ file: "model.safetensors", bytes: 1, digest: digestOf(0) }];
    const rest = { digest: digestOf(version), base: null, encoding: "full", shards, files: [], canary: null };
    await writeFile(join(dir, "manifest.json"), JSON.stringify({ format: "prl-weights", version, ...rest }));
  }

  async batch(step: number): Promise<void> {
    await mkdir(rolloutsDir(this.runDir, step), { recursive: true });
    await writeFile(join(rolloutsDir(this.runDir, step), "rank_0.safetensors"), String(step));
  }

  log(step: number): void {
    const metrics = openMetrics(this.runDir, "trainer", this.attempt);
    metrics.log(step, {});
    metrics.close();
  }

  prepareHalf(step: number): Promise<() => Promise<void>> {
    return prepareHalf(this.checkpoints, step, "trainer", (dir) => writeFile(join(dir, "a"), String(step)));
  }

  async half(step: number): Promise<void> {
    await (
      await this.prepareHalf(step)
    )();
  }

  takeOver(begun = 0): Promise<TakenOver | null> {
    const { runDir, checkpoints } = this;
    const modelDir = join(checkpoints.root, `step_${begun}`, "trainer");
    return takeOver({ runDir, component: "trainer", checkpoints, begun: { step: begun, modelDir }, ranks: 1 });
  }

  halfDir(step: number): string {
    return join(this.checkpoints.root, `step_${step}`, "trainer");
  }
}

describe("a trainer that takes the place of a lost one", () => {
  /** v0 to v5 are published, steps up to 4 are logged, and step 2 and 4 have halves. */
  async function lostAfterFive(): Promise<Disk> {
    const disk = await Disk.make();
    for (let version = 0; version <= 5; version++) await disk.publish(version);
    for (let step = 1; step <= 6; step++) await disk.batch(step);
    for (let step = 1; step <= 4; step++) disk.log(step);
    for (const step of [2, 4]) await disk.half(step);
    return disk;
  }

  test("has nothing to take over before the first version is visible", async () => {
    const disk = await Disk.make();
    expect(await disk.takeOver()).toBeNull();
    await mkdir(join(disk.runDir, "weights/step_0"), { recursive: true });
    expect(await disk.takeOver()).toBeNull();
  });

  test("begins with its newest half, and knows what is visible and logged", async () => {
    const disk = await lostAfterFive();
    const published = { version: 5, digest: digestOf(5) };
    expect(await disk.takeOver()).toEqual({ start: { step: 4, modelDir: disk.halfDir(4) }, published, logged: 4 });
  });

  test("passes over a half that is not finished, is damaged, or is of another attempt", async () => {
    const disk = await lostAfterFive();
    await appendFile(join(disk.halfDir(4), "a"), "x");
    expect((await disk.takeOver())?.start.step).toBe(2);
    await writeFile(join(disk.halfDir(4), "half.json"), "{");
    expect((await disk.takeOver())?.start.step).toBe(2);
    await rm(join(disk.halfDir(4), "half.json"));
    expect((await disk.takeOver())?.start.step).toBe(2);
    await writeHalf({ ...disk.checkpoints, attempt: 2 }, 2, "trainer", (dir) => writeFile(join(dir, "a"), "2"));
    expect((await disk.takeOver())?.start.step).toBe(0);
  });

  test("goes on from the state of its attempt's beginning, when that is whole", async () => {
    const disk = await lostAfterFive();
    await writeHalf({ ...disk.checkpoints, attempt: 7 }, 4, "trainer", (dir) => writeFile(join(dir, "a"), "4"));
    expect((await disk.takeOver(4))?.start).toEqual({ step: 4, modelDir: disk.halfDir(4) });
    await appendFile(join(disk.halfDir(4), "a"), "x");
    await expect(disk.takeOver(4)).rejects.toMatchObject({ code: "PRL_TRAIN_REPLAY" });
  });

  test("cannot when a batch is gone that it would have to train on, or the newest version says nothing", async () => {
    const disk = await lostAfterFive();
    for (const step of [1, 2, 3, 4]) await rm(rolloutsDir(disk.runDir, step), { recursive: true });
    expect((await disk.takeOver())?.start.step).toBe(4);
    await rm(rolloutsDir(disk.runDir, 5), { recursive: true });
    const refused = { code: "PRL_TRAIN_REPLAY", message: expect.stringContaining("no batch of step 5") as string };
    await expect(disk.takeOver()).rejects.toMatchObject(refused);
    await writeFile(join(disk.runDir, "weights/step_5/manifest.json"), "{");
    await expect(disk.takeOver()).rejects.toMatchObject({ code: "PRL_TRAIN_REPLAY" });
  });

  test("ends by name when its weights are not those that were published", async () => {
    const saved = { digest: digestOf(5), shards: [] };
    const trainer = { save: () => Promise.resolve(saved) };
    const taken: unknown[] = [];
    const weights = {
      async takeOver(version: number, save: (dir: string) => Promise<unknown>) {
        taken.push([version, await save(root)]);
      },
    };
    await takeOverWeights(trainer, { version: 5, digest: digestOf(5) }, { weights, backend: "engine" });
    for (const [backend, code] of [
      ["engine", "PRL_TRAIN_DIFFERS"],
      ["torch", "PRL_TRAIN_REPLAY"],
    ] as const) {
      const refused = { code, message: expect.stringContaining(`${digestOf(6)} was published`) as string };
      const other = { version: 5, digest: digestOf(6) };
      await expect(takeOverWeights(trainer, other, { weights, backend })).rejects.toMatchObject(refused);
    }
    expect(taken).toEqual([[5, saved]]);
  });
});

test("the end of a trainer that takes the place of one which had published the last version waits for the orchestrator's event", async () => {
  const disk = await Disk.make(2);
  const { signal } = new AbortController();
  let isDone = false;
  const waiting = untilAdopted(disk.runDir, { attempt: 2, version: 5 }, signal).then(() => (isDone = true));
  const events = join(disk.runDir, "events.jsonl");
  const adopted = (attempt: number, version: number) =>
    JSON.stringify({ component: "orchestrator", attempt, type: "weights_adopted", version });
  await writeFile(events, `${adopted(1, 5)}\n${adopted(2, 4)}\n${adopted(2, 5).slice(0, -1)}`);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(isDone).toBe(false);
  await appendFile(events, `}\n`);
  expect(await waiting).toBe(true);
  const aborted = untilAdopted(disk.runDir, { attempt: 3, version: 5 }, AbortSignal.abort());
  await expect(aborted).rejects.toThrow("abort");
});

const STEPS = 5;
/** Of the model's trainer, without waits. */
const ACTS_PER_STEP = 4;

/** Trainer and orchestrator at level 0, as far as they change the disk. Every `next` is one durable act; a killed trainer forgets the rest. */
class Model {
  readonly disk: Disk;
  readonly published: number[] = [];
  #trainer: AsyncGenerator<void, void, void>;

  constructor(disk: Disk) {
    this.disk = disk;
    this.#trainer = this.#train(null);
  }

  async trainerActs(): Promise<boolean> {
    return (await this.#trainer.next()).done !== true;
  }

  async killTrainer(): Promise<void> {
    this.#trainer = this.#train(await this.disk.takeOver());
  }

  /** The batch of the step after the newest version, the checkpoints that are due, and what no longer has to stay. */
  async orchestratorActs(): Promise<void> {
    const { disk } = this;
    const version = this.published.at(-1) ?? -1;
    if (version >= 0 && version < STEPS) await disk.batch(version + 1);
    for (let step = 1; step <= version; step++) {
      if (!isCheckpointStep(step, RULES, STEPS) || !(await hasHalf(disk.checkpoints, step, "trainer"))) continue;
      if (await isJoined(disk.checkpoints, step)) continue;
      await writeHalf(disk.checkpoints, step, "orchestrator", (dir) => writeFile(join(dir, "b"), String(step)));
      await joinHalves(disk.checkpoints, step, { deadlineMs: 0, signal: new AbortController().signal });
      await pruneCheckpoints(disk.checkpoints.root, step, RULES);
    }
    if (version > 0) await pruneRollouts(disk.runDir, version, 1, disk.checkpoints.root);
  }

  /** In the order of `run-trainer.ts`; `steps.take` waits for the half of the step before. */
  async *#train(taken: TakenOver | null): AsyncGenerator<void, void, void> {
    const { disk } = this;
    const { published, logged, start } = taken ?? { published: { version: -1 }, logged: null, start: { step: 0 } };
    const publish = async (version: number): Promise<void> => {
      if (version <= published.version) return;
      await disk.publish(version);
      this.published.push(version);
    };
    await publish(start.step);
    yield;
    for (let step = start.step + 1; step <= STEPS; step++) {
      const batch = join(rolloutsDir(disk.runDir, step), "rank_0.safetensors");
      while ((await readFile(batch, "utf8").catch(() => null)) === null) {
        expect(step).toBeGreaterThan(published.version);
        yield;
      }
      await publish(step);
      yield;
      const isDue = isCheckpointStep(step, RULES, STEPS);
      const isWritten = step <= published.version && isDue && (await hasHalf(disk.checkpoints, step, "trainer"));
      const finish = isDue && !isWritten ? await disk.prepareHalf(step) : null;
      yield;
      if (step > (logged ?? 0)) disk.log(step);
      yield;
      await finish?.();
      yield;
    }
  }
}

type Act = "trainer" | "orchestrator" | "kill";

/** Lets the model act in this order, then to its end, and compares what has come of it. */
async function expectWhole(schedule: readonly Act[]): Promise<void> {
  const model = new Model(await Disk.make());
  for (const act of schedule) {
    if (act === "kill") await model.killTrainer();
    else if (act === "orchestrator") await model.orchestratorActs();
    else await model.trainerActs();
  }
  for (let isAtWork = true; isAtWork;) {
    await model.orchestratorActs();
    isAtWork = await model.trainerActs();
  }
  await model.orchestratorActs();
  const all = Array.from({ length: STEPS + 1 }, (_, version) => version);
  expect(model.published).toEqual(all);
  const lines = (await readFile(join(model.disk.runDir, "metrics.jsonl"), "utf8")).trim().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { step: number }).step)).toEqual(all.slice(1));
  expect(await isJoined(model.disk.checkpoints, STEPS)).toBe(true);
  await rm(model.disk.runDir, { recursive: true });
}

describe("wherever trainers are killed, each version is published once, each step logged once, and no batch is missing:", () => {
  test("after each single act", async () => {
    const acts = STEPS * ACTS_PER_STEP + 1;
    for (let before = 0; before <= acts; before++) {
      const pairs = Array.from({ length: before }, (): Act[] => ["orchestrator", "trainer"]);
      await expectWhole([...pairs.flat(), "orchestrator", "kill"]);
    }
  });

  test("again and again, in any order", async () => {
    const act = fc.oneof(
      { weight: 12, arbitrary: fc.constant<Act>("trainer") },
      { weight: 4, arbitrary: fc.constant<Act>("orchestrator") },
      { weight: 2, arbitrary: fc.constant<Act>("kill") },
    );
    const numRuns = IS_LONG ? 500 : 10;
    await fc.assert(fc.asyncProperty(fc.array(act, { minLength: 60, maxLength: 120 }), expectWhole), { numRuns });
  });
});
