/**
 * The orchestrator: decides what is sampled, when it is too old, what it is worth and what is trained.
 *
 * Steps and versions as in design section 4. `Admission` says how much may be sampled, the dispatcher samples it, the queue holds what has
 * ended, and `Lifecycle` knows where each group is. At level 0 a batch is exactly the groups opened for it, in their order.
 */

import { setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { type ReceivedEpisode, rewardOf } from "../environments/index.ts";
import { atomicWriteFile, type Metrics, watchLoopLag } from "../monitors/index.ts";
import {
  type CheckpointRules,
  type CheckpointWriter,
  isCheckpointStep,
  joinHalves,
  pruneCheckpoints,
  rolloutsDir,
  type RolloutSender,
  type WeightFollower,
} from "../transports/index.ts";
import { Admission } from "./admission.ts";
import { admissionOptions } from "./admission-options.ts";
import { BatchQueue } from "./batch-queue.ts";
import { Changes } from "./changes.ts";
import { isRejected } from "./curriculum/gates.ts";
import { type DispatcherOptions, GroupDispatcher, type Group } from "./dispatcher.ts";
import { Drops } from "./drops.ts";
import type { EngineFleet } from "./engine-fleet.ts";
import type { EnvWorkers } from "./env-workers.ts";
import { evaluatePolicy } from "./evaluation.ts";
import { loadFilters, type TraceFilter } from "./filters/index.ts";
import { type DropReason, Lifecycle } from "./lifecycle.ts";
import { agingOf } from "./frozen-sources.ts";
import { loadOf, reportLoad } from "./load-report.ts";
import { meanReward, stepMetrics } from "./metrics.ts";
import { Recycling } from "./recycling.ts";
import { ReferenceScores } from "./reference-scores.ts";
import { type OrchestratorState, writeOrchestratorState } from "./resume.ts";
import { runRollout, scoreRollouts } from "./rollouts.ts";
import { routedWorkers } from "./routed-workers.ts";
import { Throttle } from "./throttle.ts";
import { TrainTasks, type TrainSource, type TrainTask } from "./tasks.ts";
import { firstError, starved } from "./starved.ts";
import { traceLines } from "./trace-lines.ts";
import { buildTrainBatch, type TrainRanks } from "./train-batch.ts";
import { trainRequest } from "./train-request.ts";
import { TraceWorth, type WorthState } from "./worth.ts";

/** A training step may be long; beyond this the trainer is taken for dead. */
const WEIGHTS_DEADLINE_MS = 6 * 3_600_000;
/** The trainer's half of a checkpoint is written while the next batch is sampled; a large model takes a while. */
const CHECKPOINT_DEADLINE_MS = 3_600_000;
/** Between two looks at what waits for a batch. */
const LONGEST_WAIT_MS = 60_000;
/** So many batches' worth of groups in a row without anything to train end the run. */
const MAX_EMPTY_BATCHES = 10;

export interface OrchestratorJob {
  /** The checkpoint to go on from; null for a new run. */
  resume: OrchestratorState | null;
  checkpoints: CheckpointWriter & { rules: CheckpointRules };
  runDir: string;
  config: RlConfig;
  /** Name that the inference servers know the model by. */
  modelName: string;
  /** Its folder, for tokenizer and template; `opsd` needs them. */
  modelDir?: string;
  engines: EngineFleet;
  workers: EnvWorkers;
  rollouts: RolloutSender;
  weights: WeightFollower;
  /** For whom batches are packed; default: one rank. */
  trainRanks?: TrainRanks;
  metrics: Metrics;
  signal: AbortSignal;
}

/**
 * Runs until `max_steps` batches are trained and evaluated. Any error of a part ends it, and it rejects with the first one; an abort of
 * the signal rejects with its reason. Nothing that it started is at work when it has settled, but for rollouts being cancelled.
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
    // Waits that were aborted say only that they were; the reason says why.
    throw signal.aborted ? signal.reason : error;
  } finally {
    failure.abort(new PrlError("PRL_RUN_INTERRUPTED", "the orchestrator has ended"));
    await orchestrator.stop();
    await job.engines.stop();
  }
}

/** What a batch was cut from, and what traces were worth after it. */
interface Cut {
  readonly step: number;
  readonly groups: Pick<Group, "index" | "task">[];
  worth: WorthState;
}

class Orchestrator {
  readonly #job: OrchestratorJob;
  readonly #fail: (error: unknown) => void;
  readonly #dispatcher: GroupDispatcher;
  readonly #throttle: Throttle;
  readonly #lifecycle = new Lifecycle();
  readonly #admission: Admission;
  readonly #queue: BatchQueue;
  readonly #drops = new Drops();
  readonly #recycling = new Recycling();
  readonly #worth: TraceWorth;
  readonly #ages: (group: Group) => boolean;
  readonly #references: ReferenceScores;
  readonly #tasks: TrainTasks;
  /** Tasks that an earlier attempt had begun and that are not begun again yet. */
  readonly #pending: readonly TrainTask[];
  #filters: TraceFilter[] = [];
  #checkpoint: Promise<void> = Promise.resolve();
  /** The last batch that the newest checkpoint covers and those after it: what they hold, what traces were worth after them. */
  #cuts: Cut[] = [];
  #version = 0;
  /** `#version`, or the one that is being brought to the engines. */
  #newestVersion = 0;
  /** Of the batch being collected. */
  #step = 1;
  /** Groups that the run ended without. */
  #surplus: Group[] = [];
  /** Units of groups since the last batch that came to nothing. */
  #fruitless = 0;
  /** Mean rewards of the groups that ended with some since the last cut. */
  #observed: { index: number; source: string; key: string; mean: number }[] = [];
  #versions: Promise<void> = Promise.resolve();
  #evaluation: Promise<void> = Promise.resolve();
  #reporting: Promise<void> = Promise.resolve();
  /** A group completed, or a version is in place. */
  readonly #changes = new Changes();
  readonly #lag = watchLoopLag();

  constructor(job: OrchestratorJob, fail: (error: unknown) => void) {
    this.#job = job;
    this.#fail = fail;
    const { train } = job.config.orchestrator;
    const { resume } = job;
    this.#version = resume?.step ?? 0;
    this.#admission = new Admission(admissionOptions(job.config), this.#version, resume?.admission);
    this.#queue = new BatchQueue(this.#admission, {
      level: job.config.max_async_level,
      window: job.config.orchestrator.fifo_window ?? Infinity,
    });
    this.#step = this.#version + 1;
    this.#ages = agingOf(train.source);
    this.#worth = new TraceWorth(train.source, resume?.worth);
    const { engines, modelName, modelDir } = job;
    this.#references = new ReferenceScores({ sources: train.source, engines, modelName, modelDir });
    this.#tasks = new TrainTasks(job.workers, job.config.seed, train.source, job.signal, resume?.tasks);
    const pending = [...(resume?.pending ?? [])];
    const inFlight = () => this.#lifecycle.inFlight;
    const largestGroup = Math.max(...train.source.map((source) => source.group_size));
    this.#throttle = new Throttle({ ...job, inFlight, largestGroup, onRoom: () => this.#dispatcher.fill() });
    const options: DispatcherOptions = {
      throttle: this.#throttle,
      lifecycle: this.#lifecycle,
      opened: resume?.opened ?? 0,
      mayOpen: () => this.#admission.mayOpen(),
      onOpened: ({ index, task }) => this.#admission.opened(index, task.groupSize),
      nextTask: async () => this.#recycling.next(this.#oldestVersion) ?? pending.shift() ?? this.#tasks.next(),
      originOf: (task) => this.#recycling.originOf(task),
      runRollout: (group, sample, signal) => this.#runRollout(group, sample, signal),
      onReturned: () => this.#throttle.room.trainingReturned(),
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
    metrics.watch?.("policy_version", "Version that the engines sample with.", () => this.#version);
  }

  async run(): Promise<void> {
    const { config, signal } = this.#job;
    const maxSteps = config.max_steps ?? Infinity;
    const { eval: evaluation } = config.orchestrator;
    signal.throwIfAborted();
    this.#filters = await loadFilters(config.orchestrator.filters);
    await this.#worth.load();
    await this.#references.check(signal);
    this.#throttle.start();
    await this.#adopt(this.#version);
    if (this.#version === 0 && evaluation?.eval_at_start === true) await this.#evaluate(0);
    const load = () => loadOf(this.#step, this.#version, this.#admission, this.#queue, this.#lifecycle, this.#throttle);
    this.#reporting = reportLoad(this.#job, load, signal);
    this.#reporting.catch(this.#fail);
    this.#versions = this.#followWeights(maxSteps);
    this.#versions.catch(this.#fail);
    while (this.#step <= maxSteps) await this.#trainStep();
    this.#dropSurplus();
    await this.#versions;
    await this.#evaluation;
    await this.#checkpoint;
    if (evaluation !== null) await this.#evaluate(this.#version);
  }

  /** Cancels what is being sampled and resolves when nothing waits any more; the job's signal must be aborted. */
  async stop(): Promise<void> {
    this.#lag.stop();
    this.#throttle.stop();
    this.#dispatcher.stop();
    await Promise.allSettled([this.#versions, this.#evaluation, this.#checkpoint, this.#reporting]);
    await this.#references.close();
  }

  /** Collects, cuts and ships batch `#step`; the next is being collected from the cut on. */
  async #trainStep(): Promise<void> {
    const { config, metrics, rollouts, runDir } = this.#job;
    const step = this.#step;
    const startedAt = performance.now();
    for (let attempt = 0; ; attempt++) {
      const { groups, cut } = await this.#collect();
      this.#learnDifficulties();
      const packedFrom = performance.now();
      const batch = await buildTrainBatch(
        groups,
        config,
        this.#worth,
        this.#filters,
        this.#job.trainRanks,
        this.#references,
      );
      cut.worth = this.#worth.state;
      if (batch.samples === 0) {
        if (attempt + 1 === MAX_EMPTY_BATCHES) throw starved(step, groups, MAX_EMPTY_BATCHES);
        metrics.event("empty_batch", { step, groups: groups.length });
        this.#cuts.pop();
        this.#drop("empty", groups);
        continue;
      }
      const packSeconds = (performance.now() - packedFrom) / 1000;
      this.#step++;
      const dir = rolloutsDir(runDir, step);
      await mkdir(dir, { recursive: true });
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
          dropped: this.#drops.take(),
          seconds,
          environments: config.orchestrator.train.source.length,
        })),
        "time/pack": packSeconds,
        ...this.#lifecycle.metrics(),
        ...this.#tasks.metrics(),
        ...this.#throttle.metrics(),
        ...(config.orchestrator.recycle === "off" ? {} : this.#recycling.metrics()),
        ...this.#lag.take(),
      });
      for (const rank of batch.batches) rank.close();
      this.#fruitless = 0;
      return;
    }
  }

  /**
   * Waits for a batch's worth of completed groups that are fresh enough. It has no deadline of its own because all that it can be waiting for
   * has one: a rollout, a page of tasks, the next weights.
   */
  async #collect(): Promise<{ groups: Group[]; cut: Cut }> {
    for (;;) {
      this.#job.signal.throwIfAborted();
      this.#dropStale();
      const groups = this.#queue.takeBatch(this.#dispatcher.oldestOpen);
      if (groups !== undefined) return this.#cut(groups);
      await this.#changes.next(LONGEST_WAIT_MS, this.#job.signal);
    }
  }

  /** From here on the groups are the batch's, and a checkpoint finds them there. */
  #cut(groups: Group[]): { groups: Group[]; cut: Cut } {
    for (const { index } of groups) this.#lifecycle.move(index, "cut");
    const cut = { step: this.#step, groups: groups.map(({ index, task }) => ({ index, task })), worth: {} };
    this.#cuts.push(cut);
    return { groups, cut };
  }

  #ship(groups: readonly Group[]): void {
    for (const { index } of groups) this.#lifecycle.move(index, "shipped");
    this.#admission.shipped(groups.map(({ index }) => index));
    if (this.#job.config.orchestrator.recycle === "tails") this.#cutTails();
    this.#dispatcher.fill();
  }

  /** What is sampled beyond what the next batch may count comes back when a version has. */
  #cutTails(): void {
    const isTail = ({ index }: Group): boolean => this.#admission.isExcess(index);
    for (let group = this.#dispatcher.cancelYoungest(isTail); group !== undefined;) {
      this.#recycling.cut(group);
      this.#drop("tail", [group]);
      group = this.#dispatcher.cancelYoungest(isTail);
    }
  }

  /** Oldest version of which a token may still be trained on. */
  get #oldestVersion(): number {
    return this.#step - 1 - this.#job.config.orchestrator.max_off_policy_steps;
  }

  /** Drops groups that are too old for the batch being collected: what is being sampled is cancelled, what waits is thrown away. */
  #dropStale(): void {
    const oldest = this.#oldestVersion;
    const cancelled = this.#dispatcher.cancelOlderThan(oldest, this.#ages);
    if (this.#job.config.orchestrator.recycle !== "off") for (const group of cancelled) this.#recycling.cut(group);
    this.#drop("stale", [...cancelled, ...this.#queue.takeOlderThan(oldest, this.#ages)]);
  }

  /** What was sampled for tails and for batches that there will not be. */
  #dropSurplus(): void {
    this.#surplus = [...this.#dispatcher.stop(), ...this.#queue.takeOlderThan(Infinity)];
    this.#drop("surplus", this.#surplus);
  }

  #drop(reason: DropReason, groups: readonly Group[]): void {
    if (groups.length === 0) return;
    for (const { index } of groups) {
      const state = this.#lifecycle.stateOf(index);
      this.#lifecycle.drop(index, reason);
      this.#admission.dropped(index, state === "sampling" || state === "scoring");
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
    const units = this.#admission.sizeOf(
      group.task.groupSize,
      tokens.reduce((sum, count) => sum + count, 0),
    );
    this.#admission.ended(group.index, units, tokens.length);
    const { gates } = this.#source(group).curriculum;
    if (!group.rollouts.some(({ episode }) => !Number.isNaN(rewardOf(episode))))
      this.#dropFruitless("errored", group, units);
    else {
      this.#observed.push({
        index: group.index,
        source: group.task.source,
        key: group.task.task.key,
        mean: meanReward(group),
      });
      if (isRejected(group, gates)) this.#dropFruitless("rejected", group, units);
      else this.#queue.push(group, units);
    }
    this.#dispatcher.fill();
    this.#changes.announce();
  }

  #dropFruitless(reason: "errored" | "rejected", group: Group, units: number): void {
    this.#drop(reason, [group]);
    this.#fruitless += units;
    const most = this.#admission.batchSize * MAX_EMPTY_BATCHES;
    if (this.#fruitless >= most) this.#fail(starved(this.#step, [group], MAX_EMPTY_BATCHES));
  }

  #source(group: Group): TrainSource {
    const source = this.#job.config.orchestrator.train.source.find(({ name }) => name === group.task.source);
    if (source === undefined) throw new PrlError("PRL_CONFIG_INVALID", `there is no source "${group.task.source}"`);
    return source;
  }

  /** What ended since the last cut changes what is drawn, in the order in which it was opened: timing has no part in it. */
  #learnDifficulties(): void {
    this.#tasks.observe(this.#observed.splice(0).sort((a, b) => a.index - b.index));
  }

  async #runRollout(group: Group, sample: number, signal: AbortSignal) {
    const { config, modelName, workers } = this.#job;
    const partial = this.#recycling.partial(group.task, sample);
    const request = trainRequest(config, group, sample, { modelName, step: this.#step, partial });
    return runRollout(workers, request, signal, {
      newestVersion: () => this.#newestVersion,
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
   * Brings each new version to the engines as soon as it is published; the one that the run starts from is there already. One that is lost on
   * its way is passed over when the next is there: never one of a checkpoint or the last, which are published in full.
   */
  async #followWeights(last: number): Promise<void> {
    const first = this.#version;
    for (let version = first; version <= last; version++) {
      if (version > first) {
        try {
          await this.#adopt(version);
        } catch (error) {
          if (!(error instanceof PrlError) || error.code !== "PRL_WEIGHTS_SUPERSEDED") throw error;
          this.#job.metrics.event("weights_passed_over", { version, message: error.message });
          continue;
        }
        this.#saveCheckpoint(version);
      }
      this.#allowDispatch();
      // That of the last version comes after everything else, with the engines to itself.
      if (version > 0 && version < last) await this.#evaluateWhenDue(version);
    }
  }

  /** The evaluation of a version that an interrupted attempt adopted may not have ended: it is repeated. */
  async #evaluateWhenDue(version: number): Promise<void> {
    const { eval: evaluation } = this.#job.config.orchestrator;
    if (evaluation === null || evaluation.interval === null || version % evaluation.interval !== 0) return;
    this.#evaluation = this.#evaluation.then(() => this.#evaluate(version));
    this.#evaluation.catch(this.#fail);
    if (evaluation.hold_weights) await this.#evaluation;
  }

  /**
   * Writes this half as it is now, before anything is dispatched under the version, and joins both halves when the trainer's is there. One
   * after the other, beside the run.
   */
  #saveCheckpoint(version: number): void {
    const { checkpoints, config, metrics, signal } = this.#job;
    if (!isCheckpointStep(version, checkpoints.rules, config.max_steps)) return;
    const state = this.#snapshot(version);
    const save = async () => {
      const startedAt = performance.now();
      await writeOrchestratorState(checkpoints, state);
      await joinHalves(checkpoints, version, { deadlineMs: CHECKPOINT_DEADLINE_MS, signal });
      const pruned = await pruneCheckpoints(checkpoints.root, version, checkpoints.rules);
      metrics.event("checkpoint", { step: version, pruned, seconds: (performance.now() - startedAt) / 1000 });
    };
    this.#checkpoint = this.#checkpoint.then(save);
    this.#checkpoint.catch(this.#fail);
  }

  /** Batches cut ahead of the version are sampled again too: the trainer's half does not have them. */
  #snapshot(step: number): OrchestratorState {
    const ahead = this.#cuts.filter((batch) => batch.step > step);
    const last = this.#cuts.findLast((batch) => batch.step <= step);
    this.#cuts = last === undefined ? ahead : [last, ...ahead];
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
      worth: last?.worth ?? this.#job.resume?.worth ?? {},
      opened,
      admission: this.#admission.state,
      pending: [...pending, ...this.#pending],
    };
  }

  async #adopt(version: number): Promise<void> {
    const { weights, engines, metrics, signal } = this.#job;
    const received = await weights.receive(version, { deadlineMs: WEIGHTS_DEADLINE_MS, signal });
    this.#dropStale();
    this.#newestVersion = version;
    const startedAt = performance.now();
    await engines.adopt(received, signal);
    await received.acknowledge();
    this.#version = version;
    const { digest } = received.manifest;
    metrics.event("weights_adopted", { version, digest, seconds: (performance.now() - startedAt) / 1000 });
  }

  #allowDispatch(): void {
    this.#admission.version = this.#dispatcher.version = this.#version;
    this.#dispatcher.fill();
    this.#changes.announce();
  }

  #evaluate(version: number): Promise<void> {
    return evaluatePolicy({ ...this.#job, room: this.#throttle.room }, version);
  }
}
