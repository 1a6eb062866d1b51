/**
 * The orchestrator: decides what is sampled, when that is too old, which advantage it gets and what is trained.
 *
 * Steps and versions count as in ARCHITECTURE.md, "Steps, versions and staleness". `Admission` says how much may be sampled, the dispatcher samples it, the queue holds what has
 * ended, and `Lifecycle` knows where each group is. At level 0 a batch is exactly the groups opened for it, in their order.
 */

import { setMaxListeners } from "node:events";
import { join } from "node:path";
import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { makeFolder } from "../files/make-folder.ts";
import type { ReceivedEpisode } from "../environments/internal.ts";
import { rewardOf } from "../environments/index.ts";
import { atomicWriteFile } from "../files/atomic-write.ts";
import { type Metrics, watchLoopLag } from "../monitors/index.ts";
import {
  type CheckpointRules,
  type CheckpointWriter,
  pruneRollouts,
  rolloutsDir,
  type RolloutSender,
  type WeightFollower,
} from "../transports/index.ts";
import { SamplingBudget, samplingBudgetOptions } from "./scheduling/sampling-budget.ts";
import { BatchQueue } from "./batch/batch-queue.ts";
import { Changes } from "../async/changes.ts";
import { Gates } from "./curriculum/gates.ts";
import { type AssembledBatch, AssembledBatches } from "./checkpoint/assembled-batches.ts";
import { type DispatcherOptions, GroupDispatcher, type Group } from "./scheduling/dispatcher.ts";
import { Drops } from "./metrics/drops.ts";
import type { EngineFleet } from "./engines/engine-fleet.ts";
import type { EnvWorkers } from "./env-workers/env-workers.ts";
import { Evaluations } from "./evaluation/evaluations.ts";
import { loadFilters, type TraceFilter } from "./filters/index.ts";
import { type DropReason, Lifecycle } from "./scheduling/lifecycle.ts";
import { agingOf } from "./scheduling/frozen-sources.ts";
import { loadOf, reportLoad } from "./metrics/load-report.ts";
import { LostRollouts } from "./metrics/lost-rollouts.ts";
import { meanReward, stepMetrics } from "./metrics/metrics.ts";
import { plus, progressMetrics, progressOf } from "./checkpoint/progress.ts";
import { Recycling } from "./scheduling/recycling.ts";
import { ReferenceScores } from "./batch/reference-scores.ts";
import { CheckpointSaver, type OrchestratorState } from "./checkpoint/resume.ts";
import { runRollout, scoreRollouts } from "./scheduling/rollouts.ts";
import { routedWorkers } from "./engines/routed-workers.ts";
import { DispatchLimit } from "./scheduling/dispatch-limit.ts";
import { TrainTasks, type TrainTask } from "./scheduling/tasks.ts";
import { firstError, starvedWithTraces } from "./batch/starved.ts";
import { traceLines } from "./metrics/trace-lines.ts";
import { buildTrainBatch, type TrainRanks } from "./batch/train-batch.ts";
import { trainRequest } from "./scheduling/train-request.ts";
import { WeightWatcher } from "./engines/weight-watcher.ts";
import { AdvantageEstimation } from "./batch/advantage-estimation.ts";

/** Longest time between two checks of the groups that wait for a batch. */
const LONGEST_WAIT_MS = 60_000;
/** This many batches' worth of groups in a row without anything to train end the run. */
const MAX_EMPTY_BATCHES = 10;

export interface OrchestratorJob {
  /** The checkpoint to continue from; null for a new run. */
  resume: OrchestratorState | null;
  checkpoints: CheckpointWriter & { rules: CheckpointRules };
  runDir: string;
  config: RlConfig;
  /** Name that the inference servers know the model by. */
  modelName: string;
  /** The model's folder, for tokenizer and template; `opsd` needs them. */
  modelDir?: string;
  engines: EngineFleet;
  workers: EnvWorkers;
  rollouts: RolloutSender;
  weights: WeightFollower;
  /** Ranks that batches are packed for; default: one rank. */
  trainRanks?: TrainRanks;
  metrics: Metrics;
  signal: AbortSignal;
}

/**
 * Runs until `max_steps` batches are trained and evaluated. Any error of a part ends it, and it rejects with the first one; an abort of
 * the signal rejects with its reason. When it has settled, nothing that it started is at work except rollouts being cancelled.
 */
export async function runOrchestrator(job: OrchestratorJob): Promise<void> {
  const failure = new AbortController();
  const signal = AbortSignal.any([job.signal, failure.signal]);
  // Every rollout of an evaluation listens to it.
  setMaxListeners(0, signal);
  const fail = (error: unknown): void => failure.abort(error);
  const workers = routedWorkers(job.workers, job.engines);
  const orchestrator = new Orchestrator({ ...job, workers, signal }, fail);
  job.engines.start(fail);
  try {
    await orchestrator.run();
  } catch (error) {
    // An aborted wait says only that it was aborted; the signal's reason says why.
    throw signal.aborted ? signal.reason : error;
  } finally {
    failure.abort(new PrlError("PRL_RUN_INTERRUPTED", "the orchestrator has ended"));
    await orchestrator.stop();
    await job.engines.stop();
  }
}

class Orchestrator {
  readonly #job: OrchestratorJob;
  readonly #fail: (error: unknown) => void;
  readonly #dispatcher: GroupDispatcher;
  readonly #dispatchLimit: DispatchLimit;
  readonly #lifecycle = new Lifecycle();
  readonly #budget: SamplingBudget;
  readonly #queue: BatchQueue;
  readonly #drops = new Drops();
  readonly #lost: LostRollouts;
  readonly #gates: Gates;
  readonly #recycling = new Recycling();
  readonly #estimation: AdvantageEstimation;
  readonly #ages: (group: Group) => boolean;
  readonly #references: ReferenceScores;
  readonly #tasks: TrainTasks;
  /** Tasks that an earlier attempt had begun and that are not begun again yet. */
  readonly #pending: readonly TrainTask[];
  #filters: TraceFilter[] = [];
  readonly #checkpoints: CheckpointSaver;
  readonly #assembled: AssembledBatches;
  readonly #watcher: WeightWatcher;
  readonly #evaluations: Evaluations;
  /** Step of the batch being collected. */
  #step = 1;
  /** Groups that the run did not need at its end. */
  #surplus: Group[] = [];
  /** Units of groups that trained nothing since the last batch. */
  #fruitless = 0;
  #versions: Promise<void> = Promise.resolve();
  #reporting: Promise<void> = Promise.resolve();
  /** Changes when a group completed, or a version is in place. */
  readonly #changes = new Changes();
  /** Seconds since the last step in which nothing but a new version could help. */
  #waitedForPolicy = 0;
  readonly #lag = watchLoopLag();

  constructor(job: OrchestratorJob, fail: (error: unknown) => void) {
    this.#job = job;
    this.#fail = fail;
    const { train, eval: evaluation } = job.config.orchestrator;
    const { resume } = job;
    const start = resume?.step ?? 0;
    this.#watcher = new WeightWatcher(start, { ...job, onPending: () => this.#dropStale() });
    this.#checkpoints = new CheckpointSaver({ ...job, maxSteps: job.config.max_steps });
    this.#assembled = new AssembledBatches(
      resume === null ? undefined : { baselines: resume.worth, progress: resume.progress },
    );
    this.#gates = new Gates(train.source);
    this.#lost = new LostRollouts([...train.source, ...(evaluation?.source ?? [])].map(({ name }) => name));
    this.#budget = new SamplingBudget(samplingBudgetOptions(job.config), start, resume?.admission);
    this.#queue = new BatchQueue(this.#budget, {
      level: job.config.max_async_level,
      window: job.config.orchestrator.fifo_window ?? Infinity,
    });
    this.#step = start + 1;
    this.#ages = agingOf(train.source);
    this.#estimation = new AdvantageEstimation(train.source, resume?.worth);
    const { engines, modelName, modelDir } = job;
    this.#references = new ReferenceScores({ sources: train.source, engines, modelName, modelDir });
    this.#tasks = new TrainTasks(job.workers, job.config.seed, train.source, job.signal, resume?.tasks);
    const pending = [...(resume?.pending ?? [])];
    const inFlight = () => this.#lifecycle.inFlight;
    const largestGroup = Math.max(...train.source.map((source) => source.group_size));
    this.#dispatchLimit = new DispatchLimit({ ...job, inFlight, largestGroup, onFreed: () => this.#dispatcher.fill() });
    this.#evaluations = new Evaluations({
      ...job,
      permits: this.#dispatchLimit.permits,
      onReturned: (environment, end) => this.#lost.returned("eval", environment, end),
      onFailure: fail,
    });
    const options: DispatcherOptions = {
      dispatch: this.#dispatchLimit,
      lifecycle: this.#lifecycle,
      opened: resume?.opened ?? 0,
      mayOpen: () => this.#budget.mayOpen(),
      onOpened: ({ index, task }) => this.#budget.opened(index, task.groupSize),
      nextTask: async () => this.#recycling.next(this.#oldestVersion) ?? pending.shift() ?? this.#tasks.next(),
      originOf: (task) => this.#recycling.originOf(task),
      runRollout: (group, sample, signal) => this.#runRollout(group, sample, signal),
      onReturned: ({ task }, end) => {
        this.#lost.returned("train", task.source, end);
        this.#dispatchLimit.permits.trainingReturned();
      },
      finishGroup: (group, rollouts, signal) => this.#scoreGroup(group, rollouts, signal),
      onCompleted: (group) => this.#take(group),
      onCancelled: (group, rollouts) => {
        this.#recycling.returned(group, rollouts);
        this.#dispatcher.fill();
      },
      onFailure: fail,
    };
    this.#pending = pending;
    this.#dispatcher = new GroupDispatcher(options);
    const { metrics } = job;
    metrics.watch?.("rollouts_in_flight", "Rollouts being sampled or scored.", inFlight);
    metrics.watch?.("groups_open", "Groups under way.", () => this.#lifecycle.open);
    metrics.watch?.("rollouts_retried", "Rollouts that were tried again.", () => this.#lifecycle.rollouts.retried);
    metrics.watch?.("groups_queued", "Finished groups that wait for a batch.", () => this.#queue.size);
    metrics.watch?.("policy_version", "Version that the engines sample with.", () => this.#watcher.version);
  }

  async run(): Promise<void> {
    const { config, signal } = this.#job;
    const maxSteps = config.max_steps ?? Infinity;
    const { eval: evaluation } = config.orchestrator;
    signal.throwIfAborted();
    this.#filters = await loadFilters(config.orchestrator.filters);
    await this.#estimation.load();
    await this.#references.check(signal);
    this.#dispatchLimit.start();
    await this.#watcher.adopt(this.#watcher.version);
    if (this.#watcher.version === 0 && evaluation?.eval_at_start === true) await this.#evaluations.evaluate(0);
    const load = () =>
      loadOf(this.#step, this.#watcher.version, this.#budget, this.#queue, this.#lifecycle, this.#dispatchLimit);
    this.#reporting = reportLoad(this.#job, load, signal);
    this.#reporting.catch(this.#fail);
    this.#versions = this.#followWeights(maxSteps);
    this.#versions.catch(this.#fail);
    while (this.#step <= maxSteps) await this.#trainStep();
    this.#dropSurplus();
    await this.#versions;
    await this.#evaluations.ended;
    await this.#checkpoints.saved;
    if (evaluation !== null) await this.#evaluations.evaluate(this.#watcher.version);
  }

  /** Cancels what is being sampled and resolves when nothing waits any more; the job's signal must be aborted. */
  async stop(): Promise<void> {
    this.#lag.stop();
    this.#dispatchLimit.stop();
    this.#dispatcher.stop();
    await Promise.allSettled([this.#versions, this.#evaluations.ended, this.#checkpoints.saved, this.#reporting]);
    await this.#references.close();
  }

  /** Collects, assembles and ships batch `#step`; once it is assembled the next one is collected. */
  async #trainStep(): Promise<void> {
    const { config, metrics, rollouts, runDir } = this.#job;
    const step = this.#step;
    const startedAt = performance.now();
    for (let attempt = 0; ; attempt++) {
      const { groups, assembled } = await this.#collect();
      this.#tasks.learn();
      const packedFrom = performance.now();
      const batch = await buildTrainBatch(
        groups,
        config,
        this.#estimation,
        this.#filters,
        this.#job.trainRanks,
        this.#references,
      );
      assembled.baselines = this.#estimation.state;
      if (batch.samples === 0) {
        if (attempt + 1 === MAX_EMPTY_BATCHES) throw await this.#starved(groups);
        metrics.event("empty_batch", { step, groups: groups.length });
        this.#assembled.undo();
        this.#drop("empty", groups);
        continue;
      }
      const packSeconds = (performance.now() - packedFrom) / 1000;
      const dropped = this.#drops.take();
      const progress = plus(progressOf(groups, true), dropped.progress);
      assembled.progress = plus(assembled.progress, progress);
      this.#step++;
      const dir = rolloutsDir(runDir, step);
      makeFolder(dir, runDir);
      await atomicWriteFile(join(dir, "traces.jsonl"), traceLines(groups, batch.traceAdvantages));
      await rollouts.send(step, batch.batches, batch.envNames);
      this.#ship(groups);
      const seconds = (performance.now() - startedAt) / 1000;
      metrics.log(step, {
        ...(await stepMetrics({
          step,
          groups,
          ages: this.#ages,
          batch,
          dropped,
          seconds,
          environments: config.orchestrator.train.source.length,
        })),
        ...progressMetrics(progress, assembled.progress),
        "time/pack": packSeconds,
        ...this.#stateMetrics(),
      });
      for (const rank of batch.batches) rank.close();
      this.#fruitless = 0;
      return;
    }
  }

  /** Metrics of the state when a batch is with the trainer, and of what happened since the last one was. */
  #stateMetrics(): Record<string, number> {
    const waited = this.#waitedForPolicy;
    this.#waitedForPolicy = 0;
    return {
      "time/wait_for_policy": waited,
      ...this.#lifecycle.metrics(),
      ...this.#dispatcher.metrics(this.#step - 1, this.#ages),
      ...this.#lost.take(),
      ...this.#evaluations.metrics(),
      ...this.#tasks.metrics(),
      ...this.#gates.take(),
      ...this.#dispatchLimit.metrics(),
      ...this.#watcher.metrics(),
      ...(this.#job.config.orchestrator.recycle === "off" ? {} : this.#recycling.metrics()),
      ...this.#lag.take(),
    };
  }

  /**
   * Waits for a batch's worth of completed groups that are fresh enough. It needs no deadline because everything that it can wait for
   * has one: a rollout, a page of tasks, the next weights.
   */
  async #collect(): Promise<{ groups: Group[]; assembled: AssembledBatch }> {
    for (;;) {
      this.#job.signal.throwIfAborted();
      this.#dropStale();
      const groups = this.#queue.takeBatch(this.#dispatcher.oldestOpen);
      if (groups !== undefined) return this.#assemble(groups);
      const needsVersion = this.#needsVersion;
      const waitedFrom = performance.now();
      await this.#changes.next(LONGEST_WAIT_MS, this.#job.signal);
      if (needsVersion) this.#waitedForPolicy += (performance.now() - waitedFrom) / 1000;
    }
  }

  /** Only a new version helps: nothing is under way and nothing may be begun, or a batch is ready and must not be assembled yet. */
  get #needsVersion(): boolean {
    if (this.#dispatcher.oldestOpen === undefined && !this.#budget.mayOpen()) return true;
    return !this.#budget.mayAssemble() && this.#queue.units >= this.#budget.batchSize;
  }

  /** From here on the groups belong to the batch, and a checkpoint finds them in `#assembled`. */
  #assemble(groups: Group[]): { groups: Group[]; assembled: AssembledBatch } {
    for (const { index } of groups) this.#lifecycle.move(index, "assembled");
    return { groups, assembled: this.#assembled.add(this.#step, groups) };
  }

  #ship(groups: readonly Group[]): void {
    for (const { index } of groups) this.#lifecycle.move(index, "shipped");
    this.#budget.shipped(groups.map(({ index }) => index));
    if (this.#job.config.orchestrator.recycle === "tails") this.#cancelTails();
    this.#dispatcher.fill();
  }

  /** Cancels what is sampled beyond the next batch's units; the tasks come back with the next version. */
  #cancelTails(): void {
    const isTail = ({ index }: Group): boolean => this.#budget.isExcess(index);
    for (let group = this.#dispatcher.cancelYoungest(isTail); group !== undefined;) {
      this.#recycling.cancelled(group);
      this.#drop("tail", [group]);
      group = this.#dispatcher.cancelYoungest(isTail);
    }
  }

  /** Oldest version whose tokens may still be trained on. */
  get #oldestVersion(): number {
    return this.#step - 1 - this.#job.config.orchestrator.max_off_policy_steps;
  }

  /** Drops groups that are too old for the batch being collected: those under way are cancelled, those that wait are removed. */
  #dropStale(): void {
    const oldest = this.#oldestVersion;
    const cancelled = this.#dispatcher.cancelOlderThan(oldest, this.#ages);
    if (this.#job.config.orchestrator.recycle !== "off")
      for (const group of cancelled) this.#recycling.cancelled(group);
    this.#drop("stale", [...cancelled, ...this.#queue.takeOlderThan(oldest, this.#ages)]);
  }

  /** Drops what was sampled for tails and for batches after the last one. */
  #dropSurplus(): void {
    this.#surplus = [...this.#dispatcher.stop(), ...this.#queue.takeOlderThan(Infinity)];
    this.#drop("surplus", this.#surplus);
  }

  #drop(reason: DropReason, groups: readonly Group[]): void {
    if (groups.length === 0) return;
    for (const { index } of groups) {
      const state = this.#lifecycle.stateOf(index);
      this.#lifecycle.drop(index, reason);
      this.#budget.dropped(index, state === "sampling" || state === "scoring");
    }
    this.#drops.add(reason, groups);
    const error = firstError(groups);
    const why = error === undefined ? {} : { code: error.code, message: error.message };
    this.#job.metrics.event("groups_dropped", { reason, groups: groups.length, step: this.#step, ...why });
    this.#dispatcher.fill();
  }

  #take(group: Group): void {
    this.#recycling.completed(group.rollouts);
    const tokens = group.rollouts.flatMap(({ samples }) => samples?.tokens ?? []);
    const units = this.#budget.sizeOf(
      group.task.groupSize,
      tokens.reduce((sum, count) => sum + count, 0),
    );
    this.#budget.ended(group.index, units, tokens.length);
    if (!group.rollouts.some(({ episode }) => !Number.isNaN(rewardOf(episode))))
      this.#dropFruitless("errored", group, units);
    else {
      this.#tasks.ended(group.index, group.task, meanReward(group));
      if (this.#gates.rejects(group)) this.#dropFruitless("rejected", group, units);
      else this.#queue.push(group, units);
    }
    this.#dispatcher.fill();
    this.#changes.announce();
  }

  #dropFruitless(reason: "errored" | "rejected", group: Group, units: number): void {
    this.#drop(reason, [group]);
    this.#fruitless += units;
    const most = this.#budget.batchSize * MAX_EMPTY_BATCHES;
    const fail = (error: unknown): void => this.#fail(error);
    if (this.#fruitless >= most) this.#starved([group]).then(fail, fail);
  }

  #starved(groups: readonly Group[]): Promise<PrlError> {
    return starvedWithTraces(groups, { step: this.#step, batches: MAX_EMPTY_BATCHES, runDir: this.#job.runDir });
  }

  async #runRollout(group: Group, sample: number, signal: AbortSignal) {
    const { config, modelName, workers } = this.#job;
    const partial = this.#recycling.partial(group.task, sample);
    const request = trainRequest(config, group, sample, { modelName, step: this.#step, partial });
    return runRollout(workers, request, signal, {
      newestVersion: () => this.#watcher.newest,
      onRetry: () => this.#lifecycle.retried(),
    });
  }

  async #scoreGroup(group: Group, rollouts: ReceivedEpisode[], signal: AbortSignal): Promise<ReceivedEpisode[]> {
    const { config, workers } = this.#job;
    const { source, task, scoresGroups } = group.task;
    const deadline_ms = config.orchestrator.request_timeout_s * 1000;
    const request = { env: source, split: "train" as const, task, deadline_ms };
    const scored = scoresGroups ? await scoreRollouts(workers, request, rollouts, signal) : rollouts;
    return this.#references.score(source, scored, signal);
  }

  /**
   * Brings each new version to the engines as soon as it is published; the one that the run starts from is there already. A version that is lost
   * on its way is passed over for the next one: never a checkpoint's version or the last, which are published in full.
   */
  async #followWeights(last: number): Promise<void> {
    const first = this.#watcher.version;
    for (let version = first; version <= last; version++) {
      if (version > first) {
        try {
          await this.#watcher.adopt(version);
        } catch (error) {
          if (!(error instanceof PrlError) || error.code !== "PRL_WEIGHTS_SUPERSEDED") throw error;
          this.#job.metrics.event("weights_passed_over", { version, message: error.message });
          continue;
        }
        // The state of now, before anything is dispatched under the version.
        if (this.#checkpoints.isDue(version)) {
          this.#checkpoints.save(this.#snapshot(version));
          this.#checkpoints.saved.catch(this.#fail);
        }
        await pruneRollouts(this.#job.runDir, version, this.#job.config.rollout_transport.keep);
      }
      this.#allowDispatch();
      // The last version is evaluated after everything else, with the engines to itself.
      if (version > 0 && version < last) await this.#evaluations.whenDue(version);
    }
  }

  #snapshot(step: number): OrchestratorState {
    const { after, ahead } = this.#assembled.at(step);
    const waiting = [
      ...ahead.flatMap(({ groups }) => groups),
      ...this.#queue.groups,
      ...this.#surplus,
      ...this.#recycling.pending,
    ];
    const { opened, pending } = this.#dispatcher.snapshot(waiting);
    return {
      step,
      tasks: this.#tasks.state,
      worth: after.baselines,
      progress: after.progress,
      opened,
      admission: this.#budget.state,
      pending: [...pending, ...this.#pending],
    };
  }

  #allowDispatch(): void {
    this.#budget.version = this.#dispatcher.version = this.#watcher.version;
    this.#dispatcher.fill();
    this.#changes.announce();
  }
}
