/**
 * Makes one batch after the other: collects completed groups until they make a batch, assembles it, ships it to the trainer, or drops it when it
 * has nothing to train on and collects another one.
 *
 * From its assembly on a group belongs to its batch, and a checkpoint finds it in `AssembledBatches`. Batches are shipped in the order of their
 * steps; the next one is collected when the batch before it is with the trainer. The assembler knows nothing of engines and weights, only
 * that a batch may have to wait for a version (`GroupPool.needsVersion`).
 */
import { join } from "node:path";
import { atomicWriteFile } from "../../files/atomic-write.ts";
import { makeDurableFolder } from "../../files/make-folder.ts";
import { rolloutsDir, type RolloutSender } from "../../transports/index.ts";
import type { AssembledBatch, AssembledBatches } from "../checkpoint/assembled-batches.ts";
import { plus, progressOf } from "../checkpoint/progress.ts";
import type { RunState } from "../checkpoint/run-state.ts";
import type { StepLog } from "../metrics/step-log.ts";
import { traceLines } from "../metrics/trace-lines.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import type { GroupPool } from "../scheduling/group-pool.ts";
import type { Staleness } from "../scheduling/staleness.ts";
import type { TrainTasks } from "../scheduling/tasks.ts";
import type { BatchBuilder } from "./batch-builder.ts";
import type { Starvation } from "./starvation.ts";
import type { TrainBatch } from "./train-batch.ts";

/** Longest time between two checks of the groups that wait for a batch. */
const LONGEST_WAIT_MS = 60_000;

export interface BatchAssemblerOptions {
  assembled: AssembledBatches;
  /** Commits a batch whose files are durable and not visible to the trainer yet. */
  commit: RunState["commit"];
  /** Calls `commit` when the trainer may have the step's batch. */
  handOver: (step: number, commit: () => Promise<void>) => Promise<void>;
  builder: Pick<BatchBuilder, "build" | "baselines">;
  log: StepLog;
  pool: GroupPool;
  rollouts: Pick<RolloutSender, "send">;
  runDir: string;
  signal: AbortSignal;
  /** Aborted: the run ends with a checkpoint, and nothing is shipped any more. Absent: it never does. */
  endAsked?: AbortSignal | undefined;
  staleness: Staleness;
  starvation: Starvation;
  tasks: Pick<TrainTasks, "learn">;
}

/** The parts of a step's batch. */
interface Collected {
  readonly groups: readonly Group[];
  readonly assembled: AssembledBatch;
}

export class BatchAssembler {
  readonly #options: BatchAssemblerOptions;
  /** Seconds since the last step in which nothing but a new version could help. */
  #waitedForPolicy = 0;
  #isWaiting = false;
  #shipping: Promise<void> = Promise.resolve();
  /** Aborted when nothing new may be begun. */
  readonly #ending: AbortSignal;

  constructor(options: BatchAssemblerOptions) {
    this.#options = options;
    const { endAsked, signal } = options;
    this.#ending = endAsked === undefined ? signal : AbortSignal.any([signal, endAsked]);
  }

  /** It waits for a completed group or a new version, and does nothing by itself before that. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Resolves to the step of the newest batch when no batch is on its way to the trainer. After `endAsked` none will be. */
  async settled(): Promise<number> {
    await this.#shipping;
    return this.#options.staleness.step - 1;
  }

  /** Makes the batches up to this step, or until the run is to end with a checkpoint. */
  async run(lastStep: number): Promise<void> {
    const { endAsked, pool, staleness } = this.#options;
    const isAsked = (): boolean => endAsked?.aborted === true;
    while (staleness.step <= lastStep && !isAsked()) await this.#trainStep();
    if (!isAsked()) pool.dropSurplus();
  }

  async #trainStep(): Promise<void> {
    const { builder, endAsked, tasks } = this.#options;
    const startedAt = performance.now();
    for (;;) {
      const collected = await this.#collect();
      if (collected === null) return;
      tasks.learn();
      const packedFrom = performance.now();
      const batch = await builder.build(collected.groups);
      collected.assembled.baselines = builder.baselines;
      const packSeconds = (performance.now() - packedFrom) / 1000;
      if (endAsked?.aborted === true) return;
      if (batch.samples > 0) {
        this.#shipping = this.#ship(collected, batch, { startedAt, packSeconds });
        return this.#shipping;
      }
      await this.#drop(collected);
    }
  }

  /**
   * Waits for a batch's worth of completed groups that are fresh enough; null when the run is to end with a checkpoint. It needs no deadline because everything that it can wait for
   * has one: a rollout, a page of tasks, the next weights.
   */
  async #collect(): Promise<Collected | null> {
    const { assembled, endAsked, pool, signal, staleness } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      if (endAsked?.aborted === true) return null;
      const groups = pool.takeBatch();
      if (groups !== undefined) return { groups, assembled: assembled.add(staleness.step, groups) };
      const { needsVersion } = pool;
      const waitedFrom = performance.now();
      this.#isWaiting = true;
      await pool.nextChange(LONGEST_WAIT_MS, this.#ending);
      this.#isWaiting = false;
      if (needsVersion) this.#waitedForPolicy += (performance.now() - waitedFrom) / 1000;
    }
  }

  /** Gives up a batch that has nothing to train on. Errors: PRL_ORCHESTRATOR_STARVED after too many of them. */
  async #drop({ groups }: Collected): Promise<void> {
    const { assembled, log, pool, starvation } = this.#options;
    if (starvation.emptyBatch()) throw await starvation.explain(groups);
    log.emptyBatch(groups);
    assembled.undo();
    pool.drop("empty", groups);
  }

  async #ship(
    { groups, assembled }: Collected,
    batch: TrainBatch,
    { startedAt, packSeconds }: { startedAt: number; packSeconds: number },
  ): Promise<void> {
    const { commit, handOver, log, pool, rollouts, runDir, staleness, starvation } = this.#options;
    const { step } = staleness;
    const dropped = log.takeDropped();
    const progress = plus(progressOf(groups, true), dropped.progress);
    const total = plus(assembled.progress, progress);
    assembled.progress = total;
    staleness.advance();
    const dir = rolloutsDir(runDir, step);
    await makeDurableFolder(dir, runDir);
    await atomicWriteFile(join(dir, "traces.jsonl"), traceLines(groups, batch.traceAdvantages));
    const seconds = () => (performance.now() - startedAt) / 1000;
    const waitedForPolicy = this.#waitedForPolicy;
    this.#waitedForPolicy = 0;
    const own = { step, groups, batch, dropped, progress, total, seconds: seconds(), packSeconds, waitedForPolicy };
    const made = log.lineOf(own);
    // Its rejection is handled where it is awaited.
    made.catch(() => undefined);
    await rollouts.send(step, batch.batches, batch.envNames, async () => {
      const line = await made;
      await handOver(step, async () => {
        pool.ships(groups);
        await commit(step, line);
      });
    });
    pool.shipped(groups);
    log.shipped(step, await made, seconds());
    for (const rank of batch.batches) rank.close();
    starvation.shipped();
  }
}
