/**
 * Evaluations of a supervised run from the learner's side: chooses the versions and publishes their weights to the engines. A version
 * is the number of steps that were trained.
 */

import { isThere } from "../../files/file-presence.ts";
import { evaluationRun, type SftConfig } from "../../config/index.ts";
import { evaluationFiles, filesystemWeights, waitForFile, type WeightSender } from "../../transports/index.ts";
import type { TrainerBackend } from "../backend/backend.ts";
import { canaryTokenIds, scoreCanary } from "../canary.ts";

/** An evaluation may be long; beyond this the orchestrator counts as dead. */
const EVALUATION_DEADLINE_MS = 6 * 3_600_000;
/** The version that is evaluated and the one that waits. */
const KEPT_VERSIONS = 2;

/**
 * The versions that a run evaluates from `startStep` on: the first if requested, every `interval` steps, the last. The version where an
 * earlier attempt stopped is among them only when its evaluation has not ended.
 */
export async function evaluatedVersions(config: SftConfig, startStep: number, runDir: string): Promise<number[]> {
  const { eval: evaluation, max_steps: last } = config;
  if (evaluation === null) return [];
  const { interval, eval_at_start: atStart } = evaluation;
  const isDue = (step: number): boolean =>
    step === 0 ? atStart : step === last || (interval !== null && step % interval === 0);
  const versions = Array.from({ length: last - startStep + 1 }, (_, i) => startStep + i).filter(isDue);
  const isDone = await isThere(evaluationFiles(runDir, startStep, lastSource(config)).ended);
  return isDone ? versions.filter((version) => version !== startStep) : versions;
}

/** The source that is evaluated last: when it has ended, the version's evaluation has ended. */
function lastSource(config: SftConfig): string {
  return evaluationRun(config)?.orchestrator.eval?.source.at(-1)?.name ?? "";
}

/** Publishes the versions that are evaluated; with `hold_weights` training waits for each evaluation, else only for the one before. */
export class SftPublisher {
  readonly #runDir: string;
  readonly #config: SftConfig;
  readonly #weights: WeightSender;
  readonly #versions: ReadonlySet<number>;
  #newest: number | null = null;

  static async open(runDir: string, config: SftConfig, startStep: number): Promise<SftPublisher> {
    return new SftPublisher(runDir, config, await evaluatedVersions(config, startStep, runDir));
  }

  private constructor(runDir: string, config: SftConfig, versions: readonly number[]) {
    this.#runDir = runDir;
    this.#config = config;
    this.#weights = filesystemWeights(runDir, { keep: KEPT_VERSIONS });
    this.#versions = new Set(versions);
  }

  async afterStep(step: number, trainer: TrainerBackend, signal: AbortSignal): Promise<void> {
    if (!this.#versions.has(step)) return;
    await this.#evaluated(signal);
    const canary = await scoreCanary(trainer, canaryTokenIds(trainer.vocabSize, this.#config.seq_len));
    await this.#weights.publish(step, (dir) => trainer.save(dir), canary, { full: true });
    this.#newest = step;
    if (this.#config.eval?.hold_weights === true) await this.#evaluated(signal);
  }

  /** Resolves when no evaluation of an earlier version is under way. Errors: PRL_DEADLINE, the signal's reason. */
  async evaluatedBefore(step: number, signal: AbortSignal): Promise<void> {
    if (this.#newest !== null && this.#newest < step) await this.#evaluated(signal);
  }

  async close(): Promise<void> {
    await this.#weights.close();
  }

  async #evaluated(signal: AbortSignal): Promise<void> {
    if (this.#newest === null) return;
    const what = `the evaluation of version ${this.#newest}`;
    const path = evaluationFiles(this.#runDir, this.#newest, lastSource(this.#config)).ended;
    await waitForFile(path, EVALUATION_DEADLINE_MS, signal, what);
  }
}
