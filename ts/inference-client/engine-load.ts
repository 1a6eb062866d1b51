/** Reads the load of an inference server's engines from its `/metrics` (Prometheus, under vLLM's names, labelled by engine). */

/** The load of one engine; most servers have one. */
export interface EngineLoad {
  /** Its label; `0` where there is none. */
  engine: string;
  /** Requests in the running batch. */
  running: number;
  /** Requests that wait for a place in it. */
  waiting: number;
  /** Share of the KV cache in use, 0 to 1. */
  kvUsage: number;
  /** Sequences pushed out of the cache since the server was started. */
  preemptions: number;
}

const LINE = /^(?:vllm:)?([a-zA-Z_][\w:]*)(\{.*\})?\s+(\S+)(?:\s+\d+)?$/u;
const LABEL = /[{,]engine="([^"]*)"/u;

/** The engines that report their cache and their queue. Values that differ in other labels add up. */
export function parseEngineLoads(text: string): EngineLoad[] {
  const engines = new Map<string, Map<string, number>>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined || !Number.isFinite(Number(value))) continue;
    const engine = LABEL.exec(labels)?.[1] ?? "0";
    const values = engines.get(engine) ?? new Map<string, number>();
    engines.set(engine, values.set(name, (values.get(name) ?? 0) + Number(value)));
  }
  return [...engines].flatMap(([engine, values]) => {
    const running = values.get("num_requests_running");
    const waiting = values.get("num_requests_waiting");
    const kvUsage = values.get("kv_cache_usage_perc") ?? values.get("gpu_cache_usage_perc");
    if (running === undefined || waiting === undefined || kvUsage === undefined) return [];
    const preemptions = values.get("num_preemptions_total") ?? values.get("num_preemptions") ?? 0;
    return [{ engine, running, waiting, kvUsage, preemptions }];
  });
}
