/** The engine's counters and gauges as Prometheus text, under vLLM's names. */
import type { EngineStats } from "../native/index.ts";
import { histogramLines, type RequestMetrics } from "./request-metrics.ts";

interface Metric {
  name: string;
  type: "gauge" | "counter";
  help: string;
  value(stats: EngineStats): number;
  labels?: string;
}

const METRICS: Metric[] = [
  { name: "num_requests_running", type: "gauge", help: "Requests in the running batch.", value: (s) => s.running },
  {
    name: "num_requests_waiting",
    type: "gauge",
    help: "Requests waiting for a place in the batch.",
    value: (s) => s.waiting,
  },
  {
    name: "num_requests_waiting_by_reason",
    type: "gauge",
    help: "Waiting requests by what they wait for.",
    value: (s) => s.waiting,
    labels: 'reason="capacity"',
  },
  {
    name: "kv_cache_usage_perc",
    type: "gauge",
    help: "Share of the KV cache in use, 0 to 1.",
    value: (s) => s.kvCacheUsage,
  },
  {
    name: "num_preemptions_total",
    type: "counter",
    help: "Sequences pushed out of the cache.",
    value: (s) => s.preemptions,
  },
  { name: "prompt_tokens_total", type: "counter", help: "Prompt tokens taken in.", value: (s) => s.promptTokens },
  { name: "generation_tokens_total", type: "counter", help: "Tokens sampled.", value: (s) => s.generationTokens },
  {
    name: "prefix_cache_queries_total",
    type: "counter",
    help: "Tokens looked up in the prefix cache.",
    value: (s) => s.prefixCacheQueries,
  },
  {
    name: "prefix_cache_hits_total",
    type: "counter",
    help: "Tokens found in the prefix cache.",
    value: (s) => s.prefixCacheHits,
  },
];

/** The counts of the server of samples that the engine was asked for. */
export interface ServerCounts {
  readonly requests: RequestMetrics;
  /** How many adapters may be loaded. */
  readonly mostAdapters: number;
}

/** The text of `GET /metrics` for one engine. */
export function metricsText(modelName: string, stats: EngineStats, { requests, mostAdapters }: ServerCounts): string {
  const labels = `engine="0",model_name="${escaped(modelName)}"`;
  const lines = METRICS.flatMap((metric) => {
    const own = metric.labels === undefined ? labels : `${labels},${metric.labels}`;
    return [
      ...head(`vllm:${metric.name}`, metric.type, metric.help),
      `vllm:${metric.name}{${own}} ${metric.value(stats)}`,
    ];
  });
  const cache = `${labels},kv_cache_size_tokens="${stats.kvCacheTokens}"`;
  lines.push(...head("vllm:cache_config_info", "gauge", "Size of the KV cache."), `vllm:cache_config_info{${cache}} 1`);
  const version = `${labels},digest="${stats.digest ?? ""}"`;
  lines.push(
    ...head("prl:policy_version", "gauge", "Version of the loaded weights."),
    `prl:policy_version{${version}} ${stats.version}`,
  );
  const { stepBounds: bounds, stepCounts: counts, stepTokens: sum } = stats;
  const steps = "vllm:iteration_tokens_total";
  lines.push(
    ...head(steps, "histogram", "Tokens that a step computed."),
    ...histogramLines(steps, labels, { bounds, counts, sum }),
    ...loraLines(stats, requests.adapters, mostAdapters),
  );
  return `${lines.join("\n")}\n${requests.text(labels)}`;
}

/** The adapters that requests run with and wait for, as labels. The value is the time, as in vLLM. */
function loraLines(
  { runningAdapters: running, runningAdapterCounts: counts }: EngineStats,
  underWay: ReadonlyMap<string, number>,
  most: number,
): string[] {
  const runningOf = (name: string): number => counts[running.indexOf(name)] ?? 0;
  const waiting = [...underWay].filter(([name, count]) => count > runningOf(name)).map(([name]) => name);
  const labels = [`max_lora="${most}"`];
  labels.push(`running_lora_adapters="${escaped(running.join(","))}"`);
  labels.push(`waiting_lora_adapters="${escaped(waiting.join(","))}"`);
  const name = "vllm:lora_requests_info";
  const help = "Adapters of requests that run and wait; the value is the time in seconds since 1970.";
  return [...head(name, "gauge", help), `${name}{${labels.join(",")}} ${Date.now() / 1000}`];
}

function head(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

/** A label's value as the text format wants it. */
function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
