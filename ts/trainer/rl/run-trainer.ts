/**
 * The trainer of a run: waits for batches, trains, publishes weights.
 *
 * Steps count from 1; batch `s` trains v(s-1) into v(s). The weights that it starts from, v0 or those of a checkpoint, are published before
 * it waits for the first batch. A step whose loss or gradient is not finite changes nothing and is counted; too many in a row end the run. A trainer that
 * takes the place of a lost one does the steps since a checkpoint again (`replay.ts`). One that shares its GPU with the inference servers takes it in its
 * turn only, and has left it before a version is visible, because that ends the turn. One that is asked to end with a checkpoint ends the step that it is at.
 * It knows the batch and weight formats (ARCHITECTURE.md) and no algorithm beyond the loss.
 */

import type { RlConfig } from "../../config/index.ts";
import { withEnds } from "../../async/with-ends.ts";
import { PrlError } from "../../errors.ts";
import { type Metrics, metricsAfter } from "../../monitors/index.ts";
import {
  type CheckpointRules,
  type CheckpointWriter,
  hasHalf,
  isCheckpointStep,
  isJoined,
  prepareHalf,
  type ReceivedBatch,
  type RolloutReceiver,
  type TrainerStop,
  type TrainerTurn,
  type WeightSender,
} from "../../transports/index.ts";
import { assertBaseWeights, type BaseWeights, weightsDigest, writeBaseWeights } from "../base-weights.ts";
import { canaryTokenIds, scoreCanary } from "../canary.ts";
import { checkpointDisk } from "../checkpoint-disk.ts";
import { type BackendJob, type StepBatch, traceDirOf, type TrainerBackend } from "../backend/backend.ts";
import { openBackend } from "../backend/open-backend.ts";
import { learningRate } from "../schedule.ts";
import { cannotReplay, type EarlierWork, takeOverWeights } from "./replay.ts";
import { tokenStaleness } from "./token-staleness.ts";
import { peakMemory, trainMetrics } from "../train-metrics.ts";
import { TrainSteps } from "../train-step.ts";
import { stepSpeeds } from "../utilization.ts";

/** A step's batch waits for rollouts, which may be slow; beyond this the orchestrator counts as dead. */
const BATCH_DEADLINE_MS = 6 * 3_600_000;
/** The batch of a step that is done again is there, or is not. */
const REPLAY_DEADLINE_MS = 1_000;

export interface TrainerJob {
  modelDir: string;
  /** The model that the run began with: every saved folder gets its tokenizer. */
  baseDir: string;
  /** The model that a KL term pulls towards; null or absent: none. */
  referenceDir?: string | null;
  /** Digest of the weights in the folder that `model.name` means; null or absent: checkpoints are not bound to it. */
  baseWeights?: string | null;
  config: RlConfig["trainer"];
  /** As in `BackendJob`. */
  mergesAdapter?: boolean;
  /** Null trains until the signal. */
  maxSteps: number | null;
  /** Step of the checkpoint whose trainer half `modelDir` is; 0 for a new run. */
  startStep: number;
  /** The work of earlier processes of the attempt since `startStep`; absent: none. */
  earlier?: EarlierWork | undefined;
  /** Gets the trace of `config.profile_step`. */
  profileDir: string;
  /** Null: none are written. */
  checkpoints: (CheckpointWriter & { rules: CheckpointRules & { save_async: boolean } }) | null;
  rollouts: RolloutReceiver;
  weights: WeightSender;
  metrics: Metrics;
  signal: AbortSignal;
  /** It shares its GPU with the inference servers. Null or absent: it does not. */
  turn?: TrainerTurn | null;
  /** A request to end with a checkpoint. Absent: there is none. */
  stop?: TrainerStop;
  /** Opens what computes the steps. Default: the backend that the config names. */
  open?: (job: BackendJob) => Promise<TrainerBackend>;
  /** Called when a step is trained and its weights are published. */
  onTrained?: (step: number) => Promise<void>;
  /** Called when v0 is published. */
  onReady: (info: { isa: string; dtype: string; version: number }) => Promise<void>;
}

/** Trains until `maxSteps` or the signal. */
export async function runTrainer(job: TrainerJob): Promise<void> {
  const base = { model: job.baseWeights ?? null, reference: await boundReference(job) };
  await job.turn?.wait(null, job.signal);
  const trainer = await (job.open ?? openBackend)(backendJob(job));
  const run = new TrainerRun(job, trainer, base);
  const train = async () => {
    await run.begin();
    let trained = job.startStep;
    while (trained < (job.maxSteps ?? Infinity) && (await run.step(trained + 1))) trained += 1;
    await run.saving;
    await run.end(trained);
  };
  await withEnds(train, [
    () => run.saving,
    () => job.rollouts.close(),
    () => job.weights.close(),
    () => trainer.close(),
  ]);
}

class TrainerRun {
  /** Resolves when all halves of checkpoints that were begun exist; rejects when one could not be written. */
  saving: Promise<void> = Promise.resolve();
  readonly #job: TrainerJob;
  readonly #trainer: TrainerBackend;
  readonly #base: BaseWeights;
  readonly #canaryIds: Uint32Array;
  /** Steps that earlier processes have logged are not written again. */
  readonly #metrics: Metrics;
  readonly #steps: TrainSteps<StepBatch>;
  /** Aborted when nothing new may be begun. */
  readonly #ending: AbortSignal;

  constructor(job: TrainerJob, trainer: TrainerBackend, base: BaseWeights) {
    this.#job = job;
    this.#trainer = trainer;
    this.#base = base;
    this.#canaryIds = canaryTokenIds(trainer.vocabSize, job.config.seq_len);
    this.#metrics = metricsAfter(job.earlier?.logged ?? null, job.metrics);
    this.#steps = new TrainSteps(trainer, this.#metrics);
    this.#ending = job.stop === undefined ? job.signal : AbortSignal.any([job.signal, job.stop.asked]);
  }

  /** Publishes the version that it starts from, if that is not visible, and says that the trainer is ready. */
  async begin(): Promise<void> {
    const { earlier, startStep } = this.#job;
    await this.#publish(startStep, true);
    await this.#leave();
    const { isa, dtype } = this.#trainer;
    await this.#job.onReady({ isa, dtype, version: earlier?.published.version ?? startStep });
  }

  /** False when the request to end with a checkpoint came before the batch. */
  async step(step: number): Promise<boolean> {
    const { checkpoints, config, maxSteps, turn = null } = this.#job;
    const startedAt = performance.now();
    const batches = await this.#unlessAsked(this.#isPublished(step), async (signal) => {
      await turn?.wait(step, signal);
      return this.#receive(step, signal);
    });
    if (batches === null) return false;
    checkReplay(batches, config.enable_router_replay, step);
    const receivedAt = performance.now();
    const lr = learningRate(step, config.optim.lr, config.scheduler, maxSteps);
    const traceDir = traceDirOf(step, config.profile_step, this.#job.profileDir);
    const outcome = await this.#steps.take(step, { batches, onPolicyVersion: step - 1, traceDir }, lr, this.saving);
    const trainedAt = performance.now();
    if (turn !== null) this.#metrics.event("gpu_step", { step, seconds: (trainedAt - receivedAt) / 1000 });
    // The state behind the half of a checkpoint must not leave the GPU before it is written.
    const early = turn === null ? null : await this.#prepareHalf(step);
    await early?.finish;
    const savedAt = performance.now();
    await this.#publish(step, step === maxSteps);
    const publishedAt = performance.now();
    await this.#job.onTrained?.(step);
    const half = turn === null ? await this.#prepareHalf(step) : early;
    const tokens = batches.reduce((sum, { inputIds }) => sum + inputIds.length, 0);
    const seconds = (from: number, to: number) => (to - from) / 1000;
    this.#metrics.log(step, {
      ...trainMetrics(outcome.metrics, batches[0]?.envNames ?? []),
      ...tokenStaleness(batches, step),
      "optim/lr": lr,
      "perf/throughput": tokens / seconds(receivedAt, trainedAt),
      ...stepSpeeds(this.#trainer.accelerators, batches, seconds(receivedAt, trainedAt)),
      "perf/peak_memory": outcome.metrics["perf/peak_memory"] ?? peakMemory(),
      "time/wait_for_batch": seconds(startedAt, receivedAt),
      "time/forward_backward": seconds(receivedAt, trainedAt) - (outcome.metrics["time/reference_logprobs"] ?? 0),
      "time/broadcast_weights": seconds(savedAt, publishedAt),
      "time/save_ckpt": seconds(trainedAt, savedAt) + seconds(publishedAt, performance.now()),
      "time/step": seconds(startedAt, performance.now()),
      ...(checkpoints === null ? {} : await checkpointDisk(checkpoints.root)),
    });
    if (half !== null) await this.#finishHalf(half.finish);
    return true;
  }

  /** Waits until the last version has arrived; or, on the request for it, makes this half of a checkpoint of `step`, the newest, and waits for the other. */
  async end(step: number): Promise<void> {
    const { stop, turn = null, signal, weights } = this.#job;
    const delivered = await this.#unlessAsked(false, async (ending) => {
      ending.throwIfAborted();
      await weights.delivered(ending);
      return true;
    });
    if (delivered !== null || stop === undefined) return;
    const half = await this.#prepareHalf(step, turn === null && step > 0);
    if (half !== null) await this.#finishHalf(half.finish);
    await this.saving;
    await stop.stoppedAt(step, signal);
  }

  /** Null when the request to end with a checkpoint came first. What is `doneAgain` is not ended by it: its step was passed already. */
  async #unlessAsked<T>(doneAgain: boolean, work: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    const { signal, stop } = this.#job;
    try {
      return await work(doneAgain ? signal : this.#ending);
    } catch (error) {
      if (doneAgain || signal.aborted || stop?.asked.aborted !== true) throw error;
      return null;
    }
  }

  /** An earlier process of the attempt has made the version visible. */
  #isPublished(version: number): boolean {
    const { earlier } = this.#job;
    return earlier !== undefined && version <= earlier.published.version;
  }

  async #receive(step: number, signal: AbortSignal): Promise<ReceivedBatch[]> {
    const { rollouts } = this.#job;
    const isDoneAgain = this.#isPublished(step);
    const wait = { deadlineMs: isDoneAgain ? REPLAY_DEADLINE_MS : BATCH_DEADLINE_MS, signal };
    const ranks = Array.from({ length: this.#trainer.ranks }, (_, rank) => rank);
    try {
      return await Promise.all(ranks.map((rank) => rollouts.receive(step, rank, wait)));
    } catch (cause) {
      if (!isDoneAgain || signal.aborted || !(cause instanceof PrlError)) throw cause;
      throw cannotReplay(`step ${step} cannot be trained again: ${cause.message}`, cause);
    }
  }

  /** Makes a version visible, or goes on from the newest one that is. */
  async #publish(version: number, full: boolean): Promise<void> {
    const { config, earlier, weights } = this.#job;
    const trainer = this.#trainer;
    if (earlier !== undefined && this.#isPublished(version)) {
      const { published } = earlier;
      if (version === published.version)
        await takeOverWeights(trainer, published, { weights, backend: config.backend });
      return;
    }
    const canary = await scoreCanary(trainer, this.#canaryIds);
    const save = async (dir: string) => {
      const saved = await trainer.save(dir);
      await this.#leave();
      return saved;
    };
    await weights.publish(version, save, canary, { full });
  }

  /** Leaves a GPU that is shared. */
  async #leave(): Promise<void> {
    if (this.#job.turn) await this.#trainer.offload?.();
  }

  /** Begins to write the half of a checkpoint that is due; null when none is, or when it is there. On the request to end with one it is due now. */
  async #prepareHalf(step: number, isLast = this.#job.stop?.asked.aborted === true): Promise<PreparedHalf | null> {
    const { checkpoints, maxSteps } = this.#job;
    if (checkpoints === null || !(isLast || isCheckpointStep(step, checkpoints.rules, maxSteps))) return null;
    if ((isLast || this.#isPublished(step)) && (await isWritten(checkpoints, step))) return null;
    const finish = prepareHalf(checkpoints, step, "trainer", async (dir) => {
      await this.#trainer.saveCheckpoint(dir);
      await writeBaseWeights(dir, this.#base);
    });
    this.#save(finish.then(() => undefined));
    if (!checkpoints.rules.save_async) await finish;
    return { finish };
  }

  /** The half exists after the step is logged: a trainer that begins from it does not log the step again. */
  async #finishHalf(finish: PreparedHalf["finish"]): Promise<void> {
    this.#save(finish.then((end) => end()));
    if (this.#job.checkpoints?.rules.save_async === false) await this.saving;
  }

  /** A step that changes nothing does not await the half before it, whose failure must not be lost for that. */
  #save(saving: Promise<void>): void {
    this.saving = Promise.all([this.saving, saving]).then(() => undefined);
    // Its rejection is handled where it is awaited.
    this.saving.catch(() => undefined);
  }
}

/** A half that is being written. */
interface PreparedHalf {
  /** Resolves when its files are written, to what makes it exist. */
  finish: ReturnType<typeof prepareHalf>;
}

/** Whether an earlier process of the attempt has written the trainer's half. */
async function isWritten(checkpoints: CheckpointWriter, step: number): Promise<boolean> {
  return (await isJoined(checkpoints, step)) || hasHalf(checkpoints, step, "trainer");
}

/** Errors: PRL_ENGINE_INPUT when the batches have no experts to replay, or some that must not be. */
function checkReplay(batches: readonly { routedExperts?: unknown }[], isOn: boolean, step: number): void {
  if (batches.every(({ routedExperts }) => (routedExperts !== undefined) === isOn)) return;
  const problem = isOn
    ? "has no routed_experts, which trainer.enable_router_replay needs: start the servers with --enable-return-routed-experts"
    : "has routed_experts, and trainer.enable_router_replay is false: set it, or start the servers without --enable-return-routed-experts";
  throw new PrlError("PRL_ENGINE_INPUT", `the batch of step ${step} ${problem}`);
}

function backendJob(job: TrainerJob): BackendJob {
  const { config, modelDir, baseDir, startStep, referenceDir = null, mergesAdapter = false } = job;
  const { model, seed, loss, ...settings } = config;
  const { lora, name, dtype, baseDtype } = {
    lora: model?.lora ?? null,
    name: model?.name ?? baseDir,
    dtype: model?.dtype ?? "auto",
    baseDtype: model?.base_dtype ?? null,
  };
  const trained = { lora, name, baseDir, modelDir, seed, isResumed: startStep > 0 };
  return { model: trained, dtype, baseDtype, referenceDir, mergesAdapter, loss, settings };
}

/** The digest of the reference that the run's checkpoints are bound to. It is computed once and compared with the last checkpoint's. */
async function boundReference({ referenceDir = null, ...job }: TrainerJob): Promise<string | null> {
  if (referenceDir === null) return null;
  if (job.startStep > 0) return assertBaseWeights(job.modelDir, "reference", referenceDir);
  return job.checkpoints === null ? null : weightsDigest(referenceDir);
}
