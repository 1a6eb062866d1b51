/** Prometheus metrics of the process itself: prom-client's own ones, with event loop lag, memory and garbage collections. */
export interface ProcessMetrics {
  /** In Prometheus' text format. */
  text(): Promise<string>;
  close(): void;
}

/** @param labels added to each metric */
export async function openProcessMetrics(labels: Readonly<Record<string, string>>): Promise<ProcessMetrics> {
  const { collectDefaultMetrics, Registry } = await import("prom-client");
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  collectDefaultMetrics({ register: registry });
  return { text: () => registry.metrics(), close: () => registry.clear() };
}
