/** Joins the streams of several choices. */

/** A value, and the place of the generator that gave it. */
export interface Placed<Value> {
  index: number;
  value: Value;
}

/** The values of all generators as they come. The first failure, or a caller that stops, ends all of them. */
export async function* merged<Value>(sources: readonly AsyncGenerator<Value>[]): AsyncGenerator<Placed<Value>> {
  const next = async (source: AsyncGenerator<Value>, index: number) => ({ source, index, result: await source.next() });
  const pending = new Map(sources.map((source, index) => [index, next(source, index)]));
  try {
    while (pending.size > 0) {
      const { source, index, result } = await Promise.race(pending.values());
      if (result.done === true) {
        pending.delete(index);
        continue;
      }
      pending.set(index, next(source, index));
      yield { index, value: result.value };
    }
  } finally {
    // What they still wait for has no reader; their own clean-up runs when it comes.
    for (const waiting of pending.values()) waiting.catch(() => undefined);
    for (const source of sources) source.return(undefined).catch(() => undefined);
  }
}
