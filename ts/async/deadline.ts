/**
 * Waiting for work no longer than until a time or an abort. The work itself goes on; what comes of it later is not used, and a late rejection
 * is not an unhandled one.
 */

/** Settles as `work` does, or rejects with what `late` gives after `ms`. */
export async function withDeadline<Result>(work: Promise<Result>, ms: number, late: () => Error): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles as `work` does, or rejects with the signal's reason as soon as it is aborted. */
export async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let onAbort = (): void => undefined;
  try {
    return await new Promise<Result>((resolve, reject) => {
      onAbort = () => reject(signal.reason as Error);
      signal.addEventListener("abort", onAbort, { once: true });
      work.then(resolve, reject);
      if (signal.aborted) onAbort();
    });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
