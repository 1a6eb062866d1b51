/**
 * Compares the files that a run removes to keep its disk in bounds with models: batches with their traces, and logs. Nothing that is needed is ever removed, and
 * nothing stays beyond the bound, in whatever order things happen. Trainer, orchestrator and launcher may be killed between any two file operations.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeAll, expect, test } from "vitest";

import { rotatedPath, rotateLog } from "../../ts/files/rotated-log.ts";
import { clearLaterSteps } from "../../ts/launcher/run/resume-run.ts";
import { evaluationFiles, hasBatches, newestJoined, pruneRollouts, rolloutsDir } from "../../ts/transports/index.ts";
import { IS_LONG } from "../support/form.ts";
import { observeAddon } from "./parts/machine.ts";
import { Disk } from "./world/disk.ts";

beforeAll(observeAddon);

const TEST = { timeout: IS_LONG ? 3_600_000 : 300_000 };
const RUNS = { numRuns: IS_LONG ? 2_000 : 40 };
const FILES = ["rank_0.safetensors", "traces.jsonl"] as const;
/** Batches that are assembled ahead of the trainer. */
const AHEAD = 2;
const events = fc.option(fc.integer({ min: 0, max: 60 }));
const command = <Model extends object, Real>(
  text: string,
  run: (model: Model, real: Real) => Promise<void>,
  check: (model: Readonly<Model>) => boolean = () => true,
): fc.AsyncCommand<Model, Real> => ({ check, run, toString: () => text });

const stepsIn = (folder: string): number[] => {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => /^step_(\d+)$/u.exec(name)?.[1] ?? []).map(Number);
};

interface Rollouts {
  readonly keep: number | null;
  assembled: number;
  trained: number;
  /** Step of the newest checkpoint. */
  covered: number;
  /** Steps up to here may be gone: a run that goes on from its checkpoint does not bring them back. */
  mayBeGone: number;
  /** Steps with an evaluation. */
  readonly evaluated: Set<number>;
}

async function lookAtRollouts(model: Rollouts, { dir }: Disk, isPruned: boolean): Promise<void> {
  const last = model.keep === null ? 0 : Math.min(model.trained - model.keep, model.covered);
  if (isPruned) model.mayBeGone = Math.max(model.mayBeGone, last);
  for (let step = 1; step <= model.assembled; step++) {
    const folder = rolloutsDir(dir, step);
    const there = FILES.filter((file) => existsSync(join(folder, file)));
    if (step > model.mayBeGone) expect([step, there]).toEqual([step, FILES]);
    if (!isPruned || step > last) continue;
    expect([step, there, existsSync(folder)]).toEqual([step, [], model.evaluated.has(step)]);
  }
  for (const step of model.evaluated) expect(existsSync(evaluationFiles(dir, step, "held-out").ended)).toBe(true);
  // A trainer that takes the place of a lost one trains all steps since the newest checkpoint again.
  for (let step = (await newestJoined(join(dir, "checkpoints"))) + 1; step <= model.trained; step++)
    expect([step, await hasBatches(dir, step, 1)]).toEqual([step, true]);
}

/** Both processes remove what they may at the same time, while a step is evaluated; `after`: both are killed after so many events. */
async function prune(model: Rollouts, disk: Disk, after: number | null): Promise<void> {
  const { dir } = disk;
  const processes = ["trainer", "orchestrator"].map((name) => disk.start(name));
  const work = () => pruneRollouts(dir, model.trained, model.keep, join(dir, "checkpoints"));
  const jobs = processes.map((process) => disk.begin(process, work));
  const evaluated = Math.max(1, model.trained - 1);
  const path = evaluationFiles(dir, evaluated, "held-out").ended;
  const evaluates = disk.begin(disk.start("evaluation"), async () => {
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, "{}");
  });
  const isDone = await disk.run(jobs, after ?? undefined);
  await disk.run([evaluates]);
  model.evaluated.add(evaluated);
  disk.kill(...processes);
  if (!isDone && model.keep !== null)
    model.mayBeGone = Math.max(model.mayBeGone, Math.min(model.trained - model.keep, model.covered));
  await lookAtRollouts(model, disk, isDone);
}

const rolloutCommands = [
  fc.constant(
    command<Rollouts, Disk>(
      "a batch is assembled",
      async (model, disk) => {
        model.assembled += 1;
        mkdirSync(rolloutsDir(disk.dir, model.assembled), { recursive: true });
        for (const file of FILES) writeFileSync(join(rolloutsDir(disk.dir, model.assembled), file), "data");
        await lookAtRollouts(model, disk, false);
      },
      ({ assembled, trained }) => assembled < trained + AHEAD,
    ),
  ),
  events.map((after) =>
    command<Rollouts, Disk>(
      `a step is trained, and what may go is removed${after === null ? "" : `, killed after ${after} events`}`,
      async (model, disk) => {
        model.trained += 1;
        await prune(model, disk, after);
      },
      ({ assembled, trained }) => trained < assembled,
    ),
  ),
  fc.constant(
    command<Rollouts, Disk>(
      "a checkpoint is whole",
      async (model, disk) => {
        model.covered = model.trained;
        const folder = join(disk.dir, "checkpoints", `step_${model.covered}`);
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, "manifest.json"), "{}");
        await lookAtRollouts(model, disk, false);
      },
      ({ trained, covered }) => trained > covered,
    ),
  ),
  fc.constant(
    command<Rollouts, Disk>(
      "a half of a checkpoint is there",
      async (model, disk) => {
        mkdirSync(join(disk.dir, "checkpoints", `step_${model.trained}`, "trainer"), { recursive: true });
        await lookAtRollouts(model, disk, false);
      },
      ({ trained }) => trained > 0,
    ),
  ),
  fc.nat(9).map((which) =>
    command<Rollouts, Disk>(
      `a version is evaluated (${which})`,
      async (model, disk) => {
        const step = 1 + (which % model.trained);
        const path = evaluationFiles(disk.dir, step, "held-out").ended;
        mkdirSync(join(path, ".."), { recursive: true });
        writeFileSync(path, "{}");
        model.evaluated.add(step);
        await lookAtRollouts(model, disk, false);
      },
      ({ trained }) => trained > 0,
    ),
  ),
  events.map((after) =>
    command<Rollouts, Disk>(
      `the run goes on from its checkpoint${after === null ? "" : `, killed after ${after} events`}`,
      async (model, disk) => {
        for (const most of after === null ? [Infinity] : [after, Infinity]) {
          const launcher = disk.start("launcher");
          const { dir } = disk;
          const { covered } = model;
          await disk.run([disk.begin(launcher, () => clearLaterSteps(dir, join(dir, "checkpoints"), covered))], most);
          disk.kill(launcher);
        }
        model.trained = model.covered;
        model.assembled = model.covered;
        for (const step of model.evaluated) if (step > model.covered) model.evaluated.delete(step);
        // An evaluation that had ended is kept aside, because the run may make it again.
        for (const step of stepsIn(join(disk.dir, "rollouts")).filter((later) => later > model.covered)) {
          const { ended } = evaluationFiles(disk.dir, step, "held-out");
          const files = FILES.map((file) => join(rolloutsDir(disk.dir, step), file));
          expect([ended, ...files].filter((file) => existsSync(file))).toEqual([]);
        }
        await lookAtRollouts(model, disk, false);
      },
    ),
  ),
];

test(
  "batches and traces stay until a checkpoint covers them, then the newest stay; evaluations stay",
  TEST,
  async () => {
    const acts = fc.commands(rolloutCommands, { maxCommands: 60, size: "+1" });
    const property = fc.asyncProperty(fc.nat(), fc.option(fc.nat(3)), acts, async (seed, keep, sequence) => {
      const disk = new Disk(seed);
      const model: Rollouts = { keep, assembled: 0, trained: 0, covered: 0, mayBeGone: 0, evaluated: new Set() };
      try {
        await fc.asyncModelRun(() => ({ model, real: disk }), sequence);
      } finally {
        disk.remove();
      }
    });
    await fc.assert(property, RUNS);
  },
);

interface Log {
  readonly maxBytes: number;
  readonly keep: number;
  written: string;
}

/** Where each part of the log begins and ends in what was written, the oldest first. No character is written twice. */
function partsOf(log: string, written: string): { from: number; to: number }[] {
  const ages = Array.from({ length: 20 }, (_, i) => rotatedPath(log, 20 - i)).filter((path) => existsSync(path));
  return [...ages, log].flatMap((path) => {
    const text = readFileSync(path, "utf8");
    if (text === "") return [];
    expect(written).toContain(text);
    return [{ from: written.indexOf(text), to: written.indexOf(text) + text.length }];
  });
}

const FIRST_CHARACTER = 0x4e00;
const logCommands = [
  fc.integer({ min: 1, max: 90 }).map((length) =>
    command<Log, Disk>(`${length} characters are written`, async (model, { dir }) => {
      const codes = Array.from({ length }, (_, i) => FIRST_CHARACTER + model.written.length + i);
      appendFileSync(join(dir, "a.log"), String.fromCodePoint(...codes));
      model.written += String.fromCodePoint(...codes);
    }),
  ),
  events.map((after) =>
    command<Log, Disk>(
      `the log is rotated${after === null ? "" : `, killed after ${after} events`}`,
      async (model, disk) => {
        const log = join(disk.dir, "a.log");
        const launcher = disk.start("launcher");
        const { maxBytes, keep } = model;
        const rotates = disk.begin(launcher, () => rotateLog(log, { maxBytes, keep }));
        const isDone = await disk.run([rotates], after ?? undefined);
        disk.kill(launcher);
        const parts = partsOf(log, model.written);
        expect(parts.at(-1)?.to).toBe(model.written.length);
        // A part that was copied when the launcher was killed is there twice, and none is missing in between.
        for (const [i, { from }] of parts.entries()) expect(from).toBeLessThanOrEqual(parts[i - 1]?.to ?? from);
        expect(parts.length).toBeLessThanOrEqual(keep + 1);
        if (!isDone) return;
        expect(statSync(log).size).toBeLessThanOrEqual(maxBytes);
        expect(readdirSync(disk.dir).length).toBeLessThanOrEqual(keep + 1 + (existsSync(rotatedPath(log, 0)) ? 1 : 0));
      },
      ({ written }) => written !== "",
    ),
  ),
];

test("of a log the newest parts stay, and the end of what was written", TEST, async () => {
  const limits = fc.record({ maxBytes: fc.integer({ min: 1, max: 300 }), keep: fc.integer({ min: 1, max: 3 }) });
  const acts = fc.commands(logCommands, { maxCommands: 30 });
  const property = fc.asyncProperty(fc.nat(), limits, acts, async (seed, given, sequence) => {
    const disk = new Disk(seed);
    try {
      await fc.asyncModelRun(() => ({ model: { ...given, written: "" } as Log, real: disk }), sequence);
    } finally {
      disk.remove();
    }
  });
  await fc.assert(property, RUNS);
});
