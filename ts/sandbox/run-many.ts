/** Bounded concurrency with ordered results. Knows nothing of sandboxes. */

/**
 * Runs `work` for each item, at most `concurrency` at a time; the results are in the items' order. The first rejection stops new work
 * and is thrown when the work under way has ended.
 */
export async function inOrder<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const index = next++;
      try {
        results[index] = await work(items[index] as Item, index);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}
