/**
 * One run from the launcher's side: its directory, its history, the time of each phase, and its end, `summary.json`.
 *
 * Once the directory exists, `summary.json` is written exactly once, last, whatever happened, unless the directory was removed.
 */
import { readdir, realpath, symlink } from "node:fs/promises";
import { join, relative } from "node:path";

import { explain, PrlError } from "../../errors.ts";
import { atomicWriteFile, atomicWriteJson } from "../../files/atomic-write.ts";
import {
  type Metrics,
  METRICS_FILE,
  type MetricsLine,
  MetricsTail,
  openMetrics,
  type RewardPlot,
  rewardPlot,
  type RunEvent,
  RunFeed,
  type RunHistory,
  showMetrics,
  syncHistory,
  type RlStep,
  type RunPhase,
} from "../../monitors/index.ts";
import { DirectoryWatch } from "./directory-watch.ts";
import { DiskForecast, type DiskForecastOptions } from "./disk-forecast.ts";
import { LogRotation, type LogRules } from "../processes/log-rotation.ts";
import { MemoryPeak } from "../processes/memory-peak.ts";
import { REPLACEABLE_COMPONENTS } from "../processes/rl-processes.ts";
import type { Restart } from "../processes/fleet.ts";
import { ProgressLog } from "./progress-log.ts";
import { openRunDirectory, type RunDirectory } from "./run-directory.ts";
import { releaseLock } from "../../files/run-lock.ts";
import type { StageOptions } from "./stage.ts";
import { type RunSummary, statusOf, summarize } from "./summary.ts";
import type { RunChild } from "../processes/child-process.ts";
import type { Supervisor } from "../processes/supervisor.ts";

export interface SessionOptions {
  directory: RunDirectory;
  /** Step of the checkpoint that the run continues from; 0 for a new run, Infinity until `beginAt` says it. */
  startStep: number;
  maxSteps: number | null;
  /** Steps of the supervised stage, if there is one. */
  sftSteps: number | null;
  /** The run has only the supervised stage. */
  supervised: boolean;
  evaluationSources: readonly string[];
  signal: AbortSignal;
  hurry: AbortSignal;
  onEvent: (event: RunEvent) => void;
  /** Limits of the logs and of `events.jsonl`. */
  logRules: LogRules;
  /** Port on which the launcher serves the restarts to Prometheus; null: none. */
  prometheusPort: number | null;
  /** `StageOptions.silenceMs` of the run's stages. */
  silenceMs?: number;
  /** Seconds that the last checkpoint of an interrupted run may take, 0: it makes none; and the step of its newest one. */
  lastCheckpoint?: { seconds: number; newest: () => Promise<number> };
  /** The files of the run that stay on its disk; unset: they are not worked out. */
  disk?: Pick<DiskForecastOptions, "keptBatches" | "checkpoints">;
}

const COMPONENT = "launcher";
/** Processes that are started again when they die or are lost. */
const RESTARTED = [...REPLACEABLE_COMPONENTS, "trainer", "orchestrator", "sft"] as const;

export const SUMMARY_FILE = "summary.json";
export const PLOT_FILE = "reward.svg";

/** Shows the logs of this process and of those that stay among those of the next attempt. */
async function continueLogs(from: string, to: string): Promise<void> {
  const stay = [COMPONENT, ...REPLACEABLE_COMPONENTS];
  try {
    for (const name of await readdir(from)) {
      const stays = stay.some((component) => name === `${component}.log` || name.startsWith(`${component}-`));
      // The link leads to the file, so that the folders between the two may be removed.
      if (stays) await symlink(relative(await realpath(to), await realpath(join(from, name))), join(to, name));
    }
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot link the logs of ${from} in ${to}`, { cause });
  }
}

export class RunSession {
  readonly #options: SessionOptions;
  readonly #events: Metrics;
  /** Number of the attempt in the lines of the launcher's events. */
  readonly #current: { attempt: number };
  readonly #tail: MetricsTail;
  readonly #feed: RunFeed;
  readonly #progress: ProgressLog;
  readonly #startedAt = performance.now();
  readonly #phases = new Map<RunPhase, number>();
  /** Processes that were started again, by component. */
  readonly #restarts = new Map<string, number>();
  readonly #memory: MemoryPeak;
  readonly #watch: DirectoryWatch;
  readonly #rotation: LogRotation;
  readonly #disk: DiskForecast | null;
  readonly #onAbort = (): void => {
    try {
      this.note("Stopping every process of the run");
      this.enter("stopping");
    } catch {
      // A full disk must not keep the processes from an orderly end; `finish` has the same error to tell.
    }
  };
  #directory: RunDirectory;
  #logs: string;
  #phase: { name: RunPhase; since: number } | null = null;
  #supervisor: Supervisor | null = null;
  #hasWarnedOfSmallBatch = false;

  static async open(options: SessionOptions): Promise<RunSession> {
    const { logs } = await openRunDirectory(options.directory);
    const { path: runDir, name: run, attempt } = options.directory;
    const watch = await DirectoryWatch.open(runDir);
    const current = { attempt };
    const written = openMetrics(runDir, COMPONENT, () => current.attempt);
    const { prometheusPort: port } = options;
    if (port === null) return new RunSession(options, logs, { current, events: written }, watch);
    try {
      const events = await showMetrics(written, { component: COMPONENT, run, attempt: () => current.attempt, port });
      return new RunSession(options, logs, { current, events }, watch);
    } catch (error) {
      written.close();
      await watch.close();
      throw error;
    }
  }

  private constructor(
    options: SessionOptions,
    logs: string,
    { current, events }: { current: { attempt: number }; events: Metrics },
    watch: DirectoryWatch,
  ) {
    this.#options = options;
    this.#watch = watch;
    this.#directory = options.directory;
    this.#logs = logs;
    this.#current = current;
    this.#progress = new ProgressLog(logs);
    const { maxSteps, sftSteps, startStep: step } = options;
    const begun = { attempt: current.attempt, step };
    this.#feed = new RunFeed({ maxSteps, sftSteps, begun, onEvent: (event) => this.#emit(event) });
    this.#events = events;
    for (const component of RESTARTED) {
      const name = `restarts_${component.replaceAll("-", "_")}`;
      events.watch?.(
        name,
        `${component} processes that died and were started again.`,
        () => this.#restarts.get(component) ?? 0,
      );
    }
    this.#tail = new MetricsTail(join(options.directory.path, METRICS_FILE));
    // A backend in Python is a process that trainer or inference server starts.
    const backends = () => this.#childPids(({ component }) => component === "trainer" || component === "inference");
    this.#memory = new MemoryPeak(() => [process.pid, ...this.#childPids()], backends);
    const onFailure = (error: unknown): void => this.note(`Warning: ${explain(error)}`);
    const { disk, directory } = options;
    this.#disk = disk === undefined ? null : new DiskForecast({ ...disk, runDir: directory.path, maxSteps });
    this.#rotation = new LogRotation(directory.path, () => this.#logs, options.logRules, onFailure);
    this.#emit({ type: "started", runDir: options.directory.path, maxSteps: options.maxSteps });
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#events.event("started", { run: options.directory.name, pid: process.pid });
  }

  get directory(): RunDirectory {
    return this.#directory;
  }

  /** Folder of the logs of the attempt that is at work. */
  get logs(): string {
    return this.#logs;
  }

  get history(): RunHistory {
    return this.#feed.history;
  }

  /** No phase follows the stopping. */
  enter(phase: RunPhase): void {
    if (this.#phase?.name === "stopping") return;
    const now = performance.now();
    if (this.#phase !== null) this.#addSeconds(this.#phase.name, (now - this.#phase.since) / 1000);
    this.#phase = { name: phase, since: now };
    this.#emit({ type: "phase", phase });
    this.#events.event("phase", { phase });
  }

  note(message: string): void {
    this.#emit({ type: "note", message });
    this.#events.event("note", { message });
  }

  /** Notes that a process is started again. */
  restarted(restart: Restart & { step?: number }): void {
    this.#restarts.set(restart.component, (this.#restarts.get(restart.component) ?? 0) + 1);
    const { component, index, ...rest } = restart;
    this.#events.event("restart", { process: `${component}-${index}`, ...rest });
    const { step } = restart;
    this.#emit({ type: "restart", process: component, ...(step === undefined ? {} : { step }) });
  }

  /** Begins the next attempt, from the checkpoint of `step`: what was done after it counts no more. */
  async goBack(attempt: number, step: number): Promise<void> {
    const directory = { ...this.#directory, attempt, isHeld: true };
    const { logs } = await openRunDirectory(directory);
    await continueLogs(this.#logs, logs);
    this.#directory = directory;
    this.#logs = logs;
    this.#current.attempt = attempt;
    this.#feed.goBack({ attempt, step });
  }

  /** The attempt goes on from the checkpoint of this step, which was not known when the session was opened. */
  beginAt(step: number): void {
    this.#feed.goBack({ attempt: this.#current.attempt, step });
  }

  /** The options of a stage of this run. */
  get stage(): StageOptions {
    return {
      runDir: this.directory.path,
      checkDirectory: () => this.#watch.check(),
      tail: this.#tail,
      onLine: (line) => this.#take(line),
      onLoad: (load) => this.#emit({ type: "load", load }),
      onSupervisor: (supervisor) => {
        this.#supervisor = supervisor;
      },
      signal: this.#options.signal,
      hurry: this.#options.hurry,
      ...this.#lastCheckpoint(),
      ...(this.#options.silenceMs !== undefined && { silenceMs: this.#options.silenceMs }),
    };
  }

  #lastCheckpoint(): Pick<StageOptions, "lastCheckpoint"> {
    const { seconds, newest } = this.#options.lastCheckpoint ?? { seconds: 0, newest: async () => 0 };
    if (seconds === 0) return {};
    const onEnd = async (isMade: boolean): Promise<void> => {
      const step = await newest();
      const from = step === 0 ? "from step 0" : `from the checkpoint of step ${step}`;
      const late = `Warning: no checkpoint was made within ${seconds} s (ckpt.stop_deadline_s)`;
      this.note(`${isMade ? "The run has ended where it was" : late}: --resume goes on ${from}`);
    };
    const onAsked = (): void =>
      this.note(`A checkpoint is made first, within ${seconds} s; a second signal stops at once`);
    return { lastCheckpoint: { limitMs: seconds * 1000, onAsked, onEnd } };
  }

  /** The cause of the run's end: `error`, or that its directory is gone, which may have caused `error`. */
  async blame(error: unknown): Promise<unknown> {
    if (statusOf(error) === "interrupted") return error;
    try {
      await this.#watch.check();
      return error;
    } catch (gone) {
      return gone instanceof PrlError && error !== undefined
        ? new PrlError(gone.code, gone.message, { cause: error })
        : gone;
    }
  }

  /** Writes the plot and the summary if the directory still exists; nothing may be logged afterwards. */
  async finish(error: unknown): Promise<RunSummary> {
    const status = statusOf(error);
    if (this.#phase !== null) this.#addSeconds(this.#phase.name, (performance.now() - this.#phase.since) / 1000);
    this.#phase = null;
    this.#memory.stop();
    await this.#rotation.stop();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    const place = await this.#watch.place();
    const summary = summarize(this.history, {
      status,
      run: this.directory.name,
      runDir: place ?? this.directory.path,
      wallSeconds: (performance.now() - this.#startedAt) / 1000,
      phaseSeconds: Object.fromEntries([...this.#phases].map(([phase, seconds]) => [phase.replace(" ", "_"), seconds])),
      peakMemoryBytes: this.#memory.bytes,
      restarts: Object.fromEntries(this.#restarts),
      error,
      supervised: this.#options.supervised ? this.#feed.lastSftStep : undefined,
      evaluationSources: this.#options.evaluationSources,
    });
    const failures: unknown[] = [];
    for (const write of [
      async () => place !== null && this.#writePlot(summary, place),
      async () => this.#events.event("ended", { status }),
      // The processes of the run have ended, so that these are all lines.
      async () => place !== null && syncHistory(place),
      async () => this.#events.close(),
      async () => place !== null && atomicWriteJson(join(place, SUMMARY_FILE), summary),
      async () => releaseLock(this.directory.path),
      async () => this.#watch.close(),
    ]) {
      try {
        await write();
      } catch (cause) {
        failures.push(cause);
      }
    }
    // A full disk is often why the run failed: then that is the error of the run, and these errors are only printed.
    try {
      if (error === undefined && failures.length > 0) throw failures[0];
      for (const failure of failures) this.#emit({ type: "note", message: `Warning: ${explain(failure)}` });
    } finally {
      this.#progress.close();
    }
    return summary;
  }

  #take(line: MetricsLine): void {
    this.#feed.take(line);
  }

  /** Notes it once; the metrics count it for every step. */
  #warnOfSmallBatch({ step, metrics: { orchestrator } }: RlStep): void {
    const { "batch/zero_advantage": without = 0, "batch/rollouts": trained = 0 } = orchestrator;
    if (without === 0 || this.#hasWarnedOfSmallBatch) return;
    this.#hasWarnedOfSmallBatch = true;
    const counts = `step ${step} trains ${trained} of ${trained + without} traces: the others have an advantage of 0`;
    const advice = "curriculum.gates.advantage_range = {} of a source samples others in their place";
    this.note(`Warning: smaller batches (filter_zero_advantages): ${counts}, see batch/zero_advantage; ${advice}`);
  }

  async #writePlot(summary: RunSummary, place: string): Promise<void> {
    if (this.history.steps.length === 0) return;
    const evaluations = this.history.evaluations;
    const sources = [...new Set([...this.#options.evaluationSources, ...evaluations.map((report) => report.source)])];
    const held =
      summary.reward === null ? [] : [`${summary.reward.first.toFixed(3)} → ${summary.reward.last.toFixed(3)}`];
    const svg = rewardPlot({
      title: `Reward · ${this.directory.name}`,
      subtitle: [`${summary.steps} steps`, ...held, `${summary.wall_seconds.toFixed(1)} s`].join(" · "),
      training: this.#trainingCurves(),
      evaluations: sources.map((name) => ({
        name,
        points: evaluations
          .filter((report) => report.source === name)
          .map((report) => ({ x: report.version, y: report.reward })),
      })),
    });
    await atomicWriteFile(join(place, PLOT_FILE), svg);
  }

  #trainingCurves(): RewardPlot["training"] {
    const { steps } = this.history;
    const sources = [...new Set(steps.flatMap(({ rewards }) => Object.keys(rewards)))];
    if (sources.length === 0)
      return [{ name: "training", points: steps.map(({ step, reward }) => ({ x: step, y: reward ?? NaN })) }];
    return sources.map((name) => ({
      name,
      points: steps.map(({ step, rewards }) => ({ x: step, y: rewards[name] ?? NaN })),
    }));
  }

  #childPids(counts: (child: RunChild) => boolean = () => true): number[] {
    return (this.#supervisor?.children ?? [])
      .filter((child) => child.exit === null && counts(child))
      .map((child) => child.pid)
      .filter((pid) => pid !== undefined);
  }

  #addSeconds(phase: RunPhase, seconds: number): void {
    this.#phases.set(phase, (this.#phases.get(phase) ?? 0) + seconds);
  }

  #emit(event: RunEvent): void {
    this.#options.onEvent(event);
    const failure = this.#progress.add(event);
    if (failure !== null) this.note(`Warning: ${explain(failure)}`);
    if (event.type !== "step") return;
    this.#warnOfSmallBatch(event.step);
    const forecast = this.#disk?.take(event.step.step) ?? null;
    if (forecast !== null) this.note(forecast);
  }
}
