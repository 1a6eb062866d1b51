/** Listening to an abort signal that may be aborted already. */

/** Resolves when the signal is aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => onAbort(signal, resolve));
}

/**
 * Calls `act` once when the signal is aborted, and at once where it is aborted already.
 *
 * @returns a function that stops listening, which long signals need: they keep every listener
 */
export function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  const listener = (): void => act();
  if (signal?.aborted === true) act();
  else signal?.addEventListener("abort", listener, { once: true });
  return () => signal?.removeEventListener("abort", listener);
}
