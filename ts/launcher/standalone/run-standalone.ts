/**
 * For a run without a launcher the orchestrator, which holds the run directory, does two of the launcher's duties: a trainer that dies ends the
 * run with an error that names it, and `summary.json` is written last.
 *
 * A trainer with another run directory, on another machine, is not watched, and the summary holds only what the orchestrator knows.
 */
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { RlConfig } from "../../config/index.ts";
import { explain, PrlError } from "../../errors.ts";
import { type FailureNote, failureOfProcess, readFailureNote } from "../../failure-note.ts";
import { ifThere, isThere } from "../../files/file-presence.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { METRICS_FILE, MetricsTail, readReadyFile, readyFilePath, RunHistory } from "../../monitors/index.ts";
import { processStart } from "../../files/run-lock.ts";
import { SUMMARY_FILE } from "../run/run-session.ts";
import { statusOf, summarize } from "../run/summary.ts";

export interface StandaloneRun {
  config: Pick<RlConfig, "max_steps" | "orchestrator">;
  runDir: string;
  attempt: number;
  startStep: number;
  signal: AbortSignal;
}

/** No process watches parts that were started one by one. */
const UNMEASURED = "the parts were started without the launcher, so their memory was not measured (peak_memory_bytes)";
const TRAINER_ELSEWHERE =
  "no trainer was in this run directory: what it compared (mismatch) and measured, its loss too, is in its own metrics.jsonl";

/** Time between two checks that the trainer still exists. */
const WATCH_MS = 500;
/** The trainer writes its last checkpoint and its last line of metrics after its last version; this is how long that may take. */
const TRAINER_END_MS = 60_000;
const END_POLL_MS = 50;

/**
 * Does the orchestrator's `work` and writes the summary; `work`'s signal is aborted with the error when the trainer dies.
 *
 * @throws what `work` throws; the trainer's own error, or `PRL_PROCESS_DIED` when it left none
 */
export async function throughItsEnd(run: StandaloneRun, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  const [ended, trainerDied] = [new AbortController(), new AbortController()];
  const watching = watchTrainer(run, ended.signal).catch((error: unknown) => trainerDied.abort(error));
  let error: unknown;
  try {
    await work(AbortSignal.any([run.signal, trainerDied.signal]));
    await trainerEnded(run);
  } catch (cause) {
    const interrupted = new PrlError("PRL_RUN_INTERRUPTED", `the run was interrupted by ${String(run.signal.reason)}`);
    // An aborted wait says only that it was aborted.
    const reason: unknown = trainerDied.signal.aborted ? trainerDied.signal.reason : cause;
    error = run.signal.aborted ? interrupted : (reason ?? new Error("the run failed without a reason"));
  }
  ended.abort();
  await watching;
  try {
    await writeSummary(run, (performance.now() - startedAt) / 1000, error);
  } catch (cause) {
    if (error === undefined) throw cause;
    process.stderr.write(`prl: no ${SUMMARY_FILE}: ${explain(cause)}\n`);
  }
  if (error !== undefined) throw error;
}

/** Rejects when the trainer was there and is gone before its last version exists, and when it fails before it is ready. */
async function watchTrainer(run: StandaloneRun, end: AbortSignal): Promise<void> {
  let seen: { pid: number; started: string } | null = null;
  let reported: FailureNote | null = null;
  while (!end.aborted) {
    const { pid, readyAt } = await trainerReady(run.runDir);
    const started = pid === null ? null : await processStart(pid);
    const note = await trainerNote(run.runDir);
    // A trainer that came and went between two checks was there, too.
    const cameAndWent = seen === null && pid !== null && readyAt >= performance.timeOrigin;
    if (pid !== null && started !== null) seen = { pid, started };
    else if (cameAndWent && !(await isLastVersionThere(run))) throw trainerDeath(pid, note);
    else if (seen !== null && seen.pid === pid && !(await isLastVersionThere(run))) throw trainerDeath(seen.pid, note);
    else if (seen === null && note !== null && note.at >= performance.timeOrigin) throw trainerDeath(note.pid, note);
    else if (seen === null && note !== null && note.pid !== reported?.pid) {
      reported = note;
      process.stderr.write(`prl: a trainer failed here before (${note.message}): this waits for another one\n`);
    }
    await sleep(WATCH_MS, undefined, { signal: end }).catch(() => undefined);
  }
}

function trainerNote(runDir: string): Promise<FailureNote | null> {
  return readFailureNote({ runDir, component: "trainer", index: 0 });
}

function trainerDeath(pid: number, note: FailureNote | null): PrlError {
  const died = new PrlError(
    "PRL_PROCESS_DIED",
    `trainer-0 (process ${pid}) ended unexpectedly; go on with prl trainer --resume and prl orchestrator --resume, from the newest checkpoint`,
  );
  return failureOfProcess("trainer-0", note?.pid === pid ? note : null, died);
}

/** The trainer with a ready file here, and when it was written (milliseconds since 1970). */
async function trainerReady(runDir: string): Promise<{ pid: number | null; readyAt: number }> {
  const path = readyFilePath(runDir, "trainer", 0);
  const ready = await readReadyFile(runDir, "trainer", 0);
  const file = ready === null ? null : await ifThere(stat(path), path);
  return { pid: ready?.pid ?? null, readyAt: file?.mtimeMs ?? 0 };
}

async function isLastVersionThere({ config, runDir }: StandaloneRun): Promise<boolean> {
  return (
    config.max_steps !== null && (await isThere(join(runDir, "weights", `step_${config.max_steps}`, "manifest.json")))
  );
}

/** Resolves when the trainer of this run directory has ended, or takes too long; rejects with its error when it fails after its last version. */
async function trainerEnded({ runDir, signal }: StandaloneRun): Promise<void> {
  const { pid } = await trainerReady(runDir);
  if (pid === null) return;
  const end = performance.now() + TRAINER_END_MS;
  while ((await processStart(pid)) !== null && performance.now() < end) {
    await sleep(END_POLL_MS, undefined, { signal });
  }
  const note = await trainerNote(runDir);
  if (note?.pid === pid) throw trainerDeath(pid, note);
}

async function writeSummary(run: StandaloneRun, wallSeconds: number, error: unknown): Promise<void> {
  const { config, runDir, attempt, startStep } = run;
  const hasTrainer = await isThere(readyFilePath(runDir, "trainer", 0));
  const history = new RunHistory(config.max_steps, hasTrainer ? "both" : "orchestrator");
  for await (const line of new MetricsTail(join(runDir, METRICS_FILE)).poll()) {
    if (line.attempt === attempt || line.step <= startStep) history.add(line);
  }
  const summary = summarize(history, {
    status: statusOf(error),
    run: basename(runDir),
    runDir,
    wallSeconds,
    phaseSeconds: {},
    peakMemoryBytes: undefined,
    error,
    supervised: undefined,
    notes: hasTrainer ? [UNMEASURED] : [UNMEASURED, TRAINER_ELSEWHERE],
    evaluationSources: (config.orchestrator.eval?.source ?? []).map((source) => source.name),
  });
  await atomicWriteJson(join(runDir, SUMMARY_FILE), summary);
}
