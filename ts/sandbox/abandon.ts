/** Giving up on something that is being made. */
import { untilAborted } from "../async/deadline.ts";

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
  try {
    return await untilAborted(making, signal);
  } catch (error) {
    // The caller has left, so failures of making or discarding are ignored.
    if (signal.aborted) void making.then(discard).catch(() => undefined);
    throw error;
  }
}
