/** How busy an inference server is, from the text of its `/metrics` (Prometheus, under vLLM's names, one set of labels per engine). */

export interface EngineLoad {
  /** Requests in the running batch. */
  running: number;
  /** Requests that wait for a place in it. */
  waiting: number;
  /** Share of the KV cache in use, 0 to 1; of several engines behind one address the fullest. */
  kvUsage: number;
  /** Sequences pushed out of the cache since the server was started. */
  preemptions: number;
}

const LINE = /^(?:vllm:)?([a-zA-Z_][\w:]*)(?:\{.*\})?\s+(\S+)(?:\s+\d+)?$/u;

/** Null when the server does not say how full its cache is and how long its queue. */
export function parseEngineLoad(text: string): EngineLoad | null {
  const values = new Map<string, number[]>();
  for (const line of text.split("\n")) {
    const [, name, value] = LINE.exec(line) ?? [];
    if (name === undefined || !Number.isFinite(Number(value))) continue;
    values.set(name, [...(values.get(name) ?? []), Number(value)]);
  }
  const sum = (name: string): number | undefined => values.get(name)?.reduce((total, value) => total + value, 0);
  const kvUsage = values.get("kv_cache_usage_perc") ?? values.get("gpu_cache_usage_perc");
  const running = sum("num_requests_running");
  const waiting = sum("num_requests_waiting");
  if (kvUsage === undefined || running === undefined || waiting === undefined) return null;
  const preemptions = sum("num_preemptions_total") ?? sum("num_preemptions") ?? 0;
  return { running, waiting, kvUsage: Math.max(...kvUsage), preemptions };
}
