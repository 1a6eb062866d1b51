/**
 * Brings versions of the policy to the engines, one after the other, and says which version is in place.
 *
 * A version is in place when every engine in service has it; while it is on its way, some engines may sample with it already. This class
 * knows nothing of what is sampled.
 */
import type { Metrics } from "../../monitors/index.ts";
import type { WeightFollower } from "../../transports/index.ts";
import type { EngineFleet } from "./engine-fleet.ts";
import type { GpuTurns } from "./gpu-turns.ts";

/** A training step may be long; beyond this the trainer counts as dead. */
const WEIGHTS_DEADLINE_MS = 6 * 3_600_000;

export interface WeightWatcherOptions {
  weights: WeightFollower;
  engines: Pick<EngineFleet, "adopt">;
  metrics: Metrics;
  signal: AbortSignal;
  /** The engines share their GPU with the trainer. Null or absent: they do not. */
  turns?: Pick<GpuTurns, "toServers"> | null;
  /** Called when a version is published and not on its way yet. */
  onPending?: () => void;
}

export class WeightWatcher {
  readonly #options: WeightWatcherOptions;
  #version: number;
  #digest: string | null = null;
  #newest: number;
  #updates = 0;
  #lastSeconds = 0;

  /** `version`: the version that the run starts from. */
  constructor(version: number, options: WeightWatcherOptions) {
    this.#version = this.#newest = version;
    this.#options = options;
  }

  /** The version in place. */
  get version(): number {
    return this.#version;
  }

  /** The version in place with its digest, which is null while no version has been adopted. */
  get weights(): { version: number; digest: string | null } {
    return { version: this.#version, digest: this.#digest };
  }

  /** `version`, or the version that is on its way. */
  get newest(): number {
    return this.#newest;
  }

  /** Resolves when the version is in place. Rejects as `receive` of the weights and `adopt` of the engines do. */
  async adopt(version: number): Promise<void> {
    const { weights, engines, metrics, signal, turns, onPending } = this.#options;
    const received = await weights.receive(version, { deadlineMs: WEIGHTS_DEADLINE_MS, signal });
    onPending?.();
    this.#newest = version;
    const startedAt = performance.now();
    await turns?.toServers(version, signal);
    await engines.adopt(received, signal);
    await received.acknowledge();
    this.#version = version;
    this.#digest = received.manifest.digest;
    this.#updates += 1;
    this.#lastSeconds = (performance.now() - startedAt) / 1000;
    metrics.event("weights_adopted", { version, digest: received.manifest.digest, seconds: this.#lastSeconds });
  }

  /** Metrics under prime-rl's names; updates are counted from the start of this process. */
  metrics(): Record<string, number> {
    return {
      "watcher/policy_version": this.#version,
      "watcher/update_count": this.#updates,
      "watcher/last_update_weights_time": this.#lastSeconds,
    };
  }
}
