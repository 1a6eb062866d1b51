/** The ids of benchmarks, which say without loading one what is a benchmark. */
const OWNER = "benchmark/";

/** Whether an id is that of a benchmark: packages cannot have this owner. */
export function isBenchmarkId(id: string): boolean {
  return id.startsWith(OWNER);
}

export function benchmarkId(name: string): string {
  return `${OWNER}${name}`;
}

/** The name of the benchmark that has the id. */
export function benchmarkName(id: string): string {
  return id.slice(OWNER.length);
}
