/** What Prometheus is shown of the process itself: prom-client's own metrics, event loop lag, memory and collections of garbage among them. */
export interface ProcessMetrics {
  /** In Prometheus' text format. */
  text(): Promise<string>;
  close(): void;
}

/** @param labels of each of them */
export async function openProcessMetrics(labels: Readonly<Record<string, string>>): Promise<ProcessMetrics> {
  const { collectDefaultMetrics, Registry } = await import("prom-client");
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  collectDefaultMetrics({ register: registry });
  return { text: () => registry.metrics(), close: () => registry.clear() };
}
