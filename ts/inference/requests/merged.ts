/** Joins the streams of several choices. */

/** A value, and the place of the generator that gave it. */
export interface Placed<Value> {
  index: number;
  value: Value;
}

/** The values of all generators as they come. The first failure, or a caller that stops, ends all of them. */
export async function* merged<Value>(sources: readonly AsyncGenerator<Value>[]): AsyncGenerator<Placed<Value>> {
  const next = (source: AsyncGenerator<Value>, index: number) => {
    const coming = source.next().then((result) => ({ source, index, result }));
    // It may fail while the caller works on another value, or after the caller has left: the next race reports it.
    coming.catch(() => undefined);
    return coming;
  };
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
    // Their clean-up runs when what they still wait for has come.
    for (const source of sources) source.return(undefined).catch(() => undefined);
  }
}
