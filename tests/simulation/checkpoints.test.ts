/**
 * Checkpoints beside a model: trainer and orchestrator write their halves step by step, and each of them, or both, may be killed between any two file
 * operations; a run goes on from the newest checkpoint or from an earlier one; files are damaged. The model is a list of the steps that have a checkpoint.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeAll, expect, test } from "vitest";

import { CheckpointSaver, readOrchestratorState, stateSchema } from "../../ts/orchestrator/checkpoint/resume.ts";
import {
  type CheckpointRules,
  type CheckpointWriter,
  dropLaterCheckpoints,
  findCheckpoint,
  hasHalf,
  isCheckpointStep,
  isJoined,
  newestWholeHalf,
  writeHalf,
} from "../../ts/transports/index.ts";
import { IS_LONG } from "../support/form.ts";
import { observeAddon } from "./parts/machine.ts";
import { Disk, type Job } from "./world/disk.ts";

beforeAll(observeAddon);

const TEST = { timeout: IS_LONG ? 3_600_000 : 300_000 };
const RUN = "r";
const WEIGHTS = "weights.bin";
const STATE = '{"tasks":{"drawn":0,"sources":{}},"worth":{},"admission":{"units":0,"rollouts":0},"pending":[]}';

/** Who is killed, after so many events of a step. */
interface Crash {
  who: "trainer" | "orchestrator" | "both";
  after: number;
}

interface Model {
  readonly rules: CheckpointRules;
  /** Steps with a checkpoint, and the attempt that made it. */
  checkpoints: Map<number, number>;
  readonly damaged: Set<number>;
  step: number;
  attempt: number;
}

/** Steps of checkpoints that stay when the newest is this one, as `prl rl --help` says of `[ckpt]`. */
function staying({ rules, checkpoints }: Model, newest: number): number[] {
  const { interval, keep_last: last, keep_interval: forGood } = rules;
  const steps = [...new Set([...checkpoints.keys(), newest])].toSorted((a, b) => b - a);
  const kept = steps.filter((step) => interval !== null && step % interval === 0);
  return steps.filter(
    (step) =>
      step === newest ||
      (kept.includes(step) &&
        (last === null || kept.indexOf(step) < last || (forGood !== null && step % forGood === 0))),
  );
}

/** Trainer and orchestrator of a run, as far as they have to do with checkpoints. */
class Run {
  readonly disk: Disk;
  readonly rules: CheckpointRules;
  readonly root: string;
  attempt = 1;
  /** The step that the attempt goes on from. */
  begun = 0;
  trainer;
  orchestrator;
  saver: CheckpointSaver;

  constructor(seed: number, rules: CheckpointRules) {
    this.disk = new Disk(seed);
    this.rules = rules;
    this.root = join(this.disk.dir, "checkpoints");
    this.trainer = this.disk.start("trainer");
    this.orchestrator = this.disk.start("orchestrator");
    this.saver = this.#newSaver();
  }

  get writer(): CheckpointWriter {
    return { root: this.root, run: RUN, attempt: this.attempt };
  }

  /** Both do their part after a step; false when the crash came first. */
  async step(step: number, crash: Crash | null): Promise<boolean> {
    if (!isCheckpointStep(step, this.rules, null)) return true;
    const jobs = [this.#writeHalf(step), this.#save(step)];
    const isDone = await this.disk.run(jobs, crash?.after);
    if (crash === null || isDone) return true;
    if (crash.who === "both") return false;
    const [trains, saves] = jobs;
    if (crash.who === "trainer") {
      this.disk.kill(this.trainer);
      this.trainer = this.disk.start("trainer");
      await this.disk.run([this.#takeOver(step), ...(saves === undefined ? [] : [saves])]);
      return true;
    }
    this.disk.kill(this.orchestrator);
    this.orchestrator = this.disk.start("orchestrator");
    this.saver = this.#newSaver();
    const joins = this.disk.begin(this.orchestrator, () => this.saver.joinEarlier());
    await this.disk.run([joins]);
    await this.disk.run([this.#save(step), ...(trains === undefined ? [] : [trains])]);
    return true;
  }

  /** The launcher finds the checkpoint and removes what is later; null: it is killed before its end. */
  async resume(request: number | null, crashAfter: number | null): Promise<number | null> {
    this.disk.kill(this.trainer, this.orchestrator);
    const launcher = this.disk.start("launcher");
    const job = this.disk.begin(launcher, async () => {
      const found = await findCheckpoint(this.root, RUN, request);
      await dropLaterCheckpoints(this.root, found?.step ?? 0);
      return found?.step ?? 0;
    });
    const isDone = await this.disk.run([job], crashAfter ?? undefined);
    this.disk.kill(launcher);
    if (!isDone || job.end === null || !("value" in job.end)) return null;
    this.begun = job.end.value;
    this.attempt += 1;
    this.trainer = this.disk.start("trainer");
    this.orchestrator = this.disk.start("orchestrator");
    this.saver = this.#newSaver();
    return this.begun;
  }

  #newSaver(): CheckpointSaver {
    return new CheckpointSaver({
      checkpoints: { ...this.writer, rules: this.rules },
      runDir: this.disk.dir,
      maxSteps: null,
      metrics: { log: () => undefined, event: () => undefined, close: () => undefined },
      signal: new AbortController().signal,
    });
  }

  #writeHalf(step: number): Job<void> {
    const { writer } = this;
    return this.disk.begin(this.trainer, () =>
      writeHalf(writer, step, "trainer", (dir) => writeFile(join(dir, WEIGHTS), `${writer.attempt} ${step}`)),
    );
  }

  #save(step: number): Job<void> {
    return this.disk.begin(this.orchestrator, async () => {
      this.saver.save(stateSchema.parse({ step, ...(JSON.parse(STATE) as object), opened: this.attempt }));
      await this.saver.saved;
    });
  }

  /** A trainer begins with the newest half, and writes those that are missing since then. */
  #takeOver(step: number): Job<void> {
    const { writer, begun } = this;
    return this.disk.begin(this.trainer, async () => {
      const half = await newestWholeHalf(writer, "trainer", { after: begun, upTo: step });
      for (let again = (half ?? begun) + 1; again <= step; again++) {
        if (!isCheckpointStep(again, this.rules, null)) continue;
        if ((await isJoined(writer, again)) || (await hasHalf(writer, again, "trainer"))) continue;
        await writeHalf(writer, again, "trainer", (dir) => writeFile(join(dir, WEIGHTS), `${writer.attempt} ${again}`));
      }
    });
  }
}

const ascending = (steps: Iterable<number>): number[] => [...steps].toSorted((a, b) => a - b);

/** Steps whose checkpoint exists, by their manifests. */
function joined(root: string): number[] {
  const names = existsSync(root) ? readdirSync(root) : [];
  const there = names.filter((name) => existsSync(join(root, name, "manifest.json")));
  return ascending(there.map((name) => Number(name.slice(5))));
}

/** Compares the disk with the model: the checkpoint that a resume finds, its verdict on each step, the content of the halves. */
async function look({ checkpoints, damaged, step: upTo }: Model, { root }: Run): Promise<void> {
  expect(joined(root)).toEqual(ascending(checkpoints.keys()));
  const whole = [...checkpoints.keys()].filter((step) => !damaged.has(step));
  if (whole.length > 0) expect((await findCheckpoint(root, RUN))?.step).toBe(Math.max(...whole));
  else if (checkpoints.size > 0)
    await expect(findCheckpoint(root, RUN)).rejects.toMatchObject({ code: "PRL_CHECKPOINT_CORRUPT" });
  else expect(await findCheckpoint(root, RUN)).toBeNull();
  for (let step = 1; step <= upTo + 1; step++) {
    const attempt = checkpoints.get(step);
    if (attempt !== undefined && !damaged.has(step)) {
      expect(await findCheckpoint(root, RUN, step)).toMatchObject({ step, attempt, skipped: [] });
      const dir = join(root, `step_${step}`);
      expect(readFileSync(join(dir, "trainer", WEIGHTS), "utf8")).toBe(`${attempt} ${step}`);
      expect(await readOrchestratorState(dir)).toMatchObject({ step, opened: attempt });
    } else {
      const isThere = existsSync(join(root, `step_${step}`));
      const code = isThere ? "PRL_CHECKPOINT_CORRUPT" : "PRL_CHECKPOINT_UNKNOWN";
      await expect(findCheckpoint(root, RUN, step)).rejects.toMatchObject({ code });
    }
  }
}

type Command = fc.AsyncCommand<Model, Run>;

const step = (crash: Crash | null): Command => ({
  check: () => true,
  async run(model, run) {
    model.step += 1;
    const isDone = await run.step(model.step, crash);
    if (isCheckpointStep(model.step, model.rules, null)) {
      const stays = staying(model, model.step);
      const all = [...model.checkpoints.keys(), model.step];
      model.checkpoints.set(model.step, model.attempt);
      const there = joined(run.root);
      // After a kill of both the checkpoint may be there or not, and what it replaces may be left.
      const isMade = isDone || there.includes(model.step);
      expect(there).toEqual(expect.arrayContaining(isMade ? stays : all.filter((one) => one !== model.step)));
      if (isDone && crash === null) expect(there).toEqual(ascending(stays));
      for (const one of all) if (!there.includes(one)) model.checkpoints.delete(one);
      // No folder is left of what was removed, unless its removal was interrupted.
      if (crash === null) expect(readdirSync(run.root)).toHaveLength(there.length);
    }
    if (isDone) return look(model, run);
    await resume(model, run, null, null);
  },
  toString: () => (crash === null ? "step" : `step, ${crash.who} killed after ${crash.after} events`),
});

/** Goes on from a checkpoint; a resume that is interrupted is followed by one from the newest. */
async function resume(model: Model, run: Run, request: number | null, crashAfter: number | null): Promise<void> {
  const whole = [...model.checkpoints.keys()].filter((one) => !model.damaged.has(one));
  if (request !== null && !whole.includes(request)) {
    await expect(run.resume(request, null)).rejects.toMatchObject({
      code: expect.stringMatching(/^PRL_CHECKPOINT_/u) as string,
    });
    return resume(model, run, null, null);
  }
  const from = await run.resume(request, crashAfter);
  if (from === null) {
    const there = joined(run.root);
    for (const one of model.checkpoints.keys())
      if (!there.includes(one)) {
        expect(one).toBeGreaterThan(request ?? Math.max(...whole));
        model.checkpoints.delete(one);
      }
    await look(model, run);
    return resume(model, run, null, null);
  }
  expect(from).toBe(request ?? Math.max(0, ...whole));
  for (const one of model.checkpoints.keys()) if (one > from) model.checkpoints.delete(one);
  for (const one of model.damaged) if (one > from) model.damaged.delete(one);
  model.step = from;
  model.attempt += 1;
  // Later checkpoints are gone, whole or not.
  const left = existsSync(run.root) ? readdirSync(run.root) : [];
  expect(left.map((name) => Number(name.slice(5))).filter((one) => one > from)).toEqual([]);
  return look(model, run);
}

const resuming = (which: number | null, crashAfter: number | null): Command => ({
  // All of them damaged is the user's to mend.
  check: ({ checkpoints, damaged }) => checkpoints.size === 0 || checkpoints.size > damaged.size,
  async run(model, run) {
    const steps = [...model.checkpoints.keys()];
    const request = which === null || steps.length === 0 ? null : (steps[which % steps.length] ?? null);
    await resume(model, run, request, crashAfter);
  },
  toString: () =>
    `resume from ${which === null ? "the newest" : `one of them (${which})`}` +
    (crashAfter === null ? "" : `, killed after ${crashAfter} events`),
});

const FILES = [`trainer/${WEIGHTS}`, "orchestrator/state.json", "manifest.json"] as const;
const damaging = (which: number, file: (typeof FILES)[number], isCut: boolean): Command => ({
  check: ({ checkpoints, damaged }) => checkpoints.size > damaged.size + 1,
  async run(model, run) {
    const steps = [...model.checkpoints.keys()].filter((one) => !model.damaged.has(one));
    const damaged = steps[which % steps.length] ?? 0;
    const path = join(run.root, `step_${damaged}`, file);
    if (isCut) writeFileSync(path, "");
    else appendFileSync(path, "x");
    model.damaged.add(damaged);
    await look(model, run);
  },
  toString: () => `damage ${file} of one of them (${which})`,
});

const events = fc.integer({ min: 0, max: 120 });
const commands = [
  fc.constant(step(null)),
  fc.record({ who: fc.constantFrom("trainer", "orchestrator", "both"), after: events }).map((crash) => step(crash)),
  fc.tuple(fc.option(fc.nat(9)), fc.option(events)).map(([which, after]) => resuming(which, after)),
  fc
    .tuple(fc.nat(9), fc.constantFrom(...FILES), fc.boolean())
    .map(([which, file, isCut]) => damaging(which, file, isCut)),
];

test(
  "are whole or absent, and the newest whole one is found, whatever is killed between two file operations",
  TEST,
  async () => {
    const rules = fc.record({
      recovery_interval: fc.integer({ min: 1, max: 3 }),
      interval: fc.option(fc.integer({ min: 1, max: 4 })),
      keep_last: fc.option(fc.integer({ min: 1, max: 3 })),
      keep_interval: fc.option(fc.integer({ min: 1, max: 8 })),
    });
    const property = fc.asyncProperty(
      fc.nat(),
      rules,
      fc.commands(commands, { maxCommands: 30, size: "+1" }),
      async (seed, given, acts) => {
        const run = new Run(seed, given);
        try {
          const model: Model = { rules: given, checkpoints: new Map(), damaged: new Set(), step: 0, attempt: 1 };
          await fc.asyncModelRun(() => ({ model, real: run }), acts);
        } finally {
          run.disk.remove();
        }
      },
    );
    await fc.assert(property, { numRuns: IS_LONG ? 2_000 : 30 });
  },
);
