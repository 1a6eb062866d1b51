/**
 * The parts of the orchestrator and how they are connected: what one part calls when something happens in another.
 *
 * Records call no other part. Sampling fills them, and the two loops, `BatchAssembler` and `PolicyFollower`, take from them. Nothing is
 * decided here, and nothing is kept.
 */
import type { RlConfig } from "../config/index.ts";
import { type LoopLag, type Metrics, type RunLoad, watchLoopLag } from "../monitors/index.ts";
import type {
  CheckpointRules,
  CheckpointWriter,
  OrchestratorStop,
  RolloutSender,
  WeightFollower,
} from "../transports/index.ts";
import { BatchAssembler } from "./batch/batch-assembler.ts";
import { BatchBuilder } from "./batch/batch-builder.ts";
import { BatchQueue } from "./batch/batch-queue.ts";
import { CompletedGroups } from "./batch/completed-groups.ts";
import { Starvation } from "./batch/starvation.ts";
import type { TrainRanks } from "./batch/train-batch.ts";
import { AssembledBatches } from "./checkpoint/assembled-batches.ts";
import { CheckpointSaver, type OrchestratorState } from "./checkpoint/resume.ts";
import { RunState } from "./checkpoint/run-state.ts";
import type { OrchestratorSnapshot } from "./checkpoint/snapshot.ts";
import { Gates } from "./curriculum/gates.ts";
import type { EngineFleet } from "./engines/engine-fleet.ts";
import type { GpuTurns } from "./engines/gpu-turns.ts";
import { WeightWatcher } from "./engines/weight-watcher.ts";
import type { EnvWorkers } from "./env-workers/env-workers.ts";
import { Evaluations } from "./evaluation/evaluations.ts";
import { loadOf } from "./metrics/load-report.ts";
import { type LoggedLines, NO_LINES } from "./metrics/logged-lines.ts";
import { LostRollouts } from "./metrics/lost-rollouts.ts";
import { stateMetrics } from "./metrics/state-metrics.ts";
import { StepLog } from "./metrics/step-log.ts";
import { PolicyFollower } from "./policy-follower.ts";
import { DispatchLimit } from "./scheduling/dispatch-limit.ts";
import { type Group, GroupDispatcher } from "./scheduling/dispatcher.ts";
import { GroupPool } from "./scheduling/group-pool.ts";
import { Lifecycle } from "./scheduling/lifecycle.ts";
import { Recycling } from "./scheduling/recycling.ts";
import { SamplingBudget, samplingBudgetOptions } from "./scheduling/sampling-budget.ts";
import { Staleness } from "./scheduling/staleness.ts";
import { TrainTasks } from "./scheduling/tasks.ts";
import { TrainRollouts } from "./scheduling/train-rollouts.ts";

export interface OrchestratorJob {
  /** The checkpoint to continue from; null for a new run. */
  resume: OrchestratorState | null;
  /** Snapshots are written, so that another process can take over within the attempt. Default: none are. */
  snapshots?: boolean;
  /** Where an earlier process of the attempt has come to: the run continues from there, not from `resume`. Default: there was none. */
  snapshot?: OrchestratorSnapshot | null;
  /** Lines that the earlier process has logged. Default: none. */
  logged?: LoggedLines;
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
  /** The engines share their GPU with the trainer, and it is their turn. Null or absent: they do not share it. */
  turns?: GpuTurns | null;
  /** Ranks that batches are packed for; default: one rank. */
  trainRanks?: TrainRanks;
  metrics: Metrics;
  /** A request to end with a checkpoint. Absent: there is none. */
  stop?: OrchestratorStop;
  signal: AbortSignal;
}

/** The parts that the run starts, waits for and stops. */
export interface OrchestratorParts {
  assembler: BatchAssembler;
  builder: BatchBuilder;
  checkpoints: CheckpointSaver;
  dispatcher: GroupDispatcher;
  evaluations: Evaluations;
  follower: PolicyFollower;
  lag: LoopLag;
  lifecycle: Lifecycle;
  limit: DispatchLimit;
  load: () => RunLoad;
  log: StepLog;
  pool: GroupPool;
  runState: RunState;
}

/** @param fail called with an error that ends the run */
export function connectParts(job: OrchestratorJob, fail: (error: unknown) => void): OrchestratorParts {
  const { config, metrics, runDir, signal, turns = null } = job;
  const { train, recycle } = config.orchestrator;
  const lag = watchLoopLag();
  const records = makeRecords(job);
  const { budget, builder, lifecycle, queue, staleness } = records;
  const sampling = connectSampling(job, records, {
    onCompleted: (group) => completed.take(group),
    onPending: () => pool.dropStale(),
    onFailure: fail,
  });
  const { dispatcher, evaluations, limit, watcher } = sampling;
  const state = () => stateMetrics({ ...records, ...sampling, lag, recycle });
  const log = new StepLog({ metrics, staleness, environments: train.source.length, state });
  const pool = new GroupPool({
    ...records,
    dispatcher,
    recycle,
    onDropped: (reason, groups) => log.dropped(reason, groups),
  });
  const completed = new CompletedGroups({ ...records, pool, onFailure: fail });
  const checkpoints = new CheckpointSaver({ ...job, maxSteps: config.max_steps });
  const { root: checkpointRoot, run, attempt } = job.checkpoints;
  const place = job.snapshots === true ? { runDir, run, attempt } : null;
  const runState = new RunState({ ...records, checkpoints, pool, version: watcher.version, place });
  const commit: RunState["commit"] = (step, line) => runState.commit(step, line);
  const handOver = async (step: number, commits: () => Promise<void>): Promise<void> => {
    if (turns === null) return commits();
    await follower.followed(step - 1, signal);
    await turns.toTrainer(step, { engines: job.engines, commit: commits, signal });
  };
  const { rollouts } = job;
  const endAsked = job.stop?.asked;
  const assembler = new BatchAssembler({ ...records, commit, endAsked, handOver, log, pool, rollouts, runDir, signal });
  const follower = new PolicyFollower({
    begunWith: job.resume?.step ?? 0,
    checkpoints,
    checkpointRoot,
    evaluations,
    keepRollouts: config.rollout_transport.keep,
    lastVersion: config.max_steps ?? Infinity,
    metrics,
    runDir,
    watcher,
    snapshot: (version) => runState.checkpoint(version),
    onVersion(version) {
      // The state for its checkpoint is taken before groups are opened under it.
      runState.version = version;
      pool.version = version;
    },
    onFailure: fail,
  });
  const load = () => loadOf({ staleness, watcher, budget, queue, lifecycle, limit });
  const parts = {
    assembler,
    builder,
    checkpoints,
    dispatcher,
    evaluations,
    follower,
    lag,
    lifecycle,
    limit,
    load,
    log,
  };
  return { ...parts, pool, runState };
}

/** The state of tasks, groups and batches, as the checkpoint left it. */
function makeRecords(job: OrchestratorJob) {
  const { config, engines, modelDir, modelName, runDir, signal, snapshot = null, trainRanks, workers } = job;
  const { train, eval: evaluation, fifo_window: window, max_off_policy_steps: maxOffPolicySteps } = config.orchestrator;
  const sources = train.source;
  const resume = snapshot?.state ?? job.resume;
  const shipped = resume?.step ?? 0;
  const version = snapshot?.version ?? shipped;
  const staleness = new Staleness({ step: shipped + 1, maxOffPolicySteps, sources });
  const budget = new SamplingBudget(samplingBudgetOptions(config), version, resume?.admission, shipped);
  return {
    assembled: new AssembledBatches(
      resume === null ? undefined : { baselines: resume.worth, progress: resume.progress },
      snapshot?.ahead,
    ),
    budget,
    builder: new BatchBuilder({ config, engines, modelName, modelDir, baselines: resume?.worth, trainRanks }),
    gates: new Gates(sources),
    lifecycle: new Lifecycle(),
    lost: new LostRollouts([...sources, ...(evaluation?.source ?? [])].map(({ name }) => name)),
    queue: new BatchQueue(budget, { level: config.max_async_level, window: window ?? Infinity }),
    recycling: new Recycling(),
    staleness,
    starvation: new Starvation({ runDir, batchSize: budget.batchSize, staleness }),
    tasks: new TrainTasks({
      workers,
      seed: config.seed,
      sources,
      signal,
      state: resume?.tasks,
      pending: resume?.pending,
    }),
  };
}

interface SamplingEvents {
  /** A group has been sampled and scored. */
  onCompleted: (group: Group) => void;
  /** A version is published and not on its way to the engines yet. */
  onPending: () => void;
  onFailure: (error: unknown) => void;
}

/** The parts that sample: groups for training and evaluations, under one limit, with the version that is in place. */
function connectSampling(job: OrchestratorJob, records: ReturnType<typeof makeRecords>, events: SamplingEvents) {
  const { config, logged = NO_LINES, metrics, resume, snapshot = null } = job;
  const { onCompleted, onPending, onFailure } = events;
  const { budget, builder, lifecycle, lost, queue, recycling, staleness, tasks } = records;
  const inFlight = () => lifecycle.inFlight;
  const watcher = new WeightWatcher(snapshot?.version ?? resume?.step ?? 0, { ...job, onPending });
  const largestGroup = Math.max(...config.orchestrator.train.source.map((source) => source.group_size));
  const limit = new DispatchLimit({ ...job, inFlight, largestGroup, onFreed: () => dispatcher.fill() });
  const evaluations = new Evaluations({
    ...job,
    attempt: job.checkpoints.attempt,
    permits: limit.permits,
    done: logged.evaluations,
    onReturned: (environment, end) => lost.returned("eval", environment, end),
    onFailure,
  });
  const rollouts = new TrainRollouts({ ...job, lifecycle, recycling, references: builder, staleness, watcher });
  const dispatcher = new GroupDispatcher({
    dispatch: limit,
    lifecycle,
    opened: (snapshot?.state ?? resume)?.opened ?? 0,
    mayOpen: () => budget.mayOpen(),
    onOpened: ({ index, task }) => budget.opened(index, task.groupSize),
    nextTask: async () => recycling.next(staleness.oldestVersion) ?? tasks.next(),
    originOf: (task) => recycling.originOf(task),
    runRollout: (group, sample, signal) => rollouts.run(group, sample, signal),
    onReturned({ task }, end) {
      lost.returned("train", task.source, end);
      limit.permits.trainingReturned();
    },
    finishGroup: (group, ended, signal) => rollouts.score(group, ended, signal),
    onCompleted,
    onCancelled(group, ended) {
      recycling.returned(group, ended);
      dispatcher.fill();
    },
    onFailure,
  });
  metrics.watch?.("rollouts_in_flight", "Rollouts being sampled or scored.", inFlight);
  metrics.watch?.("groups_open", "Groups under way.", () => lifecycle.open);
  metrics.watch?.("rollouts_retried", "Rollouts that were tried again.", () => lifecycle.rollouts.retried);
  metrics.watch?.("groups_queued", "Finished groups that wait for a batch.", () => queue.size);
  metrics.watch?.("policy_version", "Version that the engines sample with.", () => watcher.version);
  return { dispatcher, evaluations, limit, watcher };
}
