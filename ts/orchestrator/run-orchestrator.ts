/**
 * The orchestrator: decides what is sampled, when it is too old, what it is worth and what is trained.
 *
 * Steps and versions as in design section 4. How many rollouts may have been opened is a function of the policy version alone:
 * `(version + max_async_level + 1)` batches' worth, and one more for each that was dropped. That is the dispatch gate and the ship gate
 * at once: batch `s` cannot be full before version `s - 1 - max_async_level` is on the engines. At level 0 a batch is exactly the groups
 * opened for it, in their order.
 */

import { setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { type ReceivedEpisode, rewardOf, seed } from "../environments/index.ts";
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
import { isRejected } from "./curriculum/gates.ts";
import { type DispatcherOptions, GroupDispatcher, type Group } from "./dispatcher.ts";
import type { EngineFleet } from "./engine-fleet.ts";
import type { EnvWorkers } from "./env-workers.ts";
import { evaluatePolicy } from "./evaluation.ts";
import { loadFilters, type TraceFilter } from "./filters/index.ts";
import { stepMetrics } from "./metrics.ts";
import { type OrchestratorState, writeOrchestratorState } from "./resume.ts";
import { runRollout, scoreRollouts } from "./rollouts.ts";
import { routedWorkers } from "./routed-workers.ts";
import { TrainTasks, type TrainSource, type TrainTask } from "./tasks.ts";
import { buildTrainBatch, type TrainBatch, type TrainRanks } from "./train-batch.ts";
import { TraceWorth, type WorthState } from "./worth.ts";

/** A training step may be long; beyond this the trainer is taken for dead. */
const WEIGHTS_DEADLINE_MS = 6 * 3_600_000;
/** The trainer's half of a checkpoint is written while the next batch is sampled; a large model takes a while. */
const CHECKPOINT_DEADLINE_MS = 3_600_000;
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
  /** Rollouts above the batch's size, and whether others may be sampled for them. */
  readonly overshoot: number;
  isRefilled: boolean;
  worth: WorthState;
}

class Orchestrator {
  readonly #job: OrchestratorJob;
  readonly #fail: (error: unknown) => void;
  readonly #dispatcher: GroupDispatcher;
  readonly #batchSize: number;
  readonly #worth: TraceWorth;
  readonly #tasks: TrainTasks;
  /** Tasks that an earlier attempt had begun and that are not begun again yet. */
  readonly #pending: readonly TrainTask[];
  #filters: TraceFilter[] = [];
  #checkpoint: Promise<void> = Promise.resolve();
  /** The last batch that the newest checkpoint covers and those after it: what they hold, what traces were worth after them. */
  #cuts: Cut[] = [];
  #completed: Group[] = [];
  #version = 0;
  /** Of the batch being collected. */
  #step = 1;
  /** Groups dropped since the last batch was shipped. */
  #dropped = { stale: 0, errored: 0, rejected: 0 };
  /** Rollouts since the last batch that came to nothing. */
  #fruitlessRollouts = 0;
  /** Mean rewards of the groups that ended with some since the last cut. */
  #observed: { index: number; source: string; key: string; mean: number }[] = [];
  #versions: Promise<void> = Promise.resolve();
  #evaluation: Promise<void> = Promise.resolve();
  #changed: (() => void) | undefined;
  readonly #lag = watchLoopLag();

  constructor(job: OrchestratorJob, fail: (error: unknown) => void) {
    this.#job = job;
    this.#fail = fail;
    const { batch_size: batchSize, max_inflight: maxInflight, train } = job.config.orchestrator;
    this.#batchSize = batchSize;
    const { resume } = job;
    this.#version = resume?.step ?? 0;
    this.#step = this.#version + 1;
    this.#worth = new TraceWorth(train.source, resume?.worth);
    this.#tasks = new TrainTasks(job.workers, job.config.seed, train.source, job.signal, resume?.tasks);
    const pending = [...(resume?.pending ?? [])];
    const options: DispatcherOptions = {
      maxInflight,
      nextTask: async () => pending.shift() ?? this.#tasks.next(),
      runRollout: (group, sample, signal) => this.#runRollout(group, sample, signal),
      finishGroup: (group, rollouts, signal) => this.#scoreGroup(group, rollouts, signal),
      onCompleted: (group) => this.#take(group),
      onFailure: fail,
    };
    this.#pending = pending;
    this.#dispatcher = new GroupDispatcher(options, resume?.dispatcher);
    const { metrics } = job;
    metrics.watch?.("rollouts_in_flight", "Rollouts being sampled or scored.", () => this.#dispatcher.inFlight);
    metrics.watch?.("groups_open", "Groups under way.", () => this.#dispatcher.open);
    metrics.watch?.("groups_queued", "Finished groups that wait for a batch.", () => this.#completed.length);
    metrics.watch?.("policy_version", "Version that the engines sample with.", () => this.#version);
  }

  async run(): Promise<void> {
    const { config, signal } = this.#job;
    const maxSteps = config.max_steps ?? Infinity;
    const { eval: evaluation } = config.orchestrator;
    signal.throwIfAborted();
    this.#filters = await loadFilters(config.orchestrator.filters);
    await this.#adopt(this.#version);
    if (this.#version === 0 && evaluation?.eval_at_start === true) await this.#evaluate(0);
    this.#versions = this.#followWeights(maxSteps);
    this.#versions.catch(this.#fail);
    while (this.#step <= maxSteps) await this.#trainStep();
    await this.#versions;
    await this.#evaluation;
    await this.#checkpoint;
    if (evaluation !== null) await this.#evaluate(this.#version);
  }

  /** Cancels what is being sampled and resolves when nothing waits any more; the job's signal must be aborted. */
  async stop(): Promise<void> {
    this.#lag.stop();
    this.#dispatcher.stop();
    await Promise.allSettled([this.#versions, this.#evaluation, this.#checkpoint]);
  }

  /** Collects, cuts and ships batch `#step`; the next is being collected from the cut on. */
  async #trainStep(): Promise<void> {
    const { config, metrics, rollouts, runDir } = this.#job;
    const step = this.#step;
    const startedAt = performance.now();
    for (let attempt = 0; ; attempt++) {
      const { groups, cut } = await this.#collect();
      this.#learnDifficulties();
      const batch = await buildTrainBatch(groups, config, this.#worth, this.#filters, this.#job.trainRanks);
      if (batch.samples === 0) {
        if (attempt + 1 === MAX_EMPTY_BATCHES) throw starved(step, groups);
        metrics.event("empty_batch", { step, groups: groups.length });
        this.#cuts.pop();
        this.#dispatcher.refill(rolloutsOf(groups));
        continue;
      }
      this.#step++;
      // Sources with groups of different sizes can overshoot; what is too much was taken from the next batch.
      this.#dispatcher.refill(cut.overshoot);
      cut.isRefilled = true;
      const dir = rolloutsDir(runDir, step);
      await mkdir(dir, { recursive: true });
      await atomicWriteFile(join(dir, "traces.jsonl"), await traceLines(groups, batch.traceAdvantages));
      await rollouts.send(step, batch.batches, batch.envNames);
      const seconds = (performance.now() - startedAt) / 1000;
      metrics.log(step, {
        ...stepMetrics({ step, groups, batch, dropped: this.#dropped, seconds }),
        "dispatcher/in_flight": this.#dispatcher.inFlight,
        "dispatcher/queued_groups": this.#completed.length,
        ...this.#tasks.metrics(),
        ...this.#lag.take(),
      });
      for (const rank of batch.batches) rank.close();
      this.#dropped = { stale: 0, errored: 0, rejected: 0 };
      this.#fruitlessRollouts = 0;
      return;
    }
  }

  /** Waits for a batch's worth of completed groups that are fresh enough. */
  async #collect(): Promise<{ groups: Group[]; cut: Cut }> {
    const { config, signal } = this.#job;
    for (;;) {
      signal.throwIfAborted();
      this.#dropStale();
      const groups = firstRollouts(this.#completed, this.#batchSize);
      if (config.max_async_level > 0 && groups !== undefined) return this.#cut(this.#completed.splice(0, groups));
      // Which groups end first is chance. No more are opened than the batch needs, so it is all of them.
      if (config.max_async_level === 0 && groups !== undefined && this.#dispatcher.open === 0) {
        return this.#cut(this.#completed.splice(0).sort((a, b) => a.index - b.index));
      }
      await this.#change();
    }
  }

  /** From here on the groups are the batch's, and a checkpoint finds them there. */
  #cut(groups: Group[]): { groups: Group[]; cut: Cut } {
    const tasks = groups.map(({ index, task }) => ({ index, task }));
    const overshoot = rolloutsOf(groups) - this.#batchSize;
    const cut: Cut = { step: this.#step, groups: tasks, overshoot, isRefilled: false, worth: {} };
    this.#cuts.push(cut);
    return { groups, cut };
  }

  /** Drops groups that are too old for the batch being collected: what is being sampled is cancelled, what waits is thrown away. */
  #dropStale(): void {
    const oldest = this.#step - 1 - this.#job.config.orchestrator.max_off_policy_steps;
    const stale = this.#completed.filter((group) => group.dispatchVersion < oldest);
    this.#completed = this.#completed.filter((group) => group.dispatchVersion >= oldest);
    this.#drop("stale", [...this.#dispatcher.cancelOlderThan(oldest), ...stale]);
  }

  #drop(reason: "stale" | "errored" | "rejected", groups: readonly Group[]): void {
    if (groups.length === 0) return;
    this.#dropped[reason] += groups.length;
    this.#job.metrics.event("groups_dropped", { reason, groups: groups.length, step: this.#step });
    this.#dispatcher.refill(rolloutsOf(groups));
  }

  #take(group: Group): void {
    const { gates } = this.#source(group).curriculum;
    if (!group.rollouts.some(({ episode }) => !Number.isNaN(rewardOf(episode)))) this.#dropFruitless("errored", group);
    else {
      this.#observed.push({
        index: group.index,
        source: group.task.source,
        key: group.task.task.key,
        mean: meanReward(group),
      });
      if (isRejected(group, gates)) this.#dropFruitless("rejected", group);
      else this.#completed.push(group);
    }
    this.#changed?.();
  }

  #dropFruitless(reason: "errored" | "rejected", group: Group): void {
    this.#drop(reason, [group]);
    this.#fruitlessRollouts += group.task.groupSize;
    if (this.#fruitlessRollouts >= this.#batchSize * MAX_EMPTY_BATCHES) this.#fail(starved(this.#step, [group]));
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

  /**
   * Resolves when a group completed or the run is to stop. It has no deadline of its own because all that it can be waiting for has one:
   * a rollout, a page of tasks, the next weights.
   */
  async #change(): Promise<void> {
    const { signal } = this.#job;
    await new Promise<void>((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        this.#changed = undefined;
        resolve();
      };
      this.#changed = done;
      signal.addEventListener("abort", done, { once: true });
    });
  }

  async #runRollout(group: Group, sample: number, signal: AbortSignal) {
    const { config, modelName, workers } = this.#job;
    const { train, request_timeout_s: timeout } = config.orchestrator;
    const { source, task, epoch } = group.task;
    const request = {
      env: source,
      task,
      // The fleet says where.
      inference: { url: "", model: modelName },
      sampling: train.sampling,
      seed: seed(config.seed, "rollout", source, task.key, epoch, sample, 0),
      cache_salt: String(group.dispatchVersion),
      priority: group.index,
      deadline_ms: timeout * 1000,
      episode_id: `${group.id}-${sample}`,
      group_id: group.id,
      run: { type: "train" as const, step: this.#step },
    };
    return runRollout(workers, request, signal);
  }

  async #scoreGroup(group: Group, rollouts: ReceivedEpisode[], signal: AbortSignal): Promise<ReceivedEpisode[]> {
    const { config, workers } = this.#job;
    const { source, task, scoresGroups } = group.task;
    if (!scoresGroups) return rollouts;
    const deadline_ms = config.orchestrator.request_timeout_s * 1000;
    return scoreRollouts(workers, { env: source, split: "train", task, deadline_ms }, rollouts, signal);
  }

  /** Brings each new version to the engines as soon as it is published; the one that the run starts from is there already. */
  async #followWeights(last: number): Promise<void> {
    const first = this.#version;
    for (let version = first; version <= last; version++) {
      if (version > first) {
        await this.#adopt(version);
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
    const waiting = [...ahead.flatMap(({ groups }) => groups), ...this.#completed];
    const { state, pending } = this.#dispatcher.snapshot(waiting);
    const overshoot = ahead.reduce((sum, batch) => sum + (batch.isRefilled ? batch.overshoot : 0), 0);
    return {
      step,
      tasks: this.#tasks.state,
      worth: last?.worth ?? this.#job.resume?.worth ?? {},
      dispatcher: { ...state, refills: state.refills - overshoot },
      pending: [...pending, ...this.#pending],
    };
  }

  async #adopt(version: number): Promise<void> {
    const { weights, engines, metrics, signal } = this.#job;
    const received = await weights.receive(version, { deadlineMs: WEIGHTS_DEADLINE_MS, signal });
    this.#dropStale();
    const startedAt = performance.now();
    await engines.adopt(received, signal);
    await received.acknowledge();
    this.#version = version;
    const { digest } = received.manifest;
    metrics.event("weights_adopted", { version, digest, seconds: (performance.now() - startedAt) / 1000 });
  }

  #allowDispatch(): void {
    const { max_async_level: level, max_steps: maxSteps } = this.#job.config;
    const batches = Math.min(this.#version + level + 1, maxSteps ?? Infinity);
    this.#dispatcher.allow(batches * this.#batchSize, this.#version);
  }

  #evaluate(version: number): Promise<void> {
    return evaluatePolicy(this.#job, version);
  }
}

function rolloutsOf(groups: readonly Group[]): number {
  return groups.reduce((sum, { task }) => sum + task.groupSize, 0);
}

/** Over the rollouts that have a reward. */
function meanReward({ rollouts }: Group): number {
  const rewards = rollouts.map(({ episode }) => rewardOf(episode)).filter((reward) => !Number.isNaN(reward));
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}

/** How many groups from the front hold at least `rollouts` rollouts; undefined when all of them hold fewer. */
function firstRollouts(groups: readonly Group[], rollouts: number): number | undefined {
  let sum = 0;
  const last = groups.findIndex(({ task }) => (sum += task.groupSize) >= rollouts);
  return last === -1 ? undefined : last + 1;
}

/**
 * An episode of one trace has its advantage beside it; of several, each trace has its own. Rollouts that are under way get their turn between
 * two groups.
 */
async function traceLines(groups: readonly Group[], advantages: TrainBatch["traceAdvantages"]): Promise<string> {
  const texts: string[] = [];
  for (const [g, group] of groups.entries()) {
    for (const [i, { episode }] of group.rollouts.entries()) {
      const own = advantages[g]?.[i] ?? [];
      const worth =
        episode.traces.length < 2
          ? { advantage: episode.ok ? (own[0] ?? null) : 0 }
          : { advantage: null, advantages: episode.traces.map((_, t) => own[t] ?? null) };
      texts.push(`${JSON.stringify({ ...episode, ...worth })}\n`);
    }
    await setImmediate();
  }
  return texts.join("");
}

function starved(step: number, groups: readonly Group[]): PrlError {
  const errors = groups.flatMap((group) => group.rollouts.flatMap(({ episode }) => episode.errors));
  const example = errors[0];
  const why =
    example === undefined
      ? "every group's rewards were all equal, so no advantage differs from 0: make the task easier or harder, or groups larger"
      : `rollouts fail, the last one with [${example.code}] ${example.message}`;
  return new PrlError(
    "PRL_ORCHESTRATOR_STARVED",
    `step ${step}: ${MAX_EMPTY_BATCHES} batches' worth of groups gave nothing to train on: ${why}`,
  );
}
