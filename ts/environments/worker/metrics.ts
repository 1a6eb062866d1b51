/**
 * An env worker's `GET /metrics`, for Prometheus: rollouts under way and how they ended, waits for sandboxes, calls of judges, and
 * prom-client's own metrics of the process (event loop lag, memory).
 */
import type { Registry } from "prom-client";

import type { SandboxHealth } from "../../sandbox/index.ts";
import type { Episode } from "../episode/episode.ts";

export interface WorkerLoad {
  /** Rollouts that have not ended, waiting ones included. */
  readonly active: number;
  readonly waiting: number;
}

export interface WorkerMetrics {
  readonly contentType: string;
  count(episode: Episode, seconds: number): void;
  /** In Prometheus' text format. */
  text(): Promise<string>;
  close(): void;
}

const SECONDS = [0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600];
/** Metrics of rollouts that are added up, by their name in Prometheus. */
const SUMS = {
  judge_calls: "judge/calls",
  judge_errors: "judge/errors",
  judge_seconds: "judge/seconds",
  judge_prompt_tokens: "judge/prompt_tokens",
  judge_completion_tokens: "judge/completion_tokens",
} as const;

/** Counts of the process's sandbox daemon that are shown. */
const SANDBOXES = ["running", "queued", "parked", "held"] as const;

/** @param load read at each request, as is `sandboxes`: the load of the process's own sandbox daemon, if it has one. */
export async function openWorkerMetrics(
  run: string,
  load: () => WorkerLoad,
  sandboxes: () => Promise<SandboxHealth | null>,
): Promise<WorkerMetrics> {
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry: NewRegistry } = await import("prom-client");
  const registry: Registry = new NewRegistry();
  registry.setDefaultLabels({ component: "env-worker", run });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const labelNames = ["source"] as const;
  const watch = (name: string, help: string, read: () => number): void => {
    const gauge = new Gauge({
      name,
      help,
      registers: [],
      collect() {
        this.set(read());
      },
    });
    registry.registerMetric(gauge);
  };
  watch("prl_env_rollouts_in_flight", "Rollouts that have not ended, waiting ones included.", () => load().active);
  watch("prl_env_rollouts_waiting", "Rollouts that wait for a free slot.", () => load().waiting);
  const own = new Gauge({
    name: "prl_env_sandboxes",
    help: "The sandbox daemon that this process started: runs under way or waiting, parked sandboxes, boxes.",
    labelNames: ["state"],
    registers: [],
    async collect() {
      this.reset();
      const health = await sandboxes();
      if (health !== null) for (const state of SANDBOXES) this.set({ state }, health[state]);
    },
  });
  registry.registerMetric(own);
  const ended = new Counter({
    name: "prl_env_rollouts_total",
    help: "Rollouts that ended, by result: ok, or the class of their error.",
    labelNames: [...labelNames, "result"],
    registers,
  });
  const duration = new Histogram({
    name: "prl_env_rollout_seconds",
    help: "Seconds from the request to the answer.",
    labelNames,
    buckets: SECONDS,
    registers,
  });
  const sandboxWait = new Histogram({
    name: "prl_env_sandbox_wait_seconds",
    help: "How long a rollout's code waited for sandboxes.",
    labelNames,
    buckets: SECONDS,
    registers,
  });
  const sums = Object.entries(SUMS).map(([name, metric]) => {
    const help = `Sum of ${metric} over the rollouts.`;
    return { metric, counter: new Counter({ name: `prl_env_${name}_total`, help, labelNames, registers }) };
  });
  return {
    contentType: registry.contentType,
    count({ env: { name: source }, errors, traces }, seconds) {
      ended.inc({ source, result: errors[0]?.class ?? "ok" });
      duration.observe({ source }, seconds);
      // Metrics of the rollout are on each of its traces.
      const metrics = traces[0]?.metrics ?? {};
      const waited = metrics["timing/sandbox_wait"];
      if (waited !== undefined) sandboxWait.observe({ source }, waited);
      for (const { metric, counter } of sums) {
        const value = metrics[metric] ?? 0;
        if (value > 0) counter.inc({ source }, value);
      }
    },
    text: () => registry.metrics(),
    close: () => registry.clear(),
  };
}
