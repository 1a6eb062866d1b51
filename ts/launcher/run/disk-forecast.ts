/**
 * How fast a run fills its disk: worked out once, from the sizes of what its first steps have left, so that it holds for every model and environment.
 *
 * What grows with the steps counts: batches, traces, metrics, kept checkpoints. Weight versions, the rolling checkpoint and logs do not: their
 * number is bounded, and the first steps have written them already. Files are looked at without waiting: they are a few dozen, once.
 */
import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";

import { formatBytes, METRICS_FILE } from "../../monitors/index.ts";

export interface DiskForecastOptions {
  runDir: string;
  /** Last step of the run; null: it has none. */
  maxSteps: number | null;
  /** `rollout_transport.keep`; null: batches and traces of all steps stay. */
  keptBatches: number | null;
  /** Where kept checkpoints go, and after how many steps each; null: none is kept, or their number is bounded. */
  checkpoints: { root: string; interval: number } | null;
  /** Milliseconds, monotonic. */
  clock?: () => number;
}

const LINES = [METRICS_FILE, "events.jsonl"];
/** The forecast comes after so many steps, or after so much time and a few steps. */
const ENOUGH_STEPS = 20;
const ENOUGH_MS = 20_000;
const FEWEST_STEPS = 3;
const HOUR_MS = 3_600_000;
/** The hours that are looked ahead in a run without an end: a disk that is full before then causes a warning. */
const HOURS_AHEAD = 24;

interface Base {
  step: number;
  atMs: number;
  linesBytes: number;
}

export class DiskForecast {
  readonly #options: DiskForecastOptions;
  readonly #clock: () => number;
  #base: Base | null = null;
  #isDone = false;

  constructor(options: DiskForecastOptions) {
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
  }

  /** Takes a step that was trained; what the disk will need, once enough steps were taken, else null. */
  take(step: number): string | null {
    if (this.#isDone) return null;
    const atMs = this.#clock();
    // A run that went back to a checkpoint begins again here, too.
    if (this.#base === null || step <= this.#base.step) {
      this.#base = { step, atMs, linesBytes: this.#linesBytes() };
      return null;
    }
    const steps = step - this.#base.step;
    const ms = atMs - this.#base.atMs;
    if (steps < FEWEST_STEPS || (steps < ENOUGH_STEPS && ms < ENOUGH_MS)) return null;
    this.#isDone = true;
    return this.#forecast(this.#base, step, ms / steps);
  }

  #forecast(base: Base, step: number, msPerStep: number): string | null {
    const { runDir, maxSteps, keptBatches, checkpoints } = this.#options;
    const steps = step - base.step;
    const trained = Array.from({ length: steps }, (_, i) => join(runDir, "rollouts", `step_${base.step + 1 + i}`));
    const batches = trained.reduce((sum, folder) => sum + bytesBelow(folder), 0) / steps;
    const lines = (this.#linesBytes() - base.linesBytes) / steps;
    const kept = checkpoints === null ? 0 : newestCheckpoint(checkpoints.root) / checkpoints.interval;
    const perStep = (keptBatches === null ? batches : 0) + lines + kept;
    const free = freeBytes(runDir);
    if (free === null || perStep <= 0) return null;

    const perHour = (perStep * HOUR_MS) / msPerStep;
    const parts = [
      ...(keptBatches === null ? [`batches and traces ${formatBytes(100 * batches)}`] : []),
      `metrics ${formatBytes(100 * lines)}`,
      ...(kept > 0 ? [`kept checkpoints ${formatBytes(100 * kept)}`] : []),
    ];
    const growth = `100 steps take ${formatBytes(100 * perStep)} (${parts.join(", ")}), an hour ${formatBytes(perHour)}`;
    const needed = maxSteps === null ? HOURS_AHEAD * perHour : (maxSteps - step) * perStep;
    if (needed <= free) return `Disk: ${growth}; ${formatBytes(free)} are free`;
    const last = step + Math.floor(free / perStep);
    return `Warning: disk: ${growth}; the ${formatBytes(free)} that are free last until step ${last}: set rollout_transport.keep and ckpt.keep_last, or make room`;
  }

  #linesBytes(): number {
    return LINES.reduce((sum, name) => sum + fileBytes(join(this.#options.runDir, name)), 0);
  }
}

/** A file that is not there, or no longer, takes nothing. */
function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function bytesBelow(folder: string): number {
  return entriesOf(folder).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? bytesBelow(path) : fileBytes(path));
  }, 0);
}

/** Bytes of the checkpoint of the latest step; 0 when there is none yet. */
function newestCheckpoint(root: string): number {
  const steps = entriesOf(root).flatMap(({ name }) => /^step_(\d+)$/u.exec(name)?.[1] ?? []);
  return steps.length === 0 ? 0 : bytesBelow(join(root, `step_${Math.max(...steps.map(Number))}`));
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // It is not there: this run has none, or retention has removed it.
    return [];
  }
}

/** Null when the file system does not say. */
function freeBytes(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
