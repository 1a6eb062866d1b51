/**
 * How busy the engines are, under prime-rl's names: `inference/server<i>.<engine>/<metric>` of each and
 * `inference/agg/<metric>/{min,max,sum,mean,median}` over all, the metrics by vLLM's names.
 */
import type { EngineLoad } from "../../inference-client/index.ts";
import { median } from "../../algorithms/index.ts";
import { mean } from "../metrics/rollout-statistics.ts";

/** The load with the place of its server, `inference-0`. */
export interface PlacedLoad extends EngineLoad {
  readonly server: string;
}

const METRICS: readonly { name: string; of: (load: EngineLoad) => number }[] = [
  { name: "num_requests_running", of: ({ running }) => running },
  { name: "num_requests_waiting", of: ({ waiting }) => waiting },
  { name: "kv_cache_usage_perc", of: ({ kvUsage }) => kvUsage },
  { name: "num_preemptions_total", of: ({ preemptions }) => preemptions },
];

/** Empty while no engine reports its load. */
export function inferenceMetrics(loads: readonly PlacedLoad[]): Record<string, number> {
  const values: Record<string, number> = {};
  if (loads.length === 0) return values;
  for (const { name, of } of METRICS) {
    for (const load of loads) {
      values[`inference/${load.server.replace(/^inference-/u, "server")}.${load.engine}/${name}`] = of(load);
    }
    const own = loads.map(of);
    const agg = `inference/agg/${name}`;
    values[`${agg}/min`] = Math.min(...own);
    values[`${agg}/max`] = Math.max(...own);
    values[`${agg}/sum`] = own.reduce((sum, value) => sum + value, 0);
    values[`${agg}/mean`] = mean(own);
    values[`${agg}/median`] = median(own);
  }
  return values;
}
