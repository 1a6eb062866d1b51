/**
 * Follows the versions of the policy: brings each one to the engines as soon as it is published, saves the checkpoint that is due at it, lets groups be
 * opened under it, and evaluates it.
 *
 * Versions come one after the other. A checkpoint holds the state before anything is dispatched under its version. The follower knows nothing
 * of groups and batches, and runs beside their assembly.
 */
import { Changes } from "../async/changes.ts";
import { PrlError } from "../errors.ts";
import type { Metrics } from "../monitors/index.ts";
import { pruneRollouts } from "../transports/index.ts";
import type { CheckpointSaver, OrchestratorState } from "./checkpoint/resume.ts";
import type { WeightWatcher } from "./engines/weight-watcher.ts";
import type { EvaluatedWeights } from "./evaluation/evaluation.ts";
import type { Evaluations } from "./evaluation/evaluations.ts";

export interface PolicyFollowerOptions {
  checkpoints: CheckpointSaver;
  /** Folder of the checkpoints. */
  checkpointRoot: string;
  evaluations: Evaluations;
  /** Version that the attempt began with: evaluations of later ones may not have ended when another process took over. */
  begunWith: number;
  /** How many steps' rollouts stay in the run's directory, beside those that no checkpoint covers; null: all of them. */
  keepRollouts: number | null;
  /** The last version of the run; Infinity: no end. */
  lastVersion: number;
  metrics: Metrics;
  runDir: string;
  watcher: WeightWatcher;
  /** The state of now, for the checkpoint of a version. */
  snapshot: (version: number) => OrchestratorState;
  /** Called when groups may be opened under the version. */
  onVersion: (version: number) => void;
  /** Called with an error that happens beside the run. */
  onFailure: (error: unknown) => void;
}

/** A wait ends with the next change; without one it looks again after this long. */
const LOOK_MS = 60_000;

export class PolicyFollower {
  readonly #options: PolicyFollowerOptions;
  readonly #changes = new Changes();
  /** The newest version that is in place and whose evaluation, where swaps wait for it, has ended. */
  #followed = -1;
  #versions: Promise<void> = Promise.resolve();

  constructor(options: PolicyFollowerOptions) {
    this.#options = options;
  }

  /** Brings the version that the run starts from to the engines, and evaluates it when the config says so. */
  async start(): Promise<void> {
    const { evaluations, watcher } = this.#options;
    await watcher.adopt(watcher.version);
    if (this.#options.begunWith === 0) await evaluations.beforeTraining(this.#weightsOf(0));
  }

  /** Begins to follow the versions up to the last one, beside the run. */
  follow(): void {
    this.#versions = this.#follow();
    this.#versions.catch(this.#options.onFailure);
  }

  /**
   * Resolves when nothing of this version has to be sampled before the next one is there, or the signal is aborted. It needs no deadline, because the version and
   * its evaluation have theirs.
   */
  async followed(version: number, signal: AbortSignal): Promise<void> {
    while (this.#followed < version && !signal.aborted) await this.#changes.next(LOOK_MS, signal);
    signal.throwIfAborted();
  }

  /** Resolves when the last version is in place, evaluated and saved. Rejects with the first error of these. */
  async finish(): Promise<void> {
    const { checkpoints, evaluations, watcher } = this.#options;
    await this.#versions;
    await evaluations.ended;
    await checkpoints.saved;
    await evaluations.afterTraining(watcher.weights);
  }

  /** Resolves when nothing of it is at work any more. */
  async settled(): Promise<void> {
    const { checkpoints, evaluations } = this.#options;
    await Promise.allSettled([this.#versions, evaluations.ended, checkpoints.saved]);
  }

  /**
   * The version that the run starts from is on the engines already. A version that is lost on its way is passed over for the next one: nothing is
   * sampled or evaluated under it. Its checkpoint is saved all the same, because the trainer's half holds its weights.
   */
  async #follow(): Promise<void> {
    const { begunWith, evaluations, keepRollouts, lastVersion, watcher, onVersion } = this.#options;
    const { checkpointRoot, runDir } = this.#options;
    const first = watcher.version;
    for (let version = Math.max(1, begunWith); version < first; version++)
      await evaluations.whenDue(this.#weightsOf(version));
    for (let version = first; version <= lastVersion; version++) {
      if (version > first) {
        const isAdopted = await this.#adopt(version);
        this.#saveWhenDue(version);
        await pruneRollouts(runDir, version, keepRollouts, checkpointRoot);
        if (!isAdopted) {
          this.#follows(version);
          continue;
        }
      }
      onVersion(watcher.version);
      // The last version is evaluated after everything else, with the engines to itself.
      if (version > 0 && version < lastVersion) await evaluations.whenDue(this.#weightsOf(version));
      this.#follows(version);
    }
  }

  /** The version with its digest, where the engines have it. */
  #weightsOf(version: number): EvaluatedWeights {
    const { weights } = this.#options.watcher;
    return weights.version === version ? weights : { version, digest: null };
  }

  #follows(version: number): void {
    this.#followed = version;
    this.#changes.announce();
  }

  /** False when the version was superseded before it was received. */
  async #adopt(version: number): Promise<boolean> {
    const { metrics, watcher } = this.#options;
    try {
      await watcher.adopt(version);
      return true;
    } catch (error) {
      if (!(error instanceof PrlError) || error.code !== "PRL_WEIGHTS_SUPERSEDED") throw error;
      metrics.event("weights_passed_over", { version, message: error.message });
      return false;
    }
  }

  /** Takes the state before anything is dispatched under the version. */
  #saveWhenDue(version: number): void {
    const { checkpoints, snapshot, onFailure } = this.#options;
    if (!checkpoints.isDue(version)) return;
    checkpoints.save(snapshot(version));
    checkpoints.saved.catch(onFailure);
  }
}
