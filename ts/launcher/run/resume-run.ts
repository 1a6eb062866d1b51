/**
 * `--resume`: finds the run and its checkpoint, and checks that the config still is that run's.
 */
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";

import {
  formatPath,
  type KeyPath,
  referenceOf,
  type RlConfig,
  START_REFERENCE,
  withDefaults,
} from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { ifThere, isThere } from "../../files/file-presence.ts";
import { allLines } from "../../files/rotated-log.ts";
import { EVENTS_FILE } from "../../monitors/index.ts";
import { assertBaseWeights } from "../../trainer/internal.ts";
import { clearStep, dropLaterCheckpoints, findCheckpoint, type FoundCheckpoint } from "../../transports/index.ts";
import { ensureBaseModel, modelFolder } from "../models/base-model.ts";
import { runNamePrefix } from "./run-directory.ts";
import { isLockFile } from "../../files/run-lock.ts";
import { assertSameModel } from "../checks/same-model.ts";

/** The newest checkpoint, or that of a step. */
export type ResumeRequest = "latest" | number;

export interface ResumedRun {
  /** Null: the run ended before its first checkpoint was whole, and begins again at step 0. */
  checkpoint: FoundCheckpoint | null;
  /** The name under which the run began, which its checkpoints have. */
  runId: string;
  attempt: number;
  /** Keys that differ from the earlier attempt's config and are allowed to. */
  changed: string[];
}

/** The files and keys that differ between kinds of runs. */
interface ResumableKind {
  /** Name of the resolved config in `configs/` of the run directory. */
  file: string;
  /** Keys that must not change, because they decide what is learnt, from what, and what the checkpoint's parts mean. */
  fixed: readonly string[];
}

const KINDS: Readonly<Record<"rl" | "sft", ResumableKind>> = {
  // `orchestrator.train.source` stands for each source's name and environment.
  rl: {
    file: "rl.json",
    fixed:
      "seed model seq_len trainer.optim.type trainer.optim.state_dtype trainer.dtype orchestrator.train.source".split(
        " ",
      ),
  },
  // The place of the rows may change: their digest is in the checkpoint.
  sft: {
    file: "sft-run.json",
    fixed:
      "seed model seq_len optim.type optim.state_dtype dtype val.share data.batch_size data.env data.mix data.loss_mask data.micro_batch_tokens".split(
        " ",
      ),
  },
};
/** Processes that write checkpoints, by the names of their configs: under a launcher, and alone. */
const WRITERS = ["trainer", "sft", "orchestrator", "trainer-0", "orchestrator-0"];
/** A checkpoint's line in `events.jsonl`. */
const CHECKPOINT_EVENT = /"type":"checkpoint","step":(\d+)/;
/** Keys on which nothing of a run depends. */
const IRRELEVANT = ["clean", "run", "output_dir", "log", "ckpt.path", "monitors", "slurm", "kubernetes"];

/** A config of a run that has checkpoints. */
type ResumableConfig = Pick<RlConfig, "ckpt" | "output_dir" | "model">;

/** Where a run's checkpoints are. */
export function checkpointRoot(config: Pick<ResumableConfig, "ckpt">, runDir: string, name: string): string {
  return config.ckpt.path === null ? join(runDir, "checkpoints") : join(config.ckpt.path, name);
}

/**
 * The run to resume when none is named: the newest in `output_dir` with the same environments and model.
 *
 * @throws PrlError `PRL_RUN_UNKNOWN`
 */
export async function newestRun(config: ResumableConfig, environments: readonly string[]): Promise<string> {
  const outputDir = resolve(config.output_dir);
  const prefix = runNamePrefix(environments, config.model.name);
  const names = (await listed(outputDir)).filter((name) => name.startsWith(prefix));
  const dated = await Promise.all(
    names.map(async (name) => {
      const configs = join(outputDir, name, "configs");
      // A file, or a folder of another kind, may begin with the same name.
      const found = await ifThere(stat(configs), configs);
      return found === null ? [] : [{ name, at: found.mtimeMs }];
    }),
  );
  const newest = dated.flat().toSorted((a, b) => b.at - a.at)[0];
  if (newest !== undefined) return newest.name;
  throw new PrlError(
    "PRL_RUN_UNKNOWN",
    `there is no run ${prefix}... in ${outputDir} to resume: name one with --run.name`,
  );
}

/**
 * @throws PrlError `PRL_RUN_UNKNOWN` when the directory holds no run, `PRL_RUN_DRIFT` naming keys that may not change, or files of another model,
 * `PRL_CHECKPOINT_UNKNOWN`, `PRL_CHECKPOINT_CORRUPT`, `PRL_CHECKPOINT_FOREIGN`
 */
export async function findResumedRun(
  kind: "rl" | "sft",
  config: ResumableConfig,
  runDir: string,
  request: ResumeRequest,
): Promise<ResumedRun> {
  const { file, fixed } = KINDS[kind];
  const earlier = await earlierConfig(kind, runDir);
  const differences = (earlier === null ? [] : differingKeys(earlier, config)).filter(
    (key) => !isBelow(key, IRRELEVANT),
  );
  const drift = differences.filter((key) => isBelow(key, fixed));
  if (drift.length > 0) {
    const advice = `resume with the values of the earlier attempt (configs/${file}), or start a new run`;
    throw new PrlError(
      "PRL_RUN_DRIFT",
      `${runDir}: ${drift.join(", ")} differ from the run that is resumed: ${advice}`,
    );
  }
  const root = checkpointRoot(config, runDir, basename(runDir));
  const runId = await runIdOf(runDir);
  const checkpoint = await findCheckpoint(root, runId, request === "latest" ? null : request);
  if (checkpoint === null) await assertNoneWasMade(root, runDir);
  else {
    const half = join(checkpoint.dir, "trainer");
    const folder = await modelFolder(config.model.name);
    await assertSameModel(folder, half);
    await assertBaseWeights(half, "model", folder);
  }
  const attempts = (await listed(join(runDir, "logs"))).map((entry) => Number(/^attempt_(\d+)$/.exec(entry)?.[1] ?? 0));
  // The logs may have been deleted to make room.
  return { checkpoint, runId, attempt: Math.max(checkpoint?.attempt ?? 0, ...attempts) + 1, changed: differences };
}

/**
 * The name under which the run began: that of its directory, unless the directory was renamed since then. The configs of the processes that write
 * checkpoints keep it.
 */
async function runIdOf(runDir: string): Promise<string> {
  for (const name of WRITERS) {
    const path = join(runDir, "configs", `${name}.json`);
    const text = await ifThere(readFile(path, "utf8"), path);
    if (text === null) continue;
    try {
      return z.object({ run_id: z.string() }).parse(JSON.parse(text)).run_id;
    } catch (cause) {
      const advice = "put back the file as it was, or remove it if the run directory still has its first name";
      throw new PrlError("PRL_RUN_UNKNOWN", `${path} does not say what run it is of: ${advice}`, { cause });
    }
  }
  return basename(runDir);
}

/** Refuses a run whose checkpoints were moved away: it must not begin again over its remaining files. Errors: PRL_CHECKPOINT_UNKNOWN. */
async function assertNoneWasMade(root: string, runDir: string): Promise<void> {
  const step = await lastCheckpointNoted(runDir);
  if (step === null) return;
  throw new PrlError(
    "PRL_CHECKPOINT_UNKNOWN",
    `${root} has no checkpoint, but the run has made one at step ${step}: put it back there (ckpt.path says where), ` +
      "or start the run again with --clean, which deletes all of it",
  );
}

/** Step of the last checkpoint in the run's events. */
async function lastCheckpointNoted(runDir: string): Promise<number | null> {
  let last: number | null = null;
  for await (const line of allLines(join(runDir, EVENTS_FILE))) {
    const step = CHECKPOINT_EVENT.exec(line)?.[1];
    if (step !== undefined) last = Number(step);
  }
  return last;
}

/**
 * Checks that the loss's reference model, where the config names its folder, is the checkpoint's; a reference that is the run's own start is
 * compared by the trainer.
 *
 * @throws PrlError `PRL_RUN_DRIFT`, those of `ensureBaseModel`
 */
export async function assertSameReference({ trainer, seed }: RlConfig, checkpoint: { dir: string }): Promise<void> {
  const reference = referenceOf(trainer.loss);
  if (reference === null || reference === START_REFERENCE) return;
  const { dir } = await ensureBaseModel(reference, seed);
  await assertBaseWeights(join(checkpoint.dir, "trainer"), "reference", dir);
}

/** Removes what the run, which holds the directory's lock, will make again: later steps, files of the last attempt's processes, its summary, its model. */
export async function clearLaterSteps(
  runDir: string,
  checkpointsRoot: string,
  step: number,
  /** Files in `run/` of processes that stay; null: none stays. Locks stay in any case. */
  isKept: ((name: string) => boolean) | null = null,
): Promise<void> {
  await dropLaterCheckpoints(checkpointsRoot, step);
  for (const dir of await stepsFrom(join(runDir, "rollouts"), step + 1)) await clearStep(dir);
  // The version that the run continues from is published again, in full.
  for (const dir of await stepsFrom(join(runDir, "weights"), step)) await rm(dir, { recursive: true, force: true });
  const ofProcesses = (await listed(join(runDir, "run"))).filter(
    (name) => !isLockFile(name) && isKept?.(name) !== true,
  );
  // A server that stays receives into its folder, and knows its versions by their digests.
  const received = isKept === null ? ["received"] : [];
  for (const entry of [...ofProcesses.map((name) => `run/${name}`), ...received, "spool", "summary.json", "model"]) {
    await rm(join(runDir, entry), { recursive: true, force: true });
  }
}

/** Folders of the steps from `first` on. */
async function stepsFrom(folder: string, first: number): Promise<string[]> {
  const entries = await listed(folder);
  return entries
    .filter((entry) => Number(/^step_(\d+)/.exec(entry)?.[1] ?? Number.NaN) >= first)
    .map((entry) => join(folder, entry));
}

/** Entries of a run directory that keep a new run from starting there. */
const REMAINS = ["checkpoints", "weights", "rollouts", "model"];
/** Entries that a run makes before it writes its config. */
const BEGUN = ["configs", "events.jsonl", "logs", "run", "slurm", "kubernetes", "ssh"];
const CONFIG_FILES: Readonly<Record<string, string>> = {
  "rl.json": "prl rl",
  "sft-run.json": "prl sft",
  "eval.json": "prl eval",
};

/**
 * The config of the run in `runDir`, with the defaults of keys that did not exist when the run began; null where the run ended before it wrote one, so that it begins at
 * step 0.
 */
async function earlierConfig(kind: keyof typeof KINDS, runDir: string): Promise<unknown> {
  const { file } = KINDS[kind];
  const path = join(runDir, "configs", file);
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) {
    const reason = await whyNoRun(file, runDir);
    if (reason === null) return null;
    throw new PrlError("PRL_RUN_UNKNOWN", reason);
  }
  try {
    return withDefaults(kind, JSON.parse(text));
  } catch (cause) {
    const advice = "put back the file as it was, or start the run again with --clean, which deletes all of it";
    throw new PrlError("PRL_RUN_UNKNOWN", `${path}, the config of the run to resume, is damaged: ${advice}`, { cause });
  }
}

/** Says why a directory has no config of a run, and what to do; null where a run has not made anything yet. */
async function whyNoRun(file: string, runDir: string): Promise<string | null> {
  if (!(await isThere(runDir))) return `there is no run ${runDir} to resume: start it without --resume`;
  const missing = `${runDir} has no configs/${file}, which says what run it is`;
  const others = (await listed(join(runDir, "configs"))).filter((name) => name in CONFIG_FILES);
  const [other] = others;
  if (other !== undefined) return `${missing}: configs/${other} is there, so it is a run of ${CONFIG_FILES[other]}`;
  const remains = (await listed(runDir)).filter((name) => REMAINS.includes(name));
  if (remains.length === 0) {
    const isBegun = (await listed(runDir)).every((name) => BEGUN.includes(name));
    return isBegun
      ? null
      : `${missing}, and nothing that a run has made: start it without --resume, with --clean if files lie there`;
  }
  return `${missing}, but ${remains.join(", ")}: put the file back to go on, or start the run again with --clean, which deletes all of it`;
}

/** Keys at which two configs differ, sorted; a list counts as one value, in which the order of a table's keys says nothing. */
function differingKeys(earlier: unknown, now: unknown, at: KeyPath = []): string[] {
  if (isTable(earlier) && isTable(now)) {
    const keys = new Set([...Object.keys(earlier), ...Object.keys(now)]);
    return [...keys].toSorted().flatMap((key) => differingKeys(earlier[key], now[key], [...at, key]));
  }
  return isDeepStrictEqual(asWritten(earlier), asWritten(now)) ? [] : [formatPath(at)];
}

/** A value as a file of JSON gives it back. */
function asWritten(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isBelow(key: string, roots: readonly string[]): boolean {
  return roots.some((root) => key === root || key.startsWith(`${root}.`));
}

async function listed(folder: string): Promise<string[]> {
  return (await ifThere(readdir(folder), folder)) ?? [];
}
