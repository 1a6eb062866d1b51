/**
 * The trainer in virtual time: one batch after the other, each as long as its tokens take, then its version is published.
 *
 * It gets a batch when the orchestrator logs it, because the log has the numbers of tokens. Version `s` is the policy after batch `s`.
 */
import type { RolloutSender, WeightFollower, WeightSource } from "../../transports/index.ts";
import { madeUpWeights } from "../made-up-answers.ts";
import type { VirtualClock } from "../virtual-clock.ts";

export interface SimulatedBatch {
  readonly rollouts: number;
  /** Tokens of prompts and completions, and of completions alone. */
  readonly tokens: number;
  readonly completionTokens: number;
}

export interface TrainerCosts {
  readonly train: (batch: SimulatedBatch) => number;
  /** Seconds from the end of a batch until its version can be read; the trainer waits for them. */
  readonly publishSeconds: number;
  readonly source: WeightSource;
}

export class SimulatedTrainer {
  readonly #clock: VirtualClock;
  readonly #costs: TrainerCosts;
  readonly #batches: SimulatedBatch[] = [];
  readonly #waiting = new Map<number, () => void>();
  #isTraining = false;
  #version = 0;
  #busySeconds = 0;
  #publishingSeconds = 0;
  /** Times, by version. */
  readonly #published: number[] = [0];
  readonly #trained = { rollouts: 0, tokens: 0, completionTokens: 0 };

  constructor(clock: VirtualClock, costs: TrainerCosts) {
    this.#clock = clock;
    this.#costs = costs;
  }

  /** The newest published version: batches that are trained. */
  get version(): number {
    return this.#version;
  }

  /** When the version was published (virtual seconds). */
  publishedAt(version: number): number {
    return this.#published[version] ?? Number.NaN;
  }

  /** The orchestrator waits for a version that is not there. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Sums over the batches that are trained. */
  totals(): SimulatedBatch & { readonly busy: number; readonly publishing: number } {
    return { ...this.#trained, busy: this.#busySeconds, publishing: this.#publishingSeconds };
  }

  readonly sender: RolloutSender = {
    send: async (_step, _batches, _names, commit) => {
      await commit?.();
    },
    recover: async () => undefined,
    close: async () => undefined,
  };

  readonly follower: WeightFollower = {
    receive: async (version, { signal }) => {
      signal.throwIfAborted();
      if (version > this.#version) {
        await new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve(), { once: true });
          this.#waiting.set(version, resolve);
        });
      }
      signal.throwIfAborted();
      return madeUpWeights(version, this.#costs.source);
    },
    close: async () => undefined,
  };

  /** A batch has come. */
  take(batch: SimulatedBatch): void {
    this.#batches.push(batch);
    this.#train();
  }

  #train(): void {
    const batch = this.#isTraining ? undefined : this.#batches.shift();
    if (batch === undefined) return;
    this.#isTraining = true;
    const { train, publishSeconds } = this.#costs;
    const seconds = train(batch);
    this.#clock.at(this.#clock.now + seconds + publishSeconds, () => {
      this.#busySeconds += seconds;
      this.#publishingSeconds += publishSeconds;
      this.#trained.rollouts += batch.rollouts;
      this.#trained.tokens += batch.tokens;
      this.#trained.completionTokens += batch.completionTokens;
      this.#version += 1;
      this.#isTraining = false;
      this.#waiting.get(this.#version)?.();
      this.#waiting.delete(this.#version);
      this.#published.push(this.#clock.now);
      this.#clock.seen();
      this.#train();
    });
  }
}
