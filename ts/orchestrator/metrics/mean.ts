/** NaN for an empty list; the metrics file records it as NaN. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
