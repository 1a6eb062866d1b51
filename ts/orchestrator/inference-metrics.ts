/**
 * How busy the engines are, under prime-rl's names: `inference/server<i>.<engine>/<metric>` of each and
 * `inference/agg/<metric>/{min,max,sum,mean,median}` over all, the metrics by vLLM's names.
 */
import type { EngineLoad } from "../inference/index.ts";

/** With the place of its server, `inference-0`. */
export interface PlacedLoad extends EngineLoad {
  readonly server: string;
}

const METRICS: readonly { name: string; of: (load: EngineLoad) => number }[] = [
  { name: "num_requests_running", of: ({ running }) => running },
  { name: "num_requests_waiting", of: ({ waiting }) => waiting },
  { name: "kv_cache_usage_perc", of: ({ kvUsage }) => kvUsage },
  { name: "num_preemptions_total", of: ({ preemptions }) => preemptions },
];

/** Nothing while no engine says anything. */
export function inferenceMetrics(loads: readonly PlacedLoad[]): Record<string, number> {
  const values: Record<string, number> = {};
  if (loads.length === 0) return values;
  for (const { name, of } of METRICS) {
    for (const load of loads) {
      values[`inference/${load.server.replace(/^inference-/u, "server")}.${load.engine}/${name}`] = of(load);
    }
    const sorted = loads.map(of).toSorted((a, b) => a - b);
    const sum = sorted.reduce((total, value) => total + value, 0);
    const at = (index: number): number => sorted[index] ?? Number.NaN;
    const agg = `inference/agg/${name}`;
    values[`${agg}/min`] = at(0);
    values[`${agg}/max`] = at(sorted.length - 1);
    values[`${agg}/sum`] = sum;
    values[`${agg}/mean`] = sum / sorted.length;
    values[`${agg}/median`] = (at(Math.floor((sorted.length - 1) / 2)) + at(Math.ceil((sorted.length - 1) / 2))) / 2;
  }
  return values;
}
