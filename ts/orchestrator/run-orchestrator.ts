/**
 * The orchestrator's run: starts its parts, waits for the last batch and the last version, and ends everything that it started.
 *
 * Two loops run beside each other: `BatchAssembler` makes the batch of each step, and `PolicyFollower` brings each version to the engines.
 * `orchestrator-parts.ts` connects the parts. Steps and versions count as in ARCHITECTURE.md, "Steps, versions and staleness".
 */
import { setMaxListeners } from "node:events";
import { untilAborted } from "../async/deadline.ts";
import { PrlError } from "../errors.ts";
import { routedWorkers } from "./engines/routed-workers.ts";
import { NO_LINES } from "./metrics/logged-lines.ts";
import { reportLoad } from "./metrics/load-report.ts";
import { connectParts, type OrchestratorJob, type OrchestratorParts } from "./orchestrator-parts.ts";

/**
 * Runs until `max_steps` batches are trained and evaluated. Any error of a part ends it, and it rejects with the first one; an abort of
 * the signal rejects with its reason. When it has settled, nothing that it started is at work except rollouts being cancelled.
 */
export async function runOrchestrator(given: OrchestratorJob): Promise<void> {
  const failure = new AbortController();
  const signal = AbortSignal.any([given.signal, failure.signal]);
  // Every rollout of an evaluation listens to it.
  setMaxListeners(0, signal);
  const fail = (error: unknown): void => failure.abort(error);
  const job = { ...given, workers: routedWorkers(given.workers, given.engines), signal };
  const run = new OrchestratorRun(job, fail);
  job.engines.start(fail);
  job.turns?.watch(fail);
  try {
    await run.run();
  } catch (error) {
    // An aborted wait says only that it was aborted; the signal's reason says why.
    throw signal.aborted ? signal.reason : error;
  } finally {
    failure.abort(new PrlError("PRL_RUN_INTERRUPTED", "the orchestrator has ended"));
    await run.stop();
    job.turns?.stop();
    await job.engines.stop();
  }
}

class OrchestratorRun {
  readonly #job: OrchestratorJob;
  readonly #fail: (error: unknown) => void;
  readonly #parts: OrchestratorParts;
  #reporting: Promise<void> = Promise.resolve();

  constructor(job: OrchestratorJob, fail: (error: unknown) => void) {
    this.#job = job;
    this.#fail = fail;
    this.#parts = connectParts(job, fail);
  }

  /** Runs to the end of training, or until the launcher asks for an end with a checkpoint. */
  async run(): Promise<void> {
    const asked = this.#job.stop?.asked;
    const trained = this.#train();
    if (asked === undefined) return trained;
    trained.catch(this.#fail);
    const isTrained = await untilAborted(trained, asked).then(
      () => true,
      (error: unknown) => {
        if (!asked.aborted) throw error;
        return false;
      },
    );
    if (!isTrained) await this.#endWithCheckpoint();
  }

  async #train(): Promise<void> {
    const { config, signal } = this.#job;
    const { assembler, builder, follower, limit, load } = this.#parts;
    signal.throwIfAborted();
    await this.#takeOver();
    await builder.load(signal);
    limit.start(this.#fail);
    await follower.start();
    this.#reporting = reportLoad(this.#job, load, signal);
    this.#reporting.catch(this.#fail);
    follower.follow();
    await assembler.run(config.max_steps ?? Infinity);
    await follower.finish();
  }

  /**
   * Ships nothing more, cancels what is being sampled, and saves the checkpoint of the step at which the trainer stops. Evaluations of earlier versions end
   * first, because a run that goes on from there does not make them again.
   */
  async #endWithCheckpoint(): Promise<void> {
    const { resume, signal, stop } = this.#job;
    const { assembler, checkpoints, evaluations, follower, pool, runState } = this.#parts;
    if (stop === undefined) return;
    runState.hold(await assembler.settled());
    pool.dropSurplus();
    const step = await stop.trainerStep(signal);
    if (step <= (resume?.step ?? 0)) return;
    await follower.followed(step - 1, signal);
    await evaluations.endedBefore(step);
    checkpoints.save(runState.checkpoint(step));
    await checkpoints.saved;
  }

  /** Ends what an earlier process of the attempt has begun. */
  async #takeOver(): Promise<void> {
    const { engines, logged = NO_LINES, resume, rollouts, signal, snapshot = null, turns = null } = this.#job;
    const { checkpoints, log } = this.#parts;
    const step = (snapshot?.state ?? resume)?.step ?? 0;
    // The turn of a batch that was committed may not have begun; it is ended before anything is sampled.
    if (turns !== null && step > turns.trained) {
      await turns.toTrainer(step, { engines, commit: () => rollouts.recover(step), signal });
    } else await rollouts.recover(step);
    if (snapshot === null) return;
    const { line, state } = snapshot;
    if (!logged.steps.has(state.step)) log.shippedEarlier(state.step, line);
    await checkpoints.joinEarlier();
    checkpoints.saved.catch(this.#fail);
  }

  /** Cancels what is being sampled and resolves when nothing waits any more; the job's signal must be aborted. */
  async stop(): Promise<void> {
    const { builder, dispatcher, follower, lag, limit } = this.#parts;
    lag.stop();
    limit.stop();
    dispatcher.stop();
    await Promise.allSettled([follower.settled(), this.#reporting]);
    await builder.close();
  }
}
