/**
 * Limits the opening of groups besides staleness: by room on the engines, and by the pace.
 *
 * Reads the engines' metrics at intervals and keeps them for the run's metrics. An engine that does not answer, or does not report its
 * load, is left out; when no engine reports, the limit stays the same.
 */
import type { RlConfig } from "../../config/index.ts";
import type { EngineLoad } from "../../inference-client/index.ts";
import type { Metrics } from "../../monitors/index.ts";
import { ConcurrencyController } from "./concurrency.ts";
import type { EngineFleet } from "../engines/engine-fleet.ts";
import { inferenceMetrics, type PlacedLoad } from "../engines/inference-metrics.ts";
import { GroupRate } from "./group-rate.ts";
import { RolloutPermits } from "./rollout-permits.ts";

export interface ThrottleOptions {
  config: {
    orchestrator: Pick<
      RlConfig["orchestrator"],
      "max_inflight" | "concurrency" | "tasks_per_minute" | "request_timeout_s"
    >;
  };
  /** Rollouts of the largest training group. */
  largestGroup: number;
  engines: Pick<EngineFleet, "engines">;
  metrics: Metrics;
  /** Training rollouts under way. */
  inFlight: () => number;
  /** Called when there may be room for more. */
  onFreed: () => void;
}

export class DispatchLimit {
  readonly #options: ThrottleOptions;
  readonly #controller: ConcurrencyController;
  readonly #pace: GroupRate;
  /** The room of evaluations, which share the limit. */
  readonly permits: RolloutPermits;
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #loads: PlacedLoad[] = [];
  #isLooking = false;
  #isBlind = false;

  constructor(options: ThrottleOptions) {
    this.#options = options;
    const { max_inflight: most, concurrency, tasks_per_minute: perMinute } = options.config.orchestrator;
    const { adaptive, initial_inflight: initial, min_inflight: least, target_kv_usage: target } = concurrency;
    this.#controller = new ConcurrencyController({ initial: adaptive ? (initial ?? most) : most, least, most, target });
    this.#pace = new GroupRate(perMinute, options.onFreed);
    const { inFlight: training, largestGroup, onFreed } = options;
    this.permits = new RolloutPermits({
      limit: () => this.#controller.limit,
      training,
      largestGroup,
      onFreed,
      patienceMs: longestWaitMs(options.config.orchestrator),
    });
    const { metrics } = options;
    metrics.watch?.("max_inflight", "Rollouts that may be under way at once.", () => this.#controller.limit);
    metrics.watch?.("engines_running", "Requests that the engines decode.", () => this.#sum((load) => load.running));
    metrics.watch?.("engines_waiting", "Requests that wait for the engines.", () => this.#sum((load) => load.waiting));
    metrics.watch?.("engines_kv_usage", "Share of the fullest KV cache in use.", () => this.#kvUsage());
  }

  /** Looks at intervals from now on; `fail` is called with an event that cannot be written, on a full disk. */
  start(fail: (error: unknown) => void): void {
    const { interval_s: seconds } = this.#options.config.orchestrator.concurrency;
    this.#timer = setInterval(() => void this.look().catch(fail), seconds * 1000);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#pace.stop();
    this.#ending.abort();
  }

  /** Most training rollouts at once: what evaluations leave of all. */
  get limit(): number {
    return this.permits.forTraining;
  }

  mayBeAlone(groupSize: number): boolean {
    return this.permits.mayBeAlone(groupSize);
  }

  waits(isWaiting: boolean): void {
    this.permits.trainingWaits = isWaiting;
  }

  /** Whether the pace allows a group, called when everything else does; `onFreed` is called when the pace allows it later. */
  mayStart(): boolean {
    return this.#pace.take();
  }

  /** The engines' last reports, summed; null while there are none. */
  get engines(): { running: number; waiting: number; kv_usage: number } | null {
    if (this.#loads.length === 0) return null;
    const [running, waiting] = [this.#sum((load) => load.running), this.#sum((load) => load.waiting)];
    return { running, waiting, kv_usage: this.#kvUsage() };
  }

  /** Metrics for the line of a step. */
  metrics(): Record<string, number> {
    return { "concurrency/max_inflight": this.#controller.limit, ...inferenceMetrics(this.#loads) };
  }

  /** Reads the engines' metrics now; after `start` that happens at intervals. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { config, engines, inFlight, metrics, onFreed } = this.#options;
      const { signal } = this.#ending;
      const asked = engines.engines.map(async ({ name, engine: { admin } }) =>
        (await admin.load(signal)).map((load): PlacedLoad => ({ ...load, server: name })),
      );
      const answers = await Promise.allSettled(asked);
      if (signal.aborted) return;
      const answered = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
      this.#loads = answered.flat();
      if (!config.orchestrator.concurrency.adaptive) return;
      if (answered.length > 0 && this.#loads.length === 0 && !this.#isBlind) {
        this.#isBlind = true;
        metrics.event("concurrency_fixed", { reason: "the engines' /metrics do not say how busy they are" });
      }
      const before = this.#controller.limit;
      this.#controller.observe(this.#loads, inFlight() + this.permits.evaluating);
      const { limit } = this.#controller;
      if (limit === before) return;
      metrics.event("concurrency", { limit, before, kv_usage: this.#kvUsage() });
      if (limit > before) onFreed();
    } finally {
      this.#isLooking = false;
    }
  }

  #sum(of: (load: EngineLoad) => number): number {
    return this.#loads.reduce((total, load) => total + of(load), 0);
  }

  #kvUsage(): number {
    return Math.max(0, ...this.#loads.map(({ kvUsage }) => kvUsage));
  }
}

/** A rollout may be tried ten times, each up to its deadline; waiting longer than that for one to end is in vain. */
const TRIES = 10;

function longestWaitMs({ request_timeout_s: seconds }: Pick<RlConfig["orchestrator"], "request_timeout_s">): number {
  return TRIES * seconds * 1000;
}
