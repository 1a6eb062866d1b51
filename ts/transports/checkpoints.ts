/**
 * Joint checkpoints of trainer and orchestrator: `<root>/step_<s>/{trainer,orchestrator}/` and `manifest.json`. Supervised runs have the
 * trainer's half only.
 *
 * Each half is written by its process and ends with `half.json`, the list of its files with their digests; the manifest, written last, joins
 * both. A checkpoint exists when its manifest does: whole or absent, never half. A resume first compares every file with its digest.
 * A half of an earlier attempt is overwritten: only halves of one attempt are joined.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { ifThere, isThere } from "../files/file-presence.ts";
import { atomicWriteJson } from "../files/atomic-write.ts";
import { makeDurableFolder } from "../files/make-folder.ts";
import { digestFile } from "../native/index.ts";
import { waitForFile } from "./rollouts.ts";

const HALVES = ["trainer", "orchestrator"] as const;
export type CheckpointHalf = (typeof HALVES)[number];

const HALF_FILE = "half.json";
/** Written last: the checkpoint exists when it does. */
export const MANIFEST_FILE = "manifest.json";
const FORMAT = "prl.checkpoint.1";
const STEP = /^step_(\d+)$/;

const fileSchema = z.strictObject({ file: z.string(), bytes: z.int().nonnegative(), digest: z.string() });
const halfSchema = z.strictObject({
  step: z.int().nonnegative(),
  run: z.string(),
  attempt: z.int().positive(),
  files: z.array(fileSchema),
});
const manifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  step: z.int().nonnegative(),
  run: z.string(),
  attempt: z.int().positive(),
  halves: z.strictObject({ trainer: z.array(fileSchema), orchestrator: z.array(fileSchema).optional() }),
});
export type CheckpointManifest = z.output<typeof manifestSchema>;

/** Rules for the steps that are saved, and for the checkpoints that stay. */
export interface CheckpointRules {
  /** Steps between the rolling checkpoints, of which the newest stays. */
  recovery_interval: number;
  /** Steps between kept checkpoints; null: none are kept. */
  interval: number | null;
  /** Newest kept checkpoints that stay; null: all. */
  keep_last: number | null;
  /** Kept checkpoints of steps that are multiples of this stay for good. */
  keep_interval: number | null;
}

/** The run and the attempt that write. */
export interface CheckpointWriter {
  root: string;
  run: string;
  attempt: number;
}

/** Whether a checkpoint follows step `step`; the last step always has one. */
export function isCheckpointStep(step: number, rules: CheckpointRules, maxSteps: number | null): boolean {
  const { recovery_interval: recovery, interval } = rules;
  return step > 0 && (step === maxSteps || step % recovery === 0 || (interval !== null && step % interval === 0));
}

/** Lets `write` fill the half's empty folder and ends it. Returns when it is durable. */
export async function writeHalf(...half: Parameters<typeof prepareHalf>): Promise<void> {
  const finish = await prepareHalf(...half);
  await finish();
}

/** The same in two parts: returns when the files are written, and the half exists when the returned function has ended. */
export async function prepareHalf(
  { root, run, attempt }: CheckpointWriter,
  step: number,
  half: CheckpointHalf,
  write: (dir: string) => Promise<void>,
): Promise<() => Promise<void>> {
  const dir = join(checkpointDir(root, step), half);
  // Removes the manifest that an earlier attempt may have left for this step.
  await rm(join(checkpointDir(root, step), MANIFEST_FILE), { force: true });
  await rm(dir, { recursive: true, force: true });
  await makeDurableFolder(dir);
  await write(dir);
  const names = (await readdir(dir)).toSorted();
  const files = await Promise.all(names.map(async (file) => ({ file, ...(await digestFile(join(dir, file))) })));
  return () => atomicWriteJson(join(dir, HALF_FILE), { step, run, attempt, files });
}

/** Whether this attempt has written this half of a checkpoint. Errors: PRL_CHECKPOINT_CORRUPT when it is malformed. */
export async function hasHalf(
  { root, run, attempt }: CheckpointWriter,
  step: number,
  half: CheckpointHalf,
): Promise<boolean> {
  const path = join(checkpointDir(root, step), half, HALF_FILE);
  if (!(await isThere(path))) return false;
  const found = await readJson(path, halfSchema);
  return found.run === run && found.attempt === attempt && found.step === step;
}

/**
 * Step of this attempt's newest half among the steps `after` < step <= `upTo`, each of whose files has its digest; null when there is none. Damaged halves
 * are passed over.
 */
export async function newestWholeHalf(
  writer: CheckpointWriter,
  half: CheckpointHalf,
  { after, upTo }: { after: number; upTo: number },
): Promise<number | null> {
  const steps = (await stepsIn(writer.root)).filter((step) => step > after && step <= upTo);
  for (const step of steps.toSorted((a, b) => b - a)) {
    try {
      if (!(await hasHalf(writer, step, half))) continue;
      await verifyHalf(writer.root, step, half);
      return step;
    } catch (error) {
      if (!(error instanceof PrlError) || error.code !== "PRL_CHECKPOINT_CORRUPT") throw error;
    }
  }
  return null;
}

/** Compares every file of a half with its digest, whichever attempt wrote it. Errors: PRL_CHECKPOINT_CORRUPT, as `verifyCheckpoint`. */
export async function verifyHalf(root: string, step: number, half: CheckpointHalf): Promise<void> {
  const dir = join(checkpointDir(root, step), half);
  const { files } = await readJson(join(dir, HALF_FILE), halfSchema);
  await verifyFiles(dir, files);
}

/** Step of the newest checkpoint that exists; 0 when there is none. Its files are not looked at. */
export async function newestJoined(root: string): Promise<number> {
  for (const step of (await stepsIn(root)).toSorted((a, b) => b - a)) if (await isJoined({ root }, step)) return step;
  return 0;
}

/** Steps, ascending, whose half of the orchestrator is of this attempt and in no joint checkpoint yet. */
export async function unjoinedSteps(writer: CheckpointWriter): Promise<number[]> {
  const steps: number[] = [];
  for (const step of (await stepsIn(writer.root)).toSorted((a, b) => a - b)) {
    // A half of a joint checkpoint is not looked at: it may be damaged, which matters only to those who continue from it.
    if (!(await isJoined(writer, step)) && (await hasHalf(writer, step, "orchestrator"))) steps.push(step);
  }
  return steps;
}

/** Whether the checkpoint of the step exists. */
export function isJoined({ root }: Pick<CheckpointWriter, "root">, step: number): Promise<boolean> {
  return isThere(join(checkpointDir(root, step), MANIFEST_FILE));
}

interface JoinOptions {
  deadlineMs: number;
  signal: AbortSignal;
  isSupervised?: boolean;
  beforeJoin?: () => Promise<void>;
}

/**
 * Waits until the halves of this attempt are there (both, or the trainer's of a supervised run) and joins them. `beforeJoin` is called when they are there and the checkpoint
 * does not exist yet. Errors: PRL_DEADLINE; PRL_CHECKPOINT_CORRUPT when a half is malformed; those of `beforeJoin`.
 */
export async function joinHalves(
  { root, run, attempt }: CheckpointWriter,
  step: number,
  { deadlineMs, signal, isSupervised = false, beforeJoin }: JoinOptions,
): Promise<CheckpointManifest> {
  const dir = checkpointDir(root, step);
  const read = async (half: CheckpointHalf) => {
    const path = join(dir, half, HALF_FILE);
    await waitForFile(path, deadlineMs, signal, `the ${half}'s half of checkpoint ${step}`);
    const found = await readJson(path, halfSchema);
    if (found.step === step && found.run === run && found.attempt === attempt) return found.files;
    const what = `is of run ${found.run}, attempt ${found.attempt}, step ${found.step}`;
    throw new PrlError("PRL_CHECKPOINT_CORRUPT", `${path} ${what}, not of ${run}, attempt ${attempt}, step ${step}`);
  };
  const halves = { trainer: await read("trainer"), ...(!isSupervised && { orchestrator: await read("orchestrator") }) };
  const manifest: CheckpointManifest = { format: FORMAT, step, run, attempt, halves };
  await beforeJoin?.();
  await atomicWriteJson(join(dir, MANIFEST_FILE), manifest);
  return manifest;
}

/** A checkpoint that may be resumed from. */
export interface FoundCheckpoint {
  step: number;
  dir: string;
  /** Attempt of the run that wrote it. */
  attempt: number;
  /** Newer checkpoints that were passed over, and why. */
  skipped: { step: number; reason: string }[];
}

/** Damaged checkpoints that a message lists. */
const MAX_LISTED = 8;

/**
 * The newest whole checkpoint of the run, or that of `step`; null when none was ever finished. Torn and damaged ones are passed over, unless one was
 * asked for by its step: then PRL_CHECKPOINT_CORRUPT says what is wrong with it, or PRL_CHECKPOINT_UNKNOWN which there are. When checkpoints
 * were finished and all of them are damaged, PRL_CHECKPOINT_CORRUPT says what is wrong with each. One of another run that is met on the way is
 * PRL_CHECKPOINT_FOREIGN: passing over it would mean that it is removed as a later one.
 */
export async function findCheckpoint(
  root: string,
  run: string,
  step: number | null = null,
): Promise<FoundCheckpoint | null> {
  const steps = (await stepsIn(root)).toSorted((a, b) => b - a);
  if (step !== null) {
    if (!steps.includes(step)) {
      const there = steps.length === 0 ? "there are none" : `there are ${steps.join(", ")}`;
      throw new PrlError("PRL_CHECKPOINT_UNKNOWN", `${root} has no checkpoint of step ${step}: ${there}`);
    }
    const { attempt } = await verifyCheckpoint(root, run, step);
    return { step, dir: checkpointDir(root, step), attempt, skipped: [] };
  }
  const skipped: FoundCheckpoint["skipped"] = [];
  for (const candidate of steps) {
    try {
      const { attempt } = await verifyCheckpoint(root, run, candidate);
      return { step: candidate, dir: checkpointDir(root, candidate), attempt, skipped };
    } catch (error) {
      if (!(error instanceof PrlError) || error.code === "PRL_CHECKPOINT_FOREIGN") throw error;
      skipped.push({ step: candidate, reason: error.message });
    }
  }
  const finished = await Promise.all(steps.map((found) => isThere(join(checkpointDir(root, found), MANIFEST_FILE))));
  if (!finished.includes(true)) return null;
  const listed = skipped.slice(0, MAX_LISTED).map(({ step: damaged, reason }) => `\n  step ${damaged}: ${reason}`);
  const more = skipped.length > MAX_LISTED ? `\n  ... and ${skipped.length - MAX_LISTED} more` : "";
  throw new PrlError(
    "PRL_CHECKPOINT_CORRUPT",
    `none of the checkpoints in ${root} is whole:${listed.join("")}${more}\n` +
      "Put back what was changed, for example from a copy, or start the run again with --clean, which deletes all of it",
  );
}

/**
 * Compares every file of a checkpoint with its digest. Errors: PRL_CHECKPOINT_CORRUPT naming the file, what was expected and what is there;
 * PRL_CHECKPOINT_FOREIGN when the checkpoint, or one half of it, is not of this run.
 */
async function verifyCheckpoint(root: string, run: string, step: number): Promise<CheckpointManifest> {
  const dir = checkpointDir(root, step);
  const path = join(dir, MANIFEST_FILE);
  const manifest = await readJson(path, manifestSchema);
  if (manifest.step !== step) {
    throw new PrlError("PRL_CHECKPOINT_CORRUPT", `${path} is of step ${manifest.step}`);
  }
  assertOfRun(path, manifest.run, run);
  for (const half of HALVES) {
    const files = manifest.halves[half];
    if (files === undefined) continue;
    const halfPath = join(dir, half, HALF_FILE);
    assertOfRun(halfPath, (await readJson(halfPath, halfSchema)).run, run);
    await verifyFiles(join(dir, half), files);
  }
  return manifest;
}

/** The folder was copied here from another run. Errors: PRL_CHECKPOINT_FOREIGN. */
function assertOfRun(path: string, found: string, run: string): void {
  if (found === run) return;
  const advice = `move it out of here and resume again, or resume ${found} in its own run directory`;
  const other = "a new run begins with its weights when model.name is its folder trainer/";
  throw new PrlError("PRL_CHECKPOINT_FOREIGN", `${path} is of run ${found}, not of ${run}: ${advice}; ${other}`);
}

async function verifyFiles(dir: string, files: z.output<typeof halfSchema>["files"]): Promise<void> {
  for (const { file, bytes, digest } of files) {
    const found = await digestOf(join(dir, file));
    if (found.bytes === bytes && found.digest === digest) continue;
    const expected = `${bytes} bytes with digest ${digest}`;
    const there = `${found.bytes} bytes with digest ${found.digest}`;
    throw new PrlError("PRL_CHECKPOINT_CORRUPT", `${join(dir, file)} has ${there}, not ${expected}`);
  }
}

/**
 * Deletes checkpoints that the rules do not keep now that `newest` is whole; returns their steps. What is left of one whose deletion was interrupted goes too,
 * and takes no place among those that stay.
 */
export async function pruneCheckpoints(root: string, newest: number, rules: CheckpointRules): Promise<number[]> {
  const older = (await stepsIn(root)).filter((step) => step < newest);
  const joined = await Promise.all(older.map((step) => isJoined({ root }, step)));
  const stays = staying([...older.filter((_, i) => joined[i] === true), newest], rules);
  const gone = older.filter((step) => !stays.has(step));
  for (const step of gone) {
    // Without its manifest the checkpoint does not exist any more, even if the deletion is interrupted.
    await rm(join(checkpointDir(root, step), MANIFEST_FILE), { force: true });
    await rm(checkpointDir(root, step), { recursive: true, force: true });
  }
  return gone;
}

/** Refuses a folder that holds checkpoints of another run, because a new run would take them for its own. Errors: PRL_RUN_EXISTS. */
export async function refuseCheckpoints(root: string): Promise<void> {
  const steps = await stepsIn(root);
  if (steps.length === 0) return;
  const advice = "choose another name with --run.name or another ckpt.path, or delete them";
  throw new PrlError(
    "PRL_RUN_EXISTS",
    `${root} holds checkpoints of an earlier run (step ${steps.join(", ")}): ${advice}`,
  );
}

/** Deletes checkpoints of later steps, because the run continues from `step`. */
export async function dropLaterCheckpoints(root: string, step: number): Promise<void> {
  for (const later of (await stepsIn(root)).filter((found) => found > step)) {
    await rm(join(checkpointDir(root, later), MANIFEST_FILE), { force: true });
    await rm(checkpointDir(root, later), { recursive: true, force: true });
  }
}

export function checkpointDir(root: string, step: number): string {
  return join(root, `step_${step}`);
}

function staying(steps: readonly number[], { interval, keep_last: last, keep_interval: forGood }: CheckpointRules) {
  const kept = interval === null ? [] : steps.filter((step) => step % interval === 0).toSorted((a, b) => a - b);
  const newest = last === null ? kept : kept.slice(Math.max(0, kept.length - last));
  const permanent = forGood === null ? [] : kept.filter((step) => step % forGood === 0);
  return new Set([...newest, ...permanent]);
}

async function stepsIn(root: string): Promise<number[]> {
  const names = (await ifThere(readdir(root), root)) ?? [];
  return names.flatMap((name) => {
    const step = STEP.exec(name)?.[1];
    return step === undefined ? [] : [Number(step)];
  });
}

async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new PrlError("PRL_CHECKPOINT_CORRUPT", `${path} cannot be read: the checkpoint was never finished`, {
      cause,
    });
  }
  try {
    const value: unknown = JSON.parse(text);
    const format = asRecord(value)["format"];
    if (typeof format === "string" && format !== FORMAT)
      throw new PrlError(
        "PRL_CHECKPOINT_CORRUPT",
        `${path} has the format ${JSON.stringify(format)}, and this prl reads ${FORMAT}: resume with the version of prl that wrote it`,
      );
    return schema.parse(value);
  } catch (cause) {
    if (cause instanceof PrlError) throw cause;
    throw new PrlError("PRL_CHECKPOINT_CORRUPT", `${path} is malformed`, { cause });
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

async function digestOf(path: string): Promise<{ digest: string; bytes: number }> {
  try {
    return await digestFile(path);
  } catch (cause) {
    throw new PrlError("PRL_CHECKPOINT_CORRUPT", `${path} cannot be read`, { cause });
  }
}
