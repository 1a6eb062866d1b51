/** Giving up on something that is being made. */

/**
 * The result of `making`, unless `signal` is aborted before: then it rejects with the signal's reason at once, and the result of `making`
 * is later handed to `discard`.
 */
export async function unlessAborted<T>(
  making: Promise<T>,
  signal: AbortSignal | undefined,
  discard: (made: T) => Promise<void>,
): Promise<T> {
  if (signal === undefined) return making;
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = (): void => {
      reject(signal.reason as Error);
      // The caller has left, so failures of making or discarding are ignored.
      void making.then(discard).catch(() => undefined);
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([making, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
